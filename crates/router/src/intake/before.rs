//! What intake asks of the database beside its transaction: what came before, and how far accounts have come.

use std::collections::BTreeMap;

use async_trait::async_trait;

use hob_core::domain::inbound::{ChannelKind, Conversation, Cursor};
use hob_store::error::StoreError;
use hob_store::{Statement, Tx, cursors, inbound};

/// How far an account has come, by list.
pub(super) struct Cursors {
    pub(super) channel: ChannelKind,
    pub(super) account: String,
}

#[async_trait]
impl Statement for Cursors {
    type Output = BTreeMap<String, i64>;

    async fn run(&self, tx: &mut Tx) -> Result<BTreeMap<String, i64>, StoreError> {
        cursors::of_account(tx, (self.channel, &self.account)).await
    }
}

/// An account has come so far.
pub(super) struct Advance {
    pub(super) channel: ChannelKind,
    pub(super) account: String,
    pub(super) cursor: Cursor,
}

#[async_trait]
impl Statement for Advance {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        cursors::advance(tx, (self.channel, &self.account), &self.cursor).await
    }
}

/// Was a message taken in before?
pub(super) struct IsClaimed {
    pub(super) conversation: Conversation,
    pub(super) external_id: String,
}

#[async_trait]
impl Statement for IsClaimed {
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        inbound::is_claimed(tx, &self.conversation, &self.external_id).await
    }
}
