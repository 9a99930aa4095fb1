//! Runs as they are looked at afterwards (`hob runs`, `hob replay`): newest first, and one by its number.

use crate::Tx;
use crate::error::StoreError;
use hob_core::domain::ids::{RunId, SessionId};

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// It.
    pub id: RunId,
    /// Its session's published name.
    pub session: String,
    /// Its sender's name.
    pub who: String,
    /// Its state.
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
}

/// Which runs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of this session; none: of all.
    pub session: Option<SessionId>,
    /// In this state; none: in any.
    pub state: Option<String>,
    /// At most so many.
    pub limit: i64,
}

/// The newest runs, newest first.
pub async fn list(tx: &mut Tx, wanted: &Wanted) -> Result<Vec<Listed>, StoreError> {
    let runs = sqlx::query_as!(
        Listed,
        r#"SELECT r.id AS "id!: RunId", s.key AS session, u.name AS who, r.state, r.created_at, r.ended_at, i.text,
             (SELECT count(*) FROM model_calls c WHERE c.run_id = r.id AND c.state = 'answered') AS "cycles!: i64",
             (SELECT coalesce(sum(c.input_tokens + c.output_tokens), 0) FROM model_calls c
              WHERE c.run_id = r.id) AS "tokens!: i64",
             (SELECT sum(c.cost) FROM model_calls c WHERE c.run_id = r.id) AS "cost: i64",
             r.parent_run AS "parent: RunId"
           FROM runs r CROSS JOIN sessions s ON s.id = r.session_id
             CROSS JOIN users u ON u.id = r.user_id CROSS JOIN inbound i ON i.id = r.inbound_id
           WHERE r.id <= 9223372036854775807
             AND ($1 IS NULL OR r.session_id = $1) AND ($2 IS NULL OR r.state = $2)
           ORDER BY r.id DESC LIMIT $3"#,
        wanted.session,
        wanted.state,
        wanted.limit
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(runs)
}

/// What the tables say of one run, beside its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its session's published name.
    pub session: String,
    /// Its sender's name.
    pub who: String,
    /// Its state.
    pub state: String,
    /// The hash of the state that its journal folds to; none: nobody wrote one down.
    pub state_hash: Option<String>,
    /// The run that it works for, if it is an agent.
    pub parent: Option<RunId>,
}

/// One run.
pub async fn find(tx: &mut Tx, run: RunId) -> Result<Option<Shown>, StoreError> {
    let shown = sqlx::query_as!(
        Shown,
        r#"SELECT s.key AS session, u.name AS who, r.state, r.state_hash, r.parent_run AS "parent: RunId"
           FROM runs r JOIN sessions s ON s.id = r.session_id JOIN users u ON u.id = r.user_id WHERE r.id = $1"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(shown)
}

/// The runs whose numbers come right before and right after this one, in order.
pub async fn nearby(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let mut near =
        sqlx::query_scalar!(r#"SELECT id AS "id!: RunId" FROM runs WHERE id < $1 ORDER BY id DESC LIMIT 3"#, run)
            .fetch_all(&mut *tx)
            .await?;
    near.reverse();
    near.extend(
        sqlx::query_scalar!(r#"SELECT id AS "id!: RunId" FROM runs WHERE id > $1 ORDER BY id LIMIT 3"#, run)
            .fetch_all(&mut *tx)
            .await?,
    );
    Ok(near)
}
