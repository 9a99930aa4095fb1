//! What was seen through the socket since the last look, while it lasts: in memory alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

use crate::watch::judge::is_met;
use hob_core::policy::schedule::check::{EntityCondition, EntityWatch};

/// A look is hastened once within this: whatever flickers is looked at later.
const HASTENED_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// The most characters of a state that are kept.
const STATE_CHARS_MAX: usize = 255;

/// It has become what it was to become, in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchedState {
    pub(super) state: String,
    /// When, by Home Assistant's clock.
    pub(super) changed: Timestamp,
}

/// What the socket tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateUpdate<'a> {
    pub(super) state: &'a str,
    /// Since when, by Home Assistant's clock.
    pub(super) changed: Timestamp,
}

/// What was seen of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Observation {
    /// Since when it is as it was to become; none: it is not, or that is not known.
    pub(super) since: Option<Timestamp>,
    /// When it last became so.
    pub(super) came: Option<MatchedState>,
}

/// What is known of one.
#[derive(Debug, Default)]
struct WatchedState {
    state: Option<String>,
    met: bool,
    observation: Observation,
    /// When its look was hastened last.
    hastened: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SocketStanding {
    /// Nothing is watched.
    #[default]
    Idle,
    Open,
    /// It is not, and is tried again.
    Down,
}

/// All that is followed.
#[derive(Default)]
pub struct Observed {
    all: Mutex<BTreeMap<EntityWatch, WatchedState>>,
    standing: Mutex<SocketStanding>,
    /// Rung when something may be followed anew.
    pub(super) changed: Notify,
}

impl Observed {
    /// From now on these are followed; of those that were before, what was seen of them is kept.
    pub(super) fn keep(&self, watches: &[EntityWatch]) {
        let mut all = self.all();
        all.retain(|known, _| watches.contains(known));
        for watch in watches {
            all.entry(watch.clone()).or_default();
        }
    }

    /// What was seen of one.
    pub(super) fn of(&self, watch: &EntityWatch) -> Observation {
        self.all().get(watch).map(|followed| followed.observation.clone()).unwrap_or_default()
    }

    /// All of them are to be looked at; gives those whose look is to be hastened, each with the moment.
    pub(super) fn look_again(&self, now: Timestamp) -> Vec<(EntityWatch, Timestamp)> {
        let mut all = self.all();
        all.iter_mut().filter_map(|(watch, followed)| Some((watch.clone(), followed.next_look(now)?))).collect()
    }

    /// Something stands so now; gives the watches whose look is to be hastened, each with the moment.
    pub(super) fn note(&self, entity: &str, news: &StateUpdate<'_>, now: Timestamp) -> Vec<(EntityWatch, Timestamp)> {
        let mut hastened = Vec::new();
        for (watch, followed) in self.all().iter_mut().filter(|(watch, _)| watch.entity == entity) {
            if followed.becomes(watch, news, now)
                && let Some(next) = followed.next_look(now)
            {
                let wait = SignedDuration::from_mins(i64::from(watch.minutes));
                hastened.push((watch.clone(), next.saturating_add(wait).unwrap_or(next)));
            }
        }
        hastened
    }

    /// Is nothing followed?
    pub(super) fn is_idle(&self) -> bool {
        self.all().is_empty()
    }

    pub(super) fn stands(&self, standing: SocketStanding) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// How many there are, and whether the socket is open; none: nothing is watched.
    pub(crate) fn words(&self) -> Option<String> {
        let count = self.all().len();
        let things = if count == 1 { "1 thing is watched".to_owned() } else { format!("{count} things are watched") };
        match *self.standing.lock().unwrap_or_else(PoisonError::into_inner) {
            SocketStanding::Idle => None,
            SocketStanding::Open => Some(things),
            SocketStanding::Down => Some(format!("{things}, by looking from time to time: the socket is down")),
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<EntityWatch, WatchedState>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedState {
    /// When it is looked at because of news; none: it will be anyway.
    fn next_look(&mut self, now: Timestamp) -> Option<Timestamp> {
        let again = self.hastened.map(|last| last.saturating_add(HASTENED_EVERY).unwrap_or(last));
        if self.hastened.is_some_and(|last| last > now) {
            return None;
        }
        let next = again.map_or(now, |again| again.max(now));
        self.hastened = Some(next);
        Some(next)
    }

    /// It stands so now; true: it has become what it was to become.
    fn becomes(&mut self, watch: &EntityWatch, news: &StateUpdate<'_>, now: Timestamp) -> bool {
        let state: String = news.state.chars().take(STATE_CHARS_MAX).collect();
        let Some(met) = is_met(&watch.until, self.state.as_deref(), &state) else { return false };
        // What it was like at first is for the look to compare.
        let is_first = self.state.is_none();
        let is_news = met && !is_first && (watch.until == EntityCondition::Another || !self.met);
        if is_news {
            self.observation.came = Some(MatchedState { state: state.clone(), changed: news.changed });
        }
        if !met {
            self.observation.since = None;
        } else if is_news {
            self.observation.since = Some(now);
        }
        (self.state, self.met) = (Some(state), met);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn watch(until: EntityCondition, minutes: u32) -> EntityWatch {
        EntityWatch { entity: "sensor.x".to_owned(), until, minutes, again: true }
    }

    fn news(state: &str, second: i64) -> StateUpdate<'_> {
        StateUpdate { state, changed: at(second) }
    }

    /// The seconds to which looks are hastened, as these states come.
    fn hastened(watch: &EntityWatch, states: &[(&str, i64)]) -> Vec<i64> {
        let observed = Observed::default();
        observed.keep(std::slice::from_ref(watch));
        let noted =
            states.iter().flat_map(|(state, second)| observed.note("sensor.x", &news(state, *second), at(*second)));
        noted.map(|(_, at)| at.as_second()).collect()
    }

    #[test]
    fn f9_only_what_was_waited_for_hastens_a_look() {
        let done = watch(EntityCondition::State("done".to_owned()), 0);
        assert_eq!(hastened(&done, &[("done", 1), ("running", 2), ("unavailable", 3), ("done", 4), ("done", 5)]), [4]);
        let below = watch(EntityCondition::Below(5_000), 3);
        assert_eq!(hastened(&below, &[("900", 1), ("3", 2), ("2", 3)]), [182]);
        assert_eq!(hastened(&watch(EntityCondition::Another, 0), &[("a", 1), ("a", 2), ("unknown", 3), ("b", 4)]), [4]);
        let other = Observed::default();
        other.keep(&[done]);
        assert_eq!(other.note("sensor.other", &news("done", 1), at(1)), []);
    }

    #[test]
    fn f9_what_flickers_is_looked_at_once_a_minute() {
        let states: Vec<(&str, i64)> = (0..1_000).map(|at| (if at % 2 == 0 { "off" } else { "on" }, at)).collect();
        let seconds = hastened(&watch(EntityCondition::State("on".to_owned()), 0), &states);
        assert_eq!(seconds.iter().take(3).collect::<Vec<_>>(), [&1, &61, &121]);
    }

    #[test]
    fn what_is_not_followed_any_more_is_forgotten() {
        let (one, two) = (watch(EntityCondition::Another, 0), watch(EntityCondition::Above(1), 0));
        let observed = Observed::default();
        observed.keep(&[one.clone(), two.clone()]);
        observed.note("sensor.x", &news("1", 1), at(1));
        observed.note("sensor.x", &news("2", 2), at(2));
        assert!(observed.of(&one).came.is_some());
        observed.keep(std::slice::from_ref(&one));
        assert!(observed.of(&one).came.is_some() && observed.of(&two) == Observation::default());
        assert_eq!(observed.words(), None);
        observed.stands(SocketStanding::Open);
        assert_eq!(observed.words().as_deref(), Some("1 thing is watched"));
    }
}
