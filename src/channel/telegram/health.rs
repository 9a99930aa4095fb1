//! How the adapter fares, for `/status`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

/// What the poller notes and `/status` reads.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    username: Option<String>,
    last_poll: Option<Timestamp>,
    last_update: Option<Timestamp>,
    /// Why nothing comes in.
    trouble: Option<String>,
    /// Why what came in is not stored.
    stuck: Option<String>,
}

impl Health {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn identified(&self, username: &str) {
        let mut state = self.state();
        state.username = Some(username.to_owned());
        state.trouble = None;
    }

    /// Telegram answered a poll; returns what had been wrong until then.
    pub(super) fn polled(&self, now: Timestamp) -> Option<String> {
        let mut state = self.state();
        state.last_poll = Some(now);
        state.trouble.take()
    }

    pub(super) fn updated(&self, now: Timestamp) {
        let mut state = self.state();
        state.last_update = Some(now);
        state.stuck = None;
    }

    pub(super) fn troubled(&self, why: String) {
        self.state().trouble = Some(why);
    }

    pub(super) fn stuck(&self, why: String) {
        self.state().stuck = Some(why);
    }

    /// One line; a poll older than `silence_max` means that the bot is deaf.
    pub(super) fn line(&self, now: Timestamp, silence_max: Duration) -> String {
        let state = self.state();
        let since = |then: Timestamp| now.duration_since(then).as_secs().max(0);
        let silence = state.last_poll.map(since);
        let deaf = silence.is_some_and(|seconds| u64::try_from(seconds).is_ok_and(|age| age > silence_max.as_secs()));
        let mut state_of_it = match (&state.trouble, silence, deaf) {
            (Some(why), _, _) => format!("not connected: {why}"),
            (None, Some(_), false) => "connected".to_owned(),
            (None, Some(_), true) => "deaf: no poll has come back in time".to_owned(),
            (None, None, _) => "connecting".to_owned(),
        };
        if let Some(name) = &state.username {
            state_of_it = format!("{state_of_it} (@{name})");
        }
        let polled = silence.map_or("no poll yet".to_owned(), |seconds| format!("last poll {seconds} s ago"));
        let updated = state.last_update.map(since);
        let updated = updated.map_or("no message yet".to_owned(), |seconds| format!("last message {seconds} s ago"));
        let stuck = state.stuck.as_ref().map(|why| format!("messages wait: {why}"));
        [Some(state_of_it), Some(polled), Some(updated), stuck].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn n11_says_what_is_so() {
        let health = Health::default();
        let line = |second| health.line(at(second), Duration::from_secs(60));
        insta::assert_snapshot!(line(0), @"connecting; no poll yet; no message yet");
        health.troubled("401 Unauthorized".to_owned());
        insta::assert_snapshot!(line(1), @"not connected: 401 Unauthorized; no poll yet; no message yet");
        health.identified("hob_bot");
        health.polled(at(10));
        health.updated(at(10));
        insta::assert_snapshot!(line(12), @"connected (@hob_bot); last poll 2 s ago; last message 2 s ago");
        health.stuck("the disk is full".to_owned());
        insta::assert_snapshot!(line(12), @"connected (@hob_bot); last poll 2 s ago; last message 2 s ago; messages wait: the disk is full");
        insta::assert_snapshot!(line(99), @"deaf: no poll has come back in time (@hob_bot); last poll 89 s ago; last message 89 s ago; messages wait: the disk is full");
    }
}
