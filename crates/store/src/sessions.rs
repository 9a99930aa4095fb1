//! Conversations.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::principal::Role;

/// A conversation's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    /// Its published name.
    pub key: String,
    pub channel: String,
    /// What happens to messages during a run; none: as configured.
    pub queue_mode: Option<String>,
    /// The model chosen by `/model`; none: as configured.
    pub model: Option<String>,
    /// The persona chosen by `/persona`; none: as configured.
    pub persona: Option<String>,
    /// The server or workspace that it is on, as far as the platform told.
    pub server: Option<String>,
    /// The context begins after this ordinal.
    pub context_from: i64,
    /// The newest message's ordinal.
    pub last_ordinal: i64,
}

/// The session with this key; a new one is made.
pub async fn ensure(tx: &mut Tx, key: &str, channel: ChannelKind, now: Timestamp) -> Result<Session, StoreError> {
    if let Some(session) = find_by_key(tx, key).await? {
        return Ok(session);
    }
    let (channel, now) = (channel.as_str(), millis(now));
    let session = sql::query_as!(
        Session,
        r#"INSERT INTO sessions (key, channel, created_at) VALUES ($1, $2, $3)
           RETURNING id AS "id!: SessionId", key, channel, queue_mode AS "queue_mode?", model, persona, server, context_from,
             last_ordinal"#,
        key,
        channel,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(session)
}

/// The conversation goes on under another key; false: there is none, or one is there already.
pub async fn rename(tx: &mut Tx, key: &str, new: &str) -> Result<bool, StoreError> {
    let renamed = sql::query!(
        "UPDATE sessions SET key = $2 WHERE key = $1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE key = $2)",
        key,
        new
    )
    .execute(&mut *tx)
    .await?;
    Ok(renamed.rows_affected() > 0)
}

pub async fn find_by_key(tx: &mut Tx, key: &str) -> Result<Option<Session>, StoreError> {
    let session = sql::query_as!(
        Session,
        r#"SELECT id AS "id!: SessionId", key, channel, queue_mode, model, persona, server, context_from, last_ordinal
           FROM sessions WHERE key = $1"#,
        key
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(session)
}

pub async fn lookup(tx: &mut Tx, id: SessionId) -> Result<Option<Session>, StoreError> {
    let session = sql::query_as!(
        Session,
        r#"SELECT id AS "id!: SessionId", key, channel, queue_mode, model, persona, server, context_from, last_ordinal
           FROM sessions WHERE id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(session)
}

/// Sets or clears the model chosen for a session.
pub async fn set_model(tx: &mut Tx, id: SessionId, model: Option<&str>) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET model = $1 WHERE id = $2", model, id).execute(&mut *tx).await?;
    Ok(())
}

/// Sets or clears the persona chosen for a session.
pub async fn set_persona(tx: &mut Tx, id: SessionId, persona: Option<&str>) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET persona = $1 WHERE id = $2", persona, id).execute(&mut *tx).await?;
    Ok(())
}

/// Whether answers are spoken in a session, as it was chosen there; none: as configured.
pub async fn voice(tx: &mut Tx, id: SessionId) -> Result<Option<String>, StoreError> {
    let row = sql::query!("SELECT voice FROM sessions WHERE id = $1", id).fetch_optional(&mut *tx).await?;
    Ok(row.and_then(|row| row.voice))
}

/// Sets or clears whether answers are spoken in a session.
pub async fn set_voice(tx: &mut Tx, id: SessionId, voice: Option<&str>) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET voice = $1 WHERE id = $2", voice, id).execute(&mut *tx).await?;
    Ok(())
}

/// Notes the server or workspace that a session is on.
pub async fn set_server(tx: &mut Tx, id: SessionId, server: &str) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET server = $1 WHERE id = $2", server, id).execute(&mut *tx).await?;
    Ok(())
}

/// Sets what happens to messages during a run.
pub async fn set_queue_mode(tx: &mut Tx, id: SessionId, mode: &str) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET queue_mode = $1 WHERE id = $2", mode, id).execute(&mut *tx).await?;
    Ok(())
}

/// Lets the context begin afresh: what was said stays stored and can be recalled.
pub async fn start_afresh(tx: &mut Tx, id: SessionId) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET context_from = last_ordinal, run_journal = NULL WHERE id = $1", id)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// What the last run noted, as JSON, if it did not come to its end (row B12).
pub async fn run_journal(tx: &mut Tx, id: SessionId) -> Result<Option<String>, StoreError> {
    let row = sql::query!("SELECT run_journal FROM sessions WHERE id = $1", id).fetch_optional(&mut *tx).await?;
    Ok(row.and_then(|row| row.run_journal))
}

/// Keeps what a run noted that knew the conversation up to `through`; not if it has begun afresh since.
pub async fn set_run_journal(tx: &mut Tx, id: SessionId, journal: &str, through: i64) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET run_journal = $1 WHERE id = $2 AND context_from <= $3", journal, id, through)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Drops what was kept: the task has come to its end.
pub async fn clear_run_journal(tx: &mut Tx, id: SessionId) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET run_journal = NULL WHERE id = $1", id).execute(&mut *tx).await?;
    Ok(())
}

/// Records what the chat was told about which model stands in for which, as JSON; none: the right one answers.
pub async fn set_stand_in(tx: &mut Tx, id: SessionId, model: Option<&str>) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET stand_in = $1 WHERE id = $2", model, id).execute(&mut *tx).await?;
    Ok(())
}

/// A pause of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Who wanted it.
    pub user: UserId,
    pub role: Role,
    pub name: String,
}

/// Who paused the conversation; none: nobody.
pub async fn paused_by(tx: &mut Tx, id: SessionId) -> Result<Option<Pause>, StoreError> {
    let pause = sql::query_as!(
        Pause,
        r#"SELECT u.id AS "user!: UserId", u.role AS "role!: Role", u.name FROM sessions s JOIN users u ON u.id = s.paused_by WHERE s.id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(pause)
}

/// Pauses the conversation, or lets it go on.
pub async fn set_paused_by(tx: &mut Tx, id: SessionId, by: Option<UserId>) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET paused_by = $1 WHERE id = $2", by, id).execute(&mut *tx).await?;
    Ok(())
}

/// Its runs ask and answer in another session.
pub async fn set_speaks_in(tx: &mut Tx, id: SessionId, other: SessionId) -> Result<(), StoreError> {
    sql::query!("UPDATE sessions SET speaks_in = $1 WHERE id = $2", other, id).execute(&mut *tx).await?;
    Ok(())
}

/// A session's published name.
pub async fn key(tx: &mut Tx, id: SessionId) -> Result<Option<String>, StoreError> {
    let key = sql::query_scalar!("SELECT key FROM sessions WHERE id = $1", id).fetch_optional(&mut *tx).await?;
    Ok(key)
}
