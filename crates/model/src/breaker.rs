//! When a model that fails is left alone, and for how long (row E2).
//!
//! | class of the failure | opens | rests for |
//! |---|---|---|
//! | rate limit, overloaded, server, with a wait that the provider names | at once | that wait |
//! | rate limit, overloaded, server, timeout, network, malformed | at the fourth in a row | 5 s, doubled by each failed probe |
//! | unknown model | at once | 5 s, doubled by each failed probe |
//! | auth, billing | at once, for the whole credential (`board`) | 5 min |
//! | context too long, refused, bad request | never: the model works, and what it answers closes the breaker | – |
//!
//! Three, because a run that asks once and repeats it twice has then seen the same failure at growing distances; a
//! third repetition would only make a person wait. No rest is longer than 5 min, whatever the provider says: an outage
//! may end earlier than it thought.
//!
//! When the rest is over, one call is let through as a probe (half-open); while it is under way the others are skipped.
//! A call that is skipped changes nothing. A call that was under way when the breaker opened, or was forced, and fails
//! begins the same rest anew, without doubling it; if it succeeds, the breaker closes.
//!
//! Never: a clock. `now` is an argument; where it goes backwards, a rest is over rather than endless.
//! Start at `Breaker`; `board` keeps one for each model and each credential.

use std::time::Duration;

use jiff::Timestamp;

use crate::error::ErrorClass;

pub(crate) mod board;
#[cfg(test)]
mod tests;

/// How many failures in a row open the breaker: a request and all of its repetitions (row E2), so that no run finds the
/// model at rest in the middle of its own waits.
pub(crate) const FAILURES_MAX: u32 = 4;
/// The first rest.
pub(crate) const REST_FIRST: Duration = Duration::from_secs(5);
/// The longest rest, whatever the reason.
pub(crate) const REST_MAX: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Breaker {
    state: State,
    /// How many probes failed since it opened.
    failed_probes: u32,
    /// How many probes there were: each is known by its number.
    probes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Calls are let through.
    Closed { failures: u32 },
    /// Calls are skipped until the rest is over.
    Open(Cooldown),
    /// The rest is over, and one probe is under way.
    HalfOpen { rest: Cooldown, probe: u64 },
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cooldown {
    since: Timestamp,
    lasts: Duration,
    why: ErrorClass,
}

/// Leave to call; what came of it is told with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permit {
    probe: Option<u64>,
}

impl Permit {
    /// Leave that nobody was asked for: of a forced call, or of one that is not a probe.
    pub(crate) const PLAIN: Self = Self { probe: None };
}

/// Why a call is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CircuitOpen {
    /// What went wrong before.
    pub(crate) why: ErrorClass,
    /// How much of the rest is left; nothing where it is over and a probe is under way.
    pub(crate) remaining: Duration,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// An answer, even if it is one that refuses this request.
    Answered,
    /// A failure that says something about the model, and the wait that was named.
    Failed(ErrorClass, Option<Duration>),
    /// It was given up, or says nothing: nothing is known.
    Unknown,
}

impl Breaker {
    /// Why a call would be skipped now; none: it would be let through.
    pub(crate) fn resting(&self, now: Timestamp) -> Option<CircuitOpen> {
        match &self.state {
            State::Closed { .. } => None,
            State::Open(rest) => {
                let remaining = rest.remaining(now);
                (!remaining.is_zero()).then_some(CircuitOpen { why: rest.why, remaining })
            }
            State::HalfOpen { rest, .. } => Some(CircuitOpen { why: rest.why, remaining: Duration::ZERO }),
        }
    }

    /// Lets a call through, or says why not.
    pub(crate) fn acquire(&mut self, now: Timestamp) -> Result<Permit, CircuitOpen> {
        if let Some(resting) = self.resting(now) {
            return Err(resting);
        }
        let State::Open(rest) = &self.state else {
            return Ok(Permit::PLAIN);
        };
        self.probes += 1;
        self.state = State::HalfOpen { rest: rest.clone(), probe: self.probes };
        Ok(Permit { probe: Some(self.probes) })
    }

    /// Takes in what came of a call. Each permit is told once.
    pub(crate) fn record_outcome(&mut self, permit: Permit, outcome: Outcome, now: Timestamp) {
        match outcome {
            Outcome::Answered => {
                self.state = State::default();
                self.failed_probes = 0;
            }
            Outcome::Failed(why, wait) => self.fail(permit, why, wait, now),
            Outcome::Unknown => self.release_probe(permit),
        }
    }

    /// The probe came to nothing: the next call is one.
    fn release_probe(&mut self, permit: Permit) {
        if let State::HalfOpen { rest, probe } = &self.state
            && permit.probe == Some(*probe)
        {
            self.state = State::Open(rest.clone());
        }
    }

    fn fail(&mut self, permit: Permit, why: ErrorClass, wait: Option<Duration>, now: Timestamp) {
        let wait = wait.filter(|wait| !wait.is_zero());
        match &self.state {
            State::Closed { failures } => {
                let failures = failures.saturating_add(1);
                if failures < opens_at(why) && wait.is_none() {
                    self.state = State::Closed { failures };
                    return;
                }
            }
            State::HalfOpen { probe, .. } if permit.probe == Some(*probe) => {
                self.failed_probes = self.failed_probes.saturating_add(1);
            }
            // The probe will tell.
            State::HalfOpen { .. } => return,
            State::Open(_) => {}
        }
        let lasts = wait.unwrap_or_else(|| self.cooldown(why)).min(REST_MAX);
        // Who waits as long as was named counts in milliseconds, and must not come too early by a part of one.
        let lasts = lasts.saturating_sub(Duration::from_nanos(u64::from(lasts.subsec_nanos() % 1_000_000)));
        self.state = State::Open(Cooldown { since: now, lasts, why });
    }

    fn cooldown(&self, why: ErrorClass) -> Duration {
        match why {
            ErrorClass::Auth | ErrorClass::Billing => REST_MAX,
            _ => REST_FIRST.saturating_mul(2_u32.saturating_pow(self.failed_probes)).min(REST_MAX),
        }
    }
}

impl Cooldown {
    fn remaining(&self, now: Timestamp) -> Duration {
        // A clock that was set back ends the rest.
        Duration::try_from(now.duration_since(self.since))
            .map_or(Duration::ZERO, |passed| self.lasts.saturating_sub(passed))
    }
}

/// How many failures in a row, this one among them, open the breaker.
fn opens_at(why: ErrorClass) -> u32 {
    match why {
        ErrorClass::Auth | ErrorClass::Billing | ErrorClass::UnknownModel => 1,
        _ => FAILURES_MAX,
    }
}
