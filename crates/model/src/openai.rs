//! Models behind an OpenAI-compatible API: OpenAI, OpenRouter, DeepSeek, vLLM, and the like.
//!
//! Never: retries of what failed (the machine decides), or showing a model's reasoning.
//! Start at [`OpenAi::new`].

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;

use crate::error::ModelError;
use crate::exchange::answer::Failure;
use crate::exchange::endpoint::{Endpoint, written};
use crate::exchange::frame::Framing;
use crate::exchange::{HttpCall, exchange};
use crate::message::Completion;
use crate::openai::quirks::Quirks;
use crate::openai::reply::Reply;
use crate::openai::wire::{ChatRequest, TargetModel};
use crate::provider::{ModelCheck, OfferedModel, Provider, Request, Sink};
use crate::refused_parameters::{ADAPTATIONS_MAX, ParameterMemory, RefusedParameterStore, RefusedParameters};
use crate::settings::Settings;

mod chunk;
pub mod client;
pub(crate) mod listing;
pub mod quirks;
mod reply;
mod sealed;
mod wire;

/// A model behind an OpenAI-compatible API.
pub struct OpenAi {
    endpoint: Endpoint,
    settings: Settings,
    quirks: &'static Quirks,
    memory: ParameterMemory,
}

impl OpenAi {
    /// Sets the client up; nothing is sent yet.
    pub fn new(
        settings: Settings,
        quirks: &'static Quirks,
        remember: Arc<dyn RefusedParameterStore>,
    ) -> Result<Self, ModelError> {
        // The address is written with its version, which differs from server to server.
        let endpoint = Endpoint::new(&settings.base_url, "", settings.deadlines)?;
        let endpoint = endpoint.key(AUTHORIZATION, "Bearer ", settings.api_key.as_ref())?;
        let memory = ParameterMemory::new(&settings.label, &settings.base_url, remember);
        Ok(Self { endpoint, settings, quirks, memory })
    }

    /// The body of a call, as it is sent by what is known of the server.
    pub fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        written(&ChatRequest::new(request, self.target_model(&self.memory.current())))
    }

    fn target_model<'a>(&'a self, learned: &'a RefusedParameters) -> TargetModel<'a> {
        let Settings { model, label, tuning, sees_images, .. } = &self.settings;
        TargetModel { model, label, quirks: self.quirks, tuning: *tuning, sees_images: *sees_images, learned }
    }

    async fn ask(&self, body: &ChatRequest<'_>, sink: &dyn Sink) -> Result<Completion, Failure> {
        let request = self.endpoint.post_json("/chat/completions", written(body)?);
        let call = HttpCall { request, framing: Framing::ServerSentEvents };
        let reply = Reply::new(&self.settings.label, self.quirks.reasoning);
        exchange(&self.endpoint.deadlines, call, reply, sink).await
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn label(&self) -> &str {
        &self.settings.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let mut adaptations = 0;
        loop {
            let learned = self.memory.current();
            let body = ChatRequest::new(request, self.target_model(&learned));
            let failure = match self.ask(&body, sink).await {
                Ok(completion) => return Ok(completion),
                Err(failure) => failure,
            };
            if adaptations == ADAPTATIONS_MAX || !self.memory.learn(&failure, &learned, &body.refusable()) {
                return Err(failure.error);
            }
            adaptations += 1;
        }
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        listing::check(&self.endpoint, &self.settings.model).await
    }

    async fn list(&self) -> Result<Option<Vec<OfferedModel>>, ModelError> {
        listing::list(&self.endpoint).await
    }
}

/// An empty reply, to be fuzzed.
#[cfg(feature = "fuzzing")]
pub(crate) fn fold() -> impl crate::exchange::ReplyFold {
    Reply::new("a/b", quirks::ReasoningReplay::Details)
}
