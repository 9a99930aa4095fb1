//! `/cost`: what was spent, on which models, by whom, and how much of the budgets that is.
//!
//! Never: another person's spending, but for owners and admins.
//! Start at `bill`.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::text::{counted, grouped};
use hob_core::policy::budget::{Cap, CapScope};
use hob_model::budget_guard::{BudgetGuard, CapUsage, Spender};
use hob_store::error::StoreError;
use hob_store::model_calls::PrefixBreak;
use hob_store::spend::{BillLine, SpendTotals};
use hob_store::{Tx, millis, model_calls, spend};

/// The answer to `/cost`.
pub(super) async fn bill(
    tx: &mut Tx,
    budget_guard: &BudgetGuard,
    spender: Spender<'_>,
    now: Timestamp,
) -> Result<String, StoreError> {
    let sees_all = spender.role >= Role::Admin;
    let user = (!sees_all).then_some(spender.user);
    let month = month_start(now, &budget_guard.zone);
    let since = millis(month.timestamp());
    let mut periods = Vec::new();
    for (name, from) in [
        ("Last 24 hours".to_owned(), millis(now - SignedDuration::from_hours(24))),
        ("Last 7 days".to_owned(), millis(now - SignedDuration::from_hours(24 * 7))),
        (month.strftime("%B").to_string(), since),
    ] {
        periods.push((name, spend::since(tx, from, user).await?));
    }
    let people = if sees_all { spend::by_user(tx, since).await? } else { Vec::new() };
    Ok(show(&CostReport {
        periods,
        models: spend::by_model(tx, since, user).await?,
        people,
        breaks: model_calls::prefix_breaks(tx, since, user).await?,
        budgets: budgets(tx, budget_guard, spender, now).await?,
    }))
}

/// The first of the household's month, at its midnight.
fn month_start(now: Timestamp, zone: &TimeZone) -> Zoned {
    let local = now.to_zoned(zone.clone());
    local.first_of_month().and_then(|first| first.start_of_day()).unwrap_or(local)
}

/// The caps on money that hold now, and those on tokens that are not the person's own, with what is used of each; a run's own is
/// shown by its size alone.
async fn budgets(
    tx: &mut Tx,
    budget_guard: &BudgetGuard,
    spender: Spender<'_>,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut shown = Vec::new();
    for CapUsage { window, used } in budget_guard.standing(tx, spender, now).await? {
        // What all use together is not a guest's to know; a person's own tokens are in `/status`.
        let is_anybodys = matches!(window.cap.scope, CapScope::House(_) | CapScope::Persona(_));
        if spender.role == Role::Guest && is_anybodys || !window.is_told_ahead() {
            continue;
        }
        let Cap { most, words, .. } = &window.cap;
        shown.push(match used {
            Some(used) => format!("{} for {words}", window.shown(used)),
            None => format!("{most} for {words}"),
        });
    }
    Ok(shown)
}

/// What `/cost` shows.
struct CostReport {
    periods: Vec<(String, SpendTotals)>,
    models: Vec<BillLine>,
    people: Vec<BillLine>,
    breaks: Vec<PrefixBreak>,
    budgets: Vec<String>,
}

fn show(bill: &CostReport) -> String {
    let mut lines: Vec<String> =
        bill.periods.iter().map(|(name, spent)| format!("{name}: {}", period(spent))).collect();
    let month = bill.periods.last();
    let name = month.map_or("", |(name, _)| name.as_str());
    for (title, entries) in [("model", &bill.models), ("person", &bill.people)] {
        if !entries.is_empty() {
            lines.push(format!("By {title} in {name}:"));
            lines.extend(entries.iter().map(entry));
        }
    }
    if !bill.budgets.is_empty() {
        lines.push(format!("Budgets: {}", bill.budgets.join("; ")));
    }
    if !bill.breaks.is_empty() {
        let reasons: Vec<String> =
            bill.breaks.iter().map(|found| format!("{} {} ×", found.reason, found.count)).collect();
        lines.push(format!("Providers' caches could not go on in {name}: {}", reasons.join(", ")));
    }
    if let Some(unpriced) = month.map(|(_, spent)| spent.unpriced).filter(|unpriced| *unpriced > 0) {
        let calls = counted(unpriced, "call", "calls");
        let are = if unpriced == 1 { "it is" } else { "they are" };
        lines.push(format!("No price is known for {calls} in {name}: {are} not in the sums."));
    }
    lines.join("\n")
}

/// What calls cost, and how many of them cost something that is not known.
pub fn with_unpriced(cost: impl std::fmt::Display, unpriced: i64) -> String {
    match unpriced {
        0 => cost.to_string(),
        calls => format!("{cost} and {} of unknown price", counted(calls, "call", "calls")),
    }
}

fn period(spent: &SpendTotals) -> String {
    if spent.calls == 0 {
        return "nothing".to_owned();
    }
    let share = |tokens| percent(tokens, spent.input_tokens);
    let cached = match (share(spent.cached_tokens), share(spent.cache_write_tokens)) {
        (0, 0) => String::new(),
        (read, 0) => format!(" ({read} % from cache)"),
        (read, written) => format!(" ({read} % from cache, {written} % written to it)"),
    };
    let thinking = match percent(spent.reasoning_tokens, spent.output_tokens) {
        0 => String::new(),
        share => format!(" ({share} % thinking)"),
    };
    format!(
        "{} in {}, {} tokens read{cached}, {} written{thinking}",
        Money::from_nanos(spent.cost),
        counted(spent.calls, "call", "calls"),
        grouped(spent.input_tokens.unsigned_abs()),
        grouped(spent.output_tokens.unsigned_abs())
    )
}

fn entry(line: &BillLine) -> String {
    format!(
        "- {}: {}, {}, {} tokens",
        line.name,
        Money::from_nanos(line.cost),
        counted(line.calls, "call", "calls"),
        grouped(line.tokens.unsigned_abs())
    )
}

fn percent(part: i64, whole: i64) -> i64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, calls: i64, tokens: i64, cost: i64) -> BillLine {
        BillLine { name: name.to_owned(), calls, tokens, cost }
    }

    #[test]
    fn a_bill_on_one_screen() {
        let day =
            SpendTotals { calls: 1, input_tokens: 1_200, output_tokens: 80, cost: 420_000, ..SpendTotals::default() };
        let month = SpendTotals {
            calls: 31,
            unpriced: 2,
            input_tokens: 1_234_567,
            cached_tokens: 1_000_000,
            cache_write_tokens: 200_000,
            output_tokens: 12_000,
            reasoning_tokens: 6_000,
            cost: 1_420_000_000,
            ..SpendTotals::default()
        };
        let named = |name: &str, spent| (name.to_owned(), spent);
        let bill = CostReport {
            periods: vec![
                named("Last 24 hours", day),
                named("Last 7 days", SpendTotals::default()),
                named("November", month),
            ],
            models: vec![line("openai/gpt-6", 30, 1_246_000, 1_420_000_000), line("offline/built-in", 1, 567, 0)],
            people: vec![line("Ada", 31, 1_246_567, 1_420_000_000)],
            breaks: vec![PrefixBreak { reason: "another model".to_owned(), count: 2 }],
            budgets: vec!["$1.42 of $5.00 for a month".to_owned()],
        };
        insta::assert_snapshot!(show(&bill), @r"
        Last 24 hours: $0.00042 in 1 call, 1,200 tokens read, 80 written
        Last 7 days: nothing
        November: $1.42 in 31 calls, 1,234,567 tokens read (81 % from cache, 16 % written to it), 12,000 written (50 % thinking)
        By model in November:
        - openai/gpt-6: $1.42, 30 calls, 1,246,000 tokens
        - offline/built-in: $0.00, 1 call, 567 tokens
        By person in November:
        - Ada: $1.42, 31 calls, 1,246,567 tokens
        Budgets: $1.42 of $5.00 for a month
        Providers' caches could not go on in November: another model 2 ×
        No price is known for 2 calls in November: they are not in the sums.
        ");
    }
}
