//! Runs as a table, and as data.

use jiff::Timestamp;
use serde::Serialize;

use crate::cli::replay::phrases::{count_of, cut, grouped, utc_text};
use hob_core::domain::ids::RunId;
use hob_core::domain::money::Money;
use hob_store::run_list::RunListEntry;

/// The first words of a message that are shown.
const WORDS_MAX: usize = 48;

/// A run, for programs.
#[derive(Debug, Serialize)]
pub(super) struct RunRow<'a> {
    run: RunId,
    accepted_at: Timestamp,
    ended_at: Option<Timestamp>,
    session: &'a str,
    who: &'a str,
    state: &'a str,
    cycles: i64,
    tokens: i64,
    cost_nano_usd: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<RunId>,
    message: &'a str,
}

impl<'a> RunRow<'a> {
    fn of(run: &'a RunListEntry) -> Self {
        let RunListEntry { id, session, who, state, created_at, ended_at, text, cycles, tokens, cost, parent, .. } =
            run;
        Self {
            run: *id,
            accepted_at: at(*created_at),
            ended_at: ended_at.map(at),
            session,
            who,
            state,
            cycles: *cycles,
            tokens: *tokens,
            cost_nano_usd: *cost,
            parent: *parent,
            message: text,
        }
    }
}

/// The runs, for programs.
pub(super) fn data(runs: &[RunListEntry]) -> Vec<RunRow<'_>> {
    runs.iter().map(RunRow::of).collect()
}

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

    #[test]
    fn n2_runs_are_data_too() {
        let runs = [listed(9, "completed", 3, Some(4_500_000))];
        insta::assert_snapshot!(serde_json::to_string(&data(&runs)).unwrap(), @r#"[{"run":9,"accepted_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:04.2Z","session":"7","who":"Ada","state":"completed","cycles":3,"tokens":3702,"cost_nano_usd":4500000,"message":"Water the plants,\nall of them, and then those at the neighbours' too"}]"#);
    }
}
