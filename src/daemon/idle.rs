//! When a conversation has come to rest: nothing is due in its lane, and nothing is to be said.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use hob_core::domain::ids::SessionId;
use hob_core::domain::inbound::Conversation;
use hob_store::agents::OpenAgent;
use hob_store::error::StoreError;
use hob_store::{Store, Tx, agents, emergency_stop, outbox, parked, runs, sessions};

/// Watches conversations come to rest.
#[derive(Clone)]
pub struct IdleWatcher {
    store: Store,
    idle: Arc<Notify>,
}

impl IdleWatcher {
    pub(super) fn new(store: Store, idle: Arc<Notify>) -> Self {
        Self { store, idle }
    }

    /// Resolves when the conversation has no run queued or at work and nothing to be said; a run that waits for a
    /// person is at rest, and so is what waits while the conversation or the house is paused; one that waits for its agents is
    /// not, as long as one of them is at work.
    pub async fn at_rest(&self, conversation: &Conversation) {
        let key = conversation.session_key().0;
        loop {
            let mut rested = std::pin::pin!(self.idle.notified());
            rested.as_mut().enable();
            match self.store.look(async |tx| is_at_rest_now(tx, &key).await).await {
                Ok(true) => return,
                Ok(false) => rested.await,
                Err(error) => {
                    tracing::warn!(%error, "whether the conversation is at rest cannot be told");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    /// Whether it is at rest at this moment, as far as can be told.
    pub(super) async fn is_at_rest(&self, conversation: &Conversation) -> bool {
        let key = conversation.session_key().0;
        let looked = self.store.look(async |tx| is_at_rest_now(tx, &key).await).await;
        looked
            .inspect_err(|error| tracing::warn!(%error, "whether the conversation is at rest cannot be told"))
            .is_ok_and(|is| is)
    }
}

async fn is_at_rest_now(tx: &mut Tx, key: &str) -> Result<bool, StoreError> {
    let Some(session) = sessions::find_by_key(tx, key).await? else {
        return Ok(true);
    };
    Ok(!(is_busy(tx, session.id).await? || outbox::queries::is_open(tx, session.id).await?))
}

async fn is_busy(tx: &mut Tx, session: SessionId) -> Result<bool, StoreError> {
    let queued = runs::count_queued(tx, session).await?;
    let active = runs::find_active(tx, session).await?;
    let moves = match active {
        Some(run) if run.state == "waiting" => run.signalled,
        Some(_) => true,
        // What stands still is not about to move.
        None => queued > 0 && !is_paused(tx, session).await?,
    };
    Ok(moves || agents_are_busy(tx, session).await?)
}

/// Is an agent of this conversation at work? Those too for which no run waits any more: what they report is said here.
async fn agents_are_busy(tx: &mut Tx, home: SessionId) -> Result<bool, StoreError> {
    let open = agents::open_at_home(tx, home).await?;
    if open.is_empty() {
        return Ok(false);
    }
    let parked = parked::list(tx, Some(home)).await?;
    let is_next = |agent: &OpenAgent| agent.is_queued() && parked.iter().all(|parked| parked.run != agent.id);
    let signalled = agents::waiting_at_home(tx, home).await?.iter().any(|agent| agent.run.signalled);
    let running = open.iter().any(|agent| agent.state == "running");
    Ok(running || signalled || (open.iter().any(is_next) && !is_paused(tx, home).await?))
}

async fn is_paused(tx: &mut Tx, session: SessionId) -> Result<bool, StoreError> {
    Ok(emergency_stop::paused_by(tx).await?.is_some() || sessions::paused_by(tx, session).await?.is_some())
}
