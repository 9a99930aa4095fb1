//! The messages of a history out of which words are taken.

use crate::error::StoreError;
use crate::forgetting::MessageLocation;
use crate::{Tx, sql};
use hob_core::domain::ids::{MessageId, RunId};

/// A message of a run that is to be rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewritableMessage {
    pub id: MessageId,
    /// The message, encoded.
    pub body: String,
}

pub async fn message(tx: &mut Tx, id: MessageId) -> Result<Option<RewritableMessage>, StoreError> {
    let message =
        sql::query_as!(RewritableMessage, r#"SELECT id AS "id!: MessageId", body FROM messages WHERE id = $1"#, id)
            .fetch_optional(&mut *tx)
            .await?;
    Ok(message)
}

/// What Hob and its tools said in a run, from this place of the conversation on.
pub async fn replies(tx: &mut Tx, said: &MessageLocation) -> Result<Vec<RewritableMessage>, StoreError> {
    let replies = sql::query_as!(
        RewritableMessage,
        r#"SELECT id AS "id!: MessageId", body FROM messages
           WHERE session_id = $1 AND ordinal > $2 AND run_id = $3 AND role <> 'user'
             AND ordinal < coalesce(
               (SELECT n.ordinal FROM messages n WHERE n.session_id = $1 AND n.ordinal > $2 AND n.run_id <> $3
                ORDER BY n.ordinal LIMIT 1),
               9223372036854775807)"#,
        said.session,
        said.ordinal,
        said.run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(replies)
}

/// All that a run has put into a history.
pub async fn history_of(tx: &mut Tx, run: RunId) -> Result<Vec<RewritableMessage>, StoreError> {
    let kept = sql::query_as!(
        RewritableMessage,
        r#"SELECT m.id AS "id!: MessageId", m.body FROM runs r CROSS JOIN messages m ON m.session_id = r.session_id
           WHERE r.id = $1 AND m.run_id = $1"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(kept)
}

/// Puts other words into a message; its place and its role stay. What Hob answered with it nobody finds any more.
pub async fn rewrite(tx: &mut Tx, message: &RewritableMessage, text: &str, tokens: i64) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE messages SET body = $1, text = $2, tokens = $3, scope = NULL WHERE id = $4",
        message.body,
        text,
        tokens,
        message.id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}
