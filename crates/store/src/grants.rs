//! What people have allowed for good (row D6): one person, one conversation, one tool.

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{GrantId, RunId, SessionId, UserId};

/// A grant that is about to hold.
#[derive(Debug, Clone)]
pub struct NewGrant<'a> {
    /// Whose calls need no approval any more.
    pub user: UserId,
    pub session: SessionId,
    pub tool: &'a str,
    /// In which run it was said.
    pub run: RunId,
    /// When, in Unix milliseconds.
    pub at: i64,
}

/// A grant that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    pub id: GrantId,
    pub user: UserId,
    pub name: String,
    pub tool: String,
    /// Since when.
    pub created_at: i64,
}

/// Stores a grant; one that holds already stays as it is.
pub async fn add(tx: &mut Tx, new: &NewGrant<'_>) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO grants (user_id, session_id, tool, run_id, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (session_id, user_id, tool) WHERE revoked_at IS NULL DO NOTHING",
        new.user,
        new.session,
        new.tool,
        new.run,
        new.at
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// The conversation's grants that hold, oldest first; with `user`, only that person's.
pub async fn list(tx: &mut Tx, session: SessionId, user: Option<UserId>) -> Result<Vec<GrantRow>, StoreError> {
    let grants = sql::query_as!(
        GrantRow,
        r#"SELECT g.id AS "id!: GrantId", g.user_id AS "user!: UserId", u.name, g.tool, g.created_at
           FROM grants g JOIN users u ON u.id = g.user_id
           WHERE g.session_id = $1 AND g.revoked_at IS NULL AND ($2 IS NULL OR g.user_id = $2) ORDER BY g.id"#,
        session,
        user
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(grants)
}

/// Takes a grant back.
pub async fn revoke(tx: &mut Tx, id: GrantId, now: Timestamp) -> Result<(), StoreError> {
    let now = millis(now);
    sql::query!("UPDATE grants SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", now, id)
        .execute(&mut *tx)
        .await?;
    Ok(())
}
