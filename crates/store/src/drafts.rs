//! Replies that grow in a chat: which message of the platform is whose draft, so that none is left there.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};

/// A draft that stands in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingDraft {
    /// Whose reply it is.
    pub run: RunId,
    /// Where it stands.
    pub conversation: Conversation,
    /// The platform's id of it.
    pub external_id: String,
}

/// Notes a draft; it takes the place of the run's last one.
pub async fn put(tx: &mut Tx, draft: &StandingDraft) -> Result<(), StoreError> {
    let place = &draft.conversation;
    let channel = place.channel.as_str();
    sql::query!(
        "INSERT INTO drafts (run_id, channel, account, chat, thread, external_id) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (run_id) DO UPDATE SET external_id = excluded.external_id",
        draft.run,
        channel,
        place.account,
        place.chat,
        place.thread,
        draft.external_id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The run's draft is no draft any more.
pub async fn remove(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!("DELETE FROM drafts WHERE run_id = $1", run).execute(&mut *tx).await?;
    Ok(())
}

pub async fn list(tx: &mut Tx) -> Result<Vec<StandingDraft>, StoreError> {
    let rows = sql::query!(
        r#"SELECT run_id AS "run_id!: RunId", channel, account, chat, thread, external_id FROM drafts ORDER BY run_id"#
    )
    .fetch_all(&mut *tx)
    .await?;
    let draft = rows.into_iter().map(|row| {
        let channel = row.channel.parse::<ChannelKind>();
        let channel = channel.map_err(|error| StoreError::inconsistent("drafts", row.run_id, error))?;
        let conversation = Conversation { channel, account: row.account, chat: row.chat, thread: row.thread };
        Ok(StandingDraft { run: row.run_id, conversation, external_id: row.external_id })
    });
    draft.collect()
}

/// Has this run a draft?
pub async fn is_there(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let there = sql::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM drafts WHERE run_id = $1) AS "there!: bool""#, run)
        .fetch_one(&mut *tx)
        .await?;
    Ok(there)
}

/// Has this run left its draft behind: is it over, and is nothing to be sent that takes the draft's place?
pub async fn is_left_behind(tx: &mut Tx, run: RunId) -> Result<bool, StoreError> {
    let left = sql::query_scalar!(
        r#"SELECT EXISTS (
             SELECT 1 FROM drafts d JOIN runs r ON r.id = d.run_id
             WHERE d.run_id = $1 AND r.state NOT IN ('queued', 'running', 'waiting')
               AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.session_id IN (r.session_id, r.home_session)
                                 AND o.state IN ('pending', 'sending', 'unknown')
                                 AND o.run_id = d.run_id AND o.takes_draft = 1)) AS "left!: bool""#,
        run
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(left)
}
