//! Has something become what it was to become? Pure.
//!
//! Never: taken for news what is known already, or for a state that a thing is not to be reached.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::watch::observed::Observation;
use hob_core::policy::schedule::check::{EntityCondition, EntityWatch};

/// The most characters of a state that are kept.
const STATE_CHARS_MAX: usize = 255;
/// States that say nothing of the thing.
const NOTHING: [&str; 2] = ["unavailable", "unknown"];

/// What was last known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PreviousState {
    /// How it stood.
    pub(super) state: String,
    /// Since when, by Home Assistant's clock.
    pub(super) changed: Option<Timestamp>,
    /// It was as it was to become.
    pub(super) met: bool,
    /// Since when it has been, while that is not long enough.
    pub(super) since: Option<Timestamp>,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CurrentState<'a> {
    pub(super) state: &'a str,
    /// Since when, by Home Assistant's clock.
    pub(super) changed: Option<Timestamp>,
    pub(super) now: Timestamp,
}

/// What a look comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    /// It has become so: this is the state that it has, or had in between.
    pub(super) woken: Option<String>,
    /// What is known from now on; none: as before.
    pub(super) seen: Option<PreviousState>,
}

/// Is a state what it was to become? None: it says nothing of that.
pub(super) fn is_met(until: &EntityCondition, before: Option<&str>, state: &str) -> Option<bool> {
    if let EntityCondition::State(wanted) = until
        && wanted.eq_ignore_ascii_case(state)
    {
        return Some(true);
    }
    if NOTHING.contains(&state) {
        return None;
    }
    let number = || state.parse::<f64>().ok().filter(|number| number.is_finite());
    match until {
        EntityCondition::Another => Some(before.is_some_and(|before| before != state)),
        EntityCondition::State(_) => Some(false),
        EntityCondition::Above(than) => number().map(|number| number > thousandths(*than)),
        EntityCondition::Below(than) => number().map(|number| number < thousandths(*than)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a limit that somebody writes has few digits")]
fn thousandths(number: i64) -> f64 {
    number as f64 / 1_000.0
}

/// What the present comes to, after what was last known and what was observed in between.
pub(super) fn judge(
    watch: &EntityWatch,
    seen: Option<&PreviousState>,
    present: CurrentState<'_>,
    observed: &Observation,
) -> Judgement {
    let state: String = present.state.chars().take(STATE_CHARS_MAX).collect();
    let Some(met) = is_met(&watch.until, seen.map(|seen| seen.state.as_str()), &state) else {
        return Judgement { woken: None, seen: None };
    };
    let changed = present.changed;
    let known = |met, since| Some(PreviousState { state: state.clone(), changed, met, since });
    // At first it is only noted how it stands: what is so already has not become so.
    let Some(before) = seen else { return Judgement { woken: None, seen: known(met, None) } };
    if watch.minutes > 0 {
        let Some(since) = since(watch, before, present, observed).filter(|_| met && !before.met) else {
            return Judgement { woken: None, seen: known(met, None) };
        };
        let is_long = present.now.duration_since(since) >= SignedDuration::from_mins(i64::from(watch.minutes));
        let woken = is_long.then(|| state.clone());
        return Judgement { woken, seen: known(is_long, Some(since).filter(|_| !is_long)) };
    }
    if met && (watch.until == EntityCondition::Another || !before.met) {
        return Judgement { woken: Some(state.clone()), seen: known(met, None) };
    }
    // What came and went in between has been.
    let came = observed.came.as_ref().filter(|came| before.changed.is_some_and(|known| came.changed > known));
    let changed = changed.max(came.map(|came| came.changed));
    Judgement {
        woken: came.map(|came| came.state.clone()),
        seen: Some(PreviousState { state, changed, met, since: None }),
    }
}

/// Since when it has been as it was to become. Of a state that Home Assistant names it says so itself; of a number it is known
/// only by having looked.
fn since(
    watch: &EntityWatch,
    before: &PreviousState,
    present: CurrentState<'_>,
    observed: &Observation,
) -> Option<Timestamp> {
    let by_itself = present.changed.filter(|at| *at <= present.now && matches!(watch.until, EntityCondition::State(_)));
    by_itself.or(observed.since).or(before.since).or(Some(present.now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::observed::MatchedState;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    /// The states that wake, of these: each with the minute since which it is so, and at which it is looked.
    fn woken(
        until: EntityCondition,
        minutes: u32,
        looks: &[(&str, i64, i64)],
        observed: &Observation,
    ) -> Vec<(i64, String)> {
        let watch = EntityWatch { entity: "sensor.x".to_owned(), until, minutes, again: true };
        let (mut seen, mut woken) = (None, Vec::new());
        for (state, changed, now) in looks {
            let present = CurrentState { state, changed: Some(at(*changed)), now: at(*now) };
            let judged = judge(&watch, seen.as_ref(), present, observed);
            woken.extend(judged.woken.map(|state| (*now, state)));
            seen = judged.seen.or(seen);
        }
        woken
    }

    fn told(until: EntityCondition, minutes: u32, looks: &[(&str, i64, i64)]) -> Vec<(i64, String)> {
        woken(until, minutes, looks, &Observation::default())
    }

    fn one(minute: i64, state: &str) -> Vec<(i64, String)> {
        vec![(minute, state.to_owned())]
    }

    #[test]
    fn f9_what_is_so_already_has_not_become_so_and_nothing_is_told_twice() {
        let done = || EntityCondition::State("done".to_owned());
        assert_eq!(told(done(), 0, &[("done", 0, 1), ("done", 0, 2)]), []);
        assert_eq!(told(done(), 0, &[("running", 0, 1), ("Done", 2, 3), ("Done", 2, 4)]), one(3, "Done"));
        // Home Assistant was away, or was started anew, in between: that is no news.
        let away = [("running", 0, 1), ("done", 2, 3), ("unavailable", 4, 5), ("done", 6, 7)];
        assert_eq!(told(done(), 0, &away), one(3, "done"));
        // Nobody looked for hours.
        assert_eq!(told(done(), 0, &[("running", 0, 1), ("unknown", 2, 3), ("done", 4, 600)]), one(600, "done"));
        let again = [("running", 0, 1), ("done", 2, 3), ("running", 4, 5), ("done", 6, 7)];
        assert_eq!(told(done(), 0, &again).len(), 2);
        assert_eq!(
            told(EntityCondition::State("unavailable".to_owned()), 0, &[("on", 0, 1), ("unavailable", 2, 3)]).len(),
            1
        );
    }

    #[test]
    fn f9_a_number_passes_its_limit_once_and_what_is_none_says_nothing() {
        let below = || EntityCondition::Below(5_000);
        let looks = [("900", 0, 1), ("4.9", 2, 3), ("3", 4, 5), ("nan", 6, 7), ("5.0", 8, 9), ("1e0", 10, 11)];
        assert_eq!(told(below(), 0, &looks), [(3, "4.9".to_owned()), (11, "1e0".to_owned())]);
        assert_eq!(told(EntityCondition::Above(-1_500), 0, &[("-2", 0, 1), ("-1", 2, 3)]), one(3, "-1"));
        assert_eq!(
            told(EntityCondition::Another, 0, &[("a", 0, 1), ("a", 0, 2), ("b", 3, 4), ("unknown", 5, 6), ("b", 7, 8)]),
            one(4, "b")
        );
    }

    #[test]
    fn f9_what_has_to_last_is_told_when_it_has() {
        let done = || EntityCondition::State("done".to_owned());
        let looks = [("running", 0, 1), ("done", 2, 3), ("done", 2, 4), ("done", 2, 5), ("done", 2, 6)];
        assert_eq!(told(done(), 3, &looks), one(5, "done"));
        let interrupted = [("running", 0, 1), ("done", 2, 3), ("running", 4, 4), ("done", 5, 6), ("done", 5, 8)];
        assert_eq!(told(done(), 3, &interrupted), one(8, "done"));
        // Of a number it is known only since when it was looked.
        let below = [("900", 0, 1), ("3", 2, 3), ("2", 4, 5), ("1", 6, 6), ("0", 7, 7)];
        assert_eq!(told(EntityCondition::Below(5_000), 3, &below), one(6, "1"));
        let observed = Observation { since: Some(at(2)), came: None };
        assert_eq!(woken(EntityCondition::Below(5_000), 3, &below, &observed), one(5, "2"));
    }

    #[test]
    fn f9_what_came_and_went_between_two_looks_has_been() {
        let rang = |minute| Observation {
            since: None,
            came: Some(MatchedState { state: "on".to_owned(), changed: at(minute) }),
        };
        let on = || EntityCondition::State("on".to_owned());
        assert_eq!(woken(on(), 0, &[("off", 0, 1), ("off", 3, 4), ("off", 3, 5)], &rang(2)), one(4, "on"));
        // What is known already is not told again, nor what was before the first look.
        assert_eq!(woken(on(), 0, &[("off", 3, 4), ("off", 3, 5)], &rang(2)), []);
        assert_eq!(woken(on(), 0, &[("off", 0, 1), ("on", 2, 3), ("on", 2, 4)], &rang(2)), one(3, "on"));
        // It left, and came back.
        assert_eq!(woken(on(), 0, &[("on", 0, 1), ("on", 2, 4)], &rang(2)), one(4, "on"));
    }
}
