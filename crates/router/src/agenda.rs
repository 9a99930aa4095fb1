//! `/today`: what is on, by the calendars of whoever asks. No model is asked.
//!
//! Never: a look at a calendar while the writer is held; it is looked at before the command is taken in.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::command::{self, Command};
use hob_core::domain::inbound::{Inbound, InboundEvent, SenderProof};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::render::clean::clean;
use hob_store::error::StoreError;
use hob_store::{Store, users};

/// So long a command waits for calendars.
const WITHIN: Duration = Duration::from_secs(10);
/// What is said where nobody's calendar is known.
pub(super) const NONE: &str = "I know no calendar of yours. Whoever owns me can set one up: docs/calendar.md.";
const LATE: &str = "Your calendar's server does not answer. Try again later.";

/// Who knows what is on.
#[async_trait]
pub trait Agenda: Send + Sync {
    /// What is on today for somebody; none: no calendar of theirs is known.
    async fn today(&self, reader: &Principal, now: Timestamp) -> Result<Option<String>, StoreError>;
}

/// Does the message ask for it?
pub(super) fn is_asked_for(inbound: &Inbound) -> bool {
    let InboundEvent::Posted { text } = &inbound.happening else { return false };
    command::parse(clean(text).trim()) == Some(Command::Today)
}

/// What is on for whoever asks for it; none: nobody does, or no calendar of theirs is known.
pub(super) async fn prefetch(
    agenda: &dyn Agenda,
    store: &Store,
    inbound: &Inbound,
    role: Role,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    if !is_asked_for(inbound) {
        return Ok(None);
    }
    let (place, id) = (&inbound.conversation, &inbound.sender.external_id);
    let Some(user) = store.read(async |tx| users::find(tx, place, id).await).await? else { return Ok(None) };
    let trust = match inbound.proof {
        SenderProof::Platform => Trust::Trusted,
        SenderProof::Nobody { .. } => Trust::Untrusted,
    };
    let reader = Principal { user, name: inbound.sender.name.clone(), role, trust };
    match tokio::time::timeout(WITHIN, agenda.today(&reader, now)).await {
        Ok(found) => found,
        Err(_elapsed) => Ok(Some(LATE.to_owned())),
    }
}
