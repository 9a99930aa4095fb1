//! What servers with OpenAI's API do besides talking, asked through async-openai: lists of models, vectors, transcripts, sound.
//!
//! Never: a stream, which async-openai reads ahead without a limit; or a second try, which its caller decides on.
//! Start at [`Client::new`].

use std::time::Duration;

use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_openai::traits::AsyncTryFrom;
use async_openai::types::audio::CreateSpeechRequest;
use async_openai::types::embeddings::{CreateEmbeddingRequest, EmbeddingInput, EncodingFormat};
use reqwest::Response;
use reqwest::header::HeaderMap;
use reqwest::multipart::Form;
use secrecy::SecretString;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use crate::error::{ErrorClass, ModelError};
use crate::exchange::answer::{Failure, unreachable_server};
use crate::exchange::endpoint::Endpoint;
use crate::exchange::{LOOK_UP_WAIT_MAX, body_within, parse_answer};

#[cfg(test)]
mod tests;

/// Asks a server for what is not a conversation. What it answers is read into the caller's own types: async-openai's want fields
/// that many servers leave out.
pub struct Client(async_openai::Client<Server>);

/// A server, as async-openai wants it described.
#[derive(Debug, Clone)]
struct Server {
    endpoint: Endpoint,
    /// Always empty: the key is among the endpoint's headers, where no log shows it.
    key: SecretString,
}

impl Client {
    /// The server behind `endpoint`, on whose client each request is sent once; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self::patient(endpoint, LOOK_UP_WAIT_MAX)
    }

    /// As [`Self::new`], with so much time for each answer.
    pub fn patient(endpoint: Endpoint, wait: Duration) -> Self {
        // What async-openai cannot read it writes into the log, whole: it is given JSON or nothing.
        Self::checking(endpoint, wait, |body| parse_answer::<IgnoredAny>(body).map(drop))
    }

    /// As [`Self::patient`], for answers that are sound: nothing is read in those.
    pub(crate) fn for_sound(endpoint: Endpoint, wait: Duration) -> Self {
        Self::checking(endpoint, wait, |_sound| Ok(()))
    }

    fn checking(endpoint: Endpoint, wait: Duration, check: fn(&[u8]) -> Result<(), Failure>) -> Self {
        let http = endpoint.client().clone();
        let server = Server { endpoint, key: SecretString::default() };
        let client = async_openai::Client::build(http.clone(), server);
        // It takes the place of async-openai's own, with its three retries and its unbounded bodies.
        let once = tower::service_fn(move |request: HttpRequestFactory| send_once(http.clone(), wait, check, request));
        Self(client.with_http_service(once))
    }

    /// The list of models.
    pub(crate) async fn models<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        read(self.0.models().list_byot().await)
    }

    pub(crate) async fn model<T: DeserializeOwned>(&self, id: &str) -> Result<T, Failure> {
        read(self.0.models().retrieve_byot(id).await)
    }

    /// A vector for each text, from this model.
    ///
    /// # Errors
    /// When there is no answer, or one of another shape.
    pub async fn embed<T: DeserializeOwned>(
        &self,
        model: &str,
        texts: Vec<String>,
        dimensions: Option<u32>,
    ) -> Result<T, Failure> {
        let request = CreateEmbeddingRequest {
            model: model.to_owned(),
            input: EmbeddingInput::StringArray(texts),
            encoding_format: Some(EncodingFormat::Float),
            user: None,
            dimensions,
        };
        read(self.0.embeddings().create_byot(request).await)
    }

    /// What is said in the recording that this form brings.
    pub(crate) async fn transcribe<F, T>(&self, form: F) -> Result<T, Failure>
    where
        F: Clone + Send + 'static,
        Form: AsyncTryFrom<F, Error = OpenAIError>,
        T: DeserializeOwned,
    {
        read(self.0.audio().transcription().create_byot(form).await)
    }

    /// What this request has spoken, as sound.
    pub(crate) async fn speak(&self, request: CreateSpeechRequest) -> Result<Vec<u8>, Failure> {
        let spoken = self.0.audio().speech().create(request).await.map_err(failure)?;
        Ok(spoken.bytes.into())
    }
}

impl Config for Server {
    fn headers(&self) -> HeaderMap {
        self.endpoint.headers().clone()
    }

    fn url(&self, path: &str) -> String {
        self.endpoint.url(path)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        self.endpoint.base()
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// Sends a request, and takes in the whole answer within its limits before async-openai sees any of it.
async fn send_once(
    http: reqwest::Client,
    wait: Duration,
    check: fn(&[u8]) -> Result<(), Failure>,
    request: HttpRequestFactory,
) -> Result<Response, Failure> {
    let sent = async {
        let request = request.build().await.map_err(failure)?;
        Ok(http.execute(request).await.map_err(|error| unreachable_server(&error))?)
    };
    let body = body_within(wait, sent).await?;
    check(&body)?;
    Ok(http::Response::new(reqwest::Body::from(body)).into())
}

fn read<T: DeserializeOwned>(answer: Result<Box<RawValue>, OpenAIError>) -> Result<T, Failure> {
    parse_answer(answer.map_err(failure)?.get().as_bytes())
}

impl From<Failure> for OpenAIError {
    fn from(failure: Failure) -> Self {
        Self::Boxed(Box::new(failure))
    }
}

/// What went wrong on our side of async-openai, or in it.
fn failure(error: OpenAIError) -> Failure {
    let unwritten = |error: &dyn std::error::Error| {
        tracing::debug!(%error, "a request cannot be written");
        ModelError::new(ErrorClass::BadRequest, "The request for the model cannot be written.").into()
    };
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(error) => unwritten(&*error),
        },
        OpenAIError::Reqwest(error) => unreachable_server(&error).into(),
        error => unwritten(&error),
    }
}
