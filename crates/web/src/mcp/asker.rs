//! Where a client can talk with Hob.

use async_trait::async_trait;
use tokio::sync::mpsc;

use hob_core::domain::channel::IntakeError;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::Principal;
use hob_router::intake::Router;
use hob_store::error::StoreError;
use hob_store::{Tx, runs, sessions};

/// Why nothing was answered.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Hob stops; nothing is lost.
    #[error("Hob is stopping. The message is kept and will be answered after the next start.")]
    Stopping,
    /// Hob stops, and has taken nothing in.
    #[error("Hob is stopping and did not take the message: say it again after the next start.")]
    Closing,
    /// Nobody is let in.
    #[error("nobody is let in there")]
    NotTaken,
    /// It takes too long.
    #[error("Hob is still working on it. The answer will be in the conversation: {0}.")]
    StillAtWork(String),
    /// The message is not stored.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A place where a client talks with Hob.
#[async_trait]
pub trait Asker: Send + Sync {
    /// In whose name it does.
    async fn principal(&self) -> Result<Principal, StoreError>;

    /// The client's conversation of this name; none: its usual one.
    fn conversation(&self, name: Option<&str>) -> Conversation;

    /// Where a person finds it, in words.
    fn place_text(&self, conversation: &Conversation) -> String;

    /// Hands the client's words on, and gives all that Hob says until nothing more comes of them. What comes on the way goes to
    /// `told` as well, if anybody listens.
    async fn ask(
        &self,
        conversation: &Conversation,
        text: String,
        told: Option<mpsc::Sender<String>>,
    ) -> Result<String, AskError>;
}

/// Whether nothing that is said in a conversation would be answered now: it waits for a person, or for an agent.
pub(super) async fn is_waiting(router: &Router, conversation: &Conversation) -> Result<bool, StoreError> {
    let key = conversation.session_key().0;
    router.store.read(async |tx| stands_still(tx, &key).await).await
}

async fn stands_still(tx: &mut Tx, key: &str) -> Result<bool, StoreError> {
    let Some(session) = sessions::find_by_key(tx, key).await? else { return Ok(false) };
    let active = runs::find_active(tx, session.id).await?;
    Ok(active.is_some_and(|run| run.state == "waiting" && !run.signalled))
}
