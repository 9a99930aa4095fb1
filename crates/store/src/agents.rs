//! Runs that work for other runs: who for, and where what they have to ask is asked.

use crate::error::StoreError;
use crate::runs::ActiveRun;
use crate::{Tx, sql};
use hob_core::domain::ids::{CallId, RunId, SessionId, UserId};
use hob_core::domain::principal::Role;

/// Whom a run works for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLink<'a> {
    /// The run that waits for it.
    pub parent: RunId,
    pub call: &'a CallId,
    /// The run that a person's message began.
    pub root: RunId,
    /// That one's conversation.
    pub home: SessionId,
    /// How deep it is.
    pub depth: u32,
}

/// Records whom a run works for.
pub async fn link(tx: &mut Tx, run: RunId, link: &AgentLink<'_>) -> Result<(), StoreError> {
    let (call, depth) = (&link.call.0, i64::from(link.depth));
    sql::query!(
        "UPDATE runs SET parent_run = $1, parent_call = $2, root_run = $3, home_session = $4, depth = $5 WHERE id = $6",
        link.parent,
        call,
        link.root,
        link.home,
        depth,
        run
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The run that waits for this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingParent {
    pub run: RunId,
    pub session: SessionId,
    /// The call that the end of this one settles.
    pub call: CallId,
    /// It is not over.
    pub open: bool,
}

/// The run that this one works for; none: it works for a person.
pub async fn parent(tx: &mut Tx, run: RunId) -> Result<Option<WaitingParent>, StoreError> {
    let row = sql::query!(
        r#"SELECT p.id AS "run!: RunId", p.session_id AS "session!: SessionId", r.parent_call AS "call!: String",
                  p.ended_at IS NULL AS "open!: bool"
           FROM runs r JOIN runs p ON p.id = r.parent_run WHERE r.id = $1"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row.map(|row| WaitingParent { run: row.run, session: row.session, call: CallId(row.call), open: row.open }))
}

/// The conversation where a run that works for another has its words said; none: its own.
pub async fn home(tx: &mut Tx, run: RunId) -> Result<Option<SessionId>, StoreError> {
    let row = sql::query!(r#"SELECT home_session AS "home: SessionId" FROM runs WHERE id = $1"#, run)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(row.and_then(|row| row.home))
}

/// The agents of a run that are not over, and theirs in turn.
pub async fn open_below(tx: &mut Tx, run: RunId) -> Result<Vec<OpenAgent>, StoreError> {
    let open = sql::query_as!(
        OpenAgent,
        r#"WITH RECURSIVE below (id) AS (
             SELECT r.id FROM runs r WHERE r.parent_run = $1
             UNION ALL SELECT r.id FROM below b JOIN runs r ON r.parent_run = b.id)
           SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", r.user_id AS "user!: UserId",
                  r.state, s.channel
           FROM below b CROSS JOIN runs r ON r.id = b.id
             CROSS JOIN sessions s ON s.id = r.session_id
           WHERE r.state IN ('queued', 'running', 'waiting') ORDER BY r.id"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(open)
}

/// An agent that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAgent {
    pub id: RunId,
    pub session: SessionId,
    pub user: UserId,
    /// `queued`, `running` or `waiting`.
    pub state: String,
    /// Its session's platform.
    pub channel: String,
}

impl OpenAgent {
    /// Does it wait for its lane?
    pub fn is_queued(&self) -> bool {
        self.state == "queued"
    }
}

/// The agents at work for a conversation.
pub async fn open_at_home(tx: &mut Tx, home: SessionId) -> Result<Vec<OpenAgent>, StoreError> {
    let open = sql::query_as!(
        OpenAgent,
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", r.user_id AS "user!: UserId",
                  r.state, s.channel
           FROM runs r JOIN sessions s ON s.id = r.session_id
           WHERE r.home_session = $1 AND r.state IN ('queued', 'running', 'waiting') ORDER BY r.id"#,
        home
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(open)
}

/// An agent that waits, perhaps for a person's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingAgent {
    pub session: SessionId,
    pub run: ActiveRun,
}

/// The agents of a conversation that wait, the oldest first.
pub async fn waiting_at_home(tx: &mut Tx, home: SessionId) -> Result<Vec<WaitingAgent>, StoreError> {
    let rows = sql::query!(
        r#"SELECT r.id AS "id!: RunId", r.session_id AS "session!: SessionId", r.user_id AS "user!: UserId",
                  u.role AS "role!: Role", r.state,
                  EXISTS (SELECT 1 FROM signals s WHERE s.run_id = r.id AND s.taken = 0) AS "signalled!: bool"
           FROM runs r JOIN users u ON u.id = r.user_id
           WHERE r.home_session = $1 AND r.state IN ('queued', 'running', 'waiting') AND r.state = 'waiting' ORDER BY r.id"#,
        home
    )
    .fetch_all(&mut *tx)
    .await?;
    let waiting = rows.into_iter().map(|row| WaitingAgent {
        session: row.session,
        run: ActiveRun { id: row.id, user: row.user, role: row.role, state: row.state, signalled: row.signalled },
    });
    Ok(waiting.collect())
}

/// An agent at work, as people are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingAgent {
    pub id: RunId,
    /// How deep it is.
    pub depth: i64,
    /// Its run's state.
    pub state: String,
    /// What it was told to do.
    pub task: String,
}

/// The agents at work for a conversation, with what they do.
pub async fn at_work(tx: &mut Tx, home: SessionId) -> Result<Vec<WorkingAgent>, StoreError> {
    let agents = sql::query_as!(
        WorkingAgent,
        r#"SELECT r.id AS "id!: RunId", r.depth, r.state, i.text AS task
           FROM runs r JOIN inbound i ON i.id = r.inbound_id
           WHERE r.home_session = $1 AND r.state IN ('queued', 'running', 'waiting') ORDER BY r.id"#,
        home
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(agents)
}

/// What a run cost, with all that worked for it, in nano-dollars.
pub async fn cost_of(tx: &mut Tx, run: RunId) -> Result<i64, StoreError> {
    let cost = sql::query_scalar!(
        r#"WITH RECURSIVE tree (id) AS (
             SELECT $1 UNION ALL SELECT r.id FROM tree t JOIN runs r ON r.parent_run = t.id)
           SELECT coalesce(sum(c.cost), 0) AS "cost!: i64" FROM tree t CROSS JOIN model_calls c ON c.run_id = t.id"#,
        run
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(cost)
}

/// The runs that worked for this one.
pub async fn descendants(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(
        r#"WITH RECURSIVE below (id) AS (
             SELECT r.id FROM runs r WHERE r.parent_run = $1
             UNION ALL SELECT r.id FROM below b JOIN runs r ON r.parent_run = b.id)
           SELECT id AS "id!: RunId" FROM below ORDER BY id"#,
        run
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// The runs that worked for this one itself, in order.
pub async fn children(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let runs = sql::query_scalar!(r#"SELECT id AS "id!: RunId" FROM runs WHERE parent_run = $1 ORDER BY id"#, run)
        .fetch_all(&mut *tx)
        .await?;
    Ok(runs)
}
