//! A chat that has another id from now on: its conversation goes on.

use async_trait::async_trait;

use crate::domain::inbound::Conversation;
use crate::router::intake::Router;
use crate::store::error::StoreError;
use crate::store::{Statement, Tx, sessions};

struct Rename {
    key: String,
    new: String,
}

#[async_trait]
impl Statement for Rename {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        sessions::rename(tx, &self.key, &self.new).await
    }
}

impl Router {
    /// The conversation of a place goes on in another chat. What is still to be said goes to the old id, and the channel
    /// brings it to the new one.
    pub(super) async fn goes_on(&self, place: Conversation, chat: &str) -> Result<(), StoreError> {
        let key = place.session_key().0;
        let new = Conversation { chat: chat.to_owned(), ..place }.session_key().0;
        if self.store.write(Rename { key: key.clone(), new: new.clone() }).await? {
            tracing::info!(was = key, session = new, "session.moved: the platform gave its chat another id");
        }
        Ok(())
    }
}
