//! The breakers of all models: one for each model of a credential, and one for each credential.
//!
//! Whoever's key is refused, or has no money, is so for every model of that key; all else is one model's own.
//!
//! Never: a clock, or a key: a credential is known by its hash.
//! Start at `BreakerBoard`.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::breaker::{Breaker, CircuitOpen, Outcome, Permit};
use crate::error::ErrorClass;

/// Whose account is asked, and for which model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct BreakerKey {
    /// The account: a hash of its address and its key.
    pub(crate) credential: String,
    /// The model's label.
    pub(crate) model: String,
}

/// Leave from both breakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPermit {
    credential: Permit,
    model: Permit,
}

#[derive(Debug, Default)]
pub(crate) struct BreakerBoard {
    credentials: HashMap<String, Breaker>,
    models: HashMap<BreakerKey, Breaker>,
}

impl BreakerBoard {
    /// Why a call would be skipped now; of two rests the longer one counts.
    pub(crate) fn resting(&self, key: &BreakerKey, now: Timestamp) -> Option<CircuitOpen> {
        let credential = self.credentials.get(&key.credential).and_then(|breaker| breaker.resting(now));
        let model = self.models.get(key).and_then(|breaker| breaker.resting(now));
        credential.into_iter().chain(model).max_by_key(|resting| resting.remaining)
    }

    /// Lets a call through, or says why not.
    pub(crate) fn acquire(&mut self, key: &BreakerKey, now: Timestamp) -> Result<CallPermit, CircuitOpen> {
        if let Some(resting) = self.resting(key, now) {
            return Err(resting);
        }
        let credential = self.credentials.entry(key.credential.clone()).or_default().acquire(now)?;
        let model = self.models.entry(key.clone()).or_default().acquire(now)?;
        Ok(CallPermit { credential, model })
    }

    /// Lets a call through whatever its breakers say; what comes of it is told as any other's.
    pub(crate) fn force(&mut self, key: &BreakerKey, now: Timestamp) -> CallPermit {
        self.acquire(key, now).unwrap_or(CallPermit { credential: Permit::PLAIN, model: Permit::PLAIN })
    }

    /// Takes in what came of a call.
    pub(crate) fn record_outcome(&mut self, key: &BreakerKey, pass: CallPermit, outcome: Outcome, now: Timestamp) {
        let (credential, model) = split_outcome(outcome);
        self.credentials.entry(key.credential.clone()).or_default().record_outcome(pass.credential, credential, now);
        self.models.entry(key.clone()).or_default().record_outcome(pass.model, model, now);
    }
}

/// What an outcome tells of the credential, and what of the model.
fn split_outcome(outcome: Outcome) -> (Outcome, Outcome) {
    match outcome {
        Outcome::Failed(ErrorClass::Auth | ErrorClass::Billing, _) => (outcome, Outcome::Unknown),
        Outcome::Failed(..) => (Outcome::Unknown, outcome),
        Outcome::Answered | Outcome::Unknown => (outcome, outcome),
    }
}

/// What a failure of `class` tells the breakers.
pub(crate) fn outcome(class: ErrorClass, wait: Option<Duration>) -> Outcome {
    match class {
        ErrorClass::ContextTooLong | ErrorClass::Refused | ErrorClass::BadRequest => Outcome::Answered,
        ErrorClass::Resting => Outcome::Unknown,
        ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::UnknownModel
        | ErrorClass::Timeout
        | ErrorClass::Network
        | ErrorClass::Server
        | ErrorClass::Malformed => Outcome::Failed(class, wait),
    }
}
