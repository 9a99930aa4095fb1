//! What `/group` chose for single chats.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::inbound::Conversation;

/// The mode that was chosen for a chat, by its name; none: as configured.
pub async fn mode(tx: &mut Tx, conversation: &Conversation) -> Result<Option<String>, StoreError> {
    let channel = conversation.channel.as_str();
    let mode = sql::query_scalar!(
        "SELECT mode FROM group_modes WHERE channel = $1 AND account = $2 AND chat = $3",
        channel,
        conversation.account,
        conversation.chat
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(mode)
}

/// Sets it; none: from now on as configured.
pub async fn set_mode(tx: &mut Tx, conversation: &Conversation, mode: Option<&str>) -> Result<(), StoreError> {
    let channel = conversation.channel.as_str();
    let (account, chat) = (&conversation.account, &conversation.chat);
    match mode {
        Some(mode) => {
            sql::query!(
                "INSERT INTO group_modes (channel, account, chat, mode) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (channel, account, chat) DO UPDATE SET mode = excluded.mode",
                channel,
                account,
                chat,
                mode
            )
            .execute(&mut *tx)
            .await?;
        }
        None => {
            sql::query!(
                "DELETE FROM group_modes WHERE channel = $1 AND account = $2 AND chat = $3",
                channel,
                account,
                chat
            )
            .execute(&mut *tx)
            .await?;
        }
    }
    Ok(())
}
