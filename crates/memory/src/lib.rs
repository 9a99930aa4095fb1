//! What Hob remembers: facts, and what was said, found again by text; texts as vectors, and which of them are near.
//!
//! Never: what the model said is recalled as a memory, or one person's memories for another.
//! Start at [`recall`], with [`rank`] and [`vectors`] (both pure) under it; [`extraction`] makes facts of what was said, [`facts`] keeps
//! them, [`upkeep`] forgets and embeds in quiet moments, [`mod@bench`] measures.

pub mod active_embedder;
pub mod amount;
pub mod bench;
mod budget_reservation;
pub mod embedding;
pub mod embedding_service;
pub mod extraction;
pub mod facts;
pub mod forget;
pub mod importance;
pub mod item;
pub mod keep;
pub mod model_lookups;
pub(crate) mod passage;
pub mod people;
pub mod rank;
pub mod recall;
pub mod retention;
pub mod transfer;
pub mod upkeep;
pub mod vectors;
pub mod why;
