//! What Hob remembers: facts, and what was said, found again by text; texts as vectors, and which of them are near.
//!
//! Never: what the model said is recalled as a memory, or one person's memories for another.
//! Start at [`recall`].

pub mod bench;
pub mod embedding;
pub mod facts;
pub mod importance;
pub mod keep;
pub mod nearby;
pub mod passage;
pub mod rank;
pub mod recall;
pub mod retention;
pub mod upkeep;
pub mod vectors;
