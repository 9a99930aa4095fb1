//! What Hob remembers: facts, and what was said, found again by text; texts as vectors, and which of them are near.
//!
//! Never: what the model said is recalled as a memory, or one person's memories for another.
//! Start at [`recall`].

pub mod bench;
pub mod embedding;
pub mod facts;
pub mod forget;
pub mod importance;
pub mod item;
pub mod nearby;
pub mod rank;
pub mod recall;
pub mod transfer;
pub mod vectors;
