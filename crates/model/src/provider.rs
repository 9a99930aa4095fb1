//! The trait behind which every model stands.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ModelError;
use crate::message::{Completion, Message};
use crate::offered_tools::OfferedTools;
use crate::settings::Tuning;
use hob_core::domain::ids::SessionKey;

/// What the model is told about a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// Its name: `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Value,
}

/// Everything one call sends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The system prompt's stable core.
    pub system: String,
    /// The history, oldest first, ending in a user message or tool results.
    pub messages: Vec<Message>,
    /// How many of the messages stand like this in the conversation's next request too: a cache may keep them.
    pub stable: usize,
    /// The tools on offer, sorted by name.
    pub tools: OfferedTools,
    /// Which of them may or must be called.
    pub tool_choice: ToolChoice,
    /// Tokens of the reply, at most, instead of what is configured for the model.
    pub max_output_tokens: Option<u64>,
    /// Whose conversation it is, where it is one: no provider is told, but one that keeps caches gets a digest of it.
    pub session: Option<SessionKey>,
}

impl Request {
    /// How the model is to answer this one.
    pub(crate) fn tuned(&self, tuning: Tuning) -> Tuning {
        Tuning { max_output_tokens: self.max_output_tokens.or(tuning.max_output_tokens), ..tuning }
    }
}

/// Which tools the model may or must call (row B3). Where a provider has no such switch, it is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// None: it is to speak. The tools stay in the request, so that a cached prefix stays one.
    None,
    /// At least one, whichever.
    Any,
    Tool {
        name: String,
    },
}

/// Takes the reply's text while it is written.
pub trait Sink: Send + Sync {
    /// More text.
    fn delta(&self, text: &str);
}

/// A sink for those who only want the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSink;

impl Sink for NoSink {
    fn delta(&self, _text: &str) {}
}

/// What a server tells of a model without being asked to speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelCheck {
    /// Whether the server's list has the model; none: it keeps no list.
    pub listed: Option<bool>,
    /// The most tokens it can read and write, where the server says so.
    pub context_tokens: Option<u64>,
}

/// A model that its server has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedModel {
    /// As the server calls it.
    pub name: String,
    /// The most tokens it can read and write, where the server says so.
    pub context_tokens: Option<u64>,
}

/// A model that can be asked. Dropping the future of [`Provider::complete`] drops the connection.
#[async_trait]
pub trait Provider: Send + Sync {
    /// `provider/model`, for people, logs and the bill.
    fn label(&self) -> &str;

    /// Asks, streams text into `sink`, answers with the whole reply.
    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError>;

    /// Asks the server about the model; costs nothing. What has no server has nothing to tell.
    async fn check(&self) -> Result<ModelCheck, ModelError> {
        Ok(ModelCheck::default())
    }

    /// The models that the server has, as it lists them; costs nothing. None: it keeps no list.
    async fn list(&self) -> Result<Option<Vec<OfferedModel>>, ModelError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_a_requests_own_limit_goes_before_the_models() {
        let request = |max_output_tokens| Request {
            system: String::new(),
            messages: Vec::new(),
            stable: 0,
            tools: OfferedTools::default(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens,
            session: None,
        };
        let tuning = |max_output_tokens| Tuning { temperature: Some(0.5), max_output_tokens, effort: None };
        let table =
            [(None, None, None), (Some(7), None, Some(7)), (None, Some(9), Some(9)), (Some(7), Some(9), Some(7))];
        for (own, configured, expected) in table {
            assert_eq!(request(own).tuned(tuning(configured)), tuning(expected));
        }
    }
}
