//! What vectors from a server take: set aside before it is asked, and billed by what it says it read (rows C2, N10).
//!
//! Never: a row for what costs nothing. What nobody knows the price of counts by its tokens. Whose bill it is, says [`Bill`].
//! Start at `Account::begin`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::budget_reservation::{expected_tokens, lost_call_bill, reserve_call, signed};
use crate::embedding::Bill;
use crate::embedding::error::EmbedError;
use hob_core::domain::clock::Clock;
use hob_core::domain::money::Money;
use hob_model::budget_guard::{BudgetGuard, CapExceeded};
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::Usage;
use hob_model::model_table::ModelTable;
use hob_model::price::{self, Rates};
use hob_store::error::StoreError;
use hob_store::memory_calls::{self, NewMemoryCall};
use hob_store::model_calls::CallEnd;
use hob_store::{Store, Tx, millis};

/// Where it is written down who pays, and within which caps.
#[derive(Clone)]
pub struct Account {
    /// Where calls are recorded.
    pub store: Store,
    /// What models cost.
    pub table: Arc<ModelTable>,
    /// The household's caps.
    pub budget_guard: Arc<BudgetGuard>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// A call on record that is under way.
pub(super) struct OpenCall {
    id: i64,
    tokens: u64,
    /// None: nobody knows.
    rates: Option<Rates>,
}

/// What came of a call.
pub(super) enum CallOutcome {
    /// The server read so many tokens, as far as it tells.
    Read(Option<u64>),
    /// It refused, which costs nothing.
    Refused,
    /// It may have worked for an answer that nobody heard or understood.
    Unheard,
}

impl CallOutcome {
    /// What a failure costs.
    pub(super) fn of(error: &ModelError) -> Self {
        match error.class {
            ErrorClass::Timeout | ErrorClass::Malformed => Self::Unheard,
            ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Network
            | ErrorClass::Server
            | ErrorClass::Resting
            | ErrorClass::Auth
            | ErrorClass::Billing
            | ErrorClass::UnknownModel
            | ErrorClass::BadRequest
            | ErrorClass::ContextTooLong
            | ErrorClass::Refused => Self::Refused,
        }
    }
}

impl Account {
    /// Sets aside what vectors for so many tokens may take; none: it is nothing.
    ///
    /// # Errors
    /// When a cap does not allow it, or the database fails.
    pub(super) async fn begin(&self, bill: &Bill, label: &str, tokens: u64) -> Result<Option<OpenCall>, EmbedError> {
        let rates = self.table.facts(label).rates;
        if rates == Some(Rates::FREE) {
            return Ok(None);
        }
        let tokens = expected_tokens(tokens);
        let begin = BeginEmbeddingCall {
            bill: bill.clone(),
            label: label.to_owned(),
            tokens,
            reserve: rates.map(|rates| price::most(tokens, 0, &rates)).unwrap_or_default(),
            budget_guard: Arc::clone(&self.budget_guard),
            at: self.clock.now(),
        };
        match self.store.write(async move |tx| begin.run(tx).await).await {
            Ok(Ok(id)) => Ok(Some(OpenCall { id, tokens, rates })),
            Ok(Err(CapExceeded { cap, resets, .. })) => {
                let until = resets.map(|at| format!(" until {at}")).unwrap_or_default();
                let what =
                    format!("The budget of {} for {} is used up{until}: no vectors are bought.", cap.most, cap.words);
                Err(EmbedError::Transient { what, retry_after: None })
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Records what came of it.
    pub(super) async fn end(&self, call: OpenCall, outcome: CallOutcome) {
        let end = match outcome {
            CallOutcome::Read(told) => {
                let usage = Usage { input_tokens: told.unwrap_or(call.tokens), ..Usage::default() };
                CallEnd {
                    state: "answered",
                    input_tokens: signed(usage.input_tokens),
                    cost: call.rates.map(|rates| price::cost(&usage, &rates).nanos()),
                    ..CallEnd::default()
                }
            }
            CallOutcome::Refused => CallEnd { state: "failed", ..CallEnd::default() },
            CallOutcome::Unheard => lost_call_bill(call.rates.as_ref(), call.tokens),
        };
        let id = call.id;
        let at = self.clock.now();
        if let Err(error) = self.store.write(async move |tx| memory_calls::end(tx, id, &end, millis(at)).await).await {
            // It stays set aside, and counts as lost at the next start.
            tracing::warn!(%error, "what vectors cost could not be stored");
        }
    }
}

/// Sets the money aside, in one transaction with the look whether the caps allow it.
#[derive(Clone)]
struct BeginEmbeddingCall {
    bill: Bill,
    label: String,
    tokens: u64,
    reserve: Money,
    budget_guard: Arc<BudgetGuard>,
    at: Timestamp,
}

impl BeginEmbeddingCall {
    /// The call on record, or the cap that it does not fit.
    async fn run(&self, tx: &mut Tx) -> Result<Result<i64, CapExceeded>, StoreError> {
        let (user, persona) = match &self.bill {
            Bill::House => (None, None),
            Bill::Said(user) => (Some(*user), None),
            Bill::Asked { user, persona } => (Some(*user), persona.as_deref()),
        };
        let guard = match self.bill {
            Bill::House | Bill::Said(_) => &self.budget_guard.of_house(),
            Bill::Asked { .. } => &*self.budget_guard,
        };
        let call = NewMemoryCall {
            user,
            persona,
            purpose: "embedding",
            model: &self.label,
            estimate: signed(self.tokens),
            reserved: self.reserve.nanos(),
            at: millis(self.at),
        };
        reserve_call(tx, guard, self.at, &call).await
    }
}

fn failed(error: &StoreError) -> EmbedError {
    EmbedError::Transient { what: format!("The database failed: {error}"), retry_after: None }
}
