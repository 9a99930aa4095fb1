//! One event of the stream, read as leniently as the many servers write it.
//!
//! Never: a meaning; see [`super::reply`].
//! Start at [`Chunk`].

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::lenient::or_empty;

/// One event. Unknown fields are ignored, missing and `null` ones are empty.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<WireUsage>,
    /// The whole event when it is an error: providers report what goes wrong later in the stream itself.
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) delta: Delta,
    pub(super) finish_reason: Option<String>,
    /// Moonshot puts it here.
    pub(super) usage: Option<WireUsage>,
}

/// What is new. The reasoning is read to be given back, never to be shown.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    pub(super) content: Option<Content>,
    /// The model's words when it declines.
    pub(super) refusal: Option<String>,
    pub(super) reasoning_content: Option<Value>,
    pub(super) reasoning_details: Option<Value>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) tool_calls: Vec<CallFragment>,
}

/// Words, as one text or (Mistral's thinking models) in parts.
#[derive(Debug)]
pub(super) struct Content(pub(super) String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = match Value::deserialize(deserializer)? {
            Value::String(text) => return Ok(Self(text)),
            Value::Array(parts) => parts,
            _ => Vec::new(),
        };
        // Parts of other types are thinking.
        let words = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        Ok(Self(words.collect()))
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CallFragment {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) function: FunctionFragment,
    /// Gemini's signature.
    pub(super) extra_content: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionFragment {
    pub(super) name: Option<String>,
    /// A piece of JSON text; some servers send an object.
    pub(super) arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) prompt_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) completion_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) total_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) prompt_tokens_details: PromptDetails,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) completion_tokens_details: CompletionDetails,
    /// DeepSeek's word for what came from the cache; Moonshot's is `cached_tokens`.
    #[serde(default, alias = "cached_tokens", deserialize_with = "or_empty")]
    pub(super) prompt_cache_hit_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) cached_tokens: u64,
    /// OpenRouter alone tells it.
    #[serde(default, alias = "cache_write", deserialize_with = "or_empty")]
    pub(super) cache_write_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) reasoning_tokens: u64,
}
