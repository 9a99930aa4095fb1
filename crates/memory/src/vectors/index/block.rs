//! Up to 1,024 vectors, sorted by id, a plane for each word of their signs: so a plane is scanned in one go, with the
//! widest instructions that the processor has, and a deletion moves little.

use rten_simd::{Isa, SimdOp};

/// The most vectors of a block.
pub(super) const ROWS_MAX: usize = 1024;

#[derive(Debug, Clone)]
pub(super) struct Block {
    ids: Vec<i64>,
    /// For each word of a vector's signs: that word of all vectors.
    planes: Vec<Vec<u64>>,
}

impl Block {
    /// A block with one vector.
    pub(super) fn of(id: i64, signs: &[u64]) -> Self {
        Self { ids: vec![id], planes: signs.iter().map(|&word| vec![word]).collect() }
    }

    pub(super) fn ids(&self) -> &[i64] {
        &self.ids
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.ids.first().copied()
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.ids.last().copied()
    }

    pub(super) fn is_full(&self) -> bool {
        self.ids.len() >= ROWS_MAX
    }

    /// Adds or replaces.
    pub(super) fn insert(&mut self, id: i64, signs: &[u64]) {
        match self.ids.binary_search(&id) {
            Ok(at) => self.planes.iter_mut().zip(signs).for_each(|(plane, &word)| plane[at] = word),
            Err(at) => {
                self.ids.insert(at, id);
                self.planes.iter_mut().zip(signs).for_each(|(plane, &word)| plane.insert(at, word));
            }
        }
    }

    /// The upper half, if there are too many.
    pub(super) fn split_if_over(&mut self) -> Option<Self> {
        if self.ids.len() <= ROWS_MAX {
            return None;
        }
        let at = self.ids.len() / 2;
        let planes = self.planes.iter_mut().map(|plane| plane.split_off(at)).collect();
        Some(Self { ids: self.ids.split_off(at), planes })
    }

    /// Takes a vector out. Whether it was there.
    pub(super) fn remove(&mut self, id: i64) -> bool {
        let Ok(at) = self.ids.binary_search(&id) else { return false };
        self.ids.remove(at);
        for plane in &mut self.planes {
            plane.remove(at);
        }
        true
    }

    /// How far each vector is from `query`, in the order of the ids.
    pub(super) fn distances(&self, query: &[u64], into: &mut Vec<u32>) {
        into.clear();
        into.resize(self.ids.len(), 0);
        for (plane, &query) in self.planes.iter().zip(query) {
            AddDistances { plane, query, sums: into }.dispatch();
        }
    }
}

/// Adds up the different signs of one plane.
struct AddDistances<'a> {
    plane: &'a [u64],
    query: u64,
    sums: &'a mut [u32],
}

impl SimdOp for AddDistances<'_> {
    type Output = ();

    /// Plain Rust: the dispatch compiles it for each set of instructions.
    #[inline(always)]
    fn eval<I: Isa>(self, _isa: I) {
        for (sum, word) in self.sums.iter_mut().zip(self.plane) {
            *sum += (word ^ self.query).count_ones();
        }
    }
}
