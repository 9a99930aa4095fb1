//! What is said between Hob and a model, in Hob's own words. This encoding is stored: change it only by adding.

use serde::{Deserialize, Serialize};

use crate::domain::ids::CallId;

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the run.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them: perhaps not even JSON.
    pub arguments: String,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// The tool's name.
    pub name: String,
    /// What the model is told.
    pub text: String,
    /// Whether it failed (row D5).
    pub is_error: bool,
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Said by a person, or by Hob in the person's place.
    User {
        /// The words.
        text: String,
    },
    /// Said by the model.
    Assistant {
        /// The words; may be empty when there are calls.
        text: String,
        /// The calls it wants made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of one call.
    Tool(ToolResult),
}

/// Tokens of one call, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of those read, how many came from the provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done, or wants tools.
    End,
    /// Cut off by the output limit.
    MaxTokens,
    /// The provider withheld the rest.
    ContentFilter,
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The words, without reasoning.
    pub text: String,
    /// The calls, in the model's order; their ids are the provider's, not yet unique.
    pub calls: Vec<ToolCall>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
}
