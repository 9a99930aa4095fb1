//! Puts a reply together from the events of its stream.
//!
//! Never: I/O.
//! Start at [`Reply::take`].

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::model::classify::{self, Refusal};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::exchange::{broken_off, malformed};
use crate::model::message::{Completion, StopReason, ToolCall, Usage};
use crate::model::openai::chunk::{CallFragment, Chunk, WireUsage};
use crate::model::think::ThinkFilter;

#[cfg(test)]
mod tests;

/// How much a reply may hold, reasoning included.
const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How many calls one reply may make.
const REPLY_CALLS_MAX: usize = 128;

/// A reply while it is written.
#[derive(Debug, Default)]
pub(super) struct Reply {
    think: ThinkFilter,
    text: String,
    calls: Vec<Call>,
    usage: Usage,
    finish: Option<String>,
    bytes: usize,
}

/// A call while it is written.
#[derive(Debug, Default)]
struct Call {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
}

impl Reply {
    /// Takes one event, answers with the new text that may be shown.
    pub(super) fn take(&mut self, chunk: Chunk) -> Result<String, ModelError> {
        if let Some(error) = chunk.error {
            return Err(in_stream(&error));
        }
        if let Some(usage) = chunk.usage {
            self.usage = counted(&usage);
        }
        let mut shown = String::new();
        // Only one answer is asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            for words in [choice.delta.content, choice.delta.refusal].into_iter().flatten() {
                self.grow(words.len())?;
                shown.push_str(&self.think.push(&words));
            }
            for fragment in choice.delta.tool_calls {
                self.take_fragment(fragment)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                shown.push_str(&self.think.finish());
                self.finish = Some(reason);
            }
        }
        self.text.push_str(&shown);
        Ok(shown)
    }

    /// Whether the model has said that it is done; only the usage may follow.
    pub(super) fn finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The whole reply, now that the stream is over.
    pub(super) fn complete(self) -> Result<Completion, ModelError> {
        let Some(finish) = self.finish.as_deref() else {
            return Err(if self.bytes == 0 { malformed("The model sent no reply.") } else { broken_off() });
        };
        let stop = match finish {
            "length" | "max_tokens" => StopReason::MaxTokens,
            "content_filter" => StopReason::ContentFilter,
            "error" => return Err(ModelError::new(ErrorClass::Server, "The model provider failed during its reply.")),
            // `stop`, `tool_calls`, and what else servers call a regular end.
            _ => StopReason::End,
        };
        if self.calls.is_empty() && self.text.trim().is_empty() {
            return Err(empty(stop));
        }
        let calls = self.calls.into_iter().map(Call::whole).collect();
        Ok(Completion { usage: self.usage, stop, ..Completion::said(self.text, calls) })
    }

    fn take_fragment(&mut self, fragment: CallFragment) -> Result<(), ModelError> {
        let arguments = match fragment.function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        let name = fragment.function.name.unwrap_or_default();
        self.grow(arguments.len() + name.len())?;
        let id = fragment.id.unwrap_or_default();
        let call = self.call_for(fragment.index, &id)?;
        // Some servers repeat the name with each piece; others cut it.
        if name != call.name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// The call that a piece belongs to. A new id is a new call even under an index in use (Gemini, Ollama).
    fn call_for(&mut self, index: Option<usize>, id: &str) -> Result<&mut Call, ModelError> {
        let known = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id),
            None => id.is_empty() || call.id == id,
        });
        let place = known.unwrap_or(self.calls.len());
        if place >= REPLY_CALLS_MAX {
            return Err(malformed("The model asks for too many tools at once."));
        }
        if known.is_none() {
            self.calls.push(Call { index, ..Call::default() });
        }
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        Ok(call)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > REPLY_BYTES_MAX { Err(malformed("The model's reply is too long.")) } else { Ok(()) }
    }
}

impl Call {
    fn whole(self) -> ToolCall {
        let arguments = if self.arguments.trim().is_empty() { "{}".to_owned() } else { self.arguments };
        ToolCall { id: CallId(self.id), name: self.name, arguments }
    }
}

fn counted(usage: &WireUsage) -> Usage {
    Usage {
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
        cached_tokens: usage.prompt_tokens_details.cached_tokens,
        ..Usage::default()
    }
}

/// An error that the provider reports after it had begun to answer.
fn in_stream(error: &Value) -> ModelError {
    let body = Value::Object(serde_json::Map::from_iter([("error".to_owned(), error.clone())])).to_string();
    classify::classify(&Refusal { body: &body, ..Refusal::default() })
}

fn empty(stop: StopReason) -> ModelError {
    match stop {
        StopReason::End => malformed("The model's reply is empty."),
        StopReason::MaxTokens => malformed("The model used up its output limit before it said anything."),
        StopReason::ContentFilter => ModelError::new(ErrorClass::Refused, "The model provider withheld the reply."),
    }
}
