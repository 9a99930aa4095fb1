//! Models behind an OpenAI-compatible API: OpenAI, OpenRouter, Ollama, vLLM, and the like.
//!
//! Never: retries (the machine decides), or showing a model's reasoning.
//! Start at [`OpenAi::new`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_openai::Client;
use async_openai::config::Config;
use async_trait::async_trait;
use futures::StreamExt as _;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::SecretString;
use tokio::time::{Instant, timeout_at};

use crate::domain::secret::Secret;
use crate::model::error::{ErrorClass, ModelError};
use crate::model::exchange::endpoint::{is_local, key_header, parse};
use crate::model::exchange::silent;
use crate::model::http;
use crate::model::message::Completion;
use crate::model::openai::chunk::Chunk;
use crate::model::openai::reply::Reply;
use crate::model::openai::transport::Failure;
use crate::model::openai::wire::{ChatRequest, Dialect};
use crate::model::provider::{Provider, Request, Sink};
use crate::model::settings::{Deadlines, Settings};

mod chunk;
mod reply;
mod transport;
mod wire;

/// How long the usage may take after the model has said that it is done.
const USAGE_WAIT_MAX: Duration = Duration::from_secs(2);

/// A model behind an OpenAI-compatible API.
pub struct OpenAi {
    client: Client<Endpoint>,
    model: String,
    label: String,
    deadlines: Deadlines,
    /// Cleared for good once the server refuses to report it.
    ask_usage: AtomicBool,
}

impl OpenAi {
    /// Sets the client up; nothing is sent yet.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let Settings { base_url, api_key, model, label, deadlines, .. } = settings;
        let endpoint = Endpoint::new(&base_url, api_key.as_ref())?;
        let http = if is_local(&endpoint.base) {
            http::direct_client(deadlines.connect)
        } else {
            http::client(deadlines.connect)
        };
        let http = http.map_err(|error| ModelError::new(ErrorClass::Network, error.to_string()))?;
        // A service of our own also switches off async-openai's retries.
        let service = tower::service_fn({
            let http = http.clone();
            move |request| transport::send(http.clone(), request)
        });
        let client = Client::build(http, endpoint).with_http_service(service);
        Ok(Self { client, model, label, deadlines, ask_usage: AtomicBool::new(true) })
    }

    /// One exchange, from sending to the whole reply.
    async fn ask(&self, request: &ChatRequest<'_>, sink: &dyn Sink) -> Result<Completion, Failure> {
        let first = Instant::now() + self.deadlines.first_event;
        let chat = self.client.chat();
        let stream = timeout_at(first, chat.create_stream_byot::<_, Chunk>(request));
        let mut stream = stream.await.map_err(|_elapsed| silent("did not answer in time"))??;
        let mut reply = Reply::default();
        let mut deadline = first;
        let mut begun = false;
        loop {
            let event = match timeout_at(deadline, stream.next()).await {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(None) => break,
                // The reply is whole; what is missing is at most its price.
                Ok(Some(Err(_))) | Err(_) if reply.finished() => break,
                Ok(Some(Err(error))) => return Err(error.into()),
                Err(_) if begun => return Err(silent("fell silent during its reply").into()),
                Err(_) => return Err(silent("did not answer in time").into()),
            };
            begun = true;
            let shown = reply.take(event)?;
            if !shown.is_empty() {
                sink.delta(&shown);
            }
            let wait = if reply.finished() { USAGE_WAIT_MAX } else { self.deadlines.between_events };
            deadline = Instant::now() + wait.min(self.deadlines.between_events);
        }
        Ok(reply.complete()?)
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn label(&self) -> &str {
        &self.label
    }

    async fn complete(&self, request: &Request, sink: &dyn Sink) -> Result<Completion, ModelError> {
        let usage = self.ask_usage.load(Ordering::Relaxed);
        let dialect = Dialect { usage, signed_calls: self.client.config().is_gemini() };
        let body = ChatRequest::new(&self.model, request, dialect);
        let outcome = match self.ask(&body, sink).await {
            Err(failure) if usage && failure.refuses_usage => {
                self.ask_usage.store(false, Ordering::Relaxed);
                let body = ChatRequest::new(&self.model, request, Dialect { usage: false, ..dialect });
                self.ask(&body, sink).await
            }
            outcome => outcome,
        };
        outcome.map_err(|failure| failure.error)
    }
}

/// Where to send and with which key; unlike async-openai's own it reads no environment and cannot panic.
struct Endpoint {
    base: Url,
    base_text: String,
    headers: HeaderMap,
    /// The trait wants one; the header above is what counts.
    no_key: SecretString,
}

impl Endpoint {
    fn new(base_url: &str, api_key: Option<&Secret>) -> Result<Self, ModelError> {
        let base = parse(base_url)?;
        let base_text = base_url.trim().trim_end_matches('/').to_owned();
        let mut headers = HeaderMap::new();
        if let Some(key) = api_key {
            headers.insert(AUTHORIZATION, key_header("Bearer ", key)?);
        }
        Ok(Self { base, base_text, headers, no_key: SecretString::default() })
    }

    /// Whether it is Google's own endpoint.
    fn is_gemini(&self) -> bool {
        self.base.host_str() == Some("generativelanguage.googleapis.com")
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_text)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_text
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}
