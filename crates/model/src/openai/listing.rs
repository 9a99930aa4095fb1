//! The server's list of models.
//!
//! Never: a call that costs.
//! Start at [`check`].

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::ModelError;
use crate::exchange::answer::Failure;
use crate::exchange::endpoint::Endpoint;
use crate::openai::client::Client;
use crate::provider::{ModelCheck, OfferedModel};

/// What the server tells of the model `id`.
pub(crate) async fn check(endpoint: &Endpoint, id: &str) -> Result<ModelCheck, ModelError> {
    let client = Client::new(endpoint.clone());
    let listing = match client.models::<ModelsResponse>().await {
        Ok(listing) => listing,
        Err(failure) if has_no_list(&failure) => return Ok(ModelCheck::default()),
        Err(failure) => return Err(failure.error),
    };
    if let Some(listed) = listing.find(id) {
        return Ok(listed.checked());
    }
    // Aliases are known without being in the list. A name with a slash in it would be another address.
    if id.contains(['/', '?', '#', '%', ' ']) {
        return Ok(ModelCheck { listed: Some(false), context_tokens: None });
    }
    match client.model::<ModelInfo>(id).await {
        Ok(listed) => Ok(listed.checked()),
        Err(failure) if matches!(failure.status, 400..=499) => {
            Ok(ModelCheck { listed: Some(false), context_tokens: None })
        }
        Err(failure) => Err(failure.error),
    }
}

/// The models that the server has; none: it keeps no list.
pub(crate) async fn list(endpoint: &Endpoint) -> Result<Option<Vec<OfferedModel>>, ModelError> {
    match Client::new(endpoint.clone()).models::<ModelsResponse>().await {
        Ok(listing) => Ok(Some(listing.all())),
        Err(failure) if has_no_list(&failure) => Ok(None),
        Err(failure) => Err(failure.error),
    }
}

/// Whether the server has no list at all.
fn has_no_list(failure: &Failure) -> bool {
    matches!(failure.status, 404 | 405 | 501)
}

/// The body of `/models`.
#[derive(Debug, Deserialize)]
struct ModelsResponse {
    data: Vec<ModelInfo>,
}

/// A model, as its server describes it.
#[derive(Debug, Default, Deserialize)]
struct ModelInfo {
    #[serde(default)]
    id: String,
    /// OpenRouter's and Moonshot's word.
    #[serde(default, deserialize_with = "count")]
    context_length: Option<u64>,
    /// vLLM's.
    #[serde(default, deserialize_with = "count")]
    max_model_len: Option<u64>,
    /// Groq's.
    #[serde(default, deserialize_with = "count")]
    context_window: Option<u64>,
    /// Mistral's and LM Studio's.
    #[serde(default, deserialize_with = "count")]
    max_context_length: Option<u64>,
    /// What LM Studio has loaded it with, which may be less.
    #[serde(default, deserialize_with = "count")]
    loaded_context_length: Option<u64>,
}

impl ModelsResponse {
    fn find(self, id: &str) -> Option<ModelInfo> {
        self.data.into_iter().find(|model| model.id == id)
    }

    fn all(self) -> Vec<OfferedModel> {
        let named = self.data.into_iter().filter(|model| !model.id.is_empty());
        named.map(|model| OfferedModel { context_tokens: model.checked().context_tokens, name: model.id }).collect()
    }
}

impl ModelInfo {
    /// What is told of it.
    fn checked(&self) -> ModelCheck {
        let context_tokens = self
            .loaded_context_length
            .or(self.context_length)
            .or(self.max_model_len)
            .or(self.context_window)
            .or(self.max_context_length);
        ModelCheck { listed: Some(true), context_tokens }
    }
}

/// A count that says something; whatever else stands there is none.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64().filter(|&count| count > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_word_for_the_context() {
        let table = [
            (r#"{"id":"m"}"#, None),
            (r#"{"id":"m","context_length":400000,"top_provider":{}}"#, Some(400_000)),
            (r#"{"id":"m","max_model_len":32768}"#, Some(32_768)),
            (r#"{"id":"m","context_window":131072}"#, Some(131_072)),
            (r#"{"id":"m","max_context_length":262144,"loaded_context_length":4096}"#, Some(4096)),
            (r#"{"id":"m","context_length":null}"#, None),
            (r#"{"id":"m","context_length":"long"}"#, None),
        ];
        for (model, context_tokens) in table {
            let body = format!(r#"{{"object":"list","data":[{{"id":"other"}},{model}]}}"#);
            let listing: ModelsResponse = serde_json::from_str(&body).unwrap();
            assert_eq!(
                listing.find("m").unwrap().checked(),
                ModelCheck { listed: Some(true), context_tokens },
                "{model}"
            );
        }
    }
}
