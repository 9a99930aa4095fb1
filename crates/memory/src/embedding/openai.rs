//! Vectors from a server that speaks OpenAI's `/embeddings`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio and the like.
//!
//! Never: a retry. A question goes on by text alone, and the backlog waits as long as [`EmbedError::Transient`] says.
//! Start at `OpenAiEmbedder::open`.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::header::AUTHORIZATION;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::embedding::account::{Account, CallOutcome};
use crate::embedding::error::EmbedError;
use crate::embedding::{Bill, EmbeddedText, Embedder, EmbeddingModel, normalise};
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::exchange::endpoint::Endpoint;
use hob_model::openai::client::Client;
use hob_model::settings::Deadlines;
use hob_model::tokens;
use hob_telemetry::tasks;

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
pub struct RemoteModel {
    /// Whose prices hold, as [`hob_model::model_table`] calls it.
    pub vendor: &'static str,
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
pub(crate) struct OpenAiEmbedder {
    server: Arc<Server>,
    model: EmbeddingModel,
}

struct Server {
    client: Client,
    remote: RemoteModel,
    /// None: whoever asks keeps no accounts.
    account: Option<Account>,
}

#[derive(Debug, Deserialize)]
struct Reply {
    data: Vec<Item>,
    usage: Option<ReplyUsage>,
}

#[derive(Debug, Deserialize)]
struct ReplyUsage {
    prompt_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// Sets the client up, and asks for one vector to learn how long they are; `account` pays.
    ///
    /// # Errors
    /// When the address or the key cannot be used, or the server does not give a vector.
    pub(crate) async fn open(remote: RemoteModel, account: Option<Account>) -> Result<Self, EmbedError> {
        let endpoint = Endpoint::new(&remote.base_url, "", Deadlines::default())
            .and_then(|endpoint| endpoint.key(AUTHORIZATION, "Bearer ", remote.api_key.as_ref()))
            .map_err(|error| for_good(decide(&error)))?;
        let server = Arc::new(Server { client: Client::new(endpoint), remote, account });
        let probe = server.ask(&Bill::House, &["hello".to_owned()]).await.map_err(for_good)?;
        let remote = &server.remote;
        let dimensions = probe.first().map_or(0, Vec::len);
        let identity = format!("{}\n{}\n{dimensions}", remote.base_url.trim_end_matches('/'), remote.model);
        let digest = hex(&Sha256::digest(identity)[..16]);
        let model = EmbeddingModel { name: remote.model.clone(), dimensions, digest };
        Ok(Self { server, model })
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed_for(&Bill::House, texts).await
    }

    async fn embed_for(&self, bill: &Bill, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS_AT_ONCE) {
            vectors.extend(paid(&self.server, bill, texts).await?);
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

    async fn embed_tokens(&self, _texts: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
        Ok(None)
    }
}

/// The vectors of these texts. What is paid for is asked for to its end, whether anybody still waits or not.
async fn paid(server: &Arc<Server>, bill: &Bill, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
    if server.account.is_none() {
        return server.ask(bill, texts).await;
    }
    let (answer, answered) = tokio::sync::oneshot::channel();
    let (server, bill, texts) = (Arc::clone(server), bill.clone(), texts.to_vec());
    drop(tasks::spawn("embedding", async move {
        // Whoever asked may have gone on without it.
        answer.send(server.ask(&bill, &texts).await).ok();
    }));
    let broken = |_closed| EmbedError::Transient { what: "The request broke off.".to_owned(), retry_after: None };
    answered.await.map_err(broken)?
}

impl Server {
    async fn ask(&self, bill: &Bill, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(EmbedError::Refused("A text without words has no vector.".to_owned()));
        }
        let Self { remote, account, .. } = self;
        let input: Vec<&str> = texts.iter().map(|text| &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]).collect();
        let label = format!("{}/{}", remote.vendor, remote.model);
        let open = match account {
            Some(account) => account.begin(bill, &label, input.iter().map(|text| tokens::count(text)).sum()).await?,
            None => None,
        };
        let answer = self.answer(input.into_iter().map(str::to_owned).collect()).await;
        if let (Some(account), Some(open)) = (account, open) {
            let told = |reply: &Reply| reply.usage.as_ref().and_then(|usage| usage.prompt_tokens);
            let outcome = match &answer {
                Ok(reply) => CallOutcome::Read(told(reply)),
                Err(error) => CallOutcome::of(error),
            };
            account.end(open, outcome).await;
        }
        in_order(answer.map_err(|error| decide(&error))?, texts.len(), remote.dimensions)
    }

    async fn answer(&self, texts: Vec<String>) -> Result<Reply, ModelError> {
        let RemoteModel { model, dimensions, .. } = &self.remote;
        // Nobody has a vector of so many numbers: the server says what it takes.
        let dimensions = dimensions.map(|dimensions| u32::try_from(dimensions).unwrap_or(u32::MAX));
        self.client.embed(model, texts, dimensions).await.map_err(|failure| failure.error)
    }
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
            EmbedError::Malformed(format!("What answers is not an embedding server: check `base_url` under {section}."))
        }
    }
}
