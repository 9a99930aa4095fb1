//! Runs as a table.

use jiff::Timestamp;

use crate::cli::replay::phrases::{count_of, cut, utc_text};
use hob_core::domain::money::Money;
use hob_core::domain::text::grouped;
use hob_store::run_list::RunListEntry;

/// The first words of a message that are shown.
const WORDS_MAX: usize = 48;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or_default()
}

/// The runs, for people: a line each.
pub(super) fn table(runs: &[RunListEntry]) -> String {
    if runs.is_empty() {
        return "No run.\n".to_owned();
    }
    runs.iter().map(line).collect()
}

fn line(run: &RunListEntry) -> String {
    let at = utc_text(at(run.created_at));
    let cost = run.cost.map_or_else(|| "price unknown".to_owned(), |nanos| Money::from_nanos(nanos).to_string());
    let (tokens, cycles) = (grouped(run.tokens.unsigned_abs()), count_of(run.cycles.unsigned_abs(), "cycle"));
    let parent = run.parent.map(|parent| format!(" for run {parent}")).unwrap_or_default();
    let spent = if run.cycles == 0 && run.tokens == 0 { String::new() } else { format!(" · {tokens} tokens, {cost}") };
    format!(
        "{:>6}  {at}  {:<9}  {} in {}{parent} · {cycles}{spent} · {}\n",
        run.id.0,
        run.state,
        run.who,
        run.session,
        cut(&run.text, WORDS_MAX)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::RunId;

    fn listed(id: i64, state: &str, cycles: i64, cost: Option<i64>) -> RunListEntry {
        RunListEntry {
            id: RunId(id),
            session: "7".to_owned(),
            channel: "telegram".to_owned(),
            end: None,
            who: "Ada".to_owned(),
            state: state.to_owned(),
            created_at: 1_767_225_600_000,
            ended_at: (state == "completed").then_some(1_767_225_604_200),
            text: "Water the plants,\nall of them, and then those at the neighbours' too".to_owned(),
            cycles,
            tokens: cycles * 1_234,
            cost,
            parent: (id == 8).then_some(RunId(7)),
        }
    }

    #[test]
    fn n2_runs_are_a_line_each() {
        let runs =
            [listed(120, "running", 1, None), listed(9, "completed", 3, Some(4_500_000)), listed(8, "queued", 0, None)];
        insta::assert_snapshot!(table(&runs), @"
        120  2026-01-01 00:00:00  running    Ada in 7 · 1 cycle · 1,234 tokens, price unknown · Water the plants, all of them, and then those at… (68 characters)
          9  2026-01-01 00:00:00  completed  Ada in 7 · 3 cycles · 3,702 tokens, $0.0045 · Water the plants, all of them, and then those at… (68 characters)
          8  2026-01-01 00:00:00  queued     Ada in 7 for run 7 · 0 cycles · Water the plants, all of them, and then those at… (68 characters)
        ");
        assert_eq!(table(&[]), "No run.\n");
    }
}
