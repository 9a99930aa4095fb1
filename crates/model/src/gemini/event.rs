//! One event of the stream, read leniently.
//!
//! Never: a meaning; see [`super::reply`].
//! Start at [`Event`].

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient::or_empty;

/// One event. Unknown fields are ignored, missing and `null` ones are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) candidates: Vec<Candidate>,
    pub(super) prompt_feedback: Option<PromptFeedback>,
    pub(super) usage_metadata: Option<UsageMetadata>,
    /// What went wrong after the stream had begun.
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) content: Content,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Content {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) parts: Vec<Part>,
}

/// A piece of the reply. What Hob never asks for (pictures, code) is left out on purpose.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    pub(super) text: Option<String>,
    /// The text is a summary of what the model thought.
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) thought: bool,
    pub(super) thought_signature: Option<String>,
    pub(super) function_call: Option<FunctionCall>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionCall {
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) name: String,
    pub(super) args: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    pub(super) block_reason: Option<String>,
}

/// The tokens so far. What was thought is not among the candidates' tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) prompt_token_count: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) tool_use_prompt_token_count: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) cached_content_token_count: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) candidates_token_count: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) thoughts_token_count: u64,
}
