//! Runs: lanes, leases and states. The events that a state is the fold of are in [`crate::journal`].

pub mod queries;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{InboundId, RunId, SessionId, UserId};
use hob_core::domain::principal::Role;

/// The state of a run that is driven.
const RUNNING: &str = "running";

/// A run that waits in its lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedRun {
    pub id: RunId,
    /// Its sender.
    pub user: UserId,
    pub role: Role,
    /// Its message's words.
    pub text: String,
    /// Its sender's name.
    pub name: String,
}

/// The run that has a session's lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRun {
    pub id: RunId,
    /// Whose message it answers.
    pub user: UserId,
    pub role: Role,
    /// `running` or `waiting`.
    pub state: String,
    /// A word for it is on its way: what it waits for may have come already.
    pub signalled: bool,
}

/// A message's run.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a> {
    /// In whose lane.
    pub session: SessionId,
    /// The message.
    pub inbound: InboundId,
    pub user: UserId,
    /// The hash of the state that it begins in.
    pub hash: &'a str,
    /// What writes its journal.
    pub edition: &'a str,
    /// Of whoever drives it at once, as nothing stands before it; none: it waits at the end of the lane.
    pub lease: Option<&'a Lease>,
}

/// Puts a message's run into its lane.
pub async fn add(tx: &mut Tx, new: &NewRun<'_>, now: Timestamp) -> Result<RunId, StoreError> {
    let (now, owner) = (millis(now), new.lease.map(|lease| lease.owner.as_str()));
    let (state, until) = (if owner.is_some() { RUNNING } else { "queued" }, new.lease.map(|lease| millis(lease.until)));
    let id = sql::query_scalar!(
        r#"INSERT INTO runs (session_id, inbound_id, user_id, state, state_hash, edition, lease_owner, lease_until, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id AS "id!: RunId""#,
        new.session,
        new.inbound,
        new.user,
        state,
        new.hash,
        new.edition,
        owner,
        until,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// Allows a queued run's message to join the running run at a safe boundary.
pub async fn allow_joining(tx: &mut Tx, run: RunId) -> Result<(), StoreError> {
    sql::query!("UPDATE runs SET may_join = 1 WHERE id = $1 AND state = 'queued'", run).execute(&mut *tx).await?;
    Ok(())
}

/// The session's queue, in order.
pub async fn list_queued(tx: &mut Tx, session: SessionId) -> Result<Vec<QueuedRun>, StoreError> {
    let runs = sql::query_as!(
        QueuedRun,
        r#"SELECT r.id AS "id!: RunId", r.user_id AS "user!: UserId", u.role AS "role!: Role", i.text, u.name
           FROM runs r JOIN inbound i ON i.id = r.inbound_id JOIN users u ON u.id = r.user_id
           WHERE r.session_id = $1 AND r.state = 'queued' AND r.parked_why IS NULL ORDER BY r.yields, r.id"#,
        session
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The runs that wait, in whatever lane, at most so many.
pub async fn list_waiting(tx: &mut Tx, most: i64) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs INDEXED BY runs_queue WHERE state = 'queued' LIMIT $1"#,
        most
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// How many runs wait in the session's lane.
pub async fn count_queued(tx: &mut Tx, session: SessionId) -> Result<i64, StoreError> {
    let count = sql::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM runs WHERE session_id = $1 AND state = 'queued' AND parked_why IS NULL"#,
        session
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(count)
}

/// The queued runs whose messages may join a running one, of one user, in order.
pub async fn list_joinable(tx: &mut Tx, session: SessionId, user: UserId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"SELECT id AS "id!: RunId" FROM runs
           WHERE session_id = $1 AND state = 'queued' AND parked_why IS NULL AND may_join = 1 AND user_id = $2
           ORDER BY id"#,
        session,
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The run that has the session's lane.
pub async fn find_active(tx: &mut Tx, session: SessionId) -> Result<Option<ActiveRun>, StoreError> {
    let run = sql::query_as!(
        ActiveRun,
        r#"SELECT r.id AS "id!: RunId", r.user_id AS "user!: UserId", u.role AS "role!: Role", r.state,
                  EXISTS (SELECT 1 FROM signals s WHERE s.run_id = r.id AND s.taken = 0) AS "signalled!: bool"
           FROM runs r JOIN users u ON u.id = r.user_id
           WHERE r.session_id = $1 AND r.state IN ('running', 'waiting')"#,
        session
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(run)
}

/// A claim on a lane: who, and until when if nothing is heard of them.
#[derive(Debug, Clone)]
pub struct Lease {
    /// The process.
    pub owner: String,
    pub now: Timestamp,
    /// When it runs out.
    pub until: Timestamp,
}

/// Takes the lane of `session`; none if there is nothing to do, or somebody else does it.
///
/// A running run that nobody drives comes first, then a waiting one that was signalled, then the next in the queue; while
/// the conversation (an agent's: the one that it works for) or the house is paused, none of the queue.
/// Whoever claims drives no run of this session: one that counts as theirs could not be given back.
pub async fn claim(tx: &mut Tx, session: SessionId, lease: &Lease) -> Result<Option<ClaimedRunRow>, StoreError> {
    let (now, until) = (millis(lease.now), millis(lease.until));
    let claimed = sql::query_as!(
        ClaimedRunRow,
        r#"UPDATE runs SET state = 'running', lease_owner = $2, lease_until = $3
           WHERE id = (
             SELECT r.id FROM runs r
             WHERE r.session_id = $1 AND r.state IN ('queued', 'running', 'waiting') AND (
               (r.state = 'running' AND (r.lease_owner IS NULL OR r.lease_owner = $2 OR r.lease_until <= $4))
               OR (r.state = 'waiting' AND EXISTS (SELECT 1 FROM signals s WHERE s.run_id = r.id AND s.taken = 0))
               OR (r.state = 'queued' AND r.parked_why IS NULL AND NOT EXISTS (
                     SELECT 1 FROM runs a WHERE a.session_id = $1 AND a.state IN ('running', 'waiting'))
                     AND NOT EXISTS (SELECT 1 FROM switches w WHERE w.name = 'paused')
                     AND NOT EXISTS (SELECT 1 FROM sessions p
                       WHERE p.id = coalesce(r.home_session, r.session_id) AND p.paused_by IS NOT NULL))
             )
             ORDER BY r.state = 'queued', r.yields, r.id LIMIT 1)
           RETURNING id AS "id!: RunId", created_at AS "taken_in_at!: i64",
             EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = runs.id AND e.kind = 'run.begun') AS "begun!: bool""#,
        session,
        lease.owner,
        until,
        now
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(claimed)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedRunRow {
    pub id: RunId,
    /// When its message was taken in, in Unix milliseconds.
    pub taken_in_at: i64,
    /// Its work has begun: its journal may be long.
    pub begun: bool,
}

/// Lets go of a run that this process no longer drives; its state stays.
pub async fn release(tx: &mut Tx, run: RunId, owner: &str) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE runs SET lease_owner = NULL, lease_until = NULL WHERE id = $1 AND lease_owner = $2",
        run,
        owner
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Writes the state that the fold has reached. Only a running run keeps its lease.
pub async fn set_state(tx: &mut Tx, run: RunId, reached: ReachedState<'_>) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE runs SET state = $1, ended_at = $2, state_hash = $3, waits_until = NULL, parked_why = NULL, edition = coalesce($5, edition),
           lease_owner = CASE WHEN $1 = 'running' THEN lease_owner END,
           lease_until = CASE WHEN $1 = 'running' THEN lease_until END
         WHERE id = $4",
        reached.state,
        reached.ended_at,
        reached.hash,
        run,
        reached.edition
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Writes the state that a driver's fold has reached; none if `owner` does not drive the run any more, or if there are words for
/// it that were not taken.
///
/// Only a running run keeps its lease.
pub async fn advance(
    tx: &mut Tx,
    run: RunId,
    owner: &str,
    reached: ReachedState<'_>,
) -> Result<Option<LaneFollowUp>, StoreError> {
    if reached.state == RUNNING {
        return advance_in_place(tx, run, owner, reached.hash, reached.edition).await;
    }
    let (keeps, until) = match reached.waits {
        QuestionDeadline::AsBefore => (true, None),
        QuestionDeadline::Until(until) => (false, Some(until)),
        QuestionDeadline::WithoutEnd => (false, None),
    };
    let advanced = sql::query_as!(
        LaneFollowUp,
        r#"UPDATE runs SET state = $1, ended_at = $2, state_hash = $3, edition = $8,
             waits_until = CASE WHEN $6 = 1 THEN waits_until ELSE $7 END, lease_owner = NULL, lease_until = NULL
           WHERE id = $4 AND lease_owner = $5
             AND NOT EXISTS (SELECT 1 FROM signals s WHERE s.run_id = runs.id AND s.taken = 0)
           RETURNING EXISTS (
             SELECT 1 FROM runs AS next WHERE next.session_id = runs.session_id AND next.state = 'queued'
               AND next.parked_why IS NULL) AS "more!: bool",
             EXISTS (SELECT 1 FROM forgettings f WHERE f.run_id = runs.id) AS "forgets!: bool""#,
        reached.state,
        reached.ended_at,
        reached.hash,
        run,
        owner,
        keeps,
        until,
        reached.edition
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(advanced)
}

/// The same for a run that goes on: what its indexes hold is not written again.
async fn advance_in_place(
    tx: &mut Tx,
    run: RunId,
    owner: &str,
    hash: Option<&str>,
    edition: Option<&str>,
) -> Result<Option<LaneFollowUp>, StoreError> {
    let stayed = sql::query!(
        r#"UPDATE runs SET state_hash = $1, edition = $4, waits_until = NULL
           WHERE id = $2 AND lease_owner = $3 AND state = 'running'
             AND NOT EXISTS (SELECT 1 FROM signals s WHERE s.run_id = runs.id AND s.taken = 0)"#,
        hash,
        run,
        owner,
        edition
    )
    .execute(&mut *tx)
    .await?;
    // Both are asked about when the run is over.
    Ok((stayed.rows_affected() > 0).then_some(LaneFollowUp { more: false, forgets: false }))
}

/// What a run that comes to rest finds in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneFollowUp {
    /// Another run waits there.
    pub more: bool,
    /// Something of this run is to be forgotten when it is over.
    pub forgets: bool,
}

/// The state that a fold has reached.
#[derive(Debug, Clone, Copy)]
pub struct ReachedState<'a> {
    /// Its stored name.
    pub state: &'a str,
    /// When it was over, if it is.
    pub ended_at: Option<i64>,
    /// The hash of the whole of it; none: it is not what the journal folds to.
    pub hash: Option<&'a str>,
    /// How long its question stays open.
    pub waits: QuestionDeadline,
    /// Who wrote the journal as it is; none: whoever wrote it before.
    pub edition: Option<&'a str>,
}

/// How long a run's open question stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionDeadline {
    /// As was said when it was asked.
    AsBefore,
    /// Until then, in Unix milliseconds.
    Until(i64),
    /// For ever, or there is none.
    WithoutEnd,
}

/// A question that is not open for ever stays open until then at least.
pub async fn wait_at_least(tx: &mut Tx, run: RunId, until: Timestamp) -> Result<(), StoreError> {
    let until = millis(until);
    // Of nothing and a time this is nothing.
    sql::query!("UPDATE runs SET waits_until = max(waits_until, $1) WHERE id = $2", until, run)
        .execute(&mut *tx)
        .await?;
    Ok(())
}

/// Prolongs every lease of a process.
pub async fn heartbeat(tx: &mut Tx, lease: &Lease) -> Result<u64, StoreError> {
    let until = millis(lease.until);
    let done = sql::query!(
        "UPDATE runs INDEXED BY runs_one_active SET lease_until = $1
         WHERE state IN ('running', 'waiting') AND lease_owner = $2",
        until,
        lease.owner
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}

/// Voids the leases of every other process. Only for a store that one process owns alone.
pub async fn void_leases(tx: &mut Tx, owner: &str) -> Result<u64, StoreError> {
    let done = sql::query!(
        "UPDATE runs INDEXED BY runs_one_active SET lease_owner = NULL, lease_until = NULL
         WHERE state IN ('running', 'waiting') AND lease_owner <> $1",
        owner
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}
