//! The tables that follow from the journal: what a step adds to the history, the envelope, the bill and the outbox.
//!
//! [`rows`] is pure and decides; [`write`] stores, in the transaction of the events themselves.

use jiff::Timestamp;

use crate::agent::journal::RunKey;
use crate::agent::machine::effect::Effect;
use crate::agent::machine::event::{Event, Question, Reply, ToolOutcome};
use crate::agent::machine::human::Decision;
use crate::agent::machine::state::{Active, Phase, State};
use crate::agent::machine::{Step, texts};
use crate::domain::ids::{CallId, UserId};
use crate::domain::outgoing::{Choice, Destination};
use crate::model::message::{Message, ToolCall};
use crate::render::chunk;
use crate::store::error::StoreError;
use crate::store::model_calls::CallEnd;
use crate::store::{Tx, messages, millis, model_calls, outbox, tool_calls};

/// One row to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// A message of the history.
    Message {
        /// It.
        message: Message,
        /// Who said it, where a person did.
        author: Option<UserId>,
    },
    /// A tool is about to be run.
    ToolStarted {
        /// The call.
        call: ToolCall,
        /// 1 for the first time.
        attempt: u32,
    },
    /// A tool is done.
    ToolFinished {
        /// The call.
        call: CallId,
        /// What came of it.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// A model is about to be asked.
    ModelAsked {
        /// The event's number.
        seq: i64,
        /// Whom.
        model: String,
    },
    /// The open model call is over.
    ModelEnded(CallEnd),
    /// Something is to be said.
    Say {
        /// The event's number.
        seq: i64,
        /// The words.
        text: String,
        /// Buttons under the last chunk.
        choices: Vec<Choice>,
    },
}

/// The rows that follow from a step that led from `before` to `after`; `seq` is the number of its first event.
#[must_use]
pub fn rows(key: &RunKey, seq: i64, before: &State, step: &Step, after: &State) -> Vec<Row> {
    let mut rows = Vec::new();
    let lost = before.active().map_or(0, open_call_estimate);
    for (event, seq) in step.events.iter().zip(seq..) {
        rows.extend(rows_of_event(key, event, seq, lost, after));
    }
    rows.extend(step.effects.iter().filter_map(|effect| match effect {
        Effect::RunTool { call, attempt } => Some(Row::ToolStarted { call: call.clone(), attempt: *attempt }),
        Effect::CallModel(_)
        | Effect::AbortTools(_)
        | Effect::AskHuman(_)
        | Effect::Reply(_)
        | Effect::End(_)
        | Effect::Ignored { .. } => None,
    }));
    if let Some(active) = after.active() {
        let known = before.active().map_or(0, |active| active.transcript.messages().len());
        let said = active.transcript.messages().iter().zip(active.transcript.authors()).skip(known);
        rows.extend(said.map(|(message, author)| Row::Message { message: message.clone(), author: *author }));
    }
    rows
}

/// What the model call in flight costs if nobody learns how it came out.
fn open_call_estimate(run: &Active) -> u64 {
    match &run.phase {
        Phase::Calling(call) => call.input_estimate,
        Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => 0,
    }
}

fn rows_of_event(key: &RunKey, event: &Event, seq: i64, lost: u64, after: &State) -> Vec<Row> {
    let unheard = |state| Row::ModelEnded(CallEnd { state, input_tokens: count(lost), ..CallEnd::default() });
    match event {
        Event::ModelAsked { model, .. } => vec![Row::ModelAsked { seq, model: model.clone() }],
        Event::ModelAnswered(completion) => vec![Row::ModelEnded(CallEnd {
            state: "answered",
            input_tokens: count(completion.usage.input_tokens),
            output_tokens: count(completion.usage.output_tokens),
            cached_tokens: count(completion.usage.cached_tokens),
            error: None,
        })],
        Event::ModelFailed { message, .. } => {
            vec![Row::ModelEnded(CallEnd { state: "failed", error: Some(message.clone()), ..CallEnd::default() })]
        }
        Event::Resumed { .. } | Event::Mismatched(_) => vec![unheard("lost")],
        Event::CancelRequested(_) | Event::Panicked { .. } => vec![unheard("dropped")],
        // A call that asks is done when the person has answered: with the messages of its batch.
        Event::ToolFinished { outcome: ToolOutcome::Ask { .. }, .. } => Vec::new(),
        Event::ToolFinished { call, outcome } => {
            let (text, is_error) = outcome_text(outcome);
            vec![Row::ToolFinished { call: call.clone(), text: text.to_owned(), is_error }]
        }
        Event::HumanAsked(question) => {
            let number = after.active().map_or(0, |active| active.questions);
            vec![Row::Say { seq, text: question_text(question), choices: choices(key, number, question) }]
        }
        Event::Replied(Reply::Answer { text } | Reply::Notice { text }) => {
            vec![Row::Say { seq, text: text.clone(), choices: Vec::new() }]
        }
        Event::Replied(Reply::Silence)
        | Event::Accepted(_)
        | Event::Edited { .. }
        | Event::Withdrawn
        | Event::Joined { .. }
        | Event::Begun(_)
        | Event::Steered(_)
        | Event::ToolStarted { .. }
        | Event::HumanAnswered(_)
        | Event::SoftLimit
        | Event::Suspended
        | Event::Ended(_) => Vec::new(),
    }
}

fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// A question with the decisions it offers, by number, for channels without buttons and for replies in words.
fn question_text(question: &Question) -> String {
    let numbered = |(index, decision): (usize, &Decision)| format!("{}. {}", index + 1, decision.label());
    let decisions = Decision::offered(question).iter().enumerate().map(numbered);
    std::iter::once(texts::question(question)).chain(decisions).collect::<Vec<_>>().join("\n")
}

fn choices(key: &RunKey, number: u32, question: &Question) -> Vec<Choice> {
    let button = |(index, decision): (usize, &Decision)| Choice {
        label: decision.label().to_owned(),
        token: Press { run: key.run.0, question: number, choice: index + 1 }.token(),
    };
    Decision::offered(question).iter().enumerate().map(button).collect()
}

/// A press of a button under a run's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press {
    /// The run.
    pub run: i64,
    /// Its question.
    pub question: u32,
    /// The decision, from 1.
    pub choice: usize,
}

impl Press {
    /// What the button carries.
    #[must_use]
    pub fn token(&self) -> String {
        format!("q:{}:{}:{}", self.run, self.question, self.choice)
    }

    /// The press that a token stands for.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        let mut parts = token.strip_prefix("q:")?.split(':');
        let press = Self {
            run: parts.next()?.parse().ok()?,
            question: parts.next()?.parse().ok()?,
            choice: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(press)
    }
}

/// Where a run's rows go.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// Run and session.
    pub key: &'a RunKey,
    /// Where its words go.
    pub destination: &'a Destination,
    /// When.
    pub at: Timestamp,
}

/// Stores the rows of a step.
///
/// # Errors
/// When the database fails.
pub async fn write(tx: &mut Tx, target: &Target<'_>, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        write_row(tx, target, row).await?;
    }
    Ok(())
}

async fn write_row(tx: &mut Tx, target: &Target<'_>, row: &Row) -> Result<(), StoreError> {
    let (run, at) = (target.key.run, millis(target.at));
    match row {
        Row::Message { message, author } => {
            if let Message::Tool(result) = message {
                // What a person settled has no end of its own in the journal's tool events.
                tool_calls::finish(tx, run, &result.call, (&result.text, result.is_error), at).await?;
            }
            write_message(tx, target, message, *author).await
        }
        Row::ToolStarted { call, attempt } => {
            let (name, arguments) = (call.name.as_str(), call.arguments.as_str());
            let started = tool_calls::Started { run, call: &call.id, name, arguments, attempt: *attempt, at };
            tool_calls::start(tx, &started).await
        }
        Row::ToolFinished { call, text, is_error } => tool_calls::finish(tx, run, call, (text, *is_error), at).await,
        Row::ModelAsked { seq, model } => model_calls::ask(tx, run, *seq, model, at).await,
        Row::ModelEnded(end) => model_calls::end(tx, run, end, at).await,
        Row::Say { seq, text, choices } => say(tx, target, &format!("run:{run}:{seq}"), (text, choices)).await,
    }
}

fn outcome_text(outcome: &ToolOutcome) -> (&str, bool) {
    match outcome {
        ToolOutcome::Text { text, is_error } => (text, *is_error),
        ToolOutcome::MoreIterations { reason } => (reason, false),
        ToolOutcome::Ask { question } => (question, false),
        ToolOutcome::Interrupted => (texts::INTERRUPTED, true),
    }
}

async fn write_message(
    tx: &mut Tx,
    target: &Target<'_>,
    message: &Message,
    author: Option<UserId>,
) -> Result<(), StoreError> {
    let role = match message {
        Message::User { .. } => "user",
        Message::Assistant { .. } => "assistant",
        Message::Tool(_) => "tool",
    };
    let body = serde_json::to_string(message).map_err(|error| StoreError::Database(error.to_string()))?;
    let new = messages::NewMessage {
        session: target.key.session,
        run: target.key.run,
        role,
        user: author,
        body: &body,
        text: &message.text(),
        at: millis(target.at),
    };
    messages::append(tx, &new).await
}

/// Queues words in chunks that the platform takes; buttons go under the last.
async fn say(
    tx: &mut Tx,
    target: &Target<'_>,
    key: &str,
    (text, choices): (&str, &[Choice]),
) -> Result<(), StoreError> {
    let chunks = chunk::chunks(text, chunk::limit(target.destination.conversation.channel));
    let last = chunks.len().saturating_sub(1);
    for (index, text) in chunks.iter().enumerate() {
        let new = outbox::NewChunk {
            key: &format!("{key}:{index}"),
            session: target.key.session,
            run: Some(target.key.run),
            destination: target.destination,
            text,
            choices: if index == last { choices } else { &[] },
        };
        outbox::add(tx, &new, target.at).await?;
    }
    Ok(())
}
