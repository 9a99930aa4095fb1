//! Storing the rows of a step, in the transaction of its events.

use jiff::{SignedDuration, Timestamp};

use crate::journal::RunKey;
use crate::machine::answer_rights;
use crate::machine::texts;
use crate::machine::texts::FallbackModel;
use crate::prefix::RequestPrefix;
use crate::projection::memories::{open_question, remember, shortened, store_recalled};
use crate::projection::{
    AnsweringModel, HistoryMessage, ProjectionRow, count, owner_questions, question_attachment, resolved_questions,
};
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::ids::{CallId, MessageId, RunId, SessionId};
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::outgoing::{Choice, DeliveryRequest, Destination};
use hob_core::policy::access::AccessList;
use hob_core::policy::memory::{SpeakingPlace, scope_for};
use hob_core::render::{RenderedPiece, TextFormat, pieces};
use hob_model::message::Message;
use hob_store::error::StoreError;
use hob_store::mcp_classes::NewClass;
use hob_store::outbox::{ChunkRole, FAILURE_QUESTION, PendingChunk};
use hob_store::{
    Tx, files, grants, mcp_classes, messages, millis, model_calls, outbox, runs, sessions, summaries, tool_calls, undos,
};

/// Where a run's rows go.
#[derive(Debug, Clone)]
pub struct RunRowTarget<'a> {
    /// Run and session.
    pub key: &'a RunKey,
    /// The conversation that it belongs to: an agent's is the one that it works for.
    pub home: SessionId,
    /// Where its words go.
    pub destination: &'a Destination,
    pub at: Timestamp,
}

/// What the rows of a step say.
#[derive(Debug, Default)]
pub(crate) struct WriteOutcome {
    /// The sessions in which something is to be said besides the run's own words.
    pub(crate) elsewhere: Vec<SessionId>,
    /// The run's words that were taken to be sent.
    pub(crate) taken: Option<PendingChunk>,
}

/// Stores the rows of a step. The run's first words are taken if nobody else sends in its conversation (`takes`).
pub(crate) async fn write(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    access: &AccessList,
    rows: &[ProjectionRow],
    takes: bool,
) -> Result<WriteOutcome, StoreError> {
    // Whom a letter goes to, and whether it may, is looked at as it is taken.
    let takes = takes && target.destination.conversation.channel != ChannelKind::Email;
    let (mut told, mut taken) = (Vec::new(), None);
    let mut standing_in = None;
    for row in rows {
        match row {
            ProjectionRow::ModelEnded(end) => {
                standing_in = model_calls::end(tx, target.key.run, end, millis(target.at)).await?;
            }
            // A call that was answered has ended a row before.
            ProjectionRow::Answered(answered) => stand_in(tx, target, answered, standing_in.take()).await?,
            ProjectionRow::Deliver { call, delivery } => told.push(deliver(tx, target, call, delivery).await?),
            ProjectionRow::Resolved { question, outcome } => {
                told.extend(resolved_questions::write(tx, target, Some(*question), *outcome).await?);
            }
            ProjectionRow::AskOwners { seq, who, text, choices, question, whole } => {
                let words = OutgoingText { choices, part: ChunkRole::Question(*question), ..OutgoingText::note(text) };
                let file = match whole {
                    Some((user, whole)) => Some(question_attachment::record(tx, target, *seq, *user, whole).await?),
                    None => None,
                };
                let asking = owner_questions::OwnerQuestion { seq: *seq, question: *question, who, file };
                told.extend(owner_questions::ask(tx, target, access, asking, words).await?);
            }
            ProjectionRow::Say { seq, text, form, choices, part } => {
                let words = OutgoingText { text, form: *form, choices, part: *part };
                let queued =
                    queue(tx, &OutboxTarget { takes, ..target.queue() }, &words_key(target, *seq), words).await?;
                taken = taken.or(queued.taken);
            }
            row => write_row(tx, target, row).await?,
        }
    }
    Ok(WriteOutcome { elsewhere: told, taken })
}

/// By which the words of an event are queued once.
fn words_key(target: &RunRowTarget<'_>, seq: i64) -> String {
    format!("run:{}:{seq}", target.key.run)
}

/// Queues what a tool wants delivered, once for its call; in the order of the conversation that it goes to.
async fn deliver(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    call: &CallId,
    delivery: &DeliveryRequest,
) -> Result<SessionId, StoreError> {
    let place = delivery.to.as_ref().unwrap_or(&target.destination.conversation);
    let session = match &delivery.to {
        Some(to) => sessions::ensure(tx, &to.session_key().0, to.channel, target.at).await?.id,
        None => target.key.session,
    };
    let destination = Destination { conversation: place.clone(), reply_to: None };
    // A record that was forgotten meanwhile has nothing to be sent.
    let file = match delivery.file {
        Some(file) => files::find(tx, file).await?,
        None => None,
    };
    let gone = delivery.file.is_some() && file.is_none();
    let most = Capabilities::of(place.channel).file_bytes_max;
    let refused = file.as_ref().filter(|file| most.is_none_or(|most| file.bytes.unsigned_abs() > most));
    let refused = refused.map(|file| texts::file_too_big(&file.name, &delivery.text, file.bytes, most));
    let file = file.map(|record| record.id).filter(|_| refused.is_none());
    let text = if gone { texts::FILE_GONE } else { refused.as_deref().unwrap_or(delivery.text.as_str()) };
    // What does not fit under a file goes before it.
    let under = file.is_some() && Capabilities::of(place.channel).caption_limit().fits(text);
    // Models write Markdown wherever they write; Hob's own words are none.
    let form = if gone || refused.is_some() { TextFormat::Plain } else { TextFormat::Markdown };
    let mut parts = if under { Vec::new() } else { pieces(text, form, place.channel) };
    if file.is_some() {
        parts.push(RenderedPiece { text: if under { text.to_owned() } else { String::new() }, markup: None });
    }
    let last = parts.len().saturating_sub(1);
    for (index, piece) in parts.iter().enumerate() {
        let new = outbox::NewChunk {
            key: &format!("call:{}:{call}:{index}", target.key.run),
            session,
            run: Some(target.key.run),
            destination: &destination,
            piece,
            choices: &[],
            file: file.filter(|_| index == last),
            part: ChunkRole::Words,
        };
        outbox::add(tx, &new, target.at).await?;
    }
    Ok(session)
}

async fn write_row(tx: &mut Tx, target: &RunRowTarget<'_>, row: &ProjectionRow) -> Result<(), StoreError> {
    let (run, session, at) = (target.key.run, target.key.session, millis(target.at));
    match row {
        ProjectionRow::Message(row) => {
            if let Message::Tool(result) = &row.message {
                // What a person settled has no end of its own in the journal's tool events.
                tool_calls::finish(tx, run, &result.call, (&result.text, result.is_error), at).await?;
            }
            let Some(said) = &row.said else {
                write_message(tx, target, row).await?;
                return Ok(());
            };
            let asked = match &said.asked {
                Some(asked) => Some(shortened(asked)),
                None => open_question(tx, target).await?,
            };
            let message = write_message(tx, target, row).await?;
            remember(tx, target, said, message, asked.as_deref()).await
        }
        ProjectionRow::Recalled(recalled) => store_recalled(tx, target, recalled).await,
        ProjectionRow::ToolStarted { call, attempt, user } => {
            let (name, arguments) = (call.name.as_str(), call.arguments.as_str());
            let (attempt, user) = (*attempt, *user);
            let started = tool_calls::NewToolCall { run, call: &call.id, name, arguments, attempt, user, at };
            tool_calls::start(tx, &started).await
        }
        ProjectionRow::ToolFinished { call, text, is_error } => {
            tool_calls::finish(tx, run, call, (text, *is_error), at).await
        }
        ProjectionRow::ModelAsked { seq, call, user, persona, prefix } => {
            let new = model_calls::NewModelCall {
                run,
                asked_seq: *seq,
                model: &call.label,
                session,
                user: *user,
                persona: persona.as_deref(),
                estimate: count(call.counted),
                reserved: call.reserve.unwrap_or_default().nanos(),
                at,
            };
            let before = model_calls::ask(tx, &new).await?;
            match prefix {
                Some(prefix) => swap_prefix(tx, target.key, *seq, before, prefix).await,
                None => Ok(()),
            }
        }
        ProjectionRow::Summary { user, history_from, through, text, taint } => {
            let summary = summaries::Summary { through: *through, text: text.clone(), taint: taint.to_stored() };
            let made = summaries::SummaryOrigin { session, user: *user, run, history_from: *history_from, at };
            summaries::put(tx, &made, &summary).await
        }
        ProjectionRow::Afresh => {
            sessions::start_afresh(tx, session).await?;
            summaries::forget(tx, session).await
        }
        ProjectionRow::Granted { user, tool } => {
            grants::add(tx, &grants::NewGrant { user: *user, session: target.home, tool, run, at }).await
        }
        ProjectionRow::Classed(classing) => {
            let said: Vec<NewClass<'_>> = classing.tools.iter().map(NewClass::by_server_hint).collect();
            mcp_classes::put(tx, &classing.server, &said, at).await
        }
        ProjectionRow::Undoable { call, tool, user, offer } => {
            undos::add(tx, &undos::NewUndo { run, call, tool, session: target.home, user: *user, offer, at }).await
        }
        ProjectionRow::Attached { seq, user, text } => {
            let file = question_attachment::record(tx, target, *seq, *user, text).await?;
            question_attachment::send(tx, target, &format!("run:{run}:{seq}:file"), file).await
        }
        // What follows from these is known to the caller.
        ProjectionRow::Deliver { .. }
        | ProjectionRow::Resolved { .. }
        | ProjectionRow::AskOwners { .. }
        | ProjectionRow::Say { .. }
        | ProjectionRow::ModelEnded(_)
        | ProjectionRow::Answered(_) => Ok(()),
        ProjectionRow::Handover(change) => change.write(tx, session).await,
        ProjectionRow::Pruned { after } => messages::prune(tx, session, run, *after).await,
    }
}

/// That another model answers is told once, and so is its end.
async fn stand_in(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    answered: &AnsweringModel,
    told: Option<String>,
) -> Result<(), StoreError> {
    let AnsweringModel { seq, first, by, failure } = answered;
    let (run, session) = (target.key.run, target.key.session);
    let told = told.and_then(|told| serde_json::from_str::<FallbackModel>(&told).ok());
    let Some(text) = texts::stand_in(first, by, failure.as_ref(), told.as_ref()) else {
        return Ok(());
    };
    let stand_in = FallbackModel { first: first.clone(), by: by.clone() };
    let stored = serde_json::to_string(&stand_in).map_err(|error| StoreError::Database(error.to_string()))?;
    let stored = (first != by).then_some(stored.as_str());
    sessions::set_stand_in(tx, session, stored).await?;
    say(tx, target, &format!("note:{run}:{seq}"), OutgoingText::note(&text)).await
}

/// Notes why the provider's cache cannot go on from the conversation's last run, whose requests began as is said `before`.
async fn swap_prefix(
    tx: &mut Tx,
    key: &RunKey,
    seq: i64,
    before: Option<String>,
    prefix: &RequestPrefix,
) -> Result<(), StoreError> {
    let stored = serde_json::to_string(prefix).map_err(|error| StoreError::Database(error.to_string()))?;
    if before.as_deref() == Some(stored.as_str()) {
        return Ok(());
    }
    let before = before.and_then(|before| serde_json::from_str::<RequestPrefix>(&before).ok());
    let reason = before.and_then(|before| prefix.break_since(&before));
    if let Some(reason) = reason {
        tracing::info!(session = %key.session, run = %key.run, reason, "model.cache.prefix_broken");
    }
    model_calls::breaks(tx, key.run, seq, reason, &stored).await
}

async fn write_message(tx: &mut Tx, target: &RunRowTarget<'_>, row: &HistoryMessage) -> Result<MessageId, StoreError> {
    let HistoryMessage { message, author, tokens, said, answers, taint, own } = row;
    // What is to be remembered is somebody's words, and answers nobody.
    let answers = answers.as_ref().filter(|_| said.is_none());
    let place = SpeakingPlace::of(target.key.session, &target.destination.conversation);
    let role = match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool(_) => "tool",
    };
    let body = serde_json::to_string(message).map_err(|error| StoreError::Database(error.to_string()))?;
    let taint = taint.to_stored();
    let new = messages::NewMessage {
        session: target.key.session,
        run: target.key.run,
        role,
        user: *author,
        body: &body,
        text: &message.text(),
        tokens: count(*tokens),
        taint: taint.as_deref(),
        own: *own,
        scope: answers.and_then(|principal| scope_for(principal, place)),
        at: millis(target.at),
    };
    messages::append(tx, &new).await
}

/// Words to be said.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingText<'a> {
    pub text: &'a str,
    /// What they are written in.
    pub form: TextFormat,
    /// Buttons under the last chunk.
    pub choices: &'a [Choice],
    /// What they are in a run's talk.
    pub part: ChunkRole<'static>,
}

impl<'a> OutgoingText<'a> {
    /// Hob's own words, beside what the run answers.
    pub fn note(text: &'a str) -> Self {
        Self { text, form: TextFormat::Plain, choices: &[], part: ChunkRole::Words }
    }

    /// What the chunk at `index`, of those up to `last`, is in the run's talk.
    fn part_of(&self, index: usize, last: usize) -> ChunkRole<'static> {
        match (self.part, index == 0, index == last) {
            (part @ (ChunkRole::Words | ChunkRole::Instead(_)), _, _)
            | (part @ (ChunkRole::Reply | ChunkRole::Failure), true, true)
            | (part @ ChunkRole::Reply, true, _)
            | (part @ ChunkRole::Question(_), _, true) => part,
            (ChunkRole::Failure, true, false) => ChunkRole::Reply,
            (ChunkRole::Failure, false, true) => ChunkRole::Question(FAILURE_QUESTION),
            (ChunkRole::Reply | ChunkRole::Question(_) | ChunkRole::Failure, _, _) => ChunkRole::Words,
        }
    }
}

/// Queues words where a run talks.
pub(crate) async fn say(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    key: &str,
    words: OutgoingText<'_>,
) -> Result<(), StoreError> {
    queue(tx, &target.queue(), key, words).await.map(drop)
}

/// Where words wait to be sent.
pub(super) struct OutboxTarget<'a> {
    pub(super) session: SessionId,
    pub(super) run: Option<RunId>,
    pub(super) destination: &'a Destination,
    pub(super) at: Timestamp,
    /// The first of them are taken to be sent, if nothing goes out before them.
    pub(super) takes: bool,
}

impl<'a> RunRowTarget<'a> {
    /// Where the run's own words wait.
    fn queue(&self) -> OutboxTarget<'a> {
        OutboxTarget {
            session: self.home,
            run: Some(self.key.run),
            destination: self.destination,
            at: self.at,
            takes: false,
        }
    }
}

/// Words that wait to be sent.
pub(super) struct QueuedChunks {
    /// Their chunks' keys.
    pub(super) keys: Vec<String>,
    pub(super) taken: Option<PendingChunk>,
}

/// Queues words in chunks that the platform takes; buttons go under the last. A run whose question goes by letter, to whomever it
/// does, waits as long as letters take.
pub(super) async fn queue(
    tx: &mut Tx,
    place: &OutboxTarget<'_>,
    key: &str,
    words: OutgoingText<'_>,
) -> Result<QueuedChunks, StoreError> {
    let chunks = pieces(words.text, words.form, place.destination.conversation.channel);
    let last = chunks.len().saturating_sub(1);
    let (mut keys, mut taken) = (Vec::with_capacity(chunks.len()), None);
    for (index, piece) in chunks.iter().enumerate() {
        let key = format!("{key}:{index}");
        let new = outbox::NewChunk {
            key: &key,
            session: place.session,
            run: place.run,
            destination: place.destination,
            piece,
            choices: if index == last { words.choices } else { &[] },
            file: None,
            part: words.part_of(index, last),
        };
        if place.takes && index == 0 {
            taken = outbox::add_and_take(tx, &new, place.at).await?;
        } else {
            outbox::add(tx, &new, place.at).await?;
        }
        keys.push(key);
    }
    let by_letter = place.destination.conversation.channel == ChannelKind::Email;
    if let (ChunkRole::Question(_), Some(run), true) = (words.part, place.run, by_letter) {
        let secs = SignedDuration::from_secs(answer_rights::BY_LETTER_SECS);
        runs::wait_at_least(tx, run, place.at.saturating_add(secs).unwrap_or(Timestamp::MAX)).await?;
    }
    Ok(QueuedChunks { keys, taken })
}
