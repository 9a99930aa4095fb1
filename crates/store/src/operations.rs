//! What is at work, waits, was given up or was allowed in the whole house: lists, one part of each at a time.
//!
//! Never: a change, or a look through what only grows.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::schedules::ScheduleRow;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{GrantId, OutboxId, RunId, ScheduleId, SessionId, UserId};

/// A run that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRunRow {
    pub id: RunId,
    pub session: SessionId,
    /// The conversation's published name.
    pub key: String,
    pub channel: String,
    /// Whose message it answers.
    pub user: String,
    /// `queued`, `running` or `waiting`.
    pub state: String,
    /// The message's words.
    pub text: String,
    /// When the message came, in Unix milliseconds.
    pub created_at: i64,
}

/// Where a part of a list that is ordered by conversation begins: after this row of this conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListCursor {
    pub session: i64,
    pub row: i64,
}

/// The runs that are not over, by conversation and in the order in which they are served.
pub async fn open_runs(tx: &mut Tx, after: ListCursor, limit: i64) -> Result<Vec<OpenRunRow>, StoreError> {
    let rows = sql::query_as!(
        OpenRunRow,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", s.key, s.channel, u.name AS user,
                  CASE WHEN r.parked_why IS NULL THEN r.state ELSE 'parked' END AS "state!: String",
                  substr(i.text, 1, 300) AS "text!: String", r.created_at
           FROM runs r INDEXED BY runs_lane CROSS JOIN sessions s ON s.id = r.session_id
                CROSS JOIN inbound i ON i.id = r.inbound_id CROSS JOIN users u ON u.id = r.user_id
           WHERE r.state IN ('queued', 'running', 'waiting') AND (r.session_id, r.id) > ($1, $2)
           ORDER BY r.session_id, r.id LIMIT $3"#,
        after.session,
        after.row,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// A run that is not over, as far as it is needed to end it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppableRun {
    pub session: SessionId,
    pub channel: String,
    pub user: UserId,
    /// `queued`, `running` or `waiting`.
    pub state: String,
}

/// A run, if it is not over.
pub async fn stoppable(tx: &mut Tx, run: RunId) -> Result<Option<StoppableRun>, StoreError> {
    let row = sql::query_as!(
        StoppableRun,
        r#"SELECT r.session_id AS "session!: SessionId", s.channel, r.user_id AS "user!: UserId",
                  CASE WHEN r.parked_why IS NULL THEN r.state ELSE 'parked' END AS "state!: String"
           FROM runs r JOIN sessions s ON s.id = r.session_id
           WHERE r.id = $1 AND r.state IN ('queued', 'running', 'waiting')"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// Something that is to be said, or was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    pub id: OutboxId,
    pub session: SessionId,
    /// The conversation's published name.
    pub key: String,
    pub run: Option<RunId>,
    /// Its beginning.
    pub text: String,
    /// `pending`, `sending`, `unknown`, `failed` or `abandoned`.
    pub state: String,
    /// Attempts so far.
    pub attempts: i64,
    /// When it is tried next, in Unix milliseconds.
    pub next_attempt_at: i64,
    /// What went wrong.
    pub error: Option<String>,
    /// When it was queued, in Unix milliseconds.
    pub created_at: i64,
    /// When it was given up, in Unix milliseconds.
    pub ended_at: Option<i64>,
    /// It is a letter that waits for an owner.
    pub held: bool,
}

/// What is to be said, by conversation and in order.
pub async fn open_chunks(tx: &mut Tx, after: ListCursor, limit: i64) -> Result<Vec<ChunkRow>, StoreError> {
    let rows = sql::query_as!(
        ChunkRow,
        r#"SELECT o.id AS "id!: OutboxId", o.session_id AS "session!: SessionId", s.key, o.run_id AS "run: RunId",
                  substr(o.text, 1, 300) AS "text!: String", o.state, o.attempts, o.next_attempt_at, o.error, o.created_at,
                  o.ended_at, 0 AS "held!: bool"
           FROM outbox o INDEXED BY outbox_open_by_session CROSS JOIN sessions s ON s.id = o.session_id
           WHERE o.state IN ('pending', 'sending', 'unknown') AND (o.session_id, o.id) > ($1, $2)
           ORDER BY o.session_id, o.id LIMIT $3"#,
        after.session,
        after.row,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// What was given up before `before`, which is a moment and a row; the newest first.
pub async fn given_up(tx: &mut Tx, moment: i64, row: i64, limit: i64) -> Result<Vec<ChunkRow>, StoreError> {
    let rows = sql::query_as!(
        ChunkRow,
        r#"SELECT o.id AS "id!: OutboxId", o.session_id AS "session!: SessionId", s.key, o.run_id AS "run: RunId",
                  substr(o.text, 1, 300) AS "text!: String", o.state, o.attempts, o.next_attempt_at, o.error, o.created_at,
                  o.ended_at,
                  EXISTS (SELECT 1 FROM held_letters h WHERE h.outbox_id = o.id AND h.state = 'held') AS "held!: bool"
           FROM outbox o INDEXED BY outbox_given_up CROSS JOIN sessions s ON s.id = o.session_id
           WHERE o.state IN ('failed', 'abandoned') AND (o.ended_at, o.id) < ($1, $2)
           ORDER BY o.ended_at DESC, o.id DESC LIMIT $3"#,
        moment,
        row,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// One of them, whatever its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkState {
    pub session: SessionId,
    pub state: String,
    /// It is a letter that an owner has to decide over, or has.
    pub held: bool,
}

pub async fn chunk(tx: &mut Tx, id: OutboxId) -> Result<Option<ChunkState>, StoreError> {
    let row = sql::query_as!(
        ChunkState,
        r#"SELECT session_id AS "session!: SessionId", state,
                  EXISTS (SELECT 1 FROM held_letters h WHERE h.outbox_id = outbox.id AND h.state <> 'approved') AS "held!: bool"
           FROM outbox WHERE id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// What was given up is to be said after all, as if it had been queued now.
pub async fn retry(tx: &mut Tx, id: OutboxId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "UPDATE outbox SET state = 'pending', error = NULL, ended_at = NULL, attempts = 0, created_at = $1, next_attempt_at = $1
         WHERE id = $2 AND state IN ('failed', 'abandoned')",
        now,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// What waits is tried at once, whatever its time.
pub async fn retry_now(tx: &mut Tx, id: OutboxId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!(
        "UPDATE outbox SET next_attempt_at = min(next_attempt_at, $1) WHERE id = $2 AND state IN ('pending', 'unknown')",
        now,
        id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// A grant that holds, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldGrant {
    pub id: GrantId,
    pub session: SessionId,
    /// That conversation's published name.
    pub key: String,
    pub user: UserId,
    pub name: String,
    pub tool: String,
    /// In which run it was said.
    pub run: RunId,
    /// Since when, in Unix milliseconds.
    pub created_at: i64,
}

/// The grants that hold after this one, by conversation, person and tool.
pub async fn grants(tx: &mut Tx, after: Option<GrantId>, limit: i64) -> Result<Vec<HeldGrant>, StoreError> {
    let rows = sql::query_as!(
        HeldGrant,
        r#"SELECT g.id AS "id!: GrantId", g.session_id AS "session!: SessionId", s.key, g.user_id AS "user!: UserId", u.name,
                  g.tool, g.run_id AS "run!: RunId", g.created_at
           FROM grants g INDEXED BY grants_current CROSS JOIN sessions s ON s.id = g.session_id
                CROSS JOIN users u ON u.id = g.user_id
           WHERE g.revoked_at IS NULL
             AND ($1 IS NULL OR (g.session_id, g.user_id, g.tool) > (SELECT session_id, user_id, tool FROM grants WHERE id = $1))
           ORDER BY g.session_id, g.user_id, g.tool LIMIT $2"#,
        after,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}

/// A grant, if it holds.
pub async fn grant(tx: &mut Tx, id: GrantId) -> Result<Option<HeldGrant>, StoreError> {
    let row = sql::query_as!(
        HeldGrant,
        r#"SELECT g.id AS "id!: GrantId", g.session_id AS "session!: SessionId", s.key, g.user_id AS "user!: UserId", u.name,
                  g.tool, g.run_id AS "run!: RunId", g.created_at
           FROM grants g JOIN sessions s ON s.id = g.session_id JOIN users u ON u.id = g.user_id
           WHERE g.id = $1 AND g.revoked_at IS NULL"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// The schedules that are to go on, or those that are done, before this one: the newest first.
pub async fn schedules(tx: &mut Tx, before: i64, done: bool, limit: i64) -> Result<Vec<ScheduleRow>, StoreError> {
    let rows = sql::query_as!(
        ScheduleRow,
        r#"SELECT s.id AS "id!: ScheduleId", s.name, s.user_id AS "user!: UserId", u.name AS user_name, s.channel,
                  s.account, s.chat, s.thread, s.task, s.rule, s.zone, s.asked, s.taint, s.state, s.why, s.failures,
                  s.grace_secs, s.coalesces AS "coalesces!: bool", s.next_at, s.asked_at, s.looks_at,
                  s.seen, s.looks_failed
           FROM schedules s CROSS JOIN users u ON u.id = s.user_id
           WHERE s.id < $1 AND s.state <> 'removed' AND CASE s.state WHEN 'done' THEN 1 ELSE 0 END = $2
           ORDER BY s.id DESC LIMIT $3"#,
        before,
        done,
        limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(rows)
}
