//! One recorded run, by its number (`hob replay`); [`run_list`](crate::run_list) lists them.

use crate::error::StoreError;
use crate::{Tx, sql};
use hob_core::domain::ids::RunId;

/// What the tables say of one run, beside its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRunRow {
    /// Its session's published name.
    pub session: String,
    /// Its sender's name.
    pub who: String,
    pub state: String,
    /// The hash of the state that its journal folds to; none: nobody wrote one down.
    pub state_hash: Option<String>,
    /// The run that it works for, if it is an agent.
    pub parent: Option<RunId>,
}

pub async fn find(tx: &mut Tx, run: RunId) -> Result<Option<RecordedRunRow>, StoreError> {
    let shown = sql::query_as!(
        RecordedRunRow,
        r#"SELECT s.key AS session, u.name AS who, r.state, r.state_hash, r.parent_run AS "parent: RunId"
           FROM runs r JOIN sessions s ON s.id = r.session_id JOIN users u ON u.id = r.user_id WHERE r.id = $1"#,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(shown)
}

/// The runs whose numbers come right before and right after this one, in order.
pub async fn neighbours(tx: &mut Tx, run: RunId) -> Result<Vec<RunId>, StoreError> {
    let mut near =
        sql::query_scalar!(r#"SELECT id AS "id!: RunId" FROM runs WHERE id < $1 ORDER BY id DESC LIMIT 3"#, run)
            .fetch_all(&mut *tx)
            .await?;
    near.reverse();
    near.extend(
        sql::query_scalar!(r#"SELECT id AS "id!: RunId" FROM runs WHERE id > $1 ORDER BY id LIMIT 3"#, run)
            .fetch_all(&mut *tx)
            .await?,
    );
    Ok(near)
}
