//! What the database has for a run that is about to begin, in one look.

use crate::error::StoreError;
use crate::sessions::Session;
use crate::summaries::Summary;
use crate::{Tx, sql};
use hob_core::domain::ids::{SessionId, UserId};

/// What a run begins with, of what its conversation has stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRunContext {
    /// What an unfinished run noted, as JSON.
    pub run_journal: Option<String>,
    /// The tools that need no approval for this person in its conversation.
    pub granted: Vec<String>,
    /// What stands for the older part of the session, as this person may see it.
    pub summary: Option<Summary>,
    /// How many messages behind the summary are no longer read.
    pub pruned: i64,
}

/// What a run of this person's begins with in a session that belongs to the conversation `home`; none: the session is missing.
pub async fn find(
    tx: &mut Tx,
    session: SessionId,
    home: SessionId,
    user: UserId,
) -> Result<Option<(Session, StoredRunContext)>, StoreError> {
    let row = sql::query!(
        r#"SELECT s.id AS "id!: SessionId", s.key, s.channel, s.queue_mode, s.model, s.persona, s.server, s.context_from,
             s.last_ordinal, s.run_journal,
             y.through AS "through?", y.text AS "text?", y.taint AS "taint?",
             (SELECT json_group_array(tool) FROM (
                SELECT tool FROM grants WHERE session_id = $2 AND user_id = $3 AND revoked_at IS NULL ORDER BY tool))
               AS "granted!: String",
             (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.pruned = 1
                AND m.ordinal > max(s.context_from, coalesce(y.through, 0))) AS "pruned!: i64"
           FROM sessions s LEFT JOIN summaries y ON y.session_id = s.id AND y.user_id = $3
           WHERE s.id = $1"#,
        session,
        home,
        user
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let summary = row.through.zip(row.text).map(|(through, text)| Summary { through, text, taint: row.taint });
    let (granted, run_journal, pruned) = (tools(&row.granted)?, row.run_journal, row.pruned);
    let session = Session {
        id: row.id,
        key: row.key,
        channel: row.channel,
        queue_mode: row.queue_mode,
        model: row.model,
        persona: row.persona,
        server: row.server,
        context_from: row.context_from,
        last_ordinal: row.last_ordinal,
    };
    Ok(Some((session, StoredRunContext { run_journal, granted, summary, pruned })))
}

/// The names in a JSON list.
pub(crate) fn tools(granted: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(granted).map_err(|error| StoreError::Database(error.to_string()))
}
