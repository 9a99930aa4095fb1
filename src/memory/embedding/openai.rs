//! Vectors from a server that speaks OpenAI's `/embeddings`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio and the like.
//!
//! Never: a retry. A question goes on by text alone, and the backlog waits as long as [`EmbedError::Transient`] says.
//! Start at [`OpenAiEmbedder::open`].

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::secret::Secret;
use crate::memory::embedding::error::EmbedError;
use crate::memory::embedding::{Embedded, Embedder, EmbeddingModel, normalise};
use crate::model::error::{ErrorClass, ModelError};
use crate::model::exchange::endpoint::{Endpoint, written};
use crate::model::exchange::look_up;
use crate::model::settings::Deadlines;

#[cfg(test)]
mod tests;

/// How many texts go into one request: what the smallest servers take.
const TEXTS_AT_ONCE: usize = 32;
/// How much of a text is sent: within the 8,191 tokens that OpenAI takes.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest vector that is believed.
const DIMENSIONS_MAX: usize = 8192;

/// Which server, which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where the API is, with its version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Local servers need none.
    pub api_key: Option<Secret>,
    /// As the server calls it.
    pub model: String,
    /// How many numbers a vector is to have, where the model can be told; else its own number.
    pub dimensions: Option<usize>,
}

/// Asks a server.
pub struct OpenAiEmbedder {
    endpoint: Endpoint,
    remote: Remote,
    model: EmbeddingModel,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// Sets the client up, and asks for one vector to learn how long they are.
    ///
    /// # Errors
    /// When the address or the key cannot be used, or the server does not give a vector.
    pub async fn open(remote: Remote) -> Result<Self, EmbedError> {
        let endpoint = Endpoint::new(&remote.base_url, "", Deadlines::default())
            .and_then(|endpoint| endpoint.key(AUTHORIZATION, "Bearer ", remote.api_key.as_ref()))
            .map_err(|error| for_good(decide(&error)))?;
        let probe = ask(&endpoint, &remote, &["hello".to_owned()]).await.map_err(for_good)?;
        let dimensions = probe.first().map_or(0, Vec::len);
        let identity = format!("{}\n{}\n{dimensions}", remote.base_url.trim_end_matches('/'), remote.model);
        let digest = Sha256::digest(identity).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let model = EmbeddingModel { name: remote.model.clone(), dimensions, digest };
        Ok(Self { endpoint, remote, model })
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            vectors.extend(ask(&self.endpoint, &self.remote, texts).await?);
        }
        match vectors.iter().find(|vector| vector.len() != self.model.dimensions) {
            None => Ok(vectors),
            Some(other) => Err(malformed(&format!(
                "vectors of {} numbers where it gave {} before",
                other.len(),
                self.model.dimensions
            ))),
        }
    }

    async fn embed_tokens(&self, _texts: &[String]) -> Result<Option<Vec<Embedded>>, EmbedError> {
        Ok(None)
    }
}

async fn ask(endpoint: &Endpoint, remote: &Remote, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(EmbedError::Refused("A text without words has no vector.".to_owned()));
    }
    let input = texts.iter().map(|text| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]).collect();
    let request = Request { model: &remote.model, input, encoding_format: "float", dimensions: remote.dimensions };
    let body = written(&request).map_err(|error| decide(&error))?;
    let reply: Reply =
        look_up(endpoint.post_json("/embeddings", body)).await.map_err(|failure| decide(&failure.error))?;
    in_order(reply, texts.len(), remote.dimensions)
}

/// The vectors in the order of the texts, if there is exactly one for each and all are of one length.
fn in_order(reply: Reply, count: usize, dimensions: Option<usize>) -> Result<Vec<Vec<f32>>, EmbedError> {
    if reply.data.len() != count {
        return Err(malformed(&format!("{} vectors for {count} texts", reply.data.len())));
    }
    let dimensions = dimensions.or_else(|| reply.data.first().map(|item| item.embedding.len())).unwrap_or(0);
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); count];
    for mut item in reply.data {
        let Some(place) = vectors.get_mut(item.index).filter(|place| place.is_empty()) else {
            return Err(malformed(&format!("a vector with the index {} twice or beyond the texts", item.index)));
        };
        let length = item.embedding.len();
        if length != dimensions || length == 0 || length > DIMENSIONS_MAX {
            return Err(malformed(&format!("a vector of {length} numbers where {dimensions} are right")));
        }
        normalise(&mut item.embedding);
        if !item.embedding.iter().all(|value| value.is_finite()) || item.embedding.iter().all(|&value| value == 0.0) {
            return Err(malformed("a vector that points nowhere"));
        }
        *place = item.embedding;
    }
    Ok(vectors)
}

/// What is refused before any text came is refused for good.
fn for_good(error: EmbedError) -> EmbedError {
    match error {
        EmbedError::Refused(what) => EmbedError::Setup(what),
        error => error,
    }
}

fn malformed(what: &str) -> EmbedError {
    EmbedError::Malformed(format!("The embedding server gave {what}."))
}

/// What to do about a failed request.
fn decide(error: &ModelError) -> EmbedError {
    let section = "[memory.embedding] in config.toml";
    match error.class {
        ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Timeout
        | ErrorClass::Network
        | ErrorClass::Server
        | ErrorClass::Resting => {
            let what = format!("The embedding server does not answer ({}): it is tried again by itself.", error.class);
            EmbedError::Transient { what, retry_after: error.retry_after }
        }
        ErrorClass::Auth | ErrorClass::Billing | ErrorClass::UnknownModel => EmbedError::Setup(format!(
            "The embedding server refuses ({}): check `api_key` and `model` under {section}.",
            error.class
        )),
        ErrorClass::BadRequest | ErrorClass::ContextTooLong | ErrorClass::Refused => EmbedError::Refused(format!(
            "The embedding server does not take this ({}): if it never does, check `base_url` and `dimensions` under \
             {section}.",
            error.class
        )),
        ErrorClass::Malformed => {
            EmbedError::Malformed(format!("What answers is no embedding server: check `base_url` under {section}."))
        }
    }
}
