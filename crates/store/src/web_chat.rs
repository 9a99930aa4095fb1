//! What was said on the page: messages that came from it, and chunks that were delivered to it.

use crate::error::StoreError;
use crate::forgetting::FORGOTTEN;
use crate::{Tx, sql};
use hob_core::domain::ids::{InboundId, OutboxId, RunId, SessionId};

/// A conversation on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebChat {
    pub session: SessionId,
    /// The session's key: `web:ID`.
    pub key: String,
    /// As somebody called it.
    pub title: Option<String>,
    pub began_with: Option<String>,
    /// When somebody last wrote in it, in milliseconds.
    pub at: Option<i64>,
}

/// Which conversations are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatQuery<'a> {
    /// Below this session.
    pub before: i64,
    /// With these words in the name, or in what was said; none: all.
    pub words: Option<&'a str>,
    pub limit: i64,
}

/// The conversations, the newest first. Of one that was deleted only what was said since counts.
pub async fn chats(tx: &mut Tx, wanted: ChatQuery<'_>) -> Result<Vec<WebChat>, StoreError> {
    let like = wanted.words.map(containing);
    let all = sql::query_as!(
        WebChat,
        r#"SELECT s.id AS "session!: SessionId", s.key, c.title,
             (SELECT i.text FROM inbound i WHERE i.session_id = s.id AND i.channel = 'web' AND i.id > coalesce(c.said_upto, 0)
              ORDER BY i.id LIMIT 1) AS "began_with?",
             (SELECT i.received_at FROM inbound i WHERE i.session_id = s.id AND i.channel = 'web' ORDER BY i.id DESC LIMIT 1) AS "at?"
           FROM sessions s LEFT JOIN web_chats c ON c.session_id = s.id
           WHERE s.channel = 'web' AND s.id < $1
             AND (coalesce(c.said_upto, 0) = 0 OR EXISTS (
               SELECT 1 FROM inbound i WHERE i.session_id = s.id AND i.channel = 'web' AND i.id > c.said_upto))
             AND ($2 IS NULL OR c.title LIKE $2 ESCAPE '!'
               OR EXISTS (SELECT 1 FROM inbound i WHERE i.session_id = s.id AND i.channel = 'web'
                            AND i.id > coalesce(c.said_upto, 0) AND i.text LIKE $2 ESCAPE '!')
               OR EXISTS (SELECT 1 FROM outbox o WHERE o.session_id = s.id AND o.channel = 'web'
                            AND o.id > coalesce(c.answered_upto, 0) AND o.text LIKE $2 ESCAPE '!'))
           ORDER BY s.id DESC LIMIT $3"#,
        wanted.before,
        like,
        wanted.limit
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// What matches texts that hold these words, sign for sign.
fn containing(words: &str) -> String {
    let plain = words.replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{plain}%")
}

/// Where a conversation of the page is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatPosition {
    pub session: SessionId,
    /// What people said up to this row was deleted.
    pub said_upto: i64,
    /// What Hob said up to this row was deleted.
    pub answered_upto: i64,
}

/// Where the conversation with this key is kept; none: nothing was ever said in it.
pub async fn place(tx: &mut Tx, key: &str) -> Result<Option<ChatPosition>, StoreError> {
    let found = sql::query_as!(
        ChatPosition,
        r#"SELECT s.id AS "session!: SessionId", coalesce(c.said_upto, 0) AS "said_upto!: i64",
             coalesce(c.answered_upto, 0) AS "answered_upto!: i64"
           FROM sessions s LEFT JOIN web_chats c ON c.session_id = s.id WHERE s.key = $1 AND s.channel = 'web'"#,
        key
    );
    Ok(found.fetch_optional(&mut *tx).await?)
}

/// Calls a conversation so; none: by how it began.
pub async fn rename(tx: &mut Tx, session: SessionId, title: Option<&str>) -> Result<(), StoreError> {
    sql::query!(
        "INSERT INTO web_chats (session_id, title) VALUES ($1, $2) ON CONFLICT (session_id) DO UPDATE SET title = excluded.title",
        session,
        title
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Shows no more of what was said in a conversation up to now, and takes the words out of what no run has: commands, and what
/// was answered to them.
pub async fn close(tx: &mut Tx, session: SessionId) -> Result<(), StoreError> {
    sql::query!(
        "UPDATE inbound SET text = $1, envelope = NULL WHERE session_id = $2 AND channel = 'web' AND text <> $1",
        FORGOTTEN,
        session
    )
    .execute(&mut *tx)
    .await?;
    sql::query!(
        "UPDATE outbox SET text = $1, markup = NULL, choices = '[]'
         WHERE session_id = $2 AND channel = 'web' AND ended_at IS NOT NULL AND text <> $1",
        FORGOTTEN,
        session
    )
    .execute(&mut *tx)
    .await?;
    sql::query!(
        "INSERT INTO web_chats (session_id, said_upto, answered_upto) VALUES ($1,
           (SELECT coalesce(max(i.id), 0) FROM inbound i WHERE i.session_id = $1 AND i.channel = 'web'),
           (SELECT coalesce(max(o.id), 0) FROM outbox o WHERE o.session_id = $1 AND o.channel = 'web'))
         ON CONFLICT (session_id) DO UPDATE
           SET title = NULL, said_upto = excluded.said_upto, answered_upto = excluded.answered_upto",
        session
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Where a look at a conversation begins and ends: both ids are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// Above this.
    pub after: i64,
    /// Below this.
    pub before: i64,
    /// The newest of them, so many.
    pub limit: i64,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessageRow {
    pub id: InboundId,
    /// What the page called it.
    pub external_id: String,
    pub name: String,
    pub text: String,
    /// What became of it: `run`, `command`, `answer` or `refused`.
    pub disposition: String,
    /// When, in milliseconds.
    pub at: i64,
    pub run: Option<RunId>,
    /// The run's state.
    pub state: Option<String>,
}

/// What people said in a conversation, the newest first.
pub async fn said(tx: &mut Tx, session: SessionId, between: IdRange) -> Result<Vec<UserMessageRow>, StoreError> {
    let all = sql::query_as!(
        UserMessageRow,
        r#"SELECT i.id AS "id!: InboundId", i.external_id, u.name, i.text, i.disposition, i.received_at AS at,
             r.id AS "run?: RunId", r.state AS "state?"
           FROM inbound i JOIN users u ON u.id = i.user_id LEFT JOIN runs r ON r.inbound_id = i.id
           WHERE i.channel = 'web' AND i.session_id = $1 AND i.id > $2 AND i.id < $3 ORDER BY i.id DESC LIMIT $4"#,
        session,
        between.after,
        between.before,
        between.limit
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentRow {
    /// The message.
    pub inbound: InboundId,
    /// The file.
    pub id: i64,
    pub name: String,
    /// What it is, by its content.
    pub mime: String,
    pub bytes: i64,
}

/// The files that came with messages of a conversation, in order.
pub async fn attached(tx: &mut Tx, session: SessionId, between: IdRange) -> Result<Vec<AttachmentRow>, StoreError> {
    let all = sql::query_as!(
        AttachmentRow,
        r#"SELECT i.id AS "inbound!: InboundId", f.id AS "id!", f.name, f.mime, f.bytes
           FROM inbound i JOIN files f ON f.inbound_id = i.id
           WHERE i.channel = 'web' AND i.session_id = $1 AND i.id > $2 AND i.id < $3 ORDER BY i.id, f.id LIMIT $4"#,
        session,
        between.after,
        between.before,
        between.limit
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// A file's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentFileRow {
    pub name: String,
    /// What it is, by its content.
    pub mime: String,
    pub bytes: i64,
    /// The SHA-256 of its content.
    pub hash: String,
}

/// A file that was sent in a conversation of the page, by whomever.
pub async fn file(tx: &mut Tx, id: i64) -> Result<Option<SentFileRow>, StoreError> {
    let found = sql::query_as!(
        SentFileRow,
        r#"SELECT f.name, f.mime, f.bytes, f.hash FROM files f WHERE f.id = $1 AND (
             EXISTS (SELECT 1 FROM inbound i WHERE i.id = f.inbound_id AND i.channel = 'web')
             OR EXISTS (SELECT 1 FROM outbox o WHERE o.file_id = f.id AND o.channel = 'web'))"#,
        id
    );
    Ok(found.fetch_optional(&mut *tx).await?)
}

/// What Hob said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyRow {
    pub id: OutboxId,
    /// What, without markup.
    pub text: String,
    /// What, as HTML.
    pub markup: Option<String>,
    /// JSON: the buttons under it.
    pub choices: String,
    /// When, in milliseconds.
    pub at: i64,
    pub run: Option<RunId>,
    /// The chunk whose place it takes.
    pub replaces: Option<OutboxId>,
    /// The file that goes with it.
    pub file: Option<i64>,
    pub file_name: Option<String>,
    /// What it is, by its content.
    pub file_mime: Option<String>,
    /// The file's size.
    pub file_bytes: Option<i64>,
}

/// What Hob said in a conversation, the newest first. What is on its way is there already: the page reads it here.
pub async fn answered(tx: &mut Tx, session: SessionId, between: IdRange) -> Result<Vec<ReplyRow>, StoreError> {
    let all = sql::query_as!(
        ReplyRow,
        r#"SELECT o.id AS "id!: OutboxId", o.text, o.markup, o.choices, o.created_at AS at,
             o.run_id AS "run?: RunId", q.id AS "replaces?: OutboxId", f.id AS "file?", f.name AS "file_name?",
             f.mime AS "file_mime?", f.bytes AS "file_bytes?"
           FROM outbox o LEFT JOIN outbox q ON q.key = o.replaces_key LEFT JOIN files f ON f.id = o.file_id
           WHERE o.channel = 'web' AND o.session_id = $1 AND o.state <> 'abandoned' AND o.id > $2 AND o.id < $3
           ORDER BY o.id DESC LIMIT $4"#,
        session,
        between.after,
        between.before,
        between.limit
    );
    Ok(all.fetch_all(&mut *tx).await?)
}

/// A message whose run is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMessage {
    pub run: RunId,
    /// The message that it answers.
    pub inbound: InboundId,
    /// What the page called that.
    pub external_id: String,
    /// `queued`, `running` or `waiting`.
    pub state: String,
    /// The message's words.
    pub text: String,
}

/// What is at work or waits its turn in a conversation, in order.
pub async fn open(tx: &mut Tx, session: SessionId) -> Result<Vec<OpenMessage>, StoreError> {
    let all = sql::query_as!(
        OpenMessage,
        r#"SELECT r.id AS "run!: RunId", r.inbound_id AS "inbound!: InboundId", i.external_id, r.state, i.text
           FROM runs r JOIN inbound i ON i.id = r.inbound_id
           WHERE r.session_id = $1 AND r.state IN ('queued', 'running', 'waiting') ORDER BY r.id LIMIT 100"#,
        session
    );
    Ok(all.fetch_all(&mut *tx).await?)
}
