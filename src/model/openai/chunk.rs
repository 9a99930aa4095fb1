//! One event of the stream, read as leniently as the many servers write it.
//!
//! Never: a meaning; see [`super::reply`].
//! Start at [`Chunk`].

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One event. Unknown fields are ignored, missing and `null` ones are empty.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) choices: Vec<Choice>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    /// The whole event when it is an error: providers report what goes wrong later in the stream itself.
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) delta: Delta,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

/// What is new. `reasoning`, `reasoning_content` and the like are left out on purpose.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Option<String>,
    /// The model's words when it declines.
    #[serde(default)]
    pub(super) refusal: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) tool_calls: Vec<CallFragment>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CallFragment {
    #[serde(default)]
    pub(super) index: Option<usize>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) function: FunctionFragment,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionFragment {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// A piece of JSON text; some servers send an object.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) prompt_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) completion_tokens: u64,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) prompt_tokens_details: PromptDetails,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) cached_tokens: u64,
}

/// Reads `null` as the empty value.
fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
