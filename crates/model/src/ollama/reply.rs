//! Puts a reply of Ollama together from the lines of its stream.
//!
//! Never: I/O, or showing what the model thought.
//! Start at [`Reply::take`].

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::classify::{self, ErrorResponse};
use crate::error::ModelError;
use crate::exchange::{ReplyFold, broken_off, malformed};
use crate::lenient::{as_written, or_empty};
use crate::message::{Completion, StopReason, ToolCall, Usage};
use crate::ollama::wire::THINKING;
use crate::reply_draft::ReplyDraft;
use hob_core::domain::ids::CallId;

#[cfg(test)]
mod tests;

/// A line of the stream. Unknown fields are ignored, missing and `null` ones are empty.
#[derive(Debug, Default, Deserialize)]
struct StreamLine {
    #[serde(default, deserialize_with = "or_empty")]
    message: StreamMessage,
    #[serde(default, deserialize_with = "or_empty")]
    done: bool,
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    prompt_eval_count: u64,
    #[serde(default, deserialize_with = "or_empty")]
    eval_count: u64,
    /// What went wrong after the stream had begun; the status was 200 by then.
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct StreamMessage {
    #[serde(default, deserialize_with = "or_empty")]
    content: String,
    #[serde(default, deserialize_with = "or_empty")]
    thinking: String,
    #[serde(default, deserialize_with = "or_empty")]
    tool_calls: Vec<Call>,
}

#[derive(Debug, Default, Deserialize)]
struct Call {
    #[serde(default, deserialize_with = "or_empty")]
    id: String,
    #[serde(default, deserialize_with = "or_empty")]
    function: Function,
}

#[derive(Debug, Default, Deserialize)]
struct Function {
    #[serde(default, deserialize_with = "or_empty")]
    name: String,
    arguments: Option<Box<RawValue>>,
}

/// A reply while it is written.
#[derive(Debug)]
pub(super) struct Reply {
    draft: ReplyDraft,
    /// What was thought since the last word or call.
    thinking: String,
    usage: Usage,
    stop: Option<StopReason>,
}

impl Reply {
    /// Nothing yet from the model with this label.
    pub(super) fn new(label: &str) -> Self {
        Self { draft: ReplyDraft::new(label), thinking: String::new(), usage: Usage::default(), stop: None }
    }

    fn push_message(&mut self, said: StreamMessage) -> Result<String, ModelError> {
        self.draft.count_bytes(said.thinking.len())?;
        self.thinking.push_str(&said.thinking);
        let mut shown = String::new();
        if !said.content.is_empty() {
            self.seal()?;
            shown.push_str(&self.draft.push_text(&said.content)?);
        }
        for call in said.tool_calls {
            shown.push_str(&self.draft.flush());
            self.seal()?;
            let arguments = as_written(call.function.arguments.as_deref());
            self.draft.call(ToolCall { id: CallId(call.id), name: call.function.name, arguments })?;
        }
        Ok(shown)
    }

    /// Seals what was thought before what follows now.
    fn seal(&mut self) -> Result<(), ModelError> {
        if self.thinking.is_empty() {
            return Ok(());
        }
        self.draft.seal(THINKING, std::mem::take(&mut self.thinking))
    }
}

impl ReplyFold for Reply {
    fn take(&mut self, event: &str) -> Result<String, ModelError> {
        let line: StreamLine = serde_json::from_str(event).map_err(|error| {
            tracing::debug!(%error, "a line of a model's reply has another shape");
            malformed("The model's reply cannot be understood.")
        })?;
        if line.error.is_some() {
            return Err(classify::classify(&ErrorResponse { body: event, ..ErrorResponse::default() }));
        }
        let mut shown = self.push_message(line.message)?;
        if line.done {
            shown.push_str(&self.draft.flush());
            self.seal()?;
            let (input_tokens, output_tokens) = (line.prompt_eval_count, line.eval_count);
            self.usage = Usage { input_tokens, output_tokens, ..Usage::default() };
            self.stop = Some(match line.done_reason.as_deref() {
                Some("length") => StopReason::MaxTokens,
                // `stop`; `load` and `unload`, which come without words and are empty replies.
                _ => StopReason::End,
            });
        }
        Ok(shown)
    }

    fn finished(&self) -> bool {
        self.stop.is_some()
    }

    fn complete(self) -> Result<Completion, ModelError> {
        match self.stop {
            Some(stop) => self.draft.complete(self.usage, stop),
            None if self.draft.has_begun() => Err(broken_off()),
            None => Err(malformed("The model sent no reply.")),
        }
    }
}
