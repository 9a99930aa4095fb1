//! Where people last talked with Hob by themselves.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::UserId;
use hob_core::domain::inbound::Conversation;

/// Somebody talks with Hob alone here.
pub async fn note(tx: &mut Tx, user: UserId, place: &Conversation, now: Timestamp) -> Result<(), StoreError> {
    let (channel, at) = (place.channel.as_str(), millis(now));
    sql::query!(
        "INSERT INTO private_chats (user_id, channel, account, chat, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (user_id, channel, account) DO UPDATE SET chat = excluded.chat, at = excluded.at",
        user,
        channel,
        place.account,
        place.chat,
        at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// An owner's own chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersChat {
    /// The owner.
    pub user: UserId,
    pub channel: String,
    /// Hob's account there.
    pub account: String,
    pub chat: String,
    /// The owner's id there.
    pub external_id: String,
}

impl OwnersChat {
    /// The place; none: its platform is not known any more.
    pub fn conversation(&self) -> Option<Conversation> {
        let channel = self.channel.parse().ok()?;
        Some(Conversation { channel, account: self.account.clone(), chat: self.chat.clone(), thread: None })
    }
}

/// Where owners talk with Hob by themselves, the latest first.
pub async fn of_owners(tx: &mut Tx) -> Result<Vec<OwnersChat>, StoreError> {
    let chats = sql::query_as!(
        OwnersChat,
        r#"SELECT u.id AS "user!: UserId", p.channel, p.account, p.chat, i.external_id
         FROM users u JOIN private_chats p ON p.user_id = u.id
           JOIN identities i ON i.user_id = u.id AND i.channel = p.channel AND i.account = p.account
         WHERE u.role = 'owner' ORDER BY p.at DESC, p.channel, p.account, i.external_id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(chats)
}
