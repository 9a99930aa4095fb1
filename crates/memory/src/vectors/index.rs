//! The index: per scope, the signs of all vectors, scanned from the newest to the oldest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::vectors::binary_codes;
use crate::vectors::index::block::Block;
use hob_core::domain::memory::Scope;

mod block;
#[cfg(test)]
mod tests;

/// A vector that may be near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// In how many places its signs differ from the question's.
    pub distance: u32,
    /// Its memory.
    pub id: i64,
}

/// The vectors of one model.
#[derive(Debug, Clone)]
pub struct Index {
    words: usize,
    scopes: BTreeMap<Scope, ScopeVectors>,
}

/// The vectors of one scope, in blocks by id.
#[derive(Debug, Clone, Default)]
struct ScopeVectors {
    blocks: Vec<Block>,
}

impl Index {
    /// An empty index for vectors of so many numbers.
    pub fn new(dimensions: usize) -> Self {
        Self { words: binary_codes::word_count(dimensions), scopes: BTreeMap::new() }
    }

    /// Adds a memory's signs to a scope, or replaces them. Whether they fit: signs of another length are not taken.
    pub fn insert(&mut self, scope: Scope, id: i64, signs: &[u64]) -> bool {
        if signs.len() != self.words {
            return false;
        }
        self.scopes.entry(scope).or_default().insert(id, signs);
        true
    }

    /// Takes a memory out of a scope. Whether it was there.
    pub fn remove(&mut self, scope: Scope, id: i64) -> bool {
        let Some(part) = self.scopes.get_mut(&scope) else { return false };
        let was_there = part.remove(id);
        if part.blocks.is_empty() {
            self.scopes.remove(&scope);
        }
        was_there
    }

    /// The `limit` memories in `scopes` whose signs differ least from those of `query`, the nearest first; of equal ones
    /// those with the greater id.
    pub fn nearest(&self, query: &[u64], scopes: &[Scope], limit: usize) -> Vec<Candidate> {
        if query.len() != self.words || limit == 0 {
            return Vec::new();
        }
        let mut scopes = scopes.to_vec();
        scopes.sort_unstable();
        scopes.dedup();
        let mut best = TopCandidates::new(limit);
        let mut distances = Vec::new();
        for part in scopes.iter().filter_map(|scope| self.scopes.get(scope)) {
            for block in part.blocks.iter().rev() {
                block.distances(query, &mut distances);
                best.offer(&distances, block.ids());
            }
        }
        best.finish()
    }

    /// How many memories are in a scope.
    pub fn len(&self, scope: Scope) -> usize {
        self.scopes.get(&scope).map_or(0, ScopeVectors::len)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }
}

impl ScopeVectors {
    fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.ids().len()).sum()
    }

    /// The block where `id` is or would be, if there is any block.
    fn place(&self, id: i64) -> usize {
        self.blocks.partition_point(|block| block.first().is_some_and(|first| first <= id)).saturating_sub(1)
    }

    fn insert(&mut self, id: i64, signs: &[u64]) {
        let at = self.place(id);
        match self.blocks.get_mut(at) {
            None => self.blocks.push(Block::of(id, signs)),
            // What is appended leaves full blocks behind it, and not halves.
            Some(block) if block.is_full() && block.last().is_some_and(|last| last < id) => {
                self.blocks.insert(at + 1, Block::of(id, signs));
            }
            Some(block) => {
                block.insert(id, signs);
                if let Some(upper) = block.split_if_over() {
                    self.blocks.insert(at + 1, upper);
                }
            }
        }
    }

    fn remove(&mut self, id: i64) -> bool {
        let at = self.place(id);
        let Some(block) = self.blocks.get_mut(at) else { return false };
        let was_there = block.remove(id);
        if block.ids().is_empty() {
            self.blocks.remove(at);
        }
        was_there
    }
}

/// The best so far. It holds up to twice what is wanted, so that sorting out is rare.
struct TopCandidates {
    limit: usize,
    found: Vec<Candidate>,
    /// What is as far as this is not taken any more.
    bound: u32,
}

impl TopCandidates {
    fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), bound: u32::MAX }
    }

    fn offer(&mut self, distances: &[u32], ids: &[i64]) {
        for (&distance, &id) in distances.iter().zip(ids) {
            if distance <= self.bound {
                self.found.push(Candidate { distance, id });
                if self.found.len() >= self.limit.saturating_mul(2) {
                    self.keep_best();
                }
            }
        }
    }

    /// Keeps the best, and takes no worse ones from now on.
    fn keep_best(&mut self) {
        if self.found.len() > self.limit {
            let (_, worst, _) = self.found.select_nth_unstable_by_key(self.limit - 1, nearness);
            self.bound = worst.distance;
            self.found.truncate(self.limit);
        }
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.found.sort_unstable_by_key(nearness);
        self.found.truncate(self.limit);
        self.found
    }
}

fn nearness(candidate: &Candidate) -> (u32, Reverse<i64>) {
    (candidate.distance, Reverse(candidate.id))
}
