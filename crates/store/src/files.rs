//! Records of files: what came with a message, and what went out with one. The content is in [`crate::contents`].

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{FileId, InboundId, RunId, SessionId, UserId};
use hob_core::domain::memory::Scope;
use hob_core::domain::origin::OriginSource;

/// A file about to be recorded. Its content is kept already.
#[derive(Debug, Clone)]
pub struct NewFile<'a> {
    /// What it is the file of.
    pub key: &'a str,
    /// The conversation that it is of.
    pub session: SessionId,
    /// Whose run or message brought it.
    pub user: UserId,
    /// Whose it is when somebody has everything forgotten.
    pub scope: Scope,
    /// The message that it came with.
    pub inbound: Option<InboundId>,
    pub name: &'a str,
    /// What it is, by its content.
    pub mime: &'a str,
    pub bytes: u64,
    /// The SHA-256 of its content.
    pub hash: &'a str,
    /// Where it comes from.
    pub origin: &'a OriginSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    pub id: FileId,
    /// The conversation that it is of.
    pub session: SessionId,
    pub name: String,
    /// What it is, by its content.
    pub mime: String,
    pub bytes: i64,
    /// The SHA-256 of its content.
    pub hash: String,
    /// JSON: where it comes from.
    pub origin: String,
}

/// Records a file; what is recorded under its key already is what it is now.
pub async fn add(tx: &mut Tx, new: &NewFile<'_>, now: Timestamp) -> Result<FileId, StoreError> {
    let origin = serde_json::to_string(new.origin).map_err(|error| StoreError::Database(error.to_string()))?;
    let (scope, bytes, now) = (new.scope.to_string(), i64::try_from(new.bytes).unwrap_or(i64::MAX), millis(now));
    let id = sql::query_scalar!(
        r#"INSERT INTO files
             (key, session_id, user_id, scope, inbound_id, name, mime, bytes, hash, origin, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
           ON CONFLICT (key) DO UPDATE SET name = excluded.name, mime = excluded.mime, bytes = excluded.bytes,
             hash = excluded.hash, origin = excluded.origin
           RETURNING id AS "id!: FileId""#,
        new.key,
        new.session,
        new.user,
        scope,
        new.inbound,
        new.name,
        new.mime,
        bytes,
        new.hash,
        origin,
        now
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

pub async fn find(tx: &mut Tx, id: FileId) -> Result<Option<FileRecord>, StoreError> {
    let found = sql::query_as!(
        FileRecord,
        r#"SELECT id AS "id!: FileId", session_id AS "session!: SessionId", name, mime, bytes, hash, origin
           FROM files WHERE id = $1"#,
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found)
}

/// Who wants to be shown a file, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileReader {
    pub session: SessionId,
    pub user: UserId,
    /// Nobody else is there.
    pub private: bool,
}

/// A file of the conversation that this reader may be shown: what came with a message or went out there, all have seen; what was
/// found for somebody is theirs.
pub async fn find_shown_to(tx: &mut Tx, id: FileId, reader: FileReader) -> Result<Option<FileRecord>, StoreError> {
    let FileReader { session, user, private } = reader;
    let found = sql::query_as!(
        FileRecord,
        r#"SELECT id AS "id!: FileId", session_id AS "session!: SessionId", name, mime, bytes, hash, origin
           FROM files WHERE id = $1 AND session_id = $2
             AND ($3 = 1 OR user_id = $4 OR inbound_id IS NOT NULL
                  OR EXISTS (SELECT 1 FROM outbox o WHERE o.file_id = files.id))"#,
        id,
        session,
        private,
        user
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found)
}

/// The files that came with a message, in their order.
pub async fn of_message(tx: &mut Tx, inbound: InboundId) -> Result<Vec<FileRecord>, StoreError> {
    let found = sql::query_as!(
        FileRecord,
        r#"SELECT id AS "id!: FileId", session_id AS "session!: SessionId", name, mime, bytes, hash, origin
           FROM files WHERE inbound_id = $1 ORDER BY id"#,
        inbound
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(found)
}

/// Takes the records of a scope away, but for those that are still on their way out; gives how many.
pub async fn drop_scope(tx: &mut Tx, scope: Scope) -> Result<u64, StoreError> {
    let scope = scope.to_string();
    let done = sql::query!(
        "DELETE FROM files WHERE scope = $1 AND NOT EXISTS (
           SELECT 1 FROM outbox o WHERE o.file_id = files.id AND o.state IN ('pending', 'sending', 'unknown'))",
        scope
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}

/// By which the voice of a run's answer is recorded.
pub fn voice_key(run: RunId) -> String {
    format!("speech:{run}")
}

/// Takes the records away of what came with a run's message, and of its answer's voice, but for those that are still on their way out.
pub async fn drop_of_run(tx: &mut Tx, run: RunId) -> Result<u64, StoreError> {
    let voice = voice_key(run);
    let done = sql::query!(
        "DELETE FROM files WHERE (inbound_id = (SELECT inbound_id FROM runs WHERE id = $1) OR key = $2) AND NOT EXISTS (
           SELECT 1 FROM outbox o WHERE o.file_id = files.id AND o.state IN ('pending', 'sending', 'unknown'))",
        run,
        voice
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}

/// Takes the records away that are older, but for those that are still on their way out; gives how many.
pub async fn drop_before(tx: &mut Tx, before: Timestamp) -> Result<u64, StoreError> {
    let before = millis(before);
    let done = sql::query!(
        "DELETE FROM files WHERE created_at < $1 AND NOT EXISTS (
           SELECT 1 FROM outbox o WHERE o.file_id = files.id AND o.state IN ('pending', 'sending', 'unknown'))",
        before
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}

/// Those of these contents that no record refers to.
pub(crate) async fn orphans(tx: &mut Tx, hashes: &[String]) -> Result<Vec<String>, StoreError> {
    let hashes = serde_json::to_string(hashes).map_err(|error| StoreError::Database(error.to_string()))?;
    let orphans = sql::query_scalar!(
        r#"SELECT CAST(value AS TEXT) AS "hash!: String" FROM json_each($1)
           WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.hash = value)"#,
        hashes
    )
    .fetch_all(&mut *tx)
    .await?;
    Ok(orphans)
}
