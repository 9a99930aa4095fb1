//! Models in an Ollama, over its own API.
//!
//! Its OpenAI-compatible endpoint knows no `num_ctx`, holds 4,096 tokens, and drops the beginning of what is longer
//! without a word. Never: a request without `num_ctx`, retries (the machine decides), or showing a model's reasoning.
//! Start at [`Ollama::new`].

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::error::{ErrorClass, ModelError};
use crate::exchange::answer::Failure;
use crate::exchange::endpoint::Endpoint;
use crate::exchange::frame::Framing;
use crate::exchange::{HttpCall, exchange, get_json};
use crate::message::Completion;
use crate::ollama::reply::Reply;
use crate::ollama::traits::{ShowResponse, Traits};
use crate::ollama::wire::ChatRequest;
use crate::provider::{ModelCheck, OfferedModel, Provider, Request, Sink};
use crate::settings::Settings;

mod reply;
pub(crate) mod traits;
mod wire;

/// A model in an Ollama.
pub struct Ollama {
    endpoint: Endpoint,
    settings: Settings,
    /// Asked for once, before the first call.
    traits: OnceCell<Traits>,
    /// It was logged that the model calls no tools.
    told_of_tools: AtomicBool,
}

/// Which model is to be shown.
#[derive(Debug, Serialize)]
struct ShowRequest<'a> {
    model: &'a str,
}

#[derive(Debug, Deserialize)]
struct TagsResponse {
    models: Vec<ModelTag>,
}

#[derive(Debug, Deserialize)]
struct ModelTag {
    name: String,
}

impl Ollama {
    /// Sets the client up; nothing is sent yet. The address may end in `/api`, and in the `/v1` of the API that is not
    /// this one.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let base = settings.base_url.trim().trim_end_matches('/');
        let endpoint = Endpoint::new(base.strip_suffix("/api").unwrap_or(base), "/v1", settings.deadlines)?;
        let endpoint = endpoint.key(AUTHORIZATION, "Bearer ", settings.api_key.as_ref())?;
        Ok(Self { endpoint, settings, traits: OnceCell::new(), told_of_tools: AtomicBool::new(false) })
    }

    /// The body of a call, as it is sent. The first one asks the server what the model can do.
    pub async fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        let traits = match self.traits.get_or_try_init(|| self.show()).await {
            Ok(traits) => *traits,
            // Whether it has the model, its answer to the call says. The next call asks again: it may have it by then.
            Err(failure) if is_missing_endpoint(&failure) => Traits::of(&ShowResponse::default()),
            Err(failure) => return Err(failure.error),
        };
        self.warn_about_tools(traits, request);
        ChatRequest::new(&self.settings, traits, request).into_body()
    }

    async fn show(&self) -> Result<Traits, Failure> {
        let request = self.endpoint.post("/api/show").json(&ShowRequest { model: &self.settings.model });
        Ok(Traits::of(&get_json::<ShowResponse>(request).await?))
    }

    /// A household without tools is still answered; but its owner should know.
    fn warn_about_tools(&self, traits: Traits, request: &Request) {
        let untold = || !self.told_of_tools.swap(true, Ordering::Relaxed);
        if !traits.calls_tools && !request.tools.is_empty() && untold() {
            tracing::warn!(model = %self.settings.label, "the model cannot call tools and is asked without them");
        }
    }
}

#[async_trait]
impl Provider for Ollama {
    fn label(&self) -> &str {
        &self.settings.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let request = self.endpoint.post_json("/api/chat", self.body(request).await?);
        let call = HttpCall { request, framing: Framing::JsonLines };
        let reply = Reply::new(&self.settings.label);
        exchange(&self.endpoint.deadlines, call, reply, sink).await.map_err(|failure| failure.error)
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        match self.show().await {
            Ok(traits) => {
                Ok(ModelCheck { listed: Some(true), context_tokens: Some(traits.window(self.settings.context_tokens)) })
            }
            Err(failure) if failure.status == 404 && failure.error.class == ErrorClass::UnknownModel => {
                Ok(ModelCheck { listed: Some(false), context_tokens: None })
            }
            Err(failure) if is_missing_endpoint(&failure) => {
                let window = Traits::of(&ShowResponse::default()).window(self.settings.context_tokens);
                Ok(ModelCheck { listed: None, context_tokens: Some(window) })
            }
            Err(failure) => Err(failure.error),
        }
    }

    async fn list(&self) -> Result<Option<Vec<OfferedModel>>, ModelError> {
        let listed = get_json::<TagsResponse>(self.endpoint.get("/api/tags")).await.map_err(|failure| failure.error)?;
        let all = listed.models.into_iter();
        Ok(Some(all.map(|tag| OfferedModel { name: tag.name, context_tokens: None }).collect()))
    }
}

/// Whether a server does not tell what a model can do, though it may well answer as one: others than Ollama speak its API,
/// and leave this out.
fn is_missing_endpoint(failure: &Failure) -> bool {
    matches!(failure.status, 404 | 405 | 501)
}

/// An empty reply, to be fuzzed.
#[cfg(feature = "fuzzing")]
pub(crate) fn fold() -> impl crate::exchange::ReplyFold {
    Reply::new("a/b")
}
