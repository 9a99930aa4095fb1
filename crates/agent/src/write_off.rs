//! The one thing that is done to a run without its machine: putting it aside when what it stands on cannot be read.
//!
//! Its journal or something that it refers to cannot be read, or its code panics even at its own end: then this Hob can derive
//! nothing any more. Another edition perhaps can, so nothing of it is ended: it is parked, its sender is told, its lane goes
//! on. Each start tries again ([`take_up`]); a person's word alone writes it off.
//! Start at [`park`].

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use jiff::Timestamp;

use crate::journal::{self, FoldedRun, QueueChange, RunKey};
use crate::machine::accepted_input::AcceptedInput;
use crate::machine::status::Status;
use crate::machine::texts;
use crate::projection::agents;
use crate::projection::resolved_questions::{self, Resolution};
use crate::projection::write::{OutgoingText, RunRowTarget, say};
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Destination;
use hob_store::error::StoreError;
use hob_store::model_calls::CallEnd;
use hob_store::runs::{QuestionDeadline, ReachedState};
use hob_store::{Store, Tx, inbound, millis, model_calls, parked, runs};

/// Puts a run aside that this Hob cannot go on with, and tells its sender, once. Gives where that is.
pub async fn park(tx: &mut Tx, key: &RunKey, why: &str, now: Timestamp) -> Result<Option<Destination>, StoreError> {
    let written_by = parked::put_aside(tx, key.run, why).await?.unwrap_or_default();
    tracing::error!(run = %key.run, why, written_by, edition = %*journal::EDITION, "agent_run.parked");
    settle_lost_call(tx, key.run, now).await?;
    let destination = destination(tx, key.run).await?;
    if let Some(destination) = &destination {
        let home = hob_store::agents::home(tx, key.run).await?.unwrap_or(key.session);
        let target = RunRowTarget { key, home, destination, at: now };
        say(tx, &target, &format!("run:{}:parked", key.run), OutgoingText::note(texts::PARKED)).await?;
    }
    Ok(destination)
}

/// Ends a run that was put aside, because somebody said so.
pub async fn write_off(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<(), StoreError> {
    tracing::info!(run = %key.run, "agent_run.written_off");
    let (state, ended_at) = (Status::Failed.as_str(), Some(millis(now)));
    let reached = ReachedState { state, ended_at, hash: None, waits: QuestionDeadline::WithoutEnd, edition: None };
    runs::set_state(tx, key.run, reached).await?;
    settle_lost_call(tx, key.run, now).await?;
    let Some(destination) = destination(tx, key.run).await? else {
        return Ok(());
    };
    let home = hob_store::agents::home(tx, key.run).await?.unwrap_or(key.session);
    let target = RunRowTarget { key, home, destination: &destination, at: now };
    let unheard = agents::take_unheard(tx, key.run).await?;
    agents::tell_unheard(tx, &target, &unheard).await?;
    // Who waits for it is told, and tells.
    if !agents::report_lost_run(tx, &target).await? {
        // Whoever presses now is told that it is too late; the buttons need not be there any more.
        resolved_questions::write(tx, &target, None, Resolution::Moot).await?;
    }
    Ok(())
}

/// What was set aside for a call that nobody awaits any more would count against the budgets for ever.
async fn settle_lost_call(tx: &mut Tx, run: RunId, now: Timestamp) -> Result<(), StoreError> {
    let lost = CallEnd { state: "lost", ..CallEnd::default() };
    model_calls::end(tx, run, &lost, millis(now)).await?;
    Ok(())
}

/// Where its message was said: the inbox knows, should the journal say nothing at all.
async fn destination(tx: &mut Tx, run: RunId) -> Result<Option<Destination>, StoreError> {
    if let Some(accepted) = journal::load_accepted(tx, run).await? {
        return Ok(Some(accepted.destination));
    }
    let place = inbound::place_of_run(tx, run).await?;
    Ok(place.map(|conversation| Destination { conversation, reply_to: None }))
}

/// A run's fold, or why there is none: its journal cannot be read, or breaks the code that folds it.
pub async fn fold(tx: &mut Tx, run: RunId) -> Result<Result<FoldedRun, String>, StoreError> {
    match AssertUnwindSafe(journal::load(tx, run)).catch_unwind().await {
        Ok(Ok(folded)) => Ok(Ok(folded)),
        Ok(Err(error @ StoreError::Inconsistent { .. })) => Ok(Err(error.to_string())),
        Ok(Err(error)) => Err(error),
        Err(_panic) => Ok(Err("folding its journal panicked".to_owned())),
    }
}

/// A run's fold; none if there is none here: then the run is put aside.
pub async fn load_or_park(tx: &mut Tx, key: &RunKey, now: Timestamp) -> Result<Option<FoldedRun>, StoreError> {
    match fold(tx, key.run).await? {
        Ok(folded) => Ok(Some(folded)),
        Err(why) => {
            park(tx, key, &why, now).await?;
            Ok(None)
        }
    }
}

/// Changes a run that waits for the lane, as [`journal::change_queued`]; one that cannot be read is put aside.
pub async fn change_queued(
    tx: &mut Tx,
    key: &RunKey,
    change: QueueChange,
    now: Timestamp,
) -> Result<Option<AcceptedInput>, StoreError> {
    match journal::change_queued(tx, key.run, change, now).await {
        Err(error @ StoreError::Inconsistent { .. }) => {
            park(tx, key, &error.to_string(), now).await?;
            Ok(None)
        }
        other => other,
    }
}

/// Gives those runs back to their lanes that were put aside and can be read now: at a start, which may be another edition's.
/// Gives how many.
pub async fn take_up(store: &Store) -> Result<usize, StoreError> {
    let readable = store.read(readable).await?;
    for (run, waits) in readable.iter().copied() {
        store.write(async move |tx| parked::take_up(tx, run, waits).await).await?;
        tracing::info!(%run, "agent_run.taken_up: it was put aside, and can be read now");
    }
    Ok(readable.len())
}

/// The runs that were put aside and can be folded here, and whether they wait for somebody.
async fn readable(tx: &mut Tx) -> Result<Vec<(RunId, bool)>, StoreError> {
    let mut readable = Vec::new();
    for parked in parked::list(tx, None).await? {
        if let Ok(folded) = fold(tx, parked.run).await? {
            let waits = folded.replay.mismatch().is_none() && folded.replay.state.status() == Status::Waiting;
            readable.push((parked.run, waits));
        }
    }
    Ok(readable)
}
