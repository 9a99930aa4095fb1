//! The forward pass: from pieces to one vector a piece.

use std::ops::Range;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::embedding::error::EmbedError;
use crate::embedding::local::layer::{Gemm, Layer, Norm, TokenRows};
use crate::embedding::local::shape::ModelShape;
use crate::embedding::local::weights::{TensorRows, Weights};
use crate::embedding::{TokenVector, normalise};

/// The model.
pub(super) struct Encoder {
    words: TensorRows,
    /// A row for each place in a text, the same for all texts.
    places: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    width: usize,
}

impl Encoder {
    /// Reads the weights, and adds to `hash` what tells them from another model's: a whole hash would read the table of
    /// words too, which is half of the file.
    pub(super) fn read(path: &Path, shape: &ModelShape, hash: &mut Sha256) -> Result<Self, EmbedError> {
        let weights = Weights::open(path, hash)?;
        let gemm = Gemm::new();
        let width = shape.hidden_size;
        let positions = shape.max_position_embeddings;
        let mut places = weights.tensor("embeddings.position_embeddings.weight", &[positions, width])?;
        places.truncate(shape.tokens_max() * width);
        // A text here has one part, so that its kind is always the first.
        let kinds = weights.tensor("embeddings.token_type_embeddings.weight", &[2, width])?;
        places.chunks_exact_mut(width).for_each(|place| {
            place.iter_mut().zip(&kinds).for_each(|(value, kind)| *value += kind);
        });
        let words = weights.table("embeddings.word_embeddings.weight", shape.vocab_size, width)?;
        let norm = Norm::read(&weights, "embeddings.LayerNorm", shape)?;
        let layers: Vec<Layer> = (0..shape.num_hidden_layers)
            .map(|index| Layer::read(&weights, &gemm, shape, index))
            .collect::<Result<_, _>>()?;
        for value in layers.iter().flat_map(Layer::fingerprint) {
            hash.update(value.to_le_bytes());
        }
        Ok(Self { words, places, norm, layers, width })
    }

    /// The last layer's rows of each text.
    pub(super) fn hidden<'a>(&self, texts: impl Iterator<Item = &'a [u32]>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut rows = TokenRows { values: Vec::new(), ends: Vec::new() };
        for ids in texts {
            for (&id, place) in ids.iter().zip(self.places.chunks_exact(self.width)) {
                let word = self.words.row(id)?;
                rows.values.extend(word.iter().zip(place).map(|(word, place)| word + place));
            }
            rows.ends.push(rows.values.len() / self.width);
        }
        self.norm.apply(&mut rows.values);
        let gemm = Gemm::new();
        for layer in &self.layers {
            layer.apply(&gemm, &mut rows)?;
        }
        let begins = std::iter::once(0).chain(rows.ends.iter().copied());
        let of_text = |(begin, end): (usize, &usize)| rows.values[begin * self.width..end * self.width].to_vec();
        Ok(begins.zip(&rows.ends).map(of_text).collect())
    }

    /// The vector of a text: the mean of its rows, of length one.
    pub(super) fn mean(&self, rows: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for row in rows.chunks_exact(self.width) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        normalise(&mut sum);
        sum
    }

    /// The vectors of the pieces that stand in the text.
    pub(super) fn tokens(&self, rows: &[f32], ranges: Vec<Range<usize>>) -> Vec<TokenVector> {
        let tokens = ranges.into_iter().zip(rows.chunks_exact(self.width)).filter(|(range, _)| !range.is_empty());
        let token = |(range, row): (Range<usize>, &[f32])| {
            let mut vector = row.to_vec();
            normalise(&mut vector);
            TokenVector { range, vector }
        };
        tokens.map(token).collect()
    }
}
