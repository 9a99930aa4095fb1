//! Texts as vectors: the port, a model on this machine, and a server that speaks OpenAI's `/embeddings`.
//!
//! Never: a decision about what is remembered. Where there is no embedder, recall works by text alone.
//! Start at [`Embedder`].

use std::ops::Range;

use async_trait::async_trait;

use crate::embedding::error::EmbedError;
use hob_core::domain::ids::UserId;

pub mod account;
pub mod error;
pub(crate) mod fetch;
pub mod local;
pub mod openai;

/// What makes vectors. Vectors of different models are not comparable, so each is stored with its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// What people call it.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// Tells apart two models of one name: vectors of another digest are made again.
    pub digest: String,
}

/// A token of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVector {
    /// Where it stands in the text, in bytes.
    pub range: Range<usize>,
    /// Its vector, of length one.
    pub vector: Vec<f32>,
}

/// A text with the vectors of its tokens, for late interaction.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedText {
    /// The text's vector, of length one.
    pub vector: Vec<f32>,
    /// Its tokens in order, without those that the model adds.
    pub tokens: Vec<TokenVector>,
}

/// On whose bill vectors are, where they cost something (row C2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Bill {
    /// The house's own: nobody in particular wanted them. Only the house's caps hold.
    #[default]
    House,
    /// Of whoever said what is to be found later. Only the house's caps hold: nobody's caps keep memory from being searchable.
    Said(UserId),
    /// Of whoever asks, within all their caps.
    Asked {
        user: UserId,
        /// Who Hob is for them; none: nobody in particular.
        persona: Option<String>,
    },
}

/// Makes vectors of texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What makes them.
    fn model(&self) -> &EmbeddingModel;

    /// Whether it works on this machine: what it makes of a sentence is there within milliseconds.
    fn is_here(&self) -> bool {
        false
    }

    /// A vector of length one for each text, in the texts' order; what a text has beyond the model's reach is not seen.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The same, on this bill. What makes vectors for nothing writes none; where it is not said whose they are, they are the house's.
    async fn embed_for(&self, _bill: &Bill, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed(texts).await
    }

    /// As [`Self::embed`], with the vectors of the tokens; none where the model does not tell them.
    async fn embed_tokens(&self, texts: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError>;
}

/// Scales `vector` to length one; a vector of zeros stays what it is.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}
