//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod agent;
pub mod domain;
pub mod memory;
pub mod model;
pub mod policy;
pub mod render;
pub mod router;
pub mod store;
pub mod tool;
