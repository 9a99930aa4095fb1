//! Late interaction: each word of the question finds its best word in a text.

use crate::vectors::binary_codes;

/// The signs of a text's token vectors, one after the other: 48 bytes a token of 384 numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenBinaryCodes {
    words: usize,
    signs: Vec<u64>,
}

impl TokenBinaryCodes {
    /// Of token vectors of one length.
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a [f32]>) -> Self {
        let mut all = Self::default();
        for token in tokens {
            let signs = binary_codes::sign_bits(token);
            all.words = signs.len();
            all.signs.extend(signs);
        }
        all
    }

    /// As it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.signs.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// What [`Self::to_bytes`] wrote; none if it is not of vectors of so many numbers.
    pub fn read(bytes: &[u8], dimensions: usize) -> Option<Self> {
        let (signs, rest) = bytes.as_chunks::<8>();
        let words = binary_codes::word_count(dimensions);
        let fits = rest.is_empty() && (signs.is_empty() || words > 0 && signs.len().is_multiple_of(words));
        fits.then(|| Self { words, signs: signs.iter().map(|&word| u64::from_le_bytes(word)).collect() })
    }

    fn tokens(&self) -> impl Iterator<Item = &[u64]> {
        self.signs.chunks_exact(self.words.max(1))
    }

    /// For each token of the question, how alike its best token here is: from −1 to 1, about the cosine.
    pub(crate) fn best_for(&self, question: &Self) -> Vec<f64> {
        let bits = (self.words.max(1) * 64) as f64;
        let best = |token: &[u64]| {
            let nearest = self.tokens().map(|other| binary_codes::distance(token, other)).min();
            nearest.map_or(-1.0, |distance| (std::f64::consts::PI * f64::from(distance) / bits).cos())
        };
        question.tokens().map(best).collect()
    }
}

/// The mean over the question's tokens of the best in any of the texts, as [`TokenBinaryCodes::best_for`] found them.
pub(crate) fn max_sim(texts: &[Vec<f64>]) -> f64 {
    let count = texts.first().map_or(0, Vec::len);
    if count == 0 {
        return 0.0;
    }
    let best = |at: usize| texts.iter().filter_map(|text| text.get(at)).fold(-1.0_f64, |best, value| best.max(*value));
    (0..count).map(best).sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(tokens: &[[f32; 2]]) -> TokenBinaryCodes {
        TokenBinaryCodes::new(tokens.iter().map(<[f32; 2]>::as_slice))
    }

    #[test]
    fn e5_each_token_finds_its_best() {
        let question = signs(&[[1.0, 1.0], [-1.0, -1.0]]);
        let near = signs(&[[1.0, -1.0], [1.0, 1.0]]).best_for(&question);
        // Of 64 signs, 62 are those of nothing.
        assert!((near[0] - 1.0).abs() < 1e-9 && (near[1] - (std::f64::consts::PI / 64.0).cos()).abs() < 1e-9);
        assert_eq!(signs(&[]).best_for(&question), [-1.0, -1.0]);
        assert!(near.as_slice() > signs(&[[-1.0, 1.0]]).best_for(&question).as_slice());
    }

    #[test]
    fn e5_texts_share_the_work() {
        assert_eq!(max_sim(&[]), 0.0);
        assert_eq!(max_sim(&[vec![]]), 0.0);
        assert_eq!(max_sim(&[vec![0.5, 0.0]]), 0.25);
        assert_eq!(max_sim(&[vec![0.5, 0.0], vec![-1.0, 1.0]]), 0.75);
    }

    #[test]
    fn e5_signs_are_stored_as_they_are() {
        let signs = signs(&[[1.0, -1.0], [0.5, 0.5]]);
        assert_eq!(signs.to_bytes().len(), 16);
        assert_eq!(TokenBinaryCodes::read(&signs.to_bytes(), 2), Some(signs));
        assert_eq!(TokenBinaryCodes::read(&[0; 15], 64), None);
        assert_eq!(TokenBinaryCodes::read(&[0; 8], 65), None);
        assert_eq!(TokenBinaryCodes::read(&[0; 8], 0), None);
        assert!(TokenBinaryCodes::read(&[], 384).is_some());
    }
}
