//! Google's Gemini over its own API: generateContent, streamed.
//!
//! Never: retries (the machine decides), the key in an address, or showing a model's reasoning.
//! Start at [`Gemini::new`].

use async_trait::async_trait;
use reqwest::header::HeaderName;
use serde::Deserialize;

use crate::error::{ErrorClass, ModelError};
use crate::exchange::endpoint::{Endpoint, written};
use crate::exchange::frame::Framing;
use crate::exchange::{HttpCall, exchange, get_json};
use crate::gemini::family::Family;
use crate::gemini::reply::Reply;
use crate::gemini::wire::GenerateRequest;
use crate::message::Completion;
use crate::provider::{ModelCheck, OfferedModel, Provider, Request, Sink};
use crate::settings::Settings;

mod event;
mod family;
mod reply;
mod wire;

/// Where the API is, unless told otherwise.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// A model behind Gemini's own API.
pub struct Gemini {
    endpoint: Endpoint,
    settings: Settings,
    family: Family,
    /// Where the model is, under the server's root.
    path: String,
}

/// What the server tells of all its models.
#[derive(Debug, Deserialize)]
struct Descriptions {
    #[serde(default)]
    models: Vec<Description>,
}

/// What the server tells of a model.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    /// With `models/` before it.
    #[serde(default)]
    name: String,
    /// What it can be asked for; empty: the server does not say.
    #[serde(default)]
    supported_generation_methods: Vec<String>,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
}

impl Description {
    /// Whether it answers, rather than to embed or to draw.
    fn talks(&self) -> bool {
        let methods = &self.supported_generation_methods;
        methods.is_empty() || methods.iter().any(|method| method == "generateContent")
    }

    /// The most tokens it can read and write.
    fn context_tokens(&self) -> Option<u64> {
        self.input_token_limit.map(|read| read.saturating_add(self.output_token_limit.unwrap_or(0)))
    }

    fn offered(self) -> OfferedModel {
        let context_tokens = self.context_tokens();
        OfferedModel { name: self.name.strip_prefix("models/").unwrap_or(&self.name).to_owned(), context_tokens }
    }
}

impl Gemini {
    /// Sets the client up; nothing is sent yet. The address may end in `/v1beta`, in `/v1`, which has not all of it, and
    /// in the `/v1beta/openai` of the API that is not this one.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let base = settings.base_url.trim().trim_end_matches('/');
        let base = base.strip_suffix("/openai").or_else(|| base.strip_suffix("/v1")).unwrap_or(base);
        let endpoint = Endpoint::new(base, "/v1beta", settings.deadlines)?;
        let endpoint = endpoint.key(HeaderName::from_static("x-goog-api-key"), "", settings.api_key.as_ref())?;
        let model = settings.model.trim();
        let model = model.strip_prefix("models/").unwrap_or(model);
        let family = Family::of(model);
        let name: String = url::form_urlencoded::byte_serialize(model.as_bytes()).collect();
        Ok(Self { endpoint, family, path: format!("/v1beta/models/{name}"), settings })
    }

    /// The body of a call, as it is sent.
    pub fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        written(&GenerateRequest::new(&self.settings, self.family, request))
    }
}

#[async_trait]
impl Provider for Gemini {
    fn label(&self) -> &str {
        &self.settings.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let path = format!("{}:streamGenerateContent?alt=sse", self.path);
        let request = self.endpoint.post_json(&path, self.body(request)?);
        let call = HttpCall { request, framing: Framing::ServerSentEvents };
        let reply = Reply::new(&self.settings.label);
        exchange(&self.endpoint.deadlines, call, reply, sink).await.map_err(|failure| failure.error)
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        match get_json::<Description>(self.endpoint.get(&self.path)).await {
            Ok(told) => Ok(ModelCheck { listed: Some(true), context_tokens: told.context_tokens() }),
            Err(failure) if failure.status == 404 && failure.error.class == ErrorClass::UnknownModel => {
                Ok(ModelCheck { listed: Some(false), context_tokens: None })
            }
            Err(failure) => Err(failure.error),
        }
    }

    async fn list(&self) -> Result<Option<Vec<OfferedModel>>, ModelError> {
        let listed = get_json::<Descriptions>(self.endpoint.get("/v1beta/models?pageSize=1000")).await;
        let all = listed.map_err(|failure| failure.error)?.models;
        Ok(Some(all.into_iter().filter(Description::talks).map(Description::offered).collect()))
    }
}

/// An empty reply, to be fuzzed.
#[cfg(feature = "fuzzing")]
pub(crate) fn fold() -> impl crate::exchange::ReplyFold {
    Reply::new("a/b")
}
