//! What a run that did not come to its end leaves to the next one of the same person (row B12).
//!
//! Never: a decision about a run. It follows from the run's end, in the same transaction.

use serde::{Deserialize, Serialize};

use crate::journal::RunKey;
use crate::machine::accepted_input::{AcceptedInput, RunKind};
use crate::machine::event::RunEnd;
use crate::machine::notebook::Notebook;
use crate::machine::state::ActiveState;
use hob_core::domain::ids::{InboundId, RunId, SessionId, UserId};
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::{Tx, sessions};

/// The notes of a run that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoverNotes {
    /// Whose run it was: only theirs goes on with it.
    pub user: UserId,
    pub run: RunId,
    /// Its notes.
    pub notebook: Notebook,
    /// What the run had read that nobody vouches for (row N6).
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// The run of this message alone goes on with them. Of a run that failed it is its own, which is over: what becomes of them
    /// is for people to say. None: their next run does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<InboundId>,
}

impl HandoverNotes {
    /// What a run has noted by now; none: nothing.
    pub fn of(run: RunId, active: &ActiveState, only: Option<InboundId>) -> Option<Self> {
        let user = active.input.principal.user;
        let (notebook, taint) = (active.notebook.clone(), active.taint.clone());
        (!notebook.is_empty()).then_some(Self { user, run, notebook, taint, only })
    }

    /// Does this run go on with them?
    fn is_for(&self, user: UserId, inbound: InboundId) -> bool {
        self.user == user && self.only.is_none_or(|only| only == inbound)
    }

    /// Keeps them in a session, by a run that knew the conversation up to this ordinal.
    pub async fn keep(&self, tx: &mut Tx, session: SessionId, through: i64) -> Result<(), StoreError> {
        let stored = serde_json::to_string(self).map_err(|error| StoreError::Database(error.to_string()))?;
        sessions::set_run_journal(tx, session, &stored, through).await
    }
}

/// What a run's end does to what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoverChange {
    /// It is kept, by a run that knew the conversation up to this ordinal.
    Keep(Box<HandoverNotes>, i64),
    /// It is done with, if it was for this message of this person's.
    Clear(UserId, InboundId),
}

impl HandoverChange {
    /// What `end` does; none: what is kept stays.
    pub fn at_end(key: &RunKey, run: &ActiveState, end: &RunEnd) -> Option<Self> {
        // Who begins with notes has some at the end: nothing takes the last of them away.
        if run.input.order != RunKind::Answer || run.input.agent.is_some() || run.notebook.is_empty() {
            return None;
        }
        if *end == RunEnd::Completed && run.last_turn.is_none() {
            return Some(Self::Clear(run.input.principal.user, run.input.inbound));
        }
        let only = matches!(end, RunEnd::Failed { .. }).then_some(run.input.inbound);
        let kept = HandoverNotes::of(key.run, run, only)?;
        Some(Self::Keep(Box::new(kept), run.context.history_through))
    }

    pub(super) async fn write(&self, tx: &mut Tx, session: SessionId) -> Result<(), StoreError> {
        match self {
            Self::Keep(handover, through) => handover.keep(tx, session, *through).await,
            Self::Clear(user, inbound) => match load_handover(tx, session).await? {
                Some(kept) if kept.is_for(*user, *inbound) => sessions::clear_run_journal(tx, session).await,
                Some(_) | None => Ok(()),
            },
        }
    }
}

/// What is kept in a session.
pub async fn load_handover(tx: &mut Tx, session: SessionId) -> Result<Option<HandoverNotes>, StoreError> {
    let stored = sessions::run_journal(tx, session).await?;
    Ok(stored.and_then(|stored| read(session, &stored)))
}

fn read(session: SessionId, stored: &str) -> Option<HandoverNotes> {
    match serde_json::from_str(stored) {
        Ok(handover) => Some(handover),
        Err(error) => {
            // Damaged notes cost themselves, not the conversation.
            tracing::error!(%session, line = error.line(), "a run journal cannot be read; left out");
            None
        }
    }
}

/// What a run that is about to begin goes on with, of what its session has stored.
pub(super) fn handover_for_run(
    session: SessionId,
    stored: Option<&str>,
    accepted: &AcceptedInput,
) -> Option<HandoverNotes> {
    let stored = stored.filter(|_| accepted.order == RunKind::Answer)?;
    read(session, stored).filter(|kept| kept.is_for(accepted.principal.user, accepted.inbound))
}
