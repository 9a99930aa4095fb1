//! Runs as the page lists them. First comes which are looked at, newest first, by an index; then what of those is wanted.
//!
//! Never: a look through all runs. Whoever wants what is rare looks again from where the last look ended.

use crate::Tx;
use crate::error::StoreError;
use hob_core::domain::ids::{RunId, SessionId};

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// It.
    pub id: RunId,
    /// Its session's published name.
    pub session: String,
    /// The platform.
    pub channel: String,
    /// Its sender's name.
    pub who: String,
    /// Its state.
    pub state: String,
    /// When its message came, in Unix milliseconds.
    pub created_at: i64,
    /// When it was over.
    pub ended_at: Option<i64>,
    /// The message's first words.
    pub text: String,
    /// Replies of its models.
    pub cycles: i64,
    /// Tokens read and written.
    pub tokens: i64,
    /// What they cost, in nano-dollars, as far as prices are known.
    pub cost: Option<i64>,
    /// The run that it works for, if it is an agent.
    pub parent: Option<RunId>,
    /// How it ended, in the word of its last event.
    pub end: Option<String>,
}

/// What is wanted of the runs that are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Of this platform.
    pub channel: Option<String>,
    /// In one of these states, as a JSON list.
    pub states: Option<String>,
    /// That cost so much, in nano-dollars.
    pub cost_min: Option<i64>,
    /// That took so long, in milliseconds.
    pub took_min: Option<i64>,
    /// Now, for those that are not over.
    pub now: i64,
}

/// Which runs are looked at: so many below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Below {
    /// This one is left out.
    pub before: i64,
    /// At most so many.
    pub limit: i64,
}

/// The newest of all.
pub async fn newest(tx: &mut Tx, below: Below) -> Result<Vec<RunId>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs WHERE id < $1 ORDER BY id DESC LIMIT $2"#,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// The newest that are not over.
pub async fn open(tx: &mut Tx, below: Below) -> Result<Vec<RunId>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs INDEXED BY runs_lane
           WHERE state IN ('queued', 'running', 'waiting') AND id < $1 ORDER BY id DESC LIMIT $2"#,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// The newest that ended in one way, which is not the usual one.
pub async fn ended_so(tx: &mut Tx, state: &str, below: Below) -> Result<Vec<RunId>, StoreError> {
    let found = sqlx::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs INDEXED BY runs_ended_so
           WHERE state IN ('cancelled', 'failed', 'withdrawn', 'joined') AND state = $1 AND id < $2
           ORDER BY id DESC LIMIT $3"#,
        state,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// The newest of one conversation.
pub async fn of_session(tx: &mut Tx, session: SessionId, below: Below) -> Result<Vec<RunId>, StoreError> {
    // One index for each group of states: one over all of them could be taken for the lanes' own look at a session.
    let found = sqlx::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM (
             SELECT * FROM (SELECT id FROM runs INDEXED BY runs_lane
               WHERE session_id = $1 AND state IN ('queued', 'running', 'waiting') AND id < $2 ORDER BY id DESC LIMIT $3)
             UNION ALL
             SELECT * FROM (SELECT id FROM runs INDEXED BY runs_over
               WHERE session_id = $1 AND state IN ('completed', 'cancelled', 'failed') AND id < $2 ORDER BY id DESC LIMIT $3)
             UNION ALL
             SELECT * FROM (SELECT id FROM runs INDEXED BY runs_aside
               WHERE session_id = $1 AND state IN ('withdrawn', 'joined') AND id < $2 ORDER BY id DESC LIMIT $3))
           ORDER BY 1 DESC LIMIT $3"#,
        session,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// What of these runs is wanted, newest first; at most so many.
pub async fn pick(tx: &mut Tx, runs: &[RunId], wish: &Wish, limit: i64) -> Result<Vec<Entry>, StoreError> {
    let runs = serde_json::to_string(runs).map_err(|error| StoreError::Database(error.to_string()))?;
    let Wish { channel, states, cost_min, took_min, now } = wish;
    let found = sqlx::query_as!(
        Entry,
        r#"SELECT r.id AS "id!: RunId", s.key AS session, s.channel, u.name AS who,
                  CASE WHEN r.parked_why IS NULL THEN r.state ELSE 'parked' END AS "state!: String", r.created_at, r.ended_at,
             substr(i.text, 1, 300) AS "text!: String",
             (SELECT count(*) FROM model_calls c WHERE c.run_id = r.id AND c.state = 'answered') AS "cycles!: i64",
             (SELECT coalesce(sum(c.input_tokens + c.output_tokens), 0) FROM model_calls c
              WHERE c.run_id = r.id) AS "tokens!: i64",
             (SELECT sum(c.cost) FROM model_calls c WHERE c.run_id = r.id) AS "cost: i64",
             r.parent_run AS "parent: RunId",
             CASE WHEN r.ended_at IS NOT NULL THEN
               (SELECT CASE WHEN json_valid(e.body) THEN coalesce(e.body ->> '$.body.why', e.body ->> '$.body.is') END
                FROM run_events e WHERE e.run_id = r.id AND e.kind = 'run.ended' ORDER BY e.seq DESC LIMIT 1)
             END AS "end: String"
           FROM (SELECT o.id FROM json_each($1) j CROSS JOIN runs o ON o.id = j.value
                   CROSS JOIN sessions t ON t.id = o.session_id
                 WHERE ($2 IS NULL OR t.channel = $2)
                   AND ($3 IS NULL OR o.state IN (SELECT w.value FROM json_each($3) w))
                   AND ($4 IS NULL OR coalesce(o.ended_at, $5) - o.created_at >= $4)
                   AND ($6 IS NULL
                     OR (SELECT coalesce(sum(c.cost), 0) FROM model_calls c WHERE c.run_id = o.id) >= $6)
                 ORDER BY o.id DESC LIMIT $7) p
             CROSS JOIN runs r ON r.id = p.id CROSS JOIN sessions s ON s.id = r.session_id
             CROSS JOIN users u ON u.id = r.user_id CROSS JOIN inbound i ON i.id = r.inbound_id
           ORDER BY r.id DESC"#,
        runs,
        channel,
        states,
        took_min,
        now,
        cost_min,
        limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}
