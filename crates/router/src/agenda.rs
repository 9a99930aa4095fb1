//! `/today`: what is on, by the calendars of whoever asks. No model is asked.
//!
//! Never: a look at a calendar while the writer is held; it is looked at before the command is taken in.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::command::{self, Command};
use crate::voice::LinkedIdentity;
use hob_core::domain::inbound::{Inbound, InboundEvent, SenderProof};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::render::clean::clean;
use hob_store::error::StoreError;
use hob_store::users::Identity;
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

/// Who asks.
pub(super) struct Asker<'a> {
    /// What they wrote.
    pub(super) inbound: &'a Inbound,
    /// What they may.
    pub(super) role: Role,
    /// By what else the same person is known.
    pub(super) others: &'a [LinkedIdentity],
}

impl Asker<'_> {
    /// Whoever asks with their first words becomes known by it.
    async fn principal(&self, store: &Store, now: Timestamp) -> Result<Principal, StoreError> {
        let Self { inbound, role, others } = *self;
        let (place, sender) = (inbound.conversation.clone(), inbound.sender.clone());
        let known = store.read(async |tx| users::find(tx, &inbound.conversation, &sender.external_id).await).await?;
        let user = match known {
            Some(user) => user,
            None => {
                let (sender, others) = (sender.clone(), others.to_vec());
                store
                    .write(async move |tx| {
                        let (account, external_id, name) = (&place.account, &sender.external_id, &sender.name);
                        let others = others.clone();
                        let identity = Identity { channel: place.channel, account, external_id, name, role, others };
                        users::ensure(tx, &identity, now).await
                    })
                    .await?
            }
        };
        let trust = match inbound.circumstances.proof {
            SenderProof::Platform => Trust::Trusted,
            SenderProof::Nobody { .. } => Trust::Untrusted,
        };
        Ok(Principal { user, name: sender.name, role, trust })
    }
}

/// What is on for whoever asks for it; none: nobody does, or no calendar of theirs is known.
pub(super) async fn prefetch(
    agenda: &dyn Agenda,
    store: &Store,
    asker: &Asker<'_>,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    if !is_asked_for(asker.inbound) {
        return Ok(None);
    }
    let reader = asker.principal(store, now).await?;
    match tokio::time::timeout(WITHIN, agenda.today(&reader, now)).await {
        Ok(found) => found,
        Err(_elapsed) => Ok(Some(LATE.to_owned())),
    }
}
