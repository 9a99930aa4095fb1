//! The server's list of models.
//!
//! Never: I/O.
//! Start at [`Listing::find`].

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::provider::{Checked, Offered};

/// The body of `/models`.
#[derive(Debug, Deserialize)]
pub(super) struct Listing {
    data: Vec<Listed>,
}

/// A model, as its server describes it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Listed {
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

impl Listing {
    /// The model with this id, if it is there.
    pub(super) fn find(self, id: &str) -> Option<Listed> {
        self.data.into_iter().find(|model| model.id == id)
    }

    /// All of them.
    pub(super) fn all(self) -> Vec<Offered> {
        let named = self.data.into_iter().filter(|model| !model.id.is_empty());
        named.map(|model| Offered { context_tokens: model.checked().context_tokens, name: model.id }).collect()
    }
}

impl Listed {
    /// What is told of it.
    pub(super) fn checked(&self) -> Checked {
        let context_tokens = self
            .loaded_context_length
            .or(self.context_length)
            .or(self.max_model_len)
            .or(self.context_window)
            .or(self.max_context_length);
        Checked { listed: Some(true), context_tokens }
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
            let listing: Listing = serde_json::from_str(&body).unwrap();
            assert_eq!(listing.find("m").unwrap().checked(), Checked { listed: Some(true), context_tokens }, "{model}");
        }
    }
}
