//! Effects that can be taken back for a while (row N16).

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{CallId, RunId, SessionId, UserId};
use hob_core::domain::undo::{InverseCall, UndoOffer, UndoOrder};

/// An effect that can be taken back from now on.
#[derive(Debug, Clone)]
pub struct NewUndo<'a> {
    /// The call that had it.
    pub run: RunId,
    pub call: &'a CallId,
    pub tool: &'a str,
    /// The conversation that it was had for.
    pub session: SessionId,
    /// Whose run it was.
    pub user: UserId,
    /// How it is taken back, and until when.
    pub offer: &'a UndoOffer,
    pub at: i64,
}

/// Offers it; what is offered no longer goes.
pub async fn add(tx: &mut Tx, new: &NewUndo<'_>) -> Result<(), StoreError> {
    sql::query!("DELETE FROM undos WHERE until <= $1", new.at).execute(&mut *tx).await?;
    let UndoOffer { inverse: InverseCall { tool, arguments }, until } = new.offer;
    let (call, until) = (&new.call.0, millis(*until));
    sql::query!(
        "INSERT INTO undos (run_id, call_id, tool, session_id, user_id, inverse_tool, inverse_arguments, made_at, until)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (run_id, call_id) DO NOTHING",
        new.run,
        call,
        new.tool,
        new.session,
        new.user,
        tool,
        arguments,
        new.at,
        until
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// An effect that nobody has taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenUndo {
    pub id: i64,
    /// Whose run it was.
    pub user: UserId,
    /// When it took place.
    pub made_at: i64,
    /// What is to be done.
    pub order: UndoOrder,
}

/// The last effect of a conversation, or of this run and its agents alone, that can still be taken back.
pub async fn last(
    tx: &mut Tx,
    session: SessionId,
    run: Option<RunId>,
    now: i64,
) -> Result<Option<OpenUndo>, StoreError> {
    let row = sql::query!(
        r#"SELECT id, run_id AS "run!: RunId", call_id, tool, user_id AS "user!: UserId", inverse_tool, inverse_arguments, made_at
           FROM undos
           WHERE session_id = $1 AND until > $2 AND taken_by IS NULL
             AND ($3 IS NULL OR run_id = $3 OR run_id IN (SELECT id FROM runs WHERE root_run = $3))
           ORDER BY id DESC LIMIT 1"#,
        session,
        now,
        run
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row.map(|row| OpenUndo {
        id: row.id,
        user: row.user,
        made_at: row.made_at,
        order: UndoOrder {
            run: row.run,
            call: CallId(row.call_id),
            tool: row.tool,
            inverse: InverseCall { tool: row.inverse_tool, arguments: row.inverse_arguments },
        },
    }))
}

/// This run takes it back: nobody else does any more.
pub async fn take(tx: &mut Tx, id: i64, by: RunId) -> Result<(), StoreError> {
    sql::query!("UPDATE undos SET taken_by = $1 WHERE id = $2 AND taken_by IS NULL", by, id).execute(&mut *tx).await?;
    Ok(())
}
