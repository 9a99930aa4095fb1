//! Runs as `hob runs` and the page list them. First comes which are looked at, newest first, by an index; then what of those is wanted.
//!
//! Never: a look through all runs. Whoever wants what is rare looks again from where the last look ended.

use crate::error::StoreError;
use crate::{Tx, sessions, sql};
use hob_core::domain::ids::{RunId, SessionId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunListEntry {
    pub id: RunId,
    /// Its session's published name.
    pub session: String,
    pub channel: String,
    /// Its sender's name.
    pub who: String,
    pub state: String,
    /// When its message came, in Unix milliseconds.
    pub created_at: i64,
    /// When it was over.
    pub ended_at: Option<i64>,
    /// The message.
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

/// So many are looked at in one step, and so many steps are made for one part of the list: what is rare is found by looking again.
const STEP: i64 = 500;
const STEPS_MAX: u32 = 10;

/// Which runs are wanted; a field that is none narrows nothing down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Of the conversation with this published name.
    pub session: Option<String>,
    pub channel: Option<String>,
    pub states: Option<Vec<String>>,
    /// That cost so much, in nano-dollars.
    pub cost_min: Option<i64>,
    /// That took so long, in milliseconds.
    pub took_min: Option<i64>,
    /// Now, for those that are not over, in Unix milliseconds.
    pub now: i64,
}

/// A part of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunListPage {
    /// The newest first. There may be fewer than wanted, and more below `next`.
    pub runs: Vec<RunListEntry>,
    /// Where to go on; none: that is all.
    pub next: Option<i64>,
}

/// Which runs are looked at: so many below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunScanRange {
    /// This one is left out.
    pub before: i64,
    /// At most so many.
    pub limit: i64,
}

/// The runs that are wanted, newest first; none: there is no such conversation.
pub async fn list(tx: &mut Tx, filter: &RunFilter, below: RunScanRange) -> Result<Option<RunListPage>, StoreError> {
    let session = match &filter.session {
        None => None,
        Some(key) => match sessions::find_by_key(tx, key).await? {
            Some(session) => Some(session.id),
            None => return Ok(None),
        },
    };
    let mut runs: Vec<RunListEntry> = Vec::new();
    let mut before = below.before;
    for _ in 0..STEPS_MAX {
        let step = candidates(tx, session, filter.states.as_deref(), RunScanRange { before, limit: STEP }).await?;
        let room = below.limit - i64::try_from(runs.len()).unwrap_or(below.limit);
        runs.extend(filter_runs(tx, &step, filter, room).await?);
        let is_full = i64::try_from(runs.len()).is_ok_and(|count| count >= below.limit);
        let is_all = i64::try_from(step.len()).is_ok_and(|count| count < STEP);
        match (is_full, step.last()) {
            (true, _) => return Ok(Some(RunListPage { next: runs.last().map(|last| last.id.0), runs })),
            (false, Some(last)) if !is_all => before = last.0,
            (false, _) => return Ok(Some(RunListPage { runs, next: None })),
        }
    }
    Ok(Some(RunListPage { runs, next: Some(before) }))
}

pub async fn find(tx: &mut Tx, run: RunId) -> Result<Option<RunListEntry>, StoreError> {
    Ok(filter_runs(tx, &[run], &RunFilter::default(), 1).await?.pop())
}

/// Those that come next, by the index that leaves out the most.
async fn candidates(
    tx: &mut Tx,
    session: Option<SessionId>,
    states: Option<&[String]>,
    below: RunScanRange,
) -> Result<Vec<RunId>, StoreError> {
    match (session, states) {
        (_, Some([])) => Ok(Vec::new()),
        (Some(session), _) => of_session(tx, session, below).await,
        (None, Some([state])) => match state.as_str() {
            "queued" | "running" | "waiting" => open(tx, below).await,
            "completed" => newest(tx, below).await,
            rare => ended_with(tx, rare, below).await,
        },
        (None, _) => newest(tx, below).await,
    }
}

async fn newest(tx: &mut Tx, below: RunScanRange) -> Result<Vec<RunId>, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs WHERE id < $1 ORDER BY id DESC LIMIT $2"#,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// The newest that are not over.
async fn open(tx: &mut Tx, below: RunScanRange) -> Result<Vec<RunId>, StoreError> {
    let found = sql::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs INDEXED BY runs_lane
           WHERE state IN ('queued', 'running', 'waiting') AND id < $1 ORDER BY id DESC LIMIT $2"#,
        below.before,
        below.limit
    );
    Ok(found.fetch_all(&mut *tx).await?)
}

/// The newest that ended in one way, which is not the usual one.
async fn ended_with(tx: &mut Tx, state: &str, below: RunScanRange) -> Result<Vec<RunId>, StoreError> {
    let found = sql::query_scalar!(
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
async fn of_session(tx: &mut Tx, session: SessionId, below: RunScanRange) -> Result<Vec<RunId>, StoreError> {
    // One index for each group of states: one over all of them could be taken for the lanes' own look at a session.
    let found = sql::query_scalar!(
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
async fn filter_runs(
    tx: &mut Tx,
    runs: &[RunId],
    filter: &RunFilter,
    limit: i64,
) -> Result<Vec<RunListEntry>, StoreError> {
    let encoded = |error: serde_json::Error| StoreError::Database(error.to_string());
    let runs = serde_json::to_string(runs).map_err(encoded)?;
    let RunFilter { channel, states, cost_min, took_min, now, .. } = filter;
    let states = states.as_ref().map(serde_json::to_string).transpose().map_err(encoded)?;
    let found = sql::query_as!(
        RunListEntry,
        r#"SELECT r.id AS "id!: RunId", s.key AS session, s.channel, u.name AS who,
                  CASE WHEN r.parked_why IS NULL THEN r.state ELSE 'parked' END AS "state!: String", r.created_at, r.ended_at,
             i.text,
             (SELECT count(*) FROM model_calls c WHERE c.run_id = r.id AND c.state = 'answered') AS "cycles!: i64",
             (SELECT coalesce(sum(c.input_tokens + c.output_tokens), 0) FROM model_calls c
              WHERE c.run_id = r.id) AS "tokens!: i64",
             (SELECT sum(c.cost) FROM model_calls c WHERE c.run_id = r.id) AS "cost: i64",
             r.parent_run AS "parent: RunId",
             CASE WHEN r.ended_at IS NOT NULL THEN
               (SELECT CASE WHEN json_valid(e.body) THEN coalesce(e.body ->> '$.body.why', e.body ->> '$.body.is') END
                FROM run_events e WHERE e.run_id = r.id AND e.kind = 'run.ended' ORDER BY e.seq DESC LIMIT 1)
             END AS "end: String"
           FROM (SELECT o.id FROM json_each($1) j CROSS JOIN runs o ON o.id = CAST(j.value AS INTEGER)
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
