//! One event of the stream, as the Responses API writes it.
//!
//! Never: a meaning; see [`super::reply`].
//! Start at [`Event`].

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::lenient::or_empty;

/// One event. What is not known is ignored: the API adds events and fields.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Event {
    #[serde(rename = "response.output_item.added")]
    ItemAdded { item: Item },
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Words { delta: String },
    /// Counted alone: the whole call comes with the end of its item.
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: String },
    #[serde(rename = "response.output_item.done")]
    ItemDone { item: Item },
    #[serde(rename = "response.completed", alias = "response.incomplete")]
    Ended { response: CompletedResponse },
    #[serde(rename = "response.failed")]
    Failed { response: FailedResponse },
    /// What goes wrong later comes in the stream itself.
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Other,
}

/// A piece of what the model puts out.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Message(OutputMessage),
    FunctionCall(FunctionCall),
    Reasoning(Reasoning),
    #[serde(other)]
    Other,
}

/// A message; its words come by themselves.
#[derive(Debug, Default, Deserialize)]
pub(super) struct OutputMessage {
    /// `commentary` or `final_answer`, from models that tell.
    #[serde(default, deserialize_with = "word")]
    pub(super) phase: Option<String>,
}

/// A word; whatever else stands there is none.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(word) => Some(word),
        _ => None,
    })
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionCall {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) call_id: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) arguments: String,
}

/// What the model thought, sealed by OpenAI; so it is kept, and so it goes back.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reasoning {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) id: String,
    /// In words, where they were asked for: the API wants the field back.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) summary: Vec<Value>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) encrypted_content: String,
}

/// How a reply ended.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CompletedResponse {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) incomplete_details: IncompleteDetails,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) usage: WireUsage,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`; none where all of it came.
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FailedResponse {
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) input_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) input_tokens_details: InputDetails,
    /// Reasoning included.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) output_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) output_tokens_details: OutputDetails,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct InputDetails {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) cached_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) cache_write_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) reasoning_tokens: u64,
}
