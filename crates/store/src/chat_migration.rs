//! What is kept by a chat's id, when its platform gives the chat another one.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::inbound::Conversation;

/// What was chosen for the chat with `/group` holds for the new one, unless something was chosen there already.
pub async fn group_mode(tx: &mut Tx, place: &Conversation, chat: &str) -> Result<(), StoreError> {
    let channel = place.channel.as_str();
    sql::query!(
        "UPDATE group_modes SET chat = $4
         WHERE channel = $1 AND account = $2 AND chat = $3 AND NOT EXISTS (
           SELECT 1 FROM group_modes o WHERE o.channel = $1 AND o.account = $2 AND o.chat = $4)",
        channel,
        place.account,
        place.chat,
        chat
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What is to be done in the chat is done in the new one. Where the config's own schedules speak, the file says.
pub async fn schedules(tx: &mut Tx, place: &Conversation, chat: &str) -> Result<(), StoreError> {
    let channel = place.channel.as_str();
    sql::query!(
        "UPDATE schedules SET chat = $4 WHERE channel = $1 AND account = $2 AND chat = $3 AND source = 'chat'",
        channel,
        place.account,
        place.chat,
        chat
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
