//! Long texts for one statement, end to end in one value: as JSON in a list of JSON each would be escaped, read and copied once more.

/// Texts, and where in the value each is: `CAST(substr($texts, from, length) AS TEXT)`.
#[derive(Debug, Default)]
pub(crate) struct PackedTexts(Vec<u8>);

impl PackedTexts {
    /// Adds a text; its first byte, from 1, and how many it has.
    pub(crate) fn add(&mut self, text: &str) -> (usize, usize) {
        let from = self.0.len() + 1;
        self.0.extend_from_slice(text.as_bytes());
        (from, text.len())
    }

    /// The value.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
