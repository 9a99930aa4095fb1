//! What people decide about a run that failed for good: it goes on from its journal, its message is put again, or it is let be
//! (row B12).
//!
//! Each failure is settled once: the claim of the message that this is, in the run's conversation, is the only record of it.
//! Start at `settle`.

use std::sync::Arc;

use jiff::Timestamp;

use crate::texts;
use hob_agent::handover::{self, HandoverNotes};
use hob_agent::journal::{self, RunKey};
use hob_agent::machine::accepted_input::{AcceptedInput, RunKind};
use hob_agent::machine::status::Status;
use hob_agent::projection::failure::{AfterFailure, FailurePress};
use hob_agent::projection::resolved_questions::{self, Resolution};
use hob_agent::projection::write::RunRowTarget;
use hob_core::domain::ids::{InboundId, RunId, SessionId};
use hob_core::domain::principal::{Principal, Role};
use hob_core::policy::access::AccessList;
use hob_store::error::StoreError;
use hob_store::inbound::NewInbound;
use hob_store::runs::queries::RunRow;
use hob_store::{Tx, inbound, members, outbox, runs, sessions, users};

/// Who decides, and when.
pub(super) struct DecisionContext<'a> {
    pub(super) by: &'a Principal,
    /// Who is let in now.
    pub(super) access: &'a Arc<AccessList>,
    pub(super) now: Timestamp,
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettleOutcome {
    /// It is done: in this conversation there is something to do or to say.
    Done(SessionId),
    /// It is not, as these words say.
    Refused(&'static str),
}

/// By what the decision about a run's failure is claimed.
fn claim_key(run: RunId) -> String {
    format!("failed:{run}")
}

/// Carries out what somebody decided about a failed run.
pub(super) async fn settle(
    tx: &mut Tx,
    decider: &DecisionContext<'_>,
    FailurePress { run, choice }: FailurePress,
) -> Result<SettleOutcome, StoreError> {
    let row = runs::queries::lookup(tx, run).await?.filter(|row| row.state == Status::Failed.as_str());
    let failed = match &row {
        Some(_) => journal::load_accepted(tx, run).await?,
        None => None,
    };
    let Some((row, failed)) =
        row.zip(failed.filter(|failed| failed.order == RunKind::Answer && failed.agent.is_none()))
    else {
        return Ok(SettleOutcome::Refused(texts::FAILURE_SETTLED));
    };
    let known = users::role(tx, failed.principal.user).await?.unwrap_or(Role::Owner);
    if !decider.by.may_act_for(failed.principal.user, known) {
        return Ok(SettleOutcome::Refused(texts::NOT_YOURS));
    }
    let Some(principal) = requester(tx, decider, &failed).await? else {
        return Ok(SettleOutcome::Refused(texts::FAILED_STRANGER));
    };
    let begins = match choice {
        AfterFailure::Resume => Some(texts::go_on(&failed.text)),
        AfterFailure::TryAgain => Some(failed.text.clone()),
        AfterFailure::LetBe => None,
    };
    let new = NewInbound {
        session: row.session,
        user: principal.user,
        conversation: &failed.destination.conversation,
        external_id: &claim_key(run),
        text: begins.as_deref().unwrap_or(choice.label()),
        importance: 0.0,
        envelope: None,
        spoken: false,
        disposition: if begins.is_some() { "run" } else { "command" },
        sent_at: decider.now,
        received_at: decider.now,
    };
    let Some(inbound) = inbound::claim(tx, &new).await? else {
        return Ok(SettleOutcome::Refused(texts::FAILURE_SETTLED));
    };
    let kept = handover::load_handover(tx, row.session).await?.filter(|kept| kept.run == run);
    if choice == AfterFailure::Resume {
        hand_on(tx, &row, kept, inbound).await?;
    } else if kept.is_some() {
        sessions::clear_run_journal(tx, row.session).await?;
    }
    let destination = failed.destination.clone();
    if let Some(text) = begins {
        let accepted = AcceptedInput { inbound, principal, text, ..failed };
        let begun = journal::open(tx, row.session, accepted, None, decider.now).await?;
        tracing::info!(%run, %begun, choice = choice.said(), "agent_run.failure_settled");
    }
    let key = RunKey { run, session: row.session };
    let target = RunRowTarget { key: &key, home: row.session, destination: &destination, at: decider.now };
    let outcome = Resolution::Settled { by: decider.by.user, choice };
    resolved_questions::write(tx, &target, Some(outbox::FAILURE_QUESTION), outcome).await?;
    Ok(SettleOutcome::Done(row.session))
}

/// Leaves what a failed run noted to the run of this message: what is kept of it, or, where other notes took its place, what its
/// journal says.
async fn hand_on(tx: &mut Tx, row: &RunRow, kept: Option<HandoverNotes>, inbound: InboundId) -> Result<(), StoreError> {
    let notes = match kept {
        Some(kept) => Some(kept),
        None => match journal::load(tx, row.id).await {
            Ok(folded) => folded.replay.state.active().and_then(|active| HandoverNotes::of(row.id, active, None)),
            Err(error @ StoreError::Inconsistent { .. }) => {
                tracing::warn!(run = %row.id, %error, "what the run noted cannot be read; it goes on without");
                None
            }
            Err(error) => return Err(error),
        },
    };
    let (Some(notes), Some(session)) = (notes, sessions::lookup(tx, row.session).await?) else { return Ok(()) };
    let notes = HandoverNotes { only: Some(inbound), ..notes };
    notes.keep(tx, row.session, session.last_ordinal).await
}

/// In whose name a failed run goes on, with what they may do now; none: they are not let in any more.
async fn requester(
    tx: &mut Tx,
    decider: &DecisionContext<'_>,
    failed: &AcceptedInput,
) -> Result<Option<Principal>, StoreError> {
    if decider.by.user == failed.principal.user {
        return Ok(Some(decider.by.clone()));
    }
    let (place, user) = (&failed.destination.conversation, failed.principal.user);
    let roles = members::roles_of_user(tx, decider.access, place, user).await?;
    let role = roles.into_iter().flatten().max();
    Ok(role.map(|role| Principal { role, ..failed.principal.clone() }))
}

/// Has nobody settled this run's failure?
pub async fn is_open(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let Some(failed) = journal::load_accepted(tx, run).await? else { return Ok(false) };
    Ok(!inbound::is_claimed(tx, &failed.destination.conversation, &claim_key(run)).await?)
}

/// The failure that a conversation ended with, if it was put before people there and nobody has settled it.
pub(super) async fn open_failure(tx: &mut Tx, session: SessionId) -> Result<Option<RunId>, StoreError> {
    let Some(run) = runs::queries::failed_last(tx, session).await? else { return Ok(None) };
    let shown = outbox::queries::questions(tx, run, Some(outbox::FAILURE_QUESTION)).await?;
    let Some(shown) = shown.first() else { return Ok(None) };
    let settled = inbound::is_claimed(tx, &shown.destination.conversation, &claim_key(run)).await?;
    Ok(Some(run).filter(|_| !settled))
}
