//! A vector by the signs of its numbers: 48 bytes for 384.

/// Numbers in one word.
pub(super) const WORD_BITS: usize = u64::BITS as usize;

/// The words that the signs of so many numbers take.
pub fn word_count(dimensions: usize) -> usize {
    dimensions.div_ceil(WORD_BITS)
}

/// The signs: a bit is set where the number is above zero.
pub(crate) fn sign_bits(vector: &[f32]) -> Vec<u64> {
    pack(vector.iter().map(|&value| value > 0.0), vector.len())
}

/// The signs of a vector that is stored as bytes.
pub(crate) fn sign_bits_of_bytes(vector: &[i8]) -> Vec<u64> {
    pack(vector.iter().map(|&value| value > 0), vector.len())
}

/// In how many places two vectors have different signs.
pub fn distance(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn pack(signs: impl Iterator<Item = bool>, dimensions: usize) -> Vec<u64> {
    let mut packed = vec![0; word_count(dimensions)];
    for (at, is_set) in signs.enumerate() {
        packed[at / WORD_BITS] |= u64::from(is_set) << (at % WORD_BITS);
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e5_a_bit_is_a_sign() {
        let table: [(&[f32], &[u64]); 4] = [
            (&[], &[]),
            (&[0.1, -0.1, 0.0, -0.0, 3.0], &[0b10001]),
            (&[1.0; 64], &[u64::MAX]),
            (&[1.0; 65], &[u64::MAX, 1]),
        ];
        for (vector, bits) in table {
            assert_eq!(sign_bits(vector), bits);
            let bytes: Vec<i8> = vector.iter().map(|&value| (value * 40.0) as i8).collect();
            assert_eq!(sign_bits_of_bytes(&bytes), bits);
        }
    }

    #[test]
    fn e5_a_distance_counts_signs() {
        assert_eq!(distance(&[0, 0], &[0, 0]), 0);
        assert_eq!(distance(&[0b101, 1], &[0b011, 0]), 3);
        assert_eq!(distance(&[u64::MAX; 6], &[0; 6]), 384);
    }
}
