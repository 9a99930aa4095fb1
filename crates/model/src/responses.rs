//! OpenAI's own models behind its Responses API, where they think and take tools in the same call.
//!
//! Never: a reply that is kept at OpenAI (`store` is false), retries of what failed (the machine decides), or showing a
//! model's reasoning.
//! Start at [`Responses::new`].

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;

use crate::error::ModelError;
use crate::exchange::answer::Failure;
use crate::exchange::endpoint::{Endpoint, written};
use crate::exchange::frame::Framing;
use crate::exchange::{HttpCall, exchange};
use crate::message::Completion;
use crate::openai::listing;
use crate::provider::{ModelCheck, OfferedModel, Provider, Request, Sink};
use crate::refused_parameters::{ADAPTATIONS_MAX, ParameterMemory, RefusedParameterStore, RefusedParameters};
use crate::responses::reply::Reply;
use crate::responses::wire::{ResponsesRequest, TargetModel};
use crate::settings::Settings;

mod event;
mod reply;
#[cfg(test)]
mod tests;
mod wire;

/// How the API says that it cannot open reasoning which it once sealed: the account has changed, or its keys.
const SEAL_REFUSED: &str = "invalid_encrypted_content";

/// A model behind the Responses API.
pub struct Responses {
    endpoint: Endpoint,
    settings: Settings,
    memory: ParameterMemory,
}

impl Responses {
    /// Sets the client up; nothing is sent yet.
    pub fn new(settings: Settings, remember: Arc<dyn RefusedParameterStore>) -> Result<Self, ModelError> {
        // The address is written with its version, as for chat completions.
        let endpoint = Endpoint::new(&settings.base_url, "", settings.deadlines)?;
        let endpoint = endpoint.key(AUTHORIZATION, "Bearer ", settings.api_key.as_ref())?;
        let memory = ParameterMemory::new(&settings.label, &settings.base_url, remember);
        Ok(Self { endpoint, settings, memory })
    }

    /// The body of a call, as it is sent by what is known of the model.
    pub fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        written(&ResponsesRequest::new(request, self.target_model(&self.memory.current(), true)))
    }

    fn target_model<'a>(&'a self, learned: &'a RefusedParameters, gives_reasoning: bool) -> TargetModel<'a> {
        let Settings { model, label, tuning, sees_images, .. } = &self.settings;
        TargetModel { model, label, tuning: *tuning, sees_images: *sees_images, gives_reasoning, learned }
    }

    async fn ask(&self, body: &ResponsesRequest, sink: &dyn Sink) -> Result<Completion, Failure> {
        let request = self.endpoint.post_json("/responses", written(body)?);
        let call = HttpCall { request, framing: Framing::ServerSentEvents };
        exchange(&self.endpoint.deadlines, call, Reply::new(&self.settings.label), sink).await
    }
}

#[async_trait]
impl Provider for Responses {
    fn label(&self) -> &str {
        &self.settings.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let mut gives_reasoning = true;
        let mut adaptations = 0;
        loop {
            let learned = self.memory.current();
            let body = ResponsesRequest::new(request, self.target_model(&learned, gives_reasoning));
            let failure = match self.ask(&body, sink).await {
                Ok(completion) => return Ok(completion),
                Err(failure) => failure,
            };
            let is_seal_refused = gives_reasoning && body.gives_reasoning_back() && refuses_seal(&failure);
            let differs = is_seal_refused || self.memory.learn(&failure, &learned, &body.refusable());
            if adaptations == ADAPTATIONS_MAX || !differs {
                return Err(failure.error);
            }
            // The words and calls stand for themselves; only what the model thought is lost.
            gives_reasoning &= !is_seal_refused;
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

fn refuses_seal(failure: &Failure) -> bool {
    failure.status == 400 && failure.body.contains(SEAL_REFUSED)
}

/// An empty reply, to be fuzzed.
#[cfg(feature = "fuzzing")]
pub(crate) fn fold() -> impl crate::exchange::ReplyFold {
    Reply::new("a/b")
}
