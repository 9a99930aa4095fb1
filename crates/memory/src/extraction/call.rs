//! A call of a model on memory's behalf: set aside, made, and billed (row N10).

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::budget_reservation::{expected_tokens, lost_call_bill, reserve_call, signed};
use hob_core::domain::ids::{EpisodeId, UserId};
use hob_core::domain::money::Money;
use hob_core::policy::budget::CapScope;
use hob_model::budget_guard::{BudgetGuard, CapExceeded};
use hob_model::catalog::Catalog;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Usage};
use hob_model::model_table::ModelTable;
use hob_model::price;
use hob_model::provider::{NoSink, Request};
use hob_model::tokens;
use hob_store::error::StoreError;
use hob_store::memory_calls::{self, NewMemoryCall};
use hob_store::model_calls::CallEnd;
use hob_store::{Tx, episodes, millis};

/// The most calls in sixty minutes.
pub(crate) const CALLS_PER_HOUR: i64 = 30;
/// How long a model may take.
const DEADLINE: Duration = Duration::from_secs(120);

/// A call that is about to be made: for facts of the turns of an episode after a place.
#[derive(Clone)]
pub(crate) struct BeginCall {
    pub(crate) episode: EpisodeId,
    /// The place.
    pub(crate) from: i64,
    /// Whose words it reads.
    pub(crate) user: UserId,
    pub(crate) model: String,
    /// The tokens it will read.
    pub(crate) estimate: u64,
    /// What it may cost.
    pub(crate) reserve: Money,
    /// The household's caps.
    pub(crate) budget_guard: Arc<BudgetGuard>,
    pub(crate) at: Timestamp,
}

/// Whether it may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BeginOutcome {
    /// Yes: it is on record.
    Call {
        id: i64,
        /// Which try it is, from 1.
        tries: i64,
    },
    /// Somebody was there before.
    Stale,
    /// There were enough in the last hour.
    HourIsFull,
    /// It does not fit a cap.
    Refused(CapExceeded),
}

impl BeginOutcome {
    /// Whether no other call may be made now either.
    pub(crate) fn holds_for_all(&self) -> bool {
        match self {
            Self::Call { .. } | Self::Stale => false,
            Self::HourIsFull => true,
            Self::Refused(refusal) => !matches!(refusal.cap.scope, CapScope::Person(_) | CapScope::Persona(_)),
        }
    }
}

impl BeginCall {
    pub(crate) async fn run(&self, tx: &mut Tx) -> Result<BeginOutcome, StoreError> {
        let hour = SignedDuration::from_hours(1);
        if memory_calls::within(tx, millis(self.at - hour)..millis(self.at + hour)).await? >= CALLS_PER_HOUR {
            return Ok(BeginOutcome::HourIsFull);
        }
        let Some(tries) = episodes::try_from(tx, self.episode, self.from).await? else {
            return Ok(BeginOutcome::Stale);
        };
        let persona = memory_calls::persona_of(tx, self.episode).await?;
        let call = NewMemoryCall {
            user: Some(self.user),
            persona: persona.as_deref(),
            purpose: "extraction",
            model: &self.model,
            estimate: signed(self.estimate),
            reserved: self.reserve.nanos(),
            at: millis(self.at),
        };
        match reserve_call(tx, &self.budget_guard, self.at, &call).await? {
            Ok(id) => Ok(BeginOutcome::Call { id, tries }),
            Err(refusal) => {
                episodes::uncount_try(tx, self.episode).await?;
                Ok(BeginOutcome::Refused(refusal))
            }
        }
    }
}

/// The tokens that a request is expected to be.
pub(crate) fn estimate(request: &Request) -> u64 {
    expected_tokens(tokens::estimate(&request.system, &request.tools, &request.messages))
}

/// What is set aside for it. A model without a known price has none.
pub(crate) fn reserve(table: &ModelTable, model: &str, request: &Request) -> Money {
    let reply = request.max_output_tokens.unwrap_or_default();
    table.facts(model).rates.map_or(Money::ZERO, |rates| price::most(estimate(request), reply, &rates))
}

/// Asks, for so long and no longer.
///
/// # Errors
/// As [`hob_model::provider::Provider::complete`] does, and when it takes too long.
pub(crate) async fn ask(models: &Catalog, label: &str, request: &Request) -> Result<Completion, ModelError> {
    let Some(provider) = models.get(label) else {
        return Err(ModelError::new(ErrorClass::UnknownModel, format!("{label} is no longer configured")));
    };
    match tokio::time::timeout(DEADLINE, provider.complete(request, &NoSink)).await {
        Ok(answer) => answer,
        Err(_elapsed) => {
            Err(ModelError::new(ErrorClass::Timeout, format!("{label} took longer than {} s", DEADLINE.as_secs())))
        }
    }
}

/// Whether the same may well be answered another time, without anything having changed in it.
pub(crate) fn is_transient(class: ErrorClass) -> bool {
    match class {
        ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::UnknownModel
        | ErrorClass::Timeout
        | ErrorClass::Network
        | ErrorClass::Server
        | ErrorClass::Resting => true,
        ErrorClass::ContextTooLong | ErrorClass::Refused | ErrorClass::BadRequest | ErrorClass::Malformed => false,
    }
}

pub(crate) fn answered_call_bill(
    table: &ModelTable,
    model: &str,
    request: &Request,
    completion: &Completion,
) -> CallEnd {
    let told = completion.usage;
    let written = || {
        let arguments: u64 = completion.calls().map(|call| tokens::count(&call.arguments)).sum();
        tokens::count(&completion.text()) + arguments
    };
    // A provider that does not tell has counted all the same.
    let usage = if told.input_tokens == 0 {
        Usage { input_tokens: estimate(request), output_tokens: told.output_tokens.max(written()), ..told }
    } else {
        told
    };
    CallEnd {
        state: "answered",
        input_tokens: signed(usage.input_tokens),
        output_tokens: signed(usage.output_tokens),
        cached_tokens: signed(usage.cached_tokens),
        cache_write_tokens: signed(usage.cache_write_tokens),
        reasoning_tokens: signed(usage.reasoning_tokens),
        cost: cost(table, model, &usage),
        ..CallEnd::default()
    }
}

/// The bill of a call that failed: it cost nothing, but where nobody listened to its end, or nobody understands the answer.
pub(crate) fn failed_call_bill(table: &ModelTable, model: &str, request: &Request, error: &ModelError) -> CallEnd {
    if matches!(error.class, ErrorClass::Timeout | ErrorClass::Malformed) {
        let error = Some(error.message.clone());
        return CallEnd { error, ..lost_call_bill(table.facts(model).rates.as_ref(), estimate(request)) };
    }
    let skipped = error.class == ErrorClass::Resting;
    CallEnd { state: "failed", skipped, error: Some(error.message.clone()), ..CallEnd::default() }
}

fn cost(table: &ModelTable, model: &str, usage: &Usage) -> Option<i64> {
    table.facts(model).rates.map(|rates| price::cost(usage, &rates).nanos())
}

/// Closes the calls that a process left open, and gives how many; to be run before there are others.
pub(crate) async fn close_lost(tx: &mut Tx, table: &ModelTable, at: Timestamp) -> Result<usize, StoreError> {
    let open = memory_calls::open(tx).await?;
    for call in &open {
        let rates = table.facts(&call.model).rates;
        let end = lost_call_bill(rates.as_ref(), call.estimate.unsigned_abs());
        memory_calls::end(tx, call.id, &end, millis(at)).await?;
    }
    Ok(open.len())
}
