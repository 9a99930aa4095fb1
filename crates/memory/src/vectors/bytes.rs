//! A vector as bytes: each number by the largest one of them, 388 bytes for 384 numbers of length one.

/// What stands before the numbers: the largest one, as an f32 in little endian.
const SCALE_BYTES: usize = 4;
/// The byte that the largest number has.
const LARGEST: f32 = 127.0;

/// The vector as it is stored.
pub fn encode(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { LARGEST / largest } else { 0.0 };
    let numbers = vector.iter().map(|value| ((value * scale).round() as i8).cast_unsigned());
    largest.to_le_bytes().into_iter().chain(numbers).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredVector<'a> {
    scale: f32,
    numbers: &'a [u8],
}

impl<'a> StoredVector<'a> {
    /// Reads what [`encode`] wrote; none if it is not of so many numbers.
    pub fn read(bytes: &'a [u8], dimensions: usize) -> Option<Self> {
        let (largest, numbers) = bytes.split_first_chunk::<SCALE_BYTES>()?;
        let scale = f32::from_le_bytes(*largest) / LARGEST;
        (numbers.len() == dimensions && scale.is_finite()).then_some(Self { scale, numbers })
    }

    /// Its signs.
    pub fn bits(&self) -> Vec<u64> {
        let numbers: Vec<i8> = self.numbers.iter().map(|number| number.cast_signed()).collect();
        super::binary_codes::sign_bits_of_bytes(&numbers)
    }

    /// The product with `query`: their cosine where both are of length one.
    pub fn dot(&self, query: &[f32]) -> f32 {
        // Sums of their own, so that they can be taken side by side.
        let mut sums = [0.0_f32; 16];
        let (queries, query_rest) = query.as_chunks::<16>();
        let (numbers, rest) = self.numbers.as_chunks::<16>();
        for (query, numbers) in queries.iter().zip(numbers) {
            for ((sum, query), number) in sums.iter_mut().zip(query).zip(numbers) {
                *sum += query * f32::from(number.cast_signed());
            }
        }
        let rest: f32 = query_rest.iter().zip(rest).map(|(a, &b)| a * f32::from(b.cast_signed())).sum();
        (sums.iter().sum::<f32>() + rest) * self.scale
    }
}

/// Orders what was looked at closely: the nearest first, of equal ones the newer. What is stored wrongly is left out.
pub fn rescore<'a>(
    query: &[f32],
    candidates: impl IntoIterator<Item = (i64, &'a [u8])>,
    limit: usize,
) -> Vec<(i64, f32)> {
    let score = |(id, bytes)| Some((id, StoredVector::read(bytes, query.len())?.dot(query)));
    let mut scored: Vec<(i64, f32)> = candidates.into_iter().filter_map(score).collect();
    scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scored.truncate(limit);
    scored
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn e5_a_vector_is_stored_by_its_largest_number() {
        let bytes = encode(&[0.5, -0.25, 0.0]);
        assert_eq!(bytes[4..], [127, (-64_i8).cast_unsigned(), 0]);
        let stored = StoredVector::read(&bytes, 3).unwrap();
        assert_eq!(stored.bits(), [0b001]);
        assert!((stored.dot(&[1.0, 0.0, 9.0]) - 0.5).abs() < 1e-6);
        assert_eq!(StoredVector::read(&bytes, 2), None);
        assert_eq!(StoredVector::read(&bytes[..3], 0), None);
        assert_eq!(StoredVector::read(&encode(&[0.0; 3]), 3).unwrap().dot(&[1.0; 3]), 0.0);
        let endless = [&f32::INFINITY.to_le_bytes()[..], &[1]].concat();
        assert_eq!(StoredVector::read(&endless, 1), None);
    }

    #[test]
    fn e5_the_nearest_come_first() {
        let rows = [encode(&[1.0, 0.0]), encode(&[0.6, 0.8]), encode(&[0.6, 0.8]), vec![1]];
        let rows = || (1_i64..).zip(rows.iter().map(Vec::as_slice));
        let ids = |limit| rescore(&[0.6, 0.8], rows(), limit).iter().map(|&(id, _)| id).collect::<Vec<_>>();
        assert_eq!(ids(9), [3, 2, 1]);
        assert_eq!(ids(1), [3]);
    }

    proptest! {
        #[test]
        fn e5_little_is_lost(a in prop::collection::vec(-1.0_f32..1.0, 50), b in prop::collection::vec(-1.0_f32..1.0, 50)) {
            let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let bytes = encode(&a);
            // Half a step for each number.
            let most: f32 = b.iter().map(|b| b.abs()).sum::<f32>() * 0.5 / 127.0 + 1e-4;
            prop_assert!((StoredVector::read(&bytes, 50).unwrap().dot(&b) - exact).abs() <= most);
        }
    }
}
