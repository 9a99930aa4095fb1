//! Accepted messages: the claim that makes redelivery harmless.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{InboundId, RunId, SessionId, UserId};
use hob_core::domain::inbound::Conversation;

/// A message about to be claimed.
#[derive(Debug, Clone)]
pub struct NewInbound<'a> {
    pub session: SessionId,
    /// Its sender.
    pub user: UserId,
    /// Where it was said.
    pub conversation: &'a Conversation,
    /// The platform's id of it.
    pub external_id: &'a str,
    pub text: &'a str,
    /// Row A1: 0 to 1.
    pub importance: f64,
    /// What the channel needs to answer it.
    pub envelope: Option<&'a str>,
    /// Its sender spoke it.
    pub spoken: bool,
    /// `run`, `command`, `answer` or `refused`.
    pub disposition: &'static str,
    /// By the platform's clock.
    pub sent_at: Timestamp,
    /// By ours.
    pub received_at: Timestamp,
}

/// Claims a message; none if it was claimed before.
pub async fn claim(tx: &mut Tx, new: &NewInbound<'_>) -> Result<Option<InboundId>, StoreError> {
    let channel = new.conversation.channel.as_str();
    let (sent_at, received_at) = (millis(new.sent_at), millis(new.received_at));
    let id = sql::query_scalar!(
        r#"INSERT INTO inbound
             (session_id, user_id, channel, account, chat, external_id, text, importance, disposition, sent_at, received_at,
              envelope, spoken)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
           ON CONFLICT (channel, account, chat, external_id) DO NOTHING
           RETURNING id AS "id!: InboundId""#,
        new.session,
        new.user,
        channel,
        new.conversation.account,
        new.conversation.chat,
        new.external_id,
        new.text,
        new.importance,
        new.disposition,
        sent_at,
        received_at,
        new.envelope,
        new.spoken
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(id)
}

/// What the channel needs to answer this message; without one, the last that came to the chat.
pub async fn envelope(
    tx: &mut Tx,
    conversation: &Conversation,
    external_id: Option<&str>,
) -> Result<Option<String>, StoreError> {
    let channel = conversation.channel.as_str();
    let found = sql::query_scalar!(
        "SELECT envelope FROM inbound
         WHERE channel = $1 AND account = $2 AND chat = $3 AND envelope IS NOT NULL AND external_id = coalesce($4, external_id)
         ORDER BY id DESC LIMIT 1",
        channel,
        conversation.account,
        conversation.chat,
        external_id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found.flatten())
}

/// Was this message claimed before?
pub async fn is_claimed(tx: &mut Tx, conversation: &Conversation, external_id: &str) -> Result<bool, StoreError> {
    let channel = conversation.channel.as_str();
    let claimed = sql::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM inbound WHERE channel = $1 AND account = $2 AND chat = $3 AND external_id = $4)
           AS "claimed!: bool""#,
        channel,
        conversation.account,
        conversation.chat,
        external_id
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(claimed)
}

/// A claimed message whose run may still wait in its lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMessage {
    /// The message.
    pub inbound: InboundId,
    pub run: RunId,
    /// The run's session.
    pub session: SessionId,
    /// Its sender.
    pub user: UserId,
}

/// The message with this external id, if its run still waits for the lane.
pub async fn find_queued(
    tx: &mut Tx,
    conversation: &Conversation,
    external_id: &str,
) -> Result<Option<PendingMessage>, StoreError> {
    let channel = conversation.channel.as_str();
    let found = sql::query_as!(
        PendingMessage,
        r#"SELECT i.id AS "inbound!: InboundId", r.id AS "run!: RunId", r.session_id AS "session!: SessionId",
                  i.user_id AS "user!: UserId"
           FROM inbound i JOIN runs r ON r.inbound_id = i.id
           WHERE i.channel = $1 AND i.account = $2 AND i.chat = $3 AND i.external_id = $4 AND r.state = 'queued'"#,
        channel,
        conversation.account,
        conversation.chat,
        external_id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found)
}

/// Where a run's message was said.
pub async fn place_of_run(tx: &mut Tx, run: RunId) -> Result<Option<Conversation>, StoreError> {
    let row = sql::query!(
        "SELECT i.channel, i.account, i.chat FROM runs r JOIN inbound i ON i.id = r.inbound_id WHERE r.id = $1",
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row.and_then(|row| {
        let channel = row.channel.parse().ok()?;
        Some(Conversation { channel, account: row.account, chat: row.chat, thread: None })
    }))
}

/// The words changed before their turn.
pub async fn set_text(tx: &mut Tx, id: InboundId, text: &str) -> Result<(), StoreError> {
    sql::query!("UPDATE inbound SET text = $1 WHERE id = $2", text, id).execute(&mut *tx).await?;
    Ok(())
}
