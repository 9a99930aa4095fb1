//! Programs with a key talk with Hob in conversations of their own, which the page shows.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::app_state::AppState;
use crate::chat::channel::conversation;
use crate::chat::intake::{NAME, OWNER};
use crate::compat::follower::{FollowEvent, MessageFollower};
use crate::compat::target::RequestTarget;
use crate::mcp::asker::{AskError, Asker};
use crate::owner;
use hob_core::domain::channel::{Intake as _, UpdateOutcome};
use hob_core::domain::inbound::{Conversation, Inbound, InboundEvent, MessageMetadata, Sender};
use hob_core::domain::principal::Principal;
use hob_store::error::StoreError;

/// The longest that a client is told nothing but that Hob is at work.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30 * 60);

/// A program that has shown this key.
pub(super) struct PageAsker {
    pub(super) app: Arc<AppState>,
    pub(super) key: i64,
}

impl PageAsker {
    async fn follow(
        &self,
        following: &mut MessageFollower,
        told: Option<mpsc::Sender<String>>,
    ) -> Result<String, AskError> {
        let mut words = String::new();
        loop {
            match following.next().await? {
                FollowEvent::More(more) => {
                    words.push_str(&more);
                    // Who does not keep up hears all of it at the end.
                    if let Some(Err(error)) = told.as_ref().map(|told| told.try_send(more)) {
                        tracing::trace!(%error, "a client was not told");
                    }
                }
                FollowEvent::Over(_) => return Ok(words),
                FollowEvent::Stopping => return Err(AskError::Stopping),
            }
        }
    }
}

#[async_trait]
impl Asker for PageAsker {
    async fn principal(&self) -> Result<Principal, StoreError> {
        owner::principal(&self.app.router).await
    }

    fn conversation(&self, name: Option<&str>) -> Conversation {
        let own = format!("mcp-{}", self.key);
        conversation(&name.map_or_else(|| own.clone(), |name| format!("{own}-{name}")))
    }

    fn place_text(&self, conversation: &Conversation) -> String {
        format!("on Hob's page, at /chat/{}", conversation.chat)
    }

    async fn ask(
        &self,
        conversation: &Conversation,
        text: String,
        told: Option<mpsc::Sender<String>>,
    ) -> Result<String, AskError> {
        let router = &self.app.router;
        let external_id = format!("mcp-{}", router.config().services.rng.id());
        let target = RequestTarget { chat: conversation.chat.clone(), external_id: external_id.clone() };
        let mut following = MessageFollower::begin(&self.app, target, told.is_some(), String::new());
        let inbound = Inbound {
            conversation: conversation.clone(),
            external_id,
            sender: Sender { external_id: OWNER.to_owned(), name: NAME.to_owned() },
            happening: InboundEvent::Posted { text },
            sent_at: router.clock.now(),
            attachments: Vec::new(),
            metadata: MessageMetadata { by_program: true, ..MessageMetadata::default() },
        };
        if router.accept(inbound).await? == UpdateOutcome::Ignored {
            return Err(AskError::NotTaken);
        }
        self.app.page.changed(&conversation.chat);
        match tokio::time::timeout(ANSWERED_WITHIN, self.follow(&mut following, told)).await {
            Ok(answered) => answered,
            Err(_elapsed) => Err(AskError::StillAtWork(self.place_text(conversation))),
        }
    }
}
