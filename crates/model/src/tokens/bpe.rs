//! Byte pair encoding with cl100k's vocabulary, for counting only.
//!
//! Never: the tokens themselves; nobody needs them.
//! Start at [`Counter`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

/// The tokens in the order of their rank: a byte with the length, then the token.
const RECORDS: &[u8] = include_bytes!("cl100k.bin");
/// The longest token.
const TOKEN_LEN_MAX: usize = 128;
/// Twice as many places as tokens, and a little more.
const SLOTS_BITS: u32 = 18;
/// How many bits of a place say where its record begins; the others are a print of the token.
const PLACE_BITS: u32 = 20;
/// Longer pieces are cut, so that no text costs more than its length: a word of a hundred thousand characters is not a word.
const PIECE_LEN_MAX: usize = 1024;
/// No pair, no neighbour.
const NONE: u32 = u32::MAX;

/// Where each token stands in [`RECORDS`]; as records are in the order of rank, that is as good as the rank.
static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::read);

/// An open-addressing table: one megabyte, where a map of the tokens would take twenty.
struct Vocabulary {
    /// Print and place of a record, counted from one; 0 is free.
    slots: Vec<u32>,
}

impl Vocabulary {
    fn read() -> Self {
        let mut vocabulary = Self { slots: vec![0; 1 << SLOTS_BITS] };
        let mut place = 0;
        while let Some(token) = record(place) {
            let (mut at, print) = spot(token);
            while vocabulary.slots.get(at).is_some_and(|slot| *slot != 0) {
                at = next(at);
            }
            if let (Some(slot), Ok(place)) = (vocabulary.slots.get_mut(at), u32::try_from(place + 1)) {
                *slot = print << PLACE_BITS | place;
            }
            place += 1 + token.len();
        }
        vocabulary
    }

    /// The rank of these bytes, if they are a token.
    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > TOKEN_LEN_MAX {
            return None;
        }
        let (mut at, print) = spot(bytes);
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            let place = (slot & ((1 << PLACE_BITS) - 1)) - 1;
            if slot >> PLACE_BITS == print && record(place as usize) == Some(bytes) {
                return Some(place);
            }
            at = next(at);
        }
    }
}

/// The token whose record begins at `place`.
fn record(place: usize) -> Option<&'static [u8]> {
    let len = usize::from(*RECORDS.get(place)?);
    RECORDS.get(place + 1..place + 1 + len)
}

/// The first place to look for a token at, and its print.
fn spot(bytes: &[u8]) -> (usize, u32) {
    // FNV-1a, and a last stir, as its upper bits are what is used.
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let at = (hash >> (64 - SLOTS_BITS)) as usize;
    let print = (hash >> (64 - SLOTS_BITS - (32 - PLACE_BITS))) as u32 & ((1 << (32 - PLACE_BITS)) - 1);
    (at, print)
}

fn next(at: usize) -> usize {
    (at + 1) & ((1 << SLOTS_BITS) - 1)
}

/// Counts tokens; kept between pieces for its buffers.
#[derive(Debug, Default)]
pub(super) struct Counter {
    /// The part after each part, by where it begins.
    after: Vec<u32>,
    /// The part before each part.
    before: Vec<u32>,
    /// The rank of each part and the one after it together.
    pair: Vec<u32>,
    /// Pairs that are tokens, the lowest rank first; those that are gone meanwhile are passed over.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Counter {
    /// How many tokens a piece of text takes.
    pub(super) fn count(&mut self, piece: &str) -> u64 {
        let mut rest = piece;
        let mut count = 0;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.floor_char_boundary(PIECE_LEN_MAX));
            count += self.count_short(part.as_bytes());
            rest = after;
        }
        count
    }

    fn count_short(&mut self, piece: &[u8]) -> u64 {
        if piece.len() <= 1 || VOCABULARY.rank(piece).is_some() {
            return u64::from(!piece.is_empty());
        }
        let len = piece.len() as u32;
        self.after.clear();
        self.after.extend(1..=len);
        self.before.clear();
        self.before.extend((0..len).map(|at| at.wrapping_sub(1)));
        self.pair.clear();
        self.pair.resize(piece.len(), NONE);
        self.queue.clear();
        for at in 0..len {
            self.weigh(piece, at);
        }
        let mut parts = u64::from(len);
        while let Some(Reverse((rank, at))) = self.queue.pop() {
            if get(&self.pair, at) == rank {
                self.merge(piece, at);
                parts -= 1;
            }
        }
        parts
    }

    /// Makes one part of the part at `at` and the one after it.
    fn merge(&mut self, piece: &[u8], at: u32) {
        let gone = get(&self.after, at);
        let after = get(&self.after, gone);
        set(&mut self.after, at, after);
        set(&mut self.before, after, at);
        set(&mut self.pair, gone, NONE);
        self.weigh(piece, at);
        let before = get(&self.before, at);
        if before != NONE {
            self.weigh(piece, before);
        }
    }

    /// Finds what the part at `at` and the one after it are together.
    fn weigh(&mut self, piece: &[u8], at: u32) {
        let second = get(&self.after, at);
        let end = get(&self.after, second);
        let bytes = if end == NONE { None } else { piece.get(at as usize..end as usize) };
        let rank = bytes.and_then(|bytes| VOCABULARY.rank(bytes)).unwrap_or(NONE);
        set(&mut self.pair, at, rank);
        if rank != NONE {
            self.queue.push(Reverse((rank, at)));
        }
    }
}

fn get(list: &[u32], at: u32) -> u32 {
    list.get(at as usize).copied().unwrap_or(NONE)
}

/// Sets an entry; past the piece's end there is none to set.
fn set(list: &mut [u32], at: u32, value: u32) {
    if let Some(entry) = list.get_mut(at as usize) {
        *entry = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_config::environment::Environment;

    /// Set to write the vocabulary again.
    const UPDATE: &str = "UPDATE_VOCABULARY";

    #[test]
    fn the_vocabulary_is_cl100k() {
        let theirs = tiktoken_rs::cl100k_base_singleton();
        let mut records = Vec::new();
        for rank in 0..100_256 {
            let token = theirs.decode_bytes(&[rank]).unwrap();
            records.push(u8::try_from(token.len()).unwrap());
            records.extend(token);
        }
        if Environment::of_process().get(UPDATE).is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tokens/cl100k.bin"), &records).unwrap();
        }
        assert!(records == RECORDS, "cl100k.bin is not cl100k: {UPDATE}=1 cargo nextest run the_vocabulary_is_cl100k");
    }

    #[test]
    fn every_token_is_found_at_its_place() {
        let (mut place, mut count) = (0, 0);
        while let Some(token) = record(place) {
            assert_eq!(VOCABULARY.rank(token).map(|rank| rank as usize), Some(place));
            place += 1 + token.len();
            count += 1;
        }
        assert_eq!((place, count), (RECORDS.len(), 100_256));
        assert_eq!(VOCABULARY.rank(b"no such token at all"), None);
    }
}
