//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod cli;
pub mod daemon;
pub mod doctor;
