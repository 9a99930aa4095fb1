//! Puts a reply together from the events of its stream.
//!
//! Never: I/O, or thinking among what is shown.
//! Start at [`Reply`].

use serde_json::{Map, Value};

use crate::anthropic::event::{Delta, Event, WireUsage};
use crate::classify::{self, ErrorResponse};
use crate::error::ModelError;
use crate::exchange::{ReplyFold, broken_off, malformed};
use crate::message::{Completion, ReplyPart, Sealed, StopReason, ToolCall, Usage};
use crate::reply_draft::{ReplyLimits, completion};
use crate::think_filter::ThinkFilter;
use hob_core::domain::ids::CallId;

#[cfg(test)]
mod tests;

const REPLY_BLOCKS_MAX: usize = 256;

/// A reply while it is written.
#[derive(Debug)]
pub struct Reply {
    label: String,
    think: ThinkFilter,
    blocks: Vec<Block>,
    usage: WireUsage,
    stop_reason: Option<String>,
    limits: ReplyLimits,
}

/// A content block while it is written.
#[derive(Debug)]
struct Block {
    index: u64,
    content: Content,
    done: bool,
}

#[derive(Debug)]
enum Content {
    Text(String),
    Call {
        id: String,
        name: String,
        json: String,
    },
    /// Thinking, as the block that is to be given back.
    Sealed(Map<String, Value>),
    /// What we did not ask for: a server's own tools, citations.
    Ignored,
}

impl Reply {
    /// A reply of the model with this label.
    pub fn new(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            think: ThinkFilter::default(),
            blocks: Vec::new(),
            usage: WireUsage::default(),
            stop_reason: None,
            limits: ReplyLimits::default(),
        }
    }

    fn start(&mut self, index: u64, block: Map<String, Value>) -> Result<String, ModelError> {
        if self.blocks.len() >= REPLY_BLOCKS_MAX {
            return Err(malformed("The model's reply has too many parts."));
        }
        let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut words = String::new();
        let content = match field("type").as_str() {
            "text" => {
                words = field("text");
                Content::Text(String::new())
            }
            "tool_use" => {
                let input = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
                let json = input.map(|_| block["input"].to_string()).unwrap_or_default();
                Content::Call { id: field("id"), name: field("name"), json }
            }
            "thinking" | "redacted_thinking" => Content::Sealed(block),
            _ => Content::Ignored,
        };
        self.limits.count_bytes(size(&content))?;
        self.blocks.push(Block { index, content, done: false });
        if words.is_empty() { Ok(words) } else { self.add(index, Delta::Text { text: words }) }
    }

    fn add(&mut self, index: u64, delta: Delta) -> Result<String, ModelError> {
        let bytes = match &delta {
            Delta::Text { text: more }
            | Delta::Json { partial_json: more }
            | Delta::Thinking { thinking: more }
            | Delta::Signature { signature: more } => more.len(),
            Delta::Other => 0,
        };
        self.limits.count_bytes(bytes)?;
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else {
            return Err(malformed("The model's reply goes on where it did not begin."));
        };
        match (&mut block.content, delta) {
            (Content::Text(_), Delta::Text { text: more }) => {
                let shown = self.think.push(&more);
                self.append_text(&shown);
                return Ok(shown);
            }
            (Content::Call { json, .. }, Delta::Json { partial_json }) => json.push_str(&partial_json),
            (Content::Sealed(block), Delta::Thinking { thinking }) => append(block, "thinking", &thinking),
            (Content::Sealed(block), Delta::Signature { signature }) => append(block, "signature", &signature),
            // Deltas that do not fit their block are as unknown as those of unknown kinds.
            (Content::Text(_) | Content::Call { .. } | Content::Sealed(_) | Content::Ignored, _) => {}
        }
        Ok(String::new())
    }

    fn stop(&mut self, index: u64) -> String {
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else { return String::new() };
        block.done = true;
        if !matches!(block.content, Content::Text(_)) {
            return String::new();
        }
        let shown = self.think.finish();
        self.append_text(&shown);
        shown
    }

    /// Words stand where they came: in the newest block of words, whichever they are said to belong to. Else what was
    /// shown would not be what was said.
    fn append_text(&mut self, words: &str) {
        let texts = self.blocks.iter_mut().rev().find_map(|block| match &mut block.content {
            Content::Text(text) => Some(text),
            Content::Call { .. } | Content::Sealed(_) | Content::Ignored => None,
        });
        if let Some(text) = texts {
            text.push_str(words);
        }
    }
}

impl ReplyFold for Reply {
    fn take(&mut self, event: &str) -> Result<String, ModelError> {
        let parsed = serde_json::from_str(event).map_err(|error| {
            tracing::debug!(%error, "an event of a model's reply has another shape");
            malformed("The model's reply cannot be understood.")
        })?;
        match parsed {
            Event::MessageStart { message } => count(&mut self.usage, message.usage),
            Event::ContentBlockStart { index, content_block } => return self.start(index, content_block),
            Event::ContentBlockDelta { index, delta } => return self.add(index, delta),
            Event::ContentBlockStop { index } => return Ok(self.stop(index)),
            Event::MessageDelta { delta, usage } => {
                count(&mut self.usage, usage);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
            }
            Event::Error => return Err(classify::classify(&ErrorResponse { body: event, ..ErrorResponse::default() })),
            Event::Other => {}
        }
        Ok(String::new())
    }

    fn finished(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn complete(self) -> Result<Completion, ModelError> {
        let Some(reason) = self.stop_reason.as_deref() else {
            let begun = !self.blocks.is_empty();
            return Err(if begun { broken_off() } else { malformed("The model sent no reply.") });
        };
        let stop = match reason {
            "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
            "refusal" => StopReason::ContentFilter,
            // `end_turn`, `tool_use`, `stop_sequence`, `pause_turn`, and what is yet to come.
            _ => StopReason::End,
        };
        let last = self.blocks.len().saturating_sub(1);
        let blocks = self.blocks.into_iter().enumerate();
        let parts = blocks.filter_map(|(place, block)| {
            let whole = block.done && (stop == StopReason::End || place < last);
            block.content.part(&self.label, whole)
        });
        completion(parts.collect(), usage_from_wire(self.usage), stop)
    }
}

impl Content {
    /// The part of the reply that a block becomes; `whole`: nothing of it can be missing.
    fn part(self, label: &str, whole: bool) -> Option<ReplyPart> {
        match self {
            Self::Text(text) => (!text.is_empty()).then_some(ReplyPart::Text { text }),
            Self::Call { id, name, json } => {
                let none = json.trim().is_empty();
                // A call that was cut off must not run with what came of its arguments, least of all with none.
                let complete = whole || serde_json::from_str::<Map<String, Value>>(&json).is_ok();
                let arguments = if none { "{}".to_owned() } else { json };
                complete.then_some(ReplyPart::Call(ToolCall { id: CallId(id), name, arguments }))
            }
            Self::Sealed(block) => {
                let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
                // Thinking that was cut off has no signature, and would be refused.
                let given = whole || !text("signature").is_empty() || !text("data").is_empty();
                let kind = text("type").to_owned();
                let data = Value::Object(block).to_string();
                given.then(|| ReplyPart::Sealed(Sealed { model: label.to_owned(), kind, data }))
            }
            Self::Ignored => None,
        }
    }
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Call { id, name, json } => id.len() + name.len() + json.len(),
        Content::Sealed(block) => block.values().filter_map(Value::as_str).map(str::len).sum(),
        Content::Ignored => 0,
    }
}

fn append(block: &mut Map<String, Value>, name: &str, more: &str) {
    match block.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            block.insert(name.to_owned(), Value::String(more.to_owned()));
        }
    }
}

fn count(usage: &mut WireUsage, told: Option<WireUsage>) {
    let Some(told) = told else { return };
    *usage = WireUsage {
        input_tokens: told.input_tokens.or(usage.input_tokens),
        cache_creation_input_tokens: told.cache_creation_input_tokens.or(usage.cache_creation_input_tokens),
        cache_read_input_tokens: told.cache_read_input_tokens.or(usage.cache_read_input_tokens),
        output_tokens: told.output_tokens.or(usage.output_tokens),
        output_tokens_details: told.output_tokens_details.or(usage.output_tokens_details),
    };
}

/// Anthropic counts what was read from the cache, and what was written to it, beside the input.
fn usage_from_wire(usage: WireUsage) -> Usage {
    let cached_tokens = usage.cache_read_input_tokens.unwrap_or(0);
    let cache_write_tokens = usage.cache_creation_input_tokens.unwrap_or(0);
    let input = usage.input_tokens.unwrap_or(0);
    Usage {
        input_tokens: input.saturating_add(cached_tokens).saturating_add(cache_write_tokens),
        output_tokens: usage.output_tokens.unwrap_or(0),
        cached_tokens,
        cache_write_tokens,
        reasoning_tokens: usage.output_tokens_details.and_then(|details| details.thinking_tokens).unwrap_or(0),
    }
}
