//! Discord's rate limits, as its answers tell of them: what is used up is not asked for before its time.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use hob_core::domain::lock::lock;

/// How many routes are remembered before those are forgotten whose time has come.
const ROUTES_MAX: usize = 1_000;

/// What an answer says of its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RateLimitHeaders {
    /// `X-RateLimit-Remaining`: so many more calls until the reset.
    pub(super) remaining: Option<u64>,
    /// `X-RateLimit-Reset-After`.
    pub(super) reset_after: Option<Duration>,
    /// Of a 429: when it may be tried again.
    pub(super) retry_after: Option<Duration>,
    /// Whether that holds for all routes.
    pub(super) global: bool,
}

/// Which routes have to wait.
#[derive(Debug, Default)]
pub(super) struct RateLimits(Mutex<RateLimitState>);

#[derive(Debug, Default)]
struct RateLimitState {
    routes: HashMap<String, Instant>,
    all: Option<Instant>,
}

impl RateLimits {
    /// How long a route has to wait still.
    pub(super) fn wait(&self, route: &str, now: Instant) -> Option<Duration> {
        let held = lock(&self.0);
        let until = held.routes.get(route).copied().max(held.all)?;
        until.checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    /// Takes in what an answer told.
    pub(super) fn note(&self, route: &str, told: RateLimitHeaders, now: Instant) {
        let spent = told.reset_after.filter(|_| told.remaining == Some(0));
        let Some(wait) = told.retry_after.max(spent) else { return };
        let mut held = lock(&self.0);
        let until = now + wait;
        if told.global {
            held.all = held.all.max(Some(until));
            return;
        }
        if held.routes.len() >= ROUTES_MAX {
            held.routes.retain(|_, until| *until > now);
        }
        held.routes.insert(route.to_owned(), until);
    }
}

/// The limit that a path shares with others: ids behind the first (of a channel, a server, a webhook) do not count.
pub(super) fn route(method: &str, path: &[&str]) -> String {
    let mut route = method.to_owned();
    for (index, step) in path.iter().enumerate() {
        let is_id = index > 1 && step.bytes().all(|byte| byte.is_ascii_digit());
        // All reactions of a message are one route.
        let after_reactions = path.get(index.wrapping_sub(1)) == Some(&"reactions");
        route.push('/');
        route.push_str(if is_id || after_reactions { ":" } else { step });
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_used_up_waits_and_nothing_else() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        let spent = RateLimitHeaders { remaining: Some(0), reset_after: Some(SECOND), ..RateLimitHeaders::default() };
        limits.note("a", spent, now);
        limits.note("b", RateLimitHeaders { remaining: Some(1), ..spent }, now);
        assert_eq!((limits.wait("a", now), limits.wait("b", now)), (Some(SECOND), None));
        assert_eq!(limits.wait("a", now + SECOND), None);
        limits.note(
            "b",
            RateLimitHeaders { retry_after: Some(2 * SECOND), global: true, ..RateLimitHeaders::default() },
            now,
        );
        assert_eq!((limits.wait("a", now), limits.wait("c", now)), (Some(2 * SECOND), Some(2 * SECOND)));
    }

    #[test]
    fn a_route_is_its_path_without_the_lesser_ids() {
        let table = [
            (vec!["channels", "12", "messages"], "POST/channels/12/messages"),
            (vec!["channels", "12", "messages", "34"], "POST/channels/12/messages/:"),
            (
                vec!["channels", "12", "messages", "34", "reactions", "👀", "@me"],
                "POST/channels/12/messages/:/reactions/:/@me",
            ),
        ];
        for (path, expected) in table {
            assert_eq!(route("POST", &path), expected);
        }
    }
}
