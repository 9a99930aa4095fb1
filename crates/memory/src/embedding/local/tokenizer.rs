//! Texts as the model's word pieces: `tokenizer.json`.

use std::ops::Range;
use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

use crate::embedding::error::EmbedError;
use crate::embedding::local::unusable;

/// The bytes of a text that are looked at: far more than the pieces that are kept of it.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Cuts texts.
pub(super) struct WordPieceTokenizer(Tokenizer);

/// A text in pieces.
pub(super) struct TokenizedText {
    /// What the model is given, with its own marks at both ends.
    pub(super) ids: Vec<u32>,
    /// Where each stands in the text, in bytes; empty for a mark.
    pub(super) ranges: Vec<Range<usize>>,
}

impl WordPieceTokenizer {
    /// Reads the file; gives its bytes too.
    pub(super) fn read(path: &Path, tokens_max: usize) -> Result<(Vec<u8>, Self), EmbedError> {
        let bytes = std::fs::read(path).map_err(|error| unusable(path, error))?;
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| unusable(path, error))?;
        let truncation = TruncationParams { max_length: tokens_max, ..TruncationParams::default() };
        // The file's own padding would have a short message cost as much as a long one.
        tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(|error| unusable(path, error))?;
        Ok((bytes, Self(tokenizer)))
    }

    pub(super) fn of_all(&self, texts: &[String]) -> Result<Vec<TokenizedText>, EmbedError> {
        texts.iter().map(|text| self.of(text)).collect()
    }

    fn of(&self, text: &str) -> Result<TokenizedText, EmbedError> {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let encoding = self.0.encode(text, true).map_err(|error| {
            EmbedError::Refused(format!("A text cannot be cut into the embedding model's pieces: {error}"))
        })?;
        let ranges = encoding.get_offsets().iter().map(|&(from, to)| from..to).collect();
        Ok(TokenizedText { ids: encoding.get_ids().to_vec(), ranges })
    }
}
