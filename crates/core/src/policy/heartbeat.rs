//! When Hob looks by itself whether there is something to do (row E14): once in each slot of the clock.
//!
//! A slot begins at a multiple of the period since 1970, so that it is the same one after a restart. Slots that were slept
//! through are over: nothing is made up for.

use std::time::Duration;

/// When the slot began that `now` falls into, both in seconds since 1970. Slots of no length are one second long.
pub fn slot(now_secs: i64, every_secs: u64) -> i64 {
    let every = length(every_secs);
    now_secs.div_euclid(every).saturating_mul(every)
}

/// How long it is until the next slot begins, from `now` in milliseconds; never no time at all.
pub fn until_next(now_millis: i64, every_secs: u64) -> Duration {
    let every = length(every_secs).saturating_mul(1_000);
    Duration::from_millis((every - now_millis.rem_euclid(every)).unsigned_abs())
}

/// The most characters of a list that are told.
const LIST_CHARS_MAX: usize = 16_000;

/// The prompt with the list behind it; none: the list has only headings and blank lines, so that there is nothing to ask for.
pub fn prompt_with_list(prompt: &str, list: &str) -> Option<String> {
    let mut lines = list.lines().map(str::trim);
    lines
        .any(|line| !line.is_empty() && !line.starts_with('#'))
        .then(|| format!("{prompt}\n\n{}", list.trim().chars().take(LIST_CHARS_MAX).collect::<String>()))
}

fn length(every_secs: u64) -> i64 {
    i64::try_from(every_secs).unwrap_or(i64::MAX / 1_000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e14_a_slot_is_the_same_until_the_next_begins() {
        for (now, every, began) in [
            (0, 60, 0),
            (59, 60, 0),
            (60, 60, 60),
            (119, 60, 60),
            (-1, 60, -60),
            (7, 0, 7),
            (7, 1, 7),
            (5, u64::MAX, 0),
        ] {
            assert_eq!(slot(now, every), began, "{now} {every}");
        }
    }

    #[test]
    fn e14_an_empty_list_costs_nothing() {
        for list in ["", "\n \n", "# To look at\n\n## Now\n"] {
            assert_eq!(prompt_with_list("Look.", list), None, "{list:?}");
        }
        assert_eq!(prompt_with_list("Look.", "# List\n- the oven\n"), Some("Look.\n\n# List\n- the oven".to_owned()));
    }

    #[test]
    fn e14_the_next_slot_is_always_ahead() {
        for (now, every, wait) in [
            (0, 60, 60_000),
            (1, 60, 59_999),
            (59_999, 60, 1),
            (60_000, 60, 60_000),
            (-1, 1, 1),
            (1_500, 0, 500),
            (0, u64::MAX, 9_223_372_036_854_775_000),
        ] {
            assert_eq!(until_next(now, every), Duration::from_millis(wait), "{now} {every}");
        }
    }
}
