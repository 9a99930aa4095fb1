//! Puts a reply of Gemini together from the events of its stream.
//!
//! Never: I/O, or showing what the model thought.
//! Start at [`Reply::take`].

use serde_json::{Map, Value};

use crate::classify::{self, ErrorResponse};
use crate::error::{ErrorClass, ModelError};
use crate::exchange::{ReplyFold, broken_off, malformed};
use crate::gemini::event::{Candidate, Event, FunctionCall, Part, UsageMetadata};
use crate::gemini::wire::{CALL_ID, LONE_SIGNATURE, SIGNATURE};
use crate::lenient::as_written;
use crate::message::{Completion, StopReason, ToolCall, Usage};
use crate::reply_draft::ReplyDraft;
use hob_core::domain::ids::CallId;

#[cfg(test)]
mod tests;

/// A reply while it is written.
#[derive(Debug)]
pub(super) struct Reply {
    draft: ReplyDraft,
    usage: Usage,
    finish: Option<Finish>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// In good order, or because the rest is withheld.
    Stopped(StopReason),
    /// For a reason of which nothing more is known.
    Unknown,
}

impl Reply {
    /// Nothing yet from the model with this label.
    pub(super) fn new(label: &str) -> Self {
        Self { draft: ReplyDraft::new(label), usage: Usage::default(), finish: None }
    }

    fn candidate(&mut self, candidate: Candidate) -> Result<String, ModelError> {
        let mut shown = String::new();
        for part in candidate.content.parts {
            shown.push_str(&self.part(part)?);
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            shown.push_str(&self.draft.flush());
            self.finish = Some(finish(&reason, candidate.finish_message.as_deref().unwrap_or_default())?);
        }
        Ok(shown)
    }

    fn part(&mut self, part: Part) -> Result<String, ModelError> {
        let Part { text, thought, thought_signature, function_call } = part;
        if let Some(call) = function_call {
            let shown = self.draft.flush();
            if let Some(signature) = thought_signature {
                self.draft.seal(SIGNATURE, signature)?;
            }
            self.call(call)?;
            return Ok(shown);
        }
        let text = text.unwrap_or_default();
        let words = if thought { "" } else { text.as_str() };
        self.draft.count_bytes(text.len() - words.len())?;
        match thought_signature {
            Some(signature) => self.draft.push_sealed_text(words, SIGNATURE, LONE_SIGNATURE, signature),
            None => self.draft.push_text(words),
        }
    }

    fn call(&mut self, call: FunctionCall) -> Result<(), ModelError> {
        let FunctionCall { id, name, args } = call;
        let arguments = as_written(args.as_deref());
        let id = id.unwrap_or_default();
        if !id.is_empty() {
            self.draft.seal(CALL_ID, id.clone())?;
        }
        self.draft.call(ToolCall { id: CallId(id), name, arguments })
    }
}

impl ReplyFold for Reply {
    fn take(&mut self, event: &str) -> Result<String, ModelError> {
        let event = parse(event)?;
        if let Some(error) = event.error {
            return Err(in_stream(error));
        }
        if event.prompt_feedback.and_then(|feedback| feedback.block_reason).is_some_and(|reason| !reason.is_empty()) {
            return Err(ModelError::new(ErrorClass::Refused, "The model provider refuses this content."));
        }
        if let Some(usage) = event.usage_metadata {
            self.usage = counted(&usage);
        }
        // Only one answer is asked for.
        event.candidates.into_iter().next().map_or_else(|| Ok(String::new()), |candidate| self.candidate(candidate))
    }

    fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn complete(self) -> Result<Completion, ModelError> {
        match self.finish {
            None if self.draft.has_begun() => Err(broken_off()),
            None => Err(malformed("The model sent no reply.")),
            Some(Finish::Stopped(stop)) => self.draft.complete(self.usage, stop),
            Some(Finish::Unknown) => self.draft.complete(self.usage, StopReason::End).map_err(|_empty| {
                ModelError::new(ErrorClass::Server, "The model provider ended the reply without saying why.")
            }),
        }
    }
}

/// An event; some proxies send a list with one in it.
fn parse(event: &str) -> Result<Event, ModelError> {
    let first = |error: serde_json::Error| match serde_json::from_str::<Vec<Event>>(event) {
        Ok(events) => events.into_iter().next().ok_or(error),
        Err(_no_list) => Err(error),
    };
    serde_json::from_str(event).or_else(first).map_err(|error| {
        tracing::debug!(%error, "an event of a model's reply has another shape");
        malformed("The model's reply cannot be understood.")
    })
}

/// Why the model stopped; some reasons leave no reply.
fn finish(reason: &str, message: &str) -> Result<Finish, ModelError> {
    match reason {
        "STOP" => Ok(Finish::Stopped(StopReason::End)),
        "MAX_TOKENS" => Ok(Finish::Stopped(StopReason::MaxTokens)),
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" | "MODEL_ARMOR" => {
            Ok(Finish::Stopped(StopReason::ContentFilter))
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE" => {
            tracing::debug!(reason, message, "a model's call cannot be understood");
            Err(malformed("The model wrote a call of a tool that cannot be understood."))
        }
        "MISSING_THOUGHT_SIGNATURE" => {
            Err(ModelError::new(ErrorClass::BadRequest, "The model misses its own signature in the conversation."))
        }
        _ => {
            tracing::debug!(reason, message, "a model stopped for another reason");
            Ok(Finish::Unknown)
        }
    }
}

fn counted(usage: &UsageMetadata) -> Usage {
    Usage {
        input_tokens: usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count),
        output_tokens: usage.candidates_token_count.saturating_add(usage.thoughts_token_count),
        cached_tokens: usage.cached_content_token_count,
        reasoning_tokens: usage.thoughts_token_count,
        ..Usage::default()
    }
}

/// An error that the provider reports after it had begun to answer.
fn in_stream(error: Value) -> ModelError {
    let body = Value::Object(Map::from_iter([("error".to_owned(), error)])).to_string();
    classify::classify(&ErrorResponse { body: &body, ..ErrorResponse::default() })
}
