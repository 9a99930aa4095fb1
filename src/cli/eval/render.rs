//! What became of cases, for people. Pure.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::cli::eval::CaseReport;
use crate::cli::replay::phrases::count_of;
use hob_core::domain::money::Money;

/// A line for each case, below it what is wrong, and the sum.
pub(super) fn table(all: &[CaseReport]) -> String {
    let width = all.iter().map(|judgement| judgement.name.width()).max().unwrap_or(0);
    let mut page = String::new();
    for judgement in all {
        let result = match (judgement.passed, &judgement.error) {
            (true, _) => "passed",
            (false, None) => "FAILED",
            (false, Some(_)) => "ERROR ",
        };
        let padding = " ".repeat(width - judgement.name.width());
        let end = judgement.evaluation.terminated_by.as_deref().unwrap_or("-");
        let cycles = count_of(u64::from(judgement.evaluation.cycles), "cycle");
        let unpriced = if judgement.unpriced { " and what no price is known of" } else { "" };
        let CaseReport { name, cost, .. } = judgement;
        line(&mut page, &format!("{name}{padding}  {result}  {cycles:<9}  {end}  {cost}{unpriced}"));
        for why in judgement.failures.iter().chain(&judgement.error) {
            line(&mut page, &format!("  {why}"));
        }
    }
    let passed = all.iter().filter(|judgement| judgement.passed).count();
    let cost = all.iter().fold(Money::ZERO, |sum, judgement| sum.plus(judgement.cost));
    line(&mut page, &format!("{passed} of {} passed, {cost}", all.len()));
    page
}

fn line(page: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _written = writeln!(page, "{text}");
}
