//! A model that answers what a case says, reply by reply.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::cli::eval::case::ScriptedReply;
use hob_core::domain::ids::CallId;
use hob_core::domain::lock::lock;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, ToolCall};
use hob_model::provider::{Provider, Request, Sink};

/// It.
pub(super) struct ScriptedModel(Mutex<VecDeque<ScriptedReply>>);

impl ScriptedModel {
    pub(super) fn of(replies: &[ScriptedReply]) -> Self {
        Self(Mutex::new(replies.iter().cloned().collect()))
    }
}

#[async_trait]
impl Provider for ScriptedModel {
    fn label(&self) -> &str {
        "script/case"
    }

    async fn complete(&self, _request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let next = lock(&self.0).pop_front();
        let Some(reply) = next else {
            return Err(ModelError::new(ErrorClass::Refused, "the case's script has no further reply"));
        };
        sink.delta(&reply.text);
        let calls = reply.calls.into_iter().enumerate();
        let calls = calls.map(|(index, call)| ToolCall {
            id: CallId::new(0, index),
            name: call.tool,
            arguments: call.arguments,
        });
        Ok(Completion::from_text_and_calls(reply.text, calls.collect()))
    }
}
