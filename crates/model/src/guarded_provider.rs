//! A model behind its breakers: the shell around `BreakerBoard`.
//!
//! Never: a second attempt, or a word to the model while it rests.
//! Start at `GuardedProvider`.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::breaker::CircuitOpen;
use crate::breaker::Outcome;
use crate::breaker::board::{self, BreakerBoard, BreakerKey, CallPermit};
use crate::error::{ErrorClass, ModelError};
use crate::message::Completion;
use crate::metered_provider::{MeteredProvider, Metering};
use crate::provider::{ModelCheck, Provider, Request, Sink};
use crate::redacting_provider::RedactingProvider;
use hob_core::domain::clock::Clock;
use hob_core::domain::lock::lock;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;

/// An account at a provider, by a hash of its address and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Credential(String);

impl Credential {
    /// The account that `api_key` opens at `base_url`.
    pub fn new(base_url: &str, api_key: Option<&Secret>) -> Self {
        let mut hash = Sha256::new();
        hash.update(base_url.trim_end_matches('/'));
        hash.update([0]);
        hash.update(api_key.map(Secret::expose).unwrap_or_default());
        Self(hex(&hash.finalize()))
    }
}

/// When the question was put that a model answered last; none: no model has answered yet.
pub type LastAnswerReceiver = watch::Receiver<Option<Instant>>;

/// What all guarded models share: the breakers, the time, and the news that one answered.
#[derive(Clone)]
pub struct BreakerMonitor {
    board: Arc<Mutex<BreakerBoard>>,
    clock: Arc<dyn Clock>,
    heard: Arc<watch::Sender<Option<Instant>>>,
}

impl BreakerMonitor {
    /// A watch over models that have not failed yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { board: Arc::default(), clock, heard: Arc::default() }
    }

    /// Hears of every answer, by the time at which it was asked for.
    pub fn answers_seen(&self) -> LastAnswerReceiver {
        self.heard.subscribe()
    }

    fn note_answer(&self, asked: Instant) {
        self.heard.send_if_modified(|last| {
            let is_newer = last.is_none_or(|last| last < asked);
            if is_newer {
                *last = Some(asked);
            }
            is_newer
        });
    }

    /// The board and the time, which belong together.
    fn locked_board(&self) -> (MutexGuard<'_, BreakerBoard>, Timestamp) {
        (lock(&self.board), self.clock.now())
    }
}

/// A model that is not asked while it rests.
#[derive(Clone)]
pub(crate) struct GuardedProvider {
    inner: Arc<dyn Provider>,
    key: BreakerKey,
    watch: BreakerMonitor,
    forced: bool,
}

impl GuardedProvider {
    /// `inner`, which is asked on the account of `credential`; its own one where there is none.
    pub(crate) fn new(inner: Arc<dyn Provider>, credential: Option<Credential>, watch: BreakerMonitor) -> Self {
        let model = inner.label().to_owned();
        let credential = credential.unwrap_or_else(|| Credential::new(&model, None));
        Self { inner, key: BreakerKey { credential: credential.0, model }, watch, forced: false }
    }

    /// The same model, to be asked even while it rests; what comes of it is told to the breakers.
    pub(crate) fn ignoring_breaker(&self) -> Self {
        Self { forced: true, ..self.clone() }
    }

    /// The same model, which neither hears nor tells what `redactor` finds.
    #[must_use]
    pub(crate) fn redacting(self, redactor: &Redactor) -> Self {
        Self { inner: Arc::new(RedactingProvider::new(self.inner, redactor.clone())), ..self }
    }

    /// The same model, whose calls are counted and traced.
    #[must_use]
    pub(crate) fn metered(self, metering: &Metering) -> Self {
        Self { inner: Arc::new(MeteredProvider::new(self.inner, metering.clone())), ..self }
    }

    /// Why it would not be asked now.
    pub(crate) fn resting(&self) -> Option<CircuitOpen> {
        let (board, now) = self.watch.locked_board();
        board.resting(&self.key, now)
    }

    fn begin(&self) -> Result<Attempt<'_>, CircuitOpen> {
        let (mut board, now) = self.watch.locked_board();
        let pass = if self.forced { board.force(&self.key, now) } else { board.acquire(&self.key, now)? };
        Ok(Attempt { guarded: self, pass, outcome: Outcome::Unknown })
    }

    fn resting_error(&self, resting: CircuitOpen) -> ModelError {
        let left = if resting.remaining.is_zero() {
            "is being tried by another call".to_owned()
        } else {
            format!("is left alone for {} s", seconds(resting.remaining))
        };
        let message = format!("{} failed a moment ago ({}) and {left}.", self.key.model, resting.why);
        let retry_after = Some(resting.remaining).filter(|remaining| !remaining.is_zero());
        ModelError { retry_after, ..ModelError::new(ErrorClass::Resting, message) }
    }
}

/// Whole seconds, and at least one while anything is left.
pub(crate) fn seconds(remaining: Duration) -> u64 {
    remaining.as_secs() + u64::from(remaining.subsec_nanos() > 0)
}

/// A call under way. Dropped without an end, it was given up: its place is free again.
struct Attempt<'a> {
    guarded: &'a GuardedProvider,
    pass: CallPermit,
    outcome: Outcome,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let (mut board, now) = self.guarded.watch.locked_board();
        board.record_outcome(&self.guarded.key, self.pass, self.outcome, now);
    }
}

#[async_trait]
impl Provider for GuardedProvider {
    fn label(&self) -> &str {
        self.inner.label()
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let mut attempt = self.begin().map_err(|resting| self.resting_error(resting))?;
        let asked = Instant::now();
        let answer = self.inner.complete(request, sink).await;
        attempt.outcome = match &answer {
            Ok(_) => {
                self.watch.note_answer(asked);
                Outcome::Answered
            }
            Err(error) => board::outcome(error.class, error.retry_after),
        };
        drop(attempt);
        if let Some(resting) = answer.as_ref().err().and_then(|_| self.resting()) {
            tracing::warn!(model.label = self.key.model, why = %resting.why, remaining_s = seconds(resting.remaining),
                "the model {} failed and rests", self.key.model);
        }
        answer
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        self.inner.check().await
    }
}
