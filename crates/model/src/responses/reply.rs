//! Puts a reply together from the events of its stream.
//!
//! Never: I/O, or reasoning among what is shown.
//! Start at [`Reply`].

use serde_json::{Map, Value};

use crate::classify::{self, ErrorResponse};
use crate::error::ModelError;
use crate::exchange::{ReplyFold, broken_off, malformed};
use crate::message::{Completion, StopReason, ToolCall, Usage};
use crate::reply_draft::ReplyDraft;
use crate::responses::event::{CompletedResponse, Event, FunctionCall, Item, OutputMessage, Reasoning, WireUsage};
use hob_core::domain::ids::CallId;

#[cfg(test)]
mod tests;

/// What is sealed: a whole reasoning item.
pub(super) const REASONING: &str = "reasoning";
/// What is sealed as well: which phase of the reply the words after it are. The API wants it back with them.
pub(super) const PHASE: &str = "phase";
/// Stands between two messages of one reply.
pub(super) const NEXT_MESSAGE: &str = "\n\n";

/// A reply while it is written.
#[derive(Debug)]
pub(super) struct Reply {
    draft: ReplyDraft,
    usage: Usage,
    stop: Option<StopReason>,
    /// A message has said something, so that the next one begins anew.
    spoke: bool,
    /// The next words belong to another message.
    parted: bool,
    /// The phase of the message that is being said is known.
    phased: bool,
}

impl ReplyFold for Reply {
    fn take(&mut self, event: &str) -> Result<String, ModelError> {
        let understood = serde_json::from_str(event).map_err(|error| {
            // Where it is wrong, not what it says.
            tracing::debug!(line = error.line(), column = error.column(), "an event of a model's reply is malformed");
            malformed("The model's reply cannot be understood.")
        })?;
        // Once it has ended nothing is added to what was said.
        if self.finished() { Ok(String::new()) } else { self.take_event(understood, event) }
    }

    fn finished(&self) -> bool {
        self.stop.is_some()
    }

    /// The usage comes with the end, and nothing after it.
    fn is_over(&self) -> bool {
        self.finished()
    }

    fn complete(self) -> Result<Completion, ModelError> {
        match self.stop {
            Some(stop) => self.draft.complete(self.usage, stop),
            None if self.draft.has_begun() => Err(broken_off()),
            None => Err(malformed("The model sent no reply.")),
        }
    }
}

impl Reply {
    /// Nothing yet; `label` is the model's, for what it seals.
    pub(super) fn new(label: &str) -> Self {
        let usage = Usage::default();
        Self { draft: ReplyDraft::new(label), usage, stop: None, spoke: false, parted: false, phased: false }
    }

    fn take_event(&mut self, event: Event, whole: &str) -> Result<String, ModelError> {
        match event {
            Event::Words { delta } => self.push_text(&delta),
            Event::ItemAdded { item: Item::Message(said) } => self.begin(said).map(|()| String::new()),
            Event::Arguments { delta } => self.draft.count_bytes(delta.len()).map(|()| String::new()),
            Event::ItemDone { item } => self.item(item).map(|()| String::new()),
            Event::Ended { response } => Ok(self.end(&response)),
            Event::Failed { response } => Err(failed(response.error.unwrap_or_default())),
            Event::Error => Err(failed(error_of(whole))),
            Event::ItemAdded { .. } | Event::Other => Ok(String::new()),
        }
    }

    fn push_text(&mut self, delta: &str) -> Result<String, ModelError> {
        if delta.is_empty() {
            return Ok(String::new());
        }
        self.spoke = true;
        let mut shown =
            if std::mem::take(&mut self.parted) { self.draft.push_text(NEXT_MESSAGE)? } else { String::new() };
        shown.push_str(&self.draft.push_text(delta)?);
        Ok(shown)
    }

    fn item(&mut self, item: Item) -> Result<(), ModelError> {
        match item {
            Item::FunctionCall(FunctionCall { call_id, name, arguments }) => {
                let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
                self.draft.call(ToolCall { id: CallId(call_id), name, arguments })
            }
            Item::Reasoning(reasoning) => self.reasoning(&reasoning),
            // Some tell it only now.
            Item::Message(OutputMessage { phase: Some(phase) }) if !self.phased => {
                self.draft.seal_open_text(PHASE, phase)
            }
            Item::Message(_) | Item::Other => Ok(()),
        }
    }

    fn begin(&mut self, said: OutputMessage) -> Result<(), ModelError> {
        self.parted = self.spoke;
        self.phased = said.phase.is_some();
        said.phase.map_or(Ok(()), |phase| self.draft.seal(PHASE, phase))
    }

    /// What is not sealed is of no use: nothing is kept at OpenAI under its id.
    fn reasoning(&mut self, reasoning: &Reasoning) -> Result<(), ModelError> {
        if reasoning.encrypted_content.is_empty() {
            return Ok(());
        }
        let data = serde_json::to_string(reasoning).map_err(|error| {
            tracing::debug!(%error, "a reasoning item cannot be written");
            malformed("The model's reply cannot be understood.")
        })?;
        self.draft.seal(REASONING, data)
    }

    fn end(&mut self, ended: &CompletedResponse) -> String {
        self.usage = counted(&ended.usage);
        self.stop = Some(match ended.incomplete_details.reason.as_deref() {
            None => StopReason::End,
            Some("content_filter") => StopReason::ContentFilter,
            // `max_output_tokens`, and what else may cut a reply off.
            Some(_) => StopReason::MaxTokens,
        });
        self.draft.flush()
    }
}

fn counted(usage: &WireUsage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.input_tokens_details.cached_tokens,
        cache_write_tokens: usage.input_tokens_details.cache_write_tokens,
        reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
    }
}

/// The error of an `error` event: it stands under `error`, or is the event itself, whose `type` says nothing then.
fn error_of(event: &str) -> Value {
    let mut event: Map<String, Value> = serde_json::from_str(event).unwrap_or_default();
    match event.remove("error") {
        Some(error) if !error.is_null() => error,
        Some(_) | None => {
            event.remove("type");
            Value::Object(event)
        }
    }
}

/// An error that the provider reports after it had begun to answer.
fn failed(error: Value) -> ModelError {
    let body = Value::Object(Map::from_iter([("error".to_owned(), error)])).to_string();
    classify::classify(&ErrorResponse { body: &body, ..ErrorResponse::default() })
}
