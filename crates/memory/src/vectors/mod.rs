//! Which vectors are near: one bit a number in memory, one byte a number on disk for those that are looked at closely.
//!
//! Never: I/O, or a vector of one scope among those of another: a scope is a part of the index, not a score.
//! Start at [`index::Index`]. What was measured: `docs/decisions/0004-vectors.md`.

pub mod binary_codes;
pub mod bytes;
pub mod index;
