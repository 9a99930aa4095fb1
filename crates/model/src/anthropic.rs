//! Claude behind Anthropic's Messages API, and the servers that speak it too.
//!
//! Never: retries (the machine decides), or showing a model's thinking.
//! Start at [`Anthropic::new`].

use async_trait::async_trait;
use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use crate::anthropic::family::Family;
use crate::anthropic::reply::Reply;
use crate::anthropic::wire::MessagesRequest;
use crate::error::{ErrorClass, ModelError};
use crate::exchange::endpoint::{Endpoint, written};
use crate::exchange::frame::Framing;
use crate::exchange::{HttpCall, exchange, get_json};
use crate::message::Completion;
use crate::provider::{ModelCheck, OfferedModel, Provider, Request, Sink};
use crate::settings::{Settings, Tuning};

mod event;
mod family;
pub mod reply;
mod thinking;
mod wire;

/// Where Anthropic itself is.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API that this dialect is written for.
const API_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// A model behind the Messages API.
pub struct Anthropic {
    endpoint: Endpoint,
    speaker: ModelProfile,
}

/// What is said of the model in each request.
#[derive(Debug, Clone)]
struct ModelProfile {
    model: String,
    label: String,
    family: Family,
    tuning: Tuning,
    sees_images: bool,
}

impl Anthropic {
    /// Sets the client up; nothing is sent yet.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let Settings { base_url, api_key, model, label, deadlines, tuning, sees_images, context_tokens: _ } = settings;
        let endpoint = Endpoint::new(&base_url, "/v1", deadlines)?
            .header(HeaderName::from_static("anthropic-version"), API_VERSION)
            .key(HeaderName::from_static("x-api-key"), "", api_key.as_ref())?;
        let family = Family::of(&model);
        Ok(Self { endpoint, speaker: ModelProfile { model, label, family, tuning, sees_images } })
    }

    /// The body of a call, as it is sent.
    pub fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        written(&MessagesRequest::new(&self.speaker, request))
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn label(&self) -> &str {
        &self.speaker.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let request = self.endpoint.post_json("/v1/messages", self.body(request)?);
        let call = HttpCall { request, framing: Framing::ServerSentEvents };
        let fold = Reply::new(&self.speaker.label);
        exchange(&self.endpoint.deadlines, call, fold, sink).await.map_err(|failure| failure.error)
    }

    async fn check(&self) -> Result<ModelCheck, ModelError> {
        let name: String = url::form_urlencoded::byte_serialize(self.speaker.model.as_bytes()).collect();
        match get_json::<ModelInfo>(self.endpoint.get(&format!("/v1/models/{name}"))).await {
            Ok(info) => Ok(ModelCheck { listed: Some(true), context_tokens: info.max_input_tokens }),
            Err(failure)
                if failure.status == StatusCode::NOT_FOUND && failure.error.class == ErrorClass::UnknownModel =>
            {
                Ok(ModelCheck { listed: Some(false), context_tokens: None })
            }
            Err(failure) => Err(failure.error),
        }
    }

    async fn list(&self) -> Result<Option<Vec<OfferedModel>>, ModelError> {
        let listed = get_json::<ModelInfos>(self.endpoint.get("/v1/models?limit=1000")).await;
        let all = listed.map_err(|failure| failure.error)?.data.into_iter();
        Ok(Some(all.map(|info| OfferedModel { name: info.id, context_tokens: info.max_input_tokens }).collect()))
    }
}

/// The list of models.
#[derive(Debug, Deserialize)]
struct ModelInfos {
    data: Vec<ModelInfo>,
}

/// What the list of models says of one.
#[derive(Debug, Deserialize)]
struct ModelInfo {
    #[serde(default)]
    id: String,
    max_input_tokens: Option<u64>,
}
