//! What the database has for a run that is about to begin, in one look.

use crate::Tx;
use crate::error::StoreError;
use crate::sessions::Session;
use crate::summaries::Summary;
use hob_core::domain::ids::{RunId, SessionId, UserId};

/// A run that is about to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// It.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The conversation that it belongs to.
    pub home: SessionId,
    /// Whose message it answers.
    pub user: UserId,
}

/// What it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunWith {
    /// Its session.
    pub session: Session,
    /// What an unfinished run noted, as JSON.
    pub run_journal: Option<String>,
    /// The tools that need no approval for this person in its conversation.
    pub granted: Vec<String>,
    /// What stands for the older part of the session, as this person may see it.
    pub summary: Option<Summary>,
    /// When the run was taken in, in Unix milliseconds.
    pub taken_in_at: i64,
    /// How many messages behind the summary are no longer read.
    pub pruned: i64,
}

/// What a run begins with; none: its session is missing.
///
/// # Errors
/// When the database fails.
pub async fn find(tx: &mut Tx, of: &Beginning) -> Result<Option<BegunWith>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT s.id AS "id!: SessionId", s.key, s.channel, s.queue_mode, s.model, s.persona, s.context_from,
             s.last_ordinal, s.run_journal, r.created_at,
             y.through AS "through?", y.text AS "text?", y.taint AS "taint?",
             (SELECT json_group_array(tool) FROM (
                SELECT tool FROM grants WHERE session_id = $3 AND user_id = $4 AND revoked_at IS NULL ORDER BY tool))
               AS "granted!: String",
             (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.pruned = 1
                AND m.ordinal > max(s.context_from, coalesce(y.through, 0))) AS "pruned!: i64"
           FROM sessions s CROSS JOIN runs r ON r.id = $1
             LEFT JOIN summaries y ON y.session_id = s.id AND y.user_id = $4
           WHERE s.id = $2"#,
        of.run,
        of.session,
        of.home,
        of.user
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let granted = serde_json::from_str(&row.granted).map_err(|error| StoreError::Database(error.to_string()))?;
    let session = Session {
        id: row.id,
        key: row.key,
        channel: row.channel,
        queue_mode: row.queue_mode,
        model: row.model,
        persona: row.persona,
        context_from: row.context_from,
        last_ordinal: row.last_ordinal,
    };
    let summary = row.through.zip(row.text).map(|(through, text)| Summary { through, text, taint: row.taint });
    let (run_journal, taken_in_at, pruned) = (row.run_journal, row.created_at, row.pruned);
    Ok(Some(BegunWith { session, run_journal, granted, summary, taken_in_at, pruned }))
}
