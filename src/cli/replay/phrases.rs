//! Small words for recorded runs.

use jiff::Timestamp;

use crate::cli::next_step::{Refusal, refusal};
use hob_core::domain::ids::RunId;
use hob_core::domain::text::{cut_trimmed, grouped, one_line};

/// One line of at most so many characters.
pub(in crate::cli) fn cut(text: &str, chars_max: usize) -> String {
    let line = one_line(text);
    let chars = line.chars().count();
    if chars <= chars_max {
        return line;
    }
    format!("{} ({} characters)", cut_trimmed(&line, chars_max), grouped(chars as u64))
}

/// `2026-01-01 08:00:00`, in UTC.
pub(in crate::cli) fn utc_text(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A stretch of time in the unit that suits it.
pub(super) fn duration_text(millis: i64) -> String {
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
        _ => format!("{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

/// `1 cycle`, `2 cycles`.
pub(in crate::cli) fn count_of(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// There is no such run; which ones there are.
pub(in crate::cli) fn no_such_run(run: i64, near: &[RunId]) -> Refusal {
    if near.is_empty() {
        return refusal!("there is no run {run}, and none at all yet"; "`hob chat` makes the first");
    }
    let near: Vec<String> = near.iter().map(ToString::to_string).collect();
    refusal!("there is no run {run}"; "there are {} (`hob runs` shows the newest)", near.join(", "))
}

/// A run without a journal: every run has one until what was said in it is forgotten.
pub(in crate::cli) fn forgotten(run: i64) -> Refusal {
    refusal!("the journal of run {run} was forgotten, with what was said in it"; "`hob runs` still has what it cost")
}

/// A run whose journal was let go because it was old.
pub(in crate::cli) fn expired_journal(run: i64) -> Refusal {
    refusal!(
        "the journal of run {run} was let go: it ended longer ago than `journals_days` under [upkeep] keeps them";
        "`hob runs` still has what it cost"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n2_words_of_a_replay() {
        assert_eq!(cut("a\n b", 3), "a b");
        assert_eq!(cut("a bc", 3), "a b… (4 characters)");
        assert_eq!(cut("äöü", 3), "äöü");
        let table = [(0, "0 ms"), (999, "999 ms"), (1_000, "1.0 s"), (59_999, "59.9 s"), (60_000, "1 min 0 s")];
        for (millis, expected) in table {
            assert_eq!(duration_text(millis), expected);
        }
        assert_eq!(
            (duration_text(3_599_999), duration_text(5_400_000)),
            ("59 min 59 s".to_owned(), "1 h 30 min".to_owned())
        );
        assert_eq!((count_of(1, "cycle"), count_of(0, "cycle")), ("1 cycle".to_owned(), "0 cycles".to_owned()));
        assert_eq!(utc_text(Timestamp::UNIX_EPOCH), "1970-01-01 00:00:00");
        insta::assert_snapshot!(no_such_run(9, &[]), @"there is no run 9, and none at all yet: `hob chat` makes the first");
        insta::assert_snapshot!(no_such_run(9, &[RunId(7), RunId(8)]), @"there is no run 9: there are 7, 8 (`hob runs` shows the newest)");
    }
}
