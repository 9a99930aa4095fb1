//! Puts a reply together from the events of its stream.
//!
//! Never: I/O.
//! Start at [`Reply::take`].

use serde_json::{Map, Value};

use crate::classify::{self, ErrorResponse};
use crate::error::{ErrorClass, ModelError};
use crate::exchange::{ReplyFold, broken_off, malformed};
use crate::message::{Completion, ReplyPart, StopReason, ToolCall, Usage};
use crate::openai::chunk::{CallFragment, Choice, Chunk, WireUsage};
use crate::openai::quirks::ReasoningReplay;
use crate::openai::sealed::{EXTRA_CONTENT, Thinking, seal};
use crate::reply_draft::{ReplyLimits, completion};
use crate::think_filter::ThinkFilter;
use hob_core::domain::ids::CallId;

#[cfg(test)]
mod tests;

/// The event after the last.
const DONE: &str = "[DONE]";

/// A reply while it is written.
#[derive(Debug)]
pub(super) struct Reply {
    label: String,
    think: ThinkFilter,
    thinking: Thinking,
    text: String,
    calls: Vec<Call>,
    usage: Usage,
    finish: Option<String>,
    done: bool,
    limits: ReplyLimits,
}

/// A call while it is written.
#[derive(Debug, Default)]
struct Call {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

impl ReplyFold for Reply {
    fn take(&mut self, event: &str) -> Result<String, ModelError> {
        if event.trim() == DONE {
            self.done = true;
            return Ok(String::new());
        }
        let chunk: Chunk = serde_json::from_str(event).map_err(|error| {
            // Where it is wrong, not what it says.
            tracing::debug!(line = error.line(), column = error.column(), "an event of a model's reply is malformed");
            malformed("The model's reply cannot be understood.")
        })?;
        self.take_chunk(chunk)
    }

    fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.done && self.finished()
    }

    fn complete(self) -> Result<Completion, ModelError> {
        let Some(finish) = self.finish.as_deref() else {
            return Err(if self.limits.has_begun() { broken_off() } else { malformed("The model sent no reply.") });
        };
        let stop = match finish {
            "length" | "max_tokens" => StopReason::MaxTokens,
            "content_filter" => StopReason::ContentFilter,
            "error" => return Err(ModelError::new(ErrorClass::Server, "The model provider failed during its reply.")),
            // `stop`, `tool_calls`, and what else servers call a regular end.
            _ => StopReason::End,
        };
        let mut calls = self.calls;
        if stop != StopReason::End {
            // What was cut off must not be taken for a call without arguments.
            calls.retain(Call::is_whole);
        }
        let mut parts: Vec<ReplyPart> = self.thinking.sealed(&self.label).into_iter().collect();
        if !self.text.is_empty() {
            parts.push(ReplyPart::Text { text: self.text });
        }
        parts.extend(calls.into_iter().flat_map(|call| call.parts(&self.label)));
        completion(parts, self.usage, stop)
    }
}

impl Reply {
    /// Nothing yet; `label` is the model's, for what it seals.
    pub(super) fn new(label: &str, reasoning: ReasoningReplay) -> Self {
        Self {
            label: label.to_owned(),
            think: ThinkFilter::default(),
            thinking: Thinking::new(reasoning),
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            finish: None,
            done: false,
            limits: ReplyLimits::default(),
        }
    }

    fn take_chunk(&mut self, chunk: Chunk) -> Result<String, ModelError> {
        if let Some(error) = chunk.error {
            return Err(in_stream(&error));
        }
        // Only one answer is asked for.
        let mut choice = chunk.choices.into_iter().next().unwrap_or_default();
        if let Some(usage) = chunk.usage.or(choice.usage.take()) {
            self.usage = counted(&usage);
        }
        let shown = self.take_choice(choice)?;
        self.text.push_str(&shown);
        Ok(shown)
    }

    fn take_choice(&mut self, mut choice: Choice) -> Result<String, ModelError> {
        let mut shown = String::new();
        let thought = self.thinking.take(&mut choice.delta);
        self.limits.count_bytes(thought)?;
        let content = choice.delta.content.map(|content| content.0);
        for words in [content, choice.delta.refusal].into_iter().flatten() {
            self.limits.count_bytes(words.len())?;
            shown.push_str(&self.think.push(&words));
        }
        for fragment in choice.delta.tool_calls {
            self.take_fragment(fragment)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            shown.push_str(&self.think.finish());
            self.finish = Some(reason);
        }
        Ok(shown)
    }

    fn take_fragment(&mut self, fragment: CallFragment) -> Result<(), ModelError> {
        let arguments = match fragment.function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        let name = fragment.function.name.unwrap_or_default();
        let extra = fragment.extra_content.filter(|extra| !extra.is_null());
        let extra_len = extra.as_ref().map_or(0, |extra| extra.to_string().len());
        self.limits.count_bytes(arguments.len() + name.len() + extra_len)?;
        let id = fragment.id.unwrap_or_default();
        let call = self.call_for(fragment.index, &id)?;
        // Some servers repeat the name with each piece; others cut it.
        if name != call.name {
            call.name.push_str(&name);
        }
        call.arguments.push_str(&arguments);
        call.extra = extra.or(call.extra.take());
        Ok(())
    }

    /// The call that a piece belongs to. A new id is a new call even under an index in use (Gemini, Ollama).
    fn call_for(&mut self, index: Option<usize>, id: &str) -> Result<&mut Call, ModelError> {
        let known = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id),
            None => id.is_empty() || call.id == id,
        });
        let place = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.limits.count_call()?;
            self.calls.push(Call { index, ..Call::default() });
        }
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        Ok(call)
    }
}

impl Call {
    /// Whether all of it came: its arguments are an object to its last brace.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    /// The call, behind what its maker wants back with it.
    fn parts(self, label: &str) -> impl Iterator<Item = ReplyPart> {
        let arguments = if self.arguments.trim().is_empty() { "{}".to_owned() } else { self.arguments };
        let call = ToolCall { id: CallId(self.id), name: self.name, arguments };
        let extra = self.extra.map(|extra| seal(label, EXTRA_CONTENT, extra.to_string()));
        extra.into_iter().chain([ReplyPart::Call(call)])
    }
}

fn counted(usage: &WireUsage) -> Usage {
    let input_tokens = usage.prompt_tokens;
    Usage {
        input_tokens,
        // xAI and Gemini count thinking in the total alone.
        output_tokens: usage.completion_tokens.max(usage.total_tokens.saturating_sub(input_tokens)),
        cached_tokens: usage.prompt_tokens_details.cached_tokens.max(usage.prompt_cache_hit_tokens),
        cache_write_tokens: usage.prompt_tokens_details.cache_write_tokens,
        reasoning_tokens: usage.completion_tokens_details.reasoning_tokens,
    }
}

/// An error that the provider reports after it had begun to answer.
fn in_stream(error: &Value) -> ModelError {
    let body = Value::Object(Map::from_iter([("error".to_owned(), error.clone())])).to_string();
    classify::classify(&ErrorResponse { body: &body, ..ErrorResponse::default() })
}
