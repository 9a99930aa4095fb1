//! What is done for a command once it is taken in: `/undo`, `/today`, `/login`. It takes a while, or must not be done twice.
//!
//! It is noted in the transaction that takes the command in, and gone in the one that says what came of it. Who was killed in between goes on
//! at the next start with what had begun; what had not is told, as whoever asked may have asked again or thought better of it since.
//! Start at [`Router::take_up_follow_ups`].

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agenda::{self, TodayRequest};
use crate::command_handlers::FollowUp;
use crate::intake::Router;
use crate::intake::transaction::FollowUpRequest;
use crate::texts;
use crate::triggered_runs::say;
use crate::undo::CommandOrigin;
use hob_core::domain::ids::{InboundId, SessionId, SessionKey};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::Principal;
use hob_store::error::StoreError;
use hob_store::follow_ups::OpenFollowUp;
use hob_store::{Tx, follow_ups};

/// How long is waited before a database is tried again that failed for the moment, and how often it is.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const TRIES_MAX: u32 = 5;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PendingAction {
    Undo,
    Today,
    /// What was pasted may be a secret: it is kept nowhere.
    LogIn {
        server: String,
    },
}

/// What is noted of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FollowUpRecord {
    action: PendingAction,
    principal: Principal,
    session: SessionKey,
    session_id: SessionId,
    place: Conversation,
}

/// Notes what is still to be done for a command. The config is read at each start anyway.
pub(super) async fn note(tx: &mut Tx, request: &FollowUpRequest, place: &Conversation) -> Result<(), StoreError> {
    let action = match &request.what {
        FollowUp::Reload => return Ok(()),
        FollowUp::Undo => PendingAction::Undo,
        FollowUp::Today => PendingAction::Today,
        FollowUp::LogIn(login) => PendingAction::LogIn { server: login.server.clone() },
    };
    let CommandOrigin { inbound, principal, session, id } = request.order.clone();
    let record = FollowUpRecord { action, principal, session, session_id: id, place: place.clone() };
    let record = serde_json::to_string(&record).map_err(|error| StoreError::Database(error.to_string()))?;
    follow_ups::add(tx, inbound, &record).await
}

/// Says what came of it: then it is done. Nothing, if it was done before.
pub(super) async fn conclude(
    tx: &mut Tx,
    inbound: InboundId,
    place: &Conversation,
    text: &str,
    now: Timestamp,
) -> Result<Option<SessionId>, StoreError> {
    if !follow_ups::remove(tx, inbound).await? {
        return Ok(None);
    }
    say(tx, place, &format!("follow-up:{inbound}"), text, now).await.map(Some)
}

impl Router {
    /// Goes on with what Hob was killed in. For the start, before anything else moves.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn take_up_follow_ups(&self) -> Result<(), StoreError> {
        for OpenFollowUp { inbound, request, draft } in self.store.read(follow_ups::list).await? {
            match serde_json::from_str::<FollowUpRecord>(&request) {
                Ok(record) => self.take_up(inbound, record, draft.is_some()).await,
                Err(error) => tracing::warn!(%inbound, %error, "what a command was to do cannot be read; it is left"),
            }
        }
        Ok(())
    }

    async fn take_up(&self, inbound: InboundId, record: FollowUpRecord, has_begun: bool) {
        let FollowUpRecord { action, principal, session, session_id, place } = record;
        tracing::info!(%inbound, ?action, has_begun, "command.goes_on");
        let config = self.config();
        let cut_off = match (action, config.services.agenda.clone()) {
            (PendingAction::Undo, _) if has_begun => {
                let order = CommandOrigin { inbound, principal, session, id: session_id };
                return self.undo(&config.services.drafts, order, place).await;
            }
            (PendingAction::Today, Some(agenda)) => {
                return self.tell_today(agenda, TodayRequest { inbound, principal }, place);
            }
            (PendingAction::Undo, _) => texts::UNDO_CUT_OFF.to_owned(),
            (PendingAction::Today, None) => agenda::NONE.to_owned(),
            (PendingAction::LogIn { server }, _) => texts::login_cut_off(&server),
        };
        persist(|| self.conclude(inbound, &place, cut_off.clone())).await;
    }

    /// Says what came of it.
    pub(super) async fn conclude(
        &self,
        inbound: InboundId,
        place: &Conversation,
        text: String,
    ) -> Result<(), StoreError> {
        let (place, now) = (place.clone(), self.clock.now());
        let said = async move |tx: &mut Tx| conclude(tx, inbound, &place, &text, now).await;
        if let Some(session) = self.store.write(said).await? {
            self.delivery.wake(session);
        }
        Ok(())
    }
}

/// Does it until the database takes it; where that lasts, the next start goes on with it. To do it twice is to do it once.
pub(super) async fn persist<F: Future<Output = Result<(), StoreError>>>(work: impl Fn() -> F) {
    let mut tries = 0;
    while let Err(error) = work().await {
        tries += 1;
        if !(error.is_passing() || matches!(error, StoreError::Unknown)) || tries == TRIES_MAX {
            tracing::warn!(%error, "what a command asked for is not done: the next start goes on with it");
            return;
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}
