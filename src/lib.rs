//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod agent;
pub mod domain;
pub mod memory;
pub mod model;
pub mod render;
pub mod store;
pub mod tool;
