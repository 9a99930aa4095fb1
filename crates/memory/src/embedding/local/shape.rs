//! How the model is built: `config.json`.

use std::path::Path;

use serde::Deserialize;

use crate::embedding::error::EmbedError;
use crate::embedding::local::unusable;

/// The most tokens of a text that are seen: what sentence-transformers gives all-MiniLM-L6-v2.
const TOKENS_MAX: usize = 256;
/// The most of anything in a model's config: beyond that it is not one for a household's machine.
const SIZE_MAX: usize = 1 << 20;

/// The parts of the config that the forward pass needs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ModelShape {
    pub(super) model_type: String,
    pub(super) hidden_act: String,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) vocab_size: usize,
    pub(super) layer_norm_eps: f32,
}

impl ModelShape {
    pub(super) fn tokens_max(&self) -> usize {
        self.max_position_embeddings.min(TOKENS_MAX)
    }

    /// How many numbers of a row belong to one head of the attention.
    pub(super) fn head_size(&self) -> usize {
        self.hidden_size / self.num_attention_heads
    }

    fn problem(&self) -> Option<String> {
        let sizes = [
            self.hidden_size,
            self.intermediate_size,
            self.num_attention_heads,
            self.num_hidden_layers,
            self.max_position_embeddings,
            self.vocab_size,
        ];
        if self.model_type != "bert" {
            return Some(format!("it is of the type {:?}; Hob runs models of the type \"bert\"", self.model_type));
        }
        if self.hidden_act != "gelu" {
            return Some(format!("its activation is {:?}; Hob knows \"gelu\"", self.hidden_act));
        }
        if sizes.iter().any(|&size| size == 0 || size > SIZE_MAX) {
            return Some(format!("one of its sizes is 0 or more than {SIZE_MAX}"));
        }
        let left_over = self.hidden_size % self.num_attention_heads;
        (left_over != 0).then(|| "its hidden_size is not a multiple of num_attention_heads".to_owned())
    }
}

/// Reads the file; gives its bytes too.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, ModelShape), EmbedError> {
    let bytes = std::fs::read(path).map_err(|error| unusable(path, error))?;
    let shape: ModelShape = serde_json::from_slice(&bytes).map_err(|error| unusable(path, error))?;
    match shape.problem() {
        None => Ok((bytes, shape)),
        Some(problem) => Err(unusable(path, problem)),
    }
}
