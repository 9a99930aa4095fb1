//! Recordings on their way into words, and answers on their way into recordings (rows N10, C6, F10).
//!
//! What is set aside for them, what they cost, and of the former the words, until their message is taken in.
//!
//! A row is the claim: it is made before anybody is asked, in the transaction that looks whether the caps allow it.

use jiff::{SignedDuration, Timestamp};

use crate::error::StoreError;
use crate::spend::{self, SpendTotals};
use crate::{Tx, millis, sql};
use hob_core::domain::ids::{RunId, UserId};
use hob_core::domain::inbound::Conversation;

/// How long a recording's row is kept: what it cost stands in the sums by then.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// A message's file, or the voice of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingKey {
    /// Where the message was said.
    pub conversation: Conversation,
    /// What its platform calls it.
    pub external_id: String,
    /// Which of its files, from 0 on.
    pub place: i64,
}

impl RecordingKey {
    /// Of a run's answer, which is said in this conversation.
    pub fn of_answer(conversation: Conversation, run: RunId) -> Self {
        // No platform names a message so.
        Self { conversation, external_id: format!("speech:{run}"), place: 0 }
    }
}

/// What was heard in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingTranscript {
    pub words: String,
    /// For how long somebody spoke.
    pub seconds: Option<i64>,
    /// What it cost, in nano-dollars; none: nobody knows.
    pub cost: Option<i64>,
    /// The tokens that the recording was.
    pub input_tokens: i64,
    /// The tokens that the words are.
    pub output_tokens: i64,
}

/// What was heard in a recording by a process that did not come to take its message in.
pub async fn find(tx: &mut Tx, which: &RecordingKey) -> Result<Option<RecordingTranscript>, StoreError> {
    let RecordingKey { conversation: Conversation { channel, account, chat, .. }, external_id, place } = which;
    let channel = channel.as_str();
    let found = sql::query_as!(
        RecordingTranscript,
        r#"SELECT words AS "words!: String", seconds, cost, input_tokens, output_tokens FROM recordings
           WHERE channel = $1 AND account = $2 AND chat = $3 AND external_id = $4 AND place = $5 AND words IS NOT NULL
           ORDER BY id DESC LIMIT 1"#,
        channel,
        account,
        chat,
        external_id,
        place
    )
    .fetch_optional(&mut *tx)
    .await?;
    Ok(found)
}

/// A call about to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewTranscription<'a> {
    /// Who spoke.
    pub user: UserId,
    /// To which persona; none: to nobody in particular.
    pub persona: Option<&'a str>,
    pub model: &'a str,
    /// What is set aside, in nano-dollars.
    pub reserved: i64,
    /// The tokens that the recording is expected to be.
    pub estimate: i64,
    pub at: Timestamp,
}

/// Records that a recording is about to be heard; gives the call's row. A try before that nobody awaits any more is lost.
pub async fn begin_call(tx: &mut Tx, which: &RecordingKey, call: NewTranscription<'_>) -> Result<i64, StoreError> {
    let RecordingKey { conversation: Conversation { channel, account, chat, .. }, external_id, place } = which;
    let (channel, at, old) = (channel.as_str(), millis(call.at), millis(call.at - KEPT));
    sql::query!("DELETE FROM recordings WHERE asked_at < $1 AND state <> 'asked'", old).execute(&mut *tx).await?;
    let before = sql::query_scalar!(
        r#"SELECT id AS "id!" FROM recordings WHERE channel = $1 AND account = $2 AND chat = $3 AND external_id = $4
             AND place = $5 AND state = 'asked'"#,
        channel,
        account,
        chat,
        external_id,
        place
    )
    .fetch_all(&mut *tx)
    .await?;
    for lost in before {
        end(tx, lost, &TranscriptionEnd::Lost, call.at).await?;
    }
    let id = sql::query_scalar!(
        r#"INSERT INTO recordings (channel, account, chat, external_id, place, user_id, model, state, reserved, asked_at, persona, input_tokens)
           VALUES ($1, $2, $3, $4, $5, $6, $7, 'asked', $8, $9, $10, $11) RETURNING id AS "id!""#,
        channel,
        account,
        chat,
        external_id,
        place,
        call.user,
        call.model,
        call.reserved,
        at,
        call.persona,
        call.estimate
    )
    .fetch_one(&mut *tx)
    .await?;
    Ok(id)
}

/// How a call came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptionEnd {
    /// The service has heard it, be there words in it or not.
    Heard(RecordingTranscript),
    /// The service has spoken it.
    Spoken {
        /// What it cost, in nano-dollars; none: nobody knows.
        cost: Option<i64>,
        /// The tokens that the words are.
        tokens: i64,
    },
    /// The service refused or failed, which costs nothing.
    Failed,
    /// Nobody learns it any more, or understands the answer: what was set aside stands in for what it cost.
    Lost,
}

/// Records how an open call came out, and adds it to its speaker's sums.
pub async fn end(tx: &mut Tx, call: i64, end: &TranscriptionEnd, at: Timestamp) -> Result<(), StoreError> {
    let (state, words) = match end {
        TranscriptionEnd::Heard(words) => ("answered", Some(words)),
        TranscriptionEnd::Spoken { .. } => ("answered", None),
        TranscriptionEnd::Failed => ("failed", None),
        TranscriptionEnd::Lost => ("lost", None),
    };
    let (at, text) = (millis(at), words.map(|words| words.words.as_str()));
    let seconds = words.and_then(|words| words.seconds);
    let (cost, input, output) = match end {
        TranscriptionEnd::Heard(words) => (words.cost, words.input_tokens, words.output_tokens),
        TranscriptionEnd::Spoken { cost, tokens } => (*cost, *tokens, 0),
        TranscriptionEnd::Failed | TranscriptionEnd::Lost => (None, 0, 0),
    };
    // Of one that is lost, what was expected stands in.
    let ended = sql::query!(
        r#"UPDATE recordings SET state = $2, words = $3, seconds = $4, ended_at = $6,
               cost = CASE WHEN $2 = 'lost' THEN reserved ELSE $5 END,
               input_tokens = CASE WHEN $2 = 'lost' THEN input_tokens ELSE $7 END, output_tokens = $8
           WHERE id = $1 AND state = 'asked'
           RETURNING user_id AS "user: UserId", persona, model AS "model!", cost AS "cost: i64", input_tokens, output_tokens"#,
        call,
        state,
        text,
        seconds,
        cost,
        at,
        input,
        output
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(ended) = ended.filter(|_| state != "failed") else { return Ok(()) };
    let Some(user) = ended.user else { return Ok(()) };
    let spent = SpendTotals {
        calls: 1,
        unpriced: i64::from(ended.cost.is_none()),
        input_tokens: ended.input_tokens,
        output_tokens: ended.output_tokens,
        cost: ended.cost.unwrap_or(0),
        ..SpendTotals::default()
    };
    let payer = spend::Payer { user: Some(user), persona: ended.persona.as_deref() };
    spend::add(tx, at, payer, &ended.model, &spent).await
}

/// A message is taken in, and its words are on record there.
pub async fn settle(tx: &mut Tx, conversation: &Conversation, external_id: &str) -> Result<(), StoreError> {
    let Conversation { channel, account, chat, .. } = conversation;
    let channel = channel.as_str();
    sql::query!(
        "UPDATE recordings SET words = NULL WHERE channel = $1 AND account = $2 AND chat = $3 AND external_id = $4",
        channel,
        account,
        chat,
        external_id
    )
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Closes the calls that another process has left open; gives how many. Only for a store that one process owns alone.
pub async fn close_lost(tx: &mut Tx, at: Timestamp) -> Result<usize, StoreError> {
    let open = sql::query_scalar!(r#"SELECT id AS "id!" FROM recordings WHERE state = 'asked'"#);
    let open = open.fetch_all(&mut *tx).await?;
    for call in &open {
        end(tx, *call, &TranscriptionEnd::Lost, at).await?;
    }
    Ok(open.len())
}
