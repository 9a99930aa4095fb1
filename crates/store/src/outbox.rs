//! What is to be said, until it is said. States: pending · sending · unknown · delivered · failed · abandoned.

pub mod queries;

use std::path::PathBuf;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::{Tx, drafts, files, inbound, millis, quarantined_mail, sql};
use hob_core::domain::ids::{FileId, OutboxId, RunId, SessionId};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::outgoing::{Choice, Destination, MessageReplacement, Outgoing, OutgoingFile};
use hob_core::render::RenderedPiece;

/// A chunk about to be queued.
#[derive(Debug, Clone)]
pub struct NewChunk<'a> {
    /// What it is the delivery of.
    pub key: &'a str,
    pub session: SessionId,
    pub run: Option<RunId>,
    pub destination: &'a Destination,
    /// The words, within the platform's limit.
    pub piece: &'a RenderedPiece,
    /// Buttons under it.
    pub choices: &'a [Choice],
    /// The file that goes out.
    pub file: Option<FileId>,
    /// What it is in its run's talk.
    pub part: ChunkRole<'a>,
}

/// As a question of its run, what may be done about its failure has this number: those that it asks begin with 1.
pub const FAILURE_QUESTION: u32 = 0;

/// What a chunk is in its run's talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkRole<'a> {
    /// Words that stand by themselves.
    Words,
    /// The run's last word, or its beginning: it takes the place of the run's draft.
    Reply,
    /// The run's question of this number, with the buttons.
    Question(u32),
    /// A failed run's last word, with the buttons of what may be done about it: a reply, and as a question the number 0.
    Failure,
    /// It takes the place of the message of the chunk with this key, or is done without.
    Instead(&'a str),
}

/// Queues a chunk; the same thing said is queued once.
pub async fn add(tx: &mut Tx, new: &NewChunk<'_>, now: Timestamp) -> Result<(), StoreError> {
    insert(tx, new, now, false).await.map(drop)
}

/// Queues words, and takes them if nothing of their session goes out before them: they need not be taken in a transaction of
/// their own. Only for whoever alone sends there.
pub async fn add_and_take(tx: &mut Tx, new: &NewChunk<'_>, now: Timestamp) -> Result<Option<PendingChunk>, StoreError> {
    let is_plain = new.file.is_none() && !matches!(new.part, ChunkRole::Instead(_));
    let row = insert(tx, new, now, is_plain).await?;
    row.filter(|row| row.attempts > 0).map(OutboxRow::decode).transpose()
}

async fn insert(tx: &mut Tx, new: &NewChunk<'_>, now: Timestamp, takes: bool) -> Result<Option<OutboxRow>, StoreError> {
    let place = &new.destination.conversation;
    let channel = place.channel.as_str();
    let choices = serde_json::to_string(new.choices).map_err(|error| StoreError::Database(error.to_string()))?;
    let now = millis(now);
    let takes_draft = matches!(new.part, ChunkRole::Reply | ChunkRole::Failure);
    let (question, replaces) = match new.part {
        ChunkRole::Question(number) => (Some(number), None),
        ChunkRole::Failure => (Some(FAILURE_QUESTION), None),
        ChunkRole::Instead(key) => (None, Some(key)),
        ChunkRole::Words | ChunkRole::Reply => (None, None),
    };
    let row = sql::query_as!(
        OutboxRow,
        r#"INSERT INTO outbox
           (key, session_id, run_id, channel, account, chat, thread, reply_to, text, choices, next_attempt_at, created_at,
            file_id, markup, takes_draft, question, replaces_key, state, attempts)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14, $15, $16,
                CASE WHEN t.taken = 1 THEN 'sending' ELSE 'pending' END, t.taken
         FROM (SELECT CASE WHEN $17 = 1 AND NOT EXISTS (SELECT 1 FROM outbox WHERE session_id = $2
                                                        AND state IN ('pending', 'sending', 'unknown'))
                      THEN 1 ELSE 0 END AS taken) t
         WHERE true ON CONFLICT (key) DO NOTHING
         RETURNING id AS "id!: OutboxId", session_id AS "session_id!: SessionId", run_id AS "run_id: RunId",
                   channel, account, chat, thread, reply_to, text, markup, choices, attempts,
                   may_repeat AS "may_repeat!: bool", next_attempt_at, created_at,
                   file_id AS "file_id: FileId", takes_draft AS "takes_draft!: bool", replaces_key"#,
        new.key,
        new.session,
        new.run,
        channel,
        place.account,
        place.chat,
        place.thread,
        new.destination.reply_to,
        new.piece.text,
        choices,
        now,
        new.file,
        new.piece.markup,
        takes_draft,
        question,
        replaces,
        takes
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

/// A chunk that waits, with what the delivery needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChunk {
    pub message: Outgoing,
    pub session: SessionId,
    /// Attempts so far.
    pub attempts: i64,
    /// Not before.
    pub next_attempt_at: i64,
    /// When it was queued.
    pub created_at: i64,
    /// It takes the place of its run's draft, if there is one.
    pub takes_draft: bool,
}

struct OutboxRow {
    id: OutboxId,
    session_id: SessionId,
    run_id: Option<RunId>,
    channel: String,
    account: String,
    chat: String,
    thread: Option<String>,
    reply_to: Option<String>,
    text: String,
    markup: Option<String>,
    choices: String,
    attempts: i64,
    may_repeat: bool,
    next_attempt_at: i64,
    created_at: i64,
    file_id: Option<FileId>,
    takes_draft: bool,
    replaces_key: Option<String>,
}

impl OutboxRow {
    fn decode(self) -> Result<PendingChunk, StoreError> {
        let id = self.id;
        let bad = |what: String| StoreError::Inconsistent { table: "outbox", id: id.to_string(), what };
        let channel: ChannelKind = self.channel.parse().map_err(|error| bad(format!("{error}")))?;
        let choices: Vec<Choice> = serde_json::from_str(&self.choices).map_err(|error| bad(error.to_string()))?;
        let conversation = Conversation { channel, account: self.account, chat: self.chat, thread: self.thread };
        let message = Outgoing {
            id,
            destination: Destination { conversation, reply_to: self.reply_to },
            run: self.run_id,
            text: self.text,
            markup: self.markup,
            replaces: None,
            envelope: None,
            choices,
            file: None,
            may_repeat: self.may_repeat,
        };
        Ok(PendingChunk {
            message,
            session: self.session_id,
            attempts: self.attempts,
            next_attempt_at: self.next_attempt_at,
            created_at: self.created_at,
            takes_draft: self.takes_draft,
        })
    }
}

/// The first open chunk of a session, which all others of it wait for, so that order is kept.
pub async fn head(tx: &mut Tx, session: SessionId) -> Result<Option<PendingChunk>, StoreError> {
    let row = sql::query_as!(
        OutboxRow,
        r#"SELECT id AS "id!: OutboxId", session_id AS "session_id!: SessionId", run_id AS "run_id: RunId",
                  channel, account, chat, thread, reply_to, text, markup, choices, attempts, may_repeat AS "may_repeat!: bool",
                  next_attempt_at, created_at, file_id AS "file_id: FileId", takes_draft AS "takes_draft!: bool", replaces_key
           FROM outbox WHERE session_id = $1 AND state IN ('pending', 'sending', 'unknown') ORDER BY id LIMIT 1"#,
        session
    )
    .fetch_optional(&mut *tx)
    .await?;
    row.map(OutboxRow::decode).transpose()
}

/// Takes the first open chunk of a session if it may go out now: from here on its outcome may be lost.
///
/// One that is taken while it counts as being sent was lost on an earlier attempt: it may arrive twice.
pub async fn take_head(tx: &mut Tx, session: SessionId, due: &DueTime) -> Result<Option<PendingChunk>, StoreError> {
    while let Some(mut row) = take_row(tx, session, due).await? {
        let (id, file, replaces_key) = (row.id, row.file_id, row.replaces_key.take());
        let mut waiting = row.decode()?;
        if let Some(key) = replaces_key {
            let Some(external_id) = external_id(tx, &key).await? else {
                // What it was to take the place of never arrived, or has no name: there is nothing to be changed.
                settle(tx, id, &DeliveryAttempt::Delivered { external_id: None }, due.now).await?;
                continue;
            };
            waiting.message.replaces = Some(MessageReplacement { external_id, or_send: false });
        }
        let Destination { conversation, reply_to } = &waiting.message.destination;
        if conversation.channel == ChannelKind::Email {
            waiting.message.envelope = match quarantined_mail::envelope_of(tx, waiting.message.id).await? {
                Some(envelope) => Some(envelope),
                None => inbound::envelope(tx, conversation, reply_to.as_deref()).await?,
            };
        }
        if let Some(file) = file {
            waiting.message.file = files::find(tx, file).await?.map(outgoing_file);
        }
        return Ok(Some(waiting));
    }
    Ok(None)
}

/// The platform's id of a chunk that was delivered.
async fn external_id(tx: &mut Tx, key: &str) -> Result<Option<String>, StoreError> {
    let found = sql::query_scalar!("SELECT external_id FROM outbox WHERE key = $1 AND state = 'delivered'", key)
        .fetch_optional(&mut *tx)
        .await?;
    Ok(found.flatten())
}

async fn take_row(tx: &mut Tx, session: SessionId, due: &DueTime) -> Result<Option<OutboxRow>, StoreError> {
    let (now, oldest) = (millis(due.now), millis(due.oldest));
    let row = sql::query_as!(
        OutboxRow,
        r#"UPDATE outbox SET may_repeat = CASE WHEN state = 'sending' THEN 1 ELSE may_repeat END, state = 'sending', attempts = attempts + 1
           WHERE id = (SELECT id FROM outbox WHERE session_id = $1 AND state IN ('pending', 'sending', 'unknown')
                       ORDER BY id LIMIT 1)
             AND (attempts = 0 OR created_at >= $3)
             AND (attempts = 0 OR next_attempt_at <= $2 OR (id = $4 AND next_attempt_at = $5))
           RETURNING id AS "id!: OutboxId", session_id AS "session_id!: SessionId", run_id AS "run_id: RunId",
                     channel, account, chat, thread, reply_to, text, markup, choices, attempts,
                     may_repeat AS "may_repeat!: bool", next_attempt_at, created_at,
                     file_id AS "file_id: FileId", takes_draft AS "takes_draft!: bool", replaces_key"#,
        session,
        now,
        oldest,
        due.waited,
        due.waited_at
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(row)
}

fn outgoing_file(file: files::FileRecord) -> OutgoingFile {
    let files::FileRecord { id, name, mime, bytes, hash, .. } = file;
    OutgoingFile { id, name, mime, bytes: u64::try_from(bytes).unwrap_or(0), hash, path: PathBuf::new() }
}

/// When a chunk may go out: what was never tried at once, the rest at its time.
#[derive(Debug, Clone, Copy)]
pub struct DueTime {
    /// By the wall clock.
    pub now: Timestamp,
    /// What is older is not tried again.
    pub oldest: Timestamp,
    /// This one's time has come by the clock that never jumps …
    pub waited: Option<OutboxId>,
    /// … if it was this time.
    pub waited_at: Option<i64>,
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryAttempt {
    /// The platform has it.
    Delivered { external_id: Option<String> },
    /// Again, not before.
    Again {
        at: Timestamp,
        /// Nobody knows whether this attempt arrived.
        unknown: bool,
        why: String,
    },
    /// The platform will never take it.
    Failed { why: String },
    /// Hob gives up.
    Abandoned { why: String },
}

/// Records what came of an attempt. False: nothing else of its session is open.
pub async fn settle(tx: &mut Tx, id: OutboxId, attempt: &DeliveryAttempt, now: Timestamp) -> Result<bool, StoreError> {
    let now = millis(now);
    match attempt {
        DeliveryAttempt::Delivered { external_id } => {
            let delivered = sql::query!(
                r#"UPDATE outbox SET state = 'delivered', external_id = $1, error = NULL, ended_at = $2 WHERE id = $3
                   RETURNING
                     CASE WHEN takes_draft = 1 AND EXISTS (SELECT 1 FROM drafts d WHERE d.run_id = outbox.run_id)
                       THEN run_id END AS "run: RunId",
                     EXISTS (SELECT 1 FROM outbox o WHERE o.session_id = outbox.session_id AND o.id <> outbox.id
                             AND o.state IN ('pending', 'sending', 'unknown')) AS "more!: bool""#,
                external_id,
                now,
                id
            )
            .fetch_optional(&mut *tx)
            .await?;
            if let Some(run) = delivered.as_ref().and_then(|row| row.run) {
                drafts::remove(tx, run).await?;
            }
            return Ok(delivered.is_none_or(|row| row.more));
        }
        DeliveryAttempt::Again { at, unknown, why } => {
            let (state, at) = (if *unknown { "unknown" } else { "pending" }, millis(*at));
            sql::query!(
                "UPDATE outbox SET state = $1, may_repeat = max(may_repeat, CAST($2 AS INTEGER)), next_attempt_at = $3, error = $4
                 WHERE id = $5",
                state,
                unknown,
                at,
                why,
                id
            )
            .execute(&mut *tx)
            .await?;
        }
        DeliveryAttempt::Failed { why } | DeliveryAttempt::Abandoned { why } => {
            let state = if matches!(attempt, DeliveryAttempt::Failed { .. }) { "failed" } else { "abandoned" };
            // What may have arrived may stand where the draft did: then it is no draft that could be taken back.
            let may_stand_for = sql::query_scalar!(
                r#"UPDATE outbox SET state = $1, error = $2, ended_at = $3 WHERE id = $4
                   RETURNING CASE WHEN takes_draft = 1 AND may_repeat = 1 THEN run_id END AS "run: RunId""#,
                state,
                why,
                now,
                id
            )
            .fetch_optional(&mut *tx)
            .await?;
            if let Some(run) = may_stand_for.flatten() {
                drafts::remove(tx, run).await?;
            }
        }
    }
    Ok(true)
}

/// At the start: what an earlier process was sending when it died has an unknown outcome.
pub async fn sweep(tx: &mut Tx) -> Result<u64, StoreError> {
    let done = sql::query!(
        "UPDATE outbox SET state = 'unknown', may_repeat = 1
         WHERE state = 'sending' AND state IN ('pending', 'sending', 'unknown')"
    )
    .execute(&mut *tx)
    .await?;
    Ok(done.rows_affected())
}
