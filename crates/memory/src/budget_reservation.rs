//! What a call on memory's behalf may cost is set aside before anybody is asked, and what it cost is made up when nobody hears
//! its end (row N10).
//!
//! Never: a call that is made without a row. Start at [`set_aside`].

use jiff::Timestamp;

use hob_core::domain::ids::UserId;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::policy::budget::MoneyAndTokens;
use hob_model::budget_guard::{BudgetGuard, CallReservation, CapExceeded, Spender};
use hob_model::message::Usage;
use hob_model::price::{self, Rates};
use hob_store::error::StoreError;
use hob_store::memory_calls::{self, NewMemoryCall};
use hob_store::model_calls::CallEnd;
use hob_store::{Tx, users};

/// What is expected beyond our own count of tokens: models count differently.
const MARGIN_PERCENT: u64 = 125;

/// The tokens that a server may count where we count so many.
pub(crate) fn expected_tokens(counted: u64) -> u64 {
    counted * MARGIN_PERCENT / 100
}

/// Puts a call on record, with what it may cost, unless a cap does not allow it: one transaction with whatever else begins.
pub(crate) async fn reserve_call(
    tx: &mut Tx,
    budget_guard: &BudgetGuard,
    at: Timestamp,
    call: &NewMemoryCall<'_>,
) -> Result<Result<i64, CapExceeded>, StoreError> {
    let (user, role) = match call.user {
        Some(user) => (user, users::role(tx, user).await?.unwrap_or(Role::Guest)),
        // Nobody's own caps hold for the house.
        None => (UserId(0), Role::Owner),
    };
    let spender = Spender { run: None, user, role, persona: call.persona };
    let tokens = call.estimate.unsigned_abs();
    let wanted = CallReservation { sum: MoneyAndTokens { usd: Money::from_nanos(call.reserved), tokens }, over: None };
    if let Some(refusal) = budget_guard.refuses(tx, spender, wanted, at).await? {
        return Ok(Err(refusal));
    }
    memory_calls::ask(tx, call).await.map(Ok)
}

/// The bill of a call whose end nobody heard: what it was expected to read.
pub(crate) fn lost_call_bill(rates: Option<&Rates>, tokens: u64) -> CallEnd {
    let usage = Usage { input_tokens: tokens, ..Usage::default() };
    let cost = rates.map(|rates| price::cost(&usage, rates).nanos());
    CallEnd { state: "lost", input_tokens: signed(tokens), cost, ..CallEnd::default() }
}

/// A count, as it is stored.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
