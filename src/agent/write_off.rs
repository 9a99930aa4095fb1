//! The one thing that is done to a run without its machine: ending it when what it stands on is broken.
//!
//! Its journal or something that it refers to cannot be read, or its code panics even at its own end: then nothing can be
//! derived any more. The run is over, its sender is told, its lane goes on.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures::FutureExt;
use jiff::Timestamp;

use crate::agent::journal::{self, Folded, QueueChange, RunKey};
use crate::agent::machine::event::Accepted;
use crate::agent::machine::status::Status;
use crate::agent::machine::texts;
use crate::agent::projection::Row;
use crate::agent::projection::agents;
use crate::agent::projection::resolved::{self, Resolution};
use crate::agent::projection::write::{Target, write};
use crate::domain::ids::RunId;
use crate::domain::outgoing::Destination;
use crate::render::Form;
use crate::store::error::StoreError;
use crate::store::model_calls::CallEnd;
use crate::store::outbox::Part;
use crate::store::runs::{Reached, Waits};
use crate::store::{self, Statement, Tx, inbound, millis, model_calls, runs};

/// Ends a run whose record is damaged, and tells its sender. Gives where that is, if it is told there.
///
/// # Errors
/// When the database fails.
pub async fn write_off(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<Option<Destination>, StoreError> {
    tracing::error!(run = %key.run, "agent_run.written_off");
    let (state, ended_at) = (Status::Failed.as_str(), Some(millis(now)));
    let reached = Reached { state, ended_at, hash: None, waits: Waits::WithoutEnd };
    runs::set_state(tx, key.run, reached).await?;
    // What was set aside for a call that nobody awaits any more would count against the budgets for ever.
    let lost = CallEnd { state: "lost", ..CallEnd::default() };
    model_calls::end(tx, key.run, &lost, millis(now)).await?;
    let destination = match journal::first(tx, key.run).await? {
        Some(accepted) => Some(accepted.destination),
        None => place_of(tx, key.run).await?,
    };
    let Some(destination) = destination else {
        return Ok(None);
    };
    let home = store::agents::home(tx, key.run).await?.unwrap_or(key.session);
    let target = Target { key, home, destination: &destination, at: now };
    let unheard = agents::take_unheard(tx, key.run).await?;
    agents::tell_unheard(tx, &target, &unheard).await?;
    if agents::lost(tx, &target).await? {
        // Who waits for it will tell.
        return Ok(None);
    }
    // Whoever presses now is told that it is too late; the buttons need not be there any more.
    resolved::write(tx, &target, (None, Resolution::Moot)).await?;
    let (text, choices) = (texts::UNREADABLE.to_owned(), Vec::new());
    let told = Row::Say { seq: 0, text, form: Form::Plain, choices, part: Part::Reply };
    write(tx, &target, &[told]).await?;
    Ok(Some(destination))
}

/// Where the message was said: enough to tell its sender when the journal says nothing at all.
async fn place_of(tx: &mut Tx, run: RunId) -> Result<Option<Destination>, StoreError> {
    let place = inbound::place_of_run(tx, run).await?;
    Ok(place.map(|conversation| Destination { conversation, reply_to: None }))
}

/// A run's fold; none if its journal cannot be read, or breaks the code that folds it: then the run is over.
///
/// # Errors
/// When the database fails.
pub async fn load_or_write_off(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<Option<Folded>, StoreError> {
    match AssertUnwindSafe(journal::load(tx, key.run)).catch_unwind().await {
        Ok(Ok(folded)) => return Ok(Some(folded)),
        Ok(Err(error @ StoreError::Inconsistent { .. })) => {
            tracing::error!(run = %key.run, %error, "the run's journal cannot be read");
        }
        Ok(Err(error)) => return Err(error),
        Err(_panic) => tracing::error!(run = %key.run, "folding the run's journal panicked"),
    }
    write_off(tx, key, now).await?;
    Ok(None)
}

/// Changes a run that waits for the lane, as [`journal::change_queued`]; one that cannot be read is over.
///
/// # Errors
/// When the database fails.
pub async fn change_queued(
    tx: &mut Tx,
    key: &RunKey,
    change: QueueChange,
    now: Timestamp,
) -> Result<Option<Accepted>, StoreError> {
    match journal::change_queued(tx, key.run, change, now).await {
        Err(StoreError::Inconsistent { .. }) => {
            write_off(tx, key, now).await?;
            Ok(None)
        }
        other => other,
    }
}

/// Ends a run that could not be driven: something that it refers to is damaged, or its code panicked at its own end.
pub struct WriteOff {
    /// Run and session.
    pub key: RunKey,
    /// When.
    pub now: Timestamp,
}

#[async_trait]
impl Statement for WriteOff {
    type Output = Option<Destination>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Destination>, StoreError> {
        write_off(tx, &self.key, self.now).await
    }
}
