//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod cli;
pub mod config;
pub mod domain;
pub mod model;
