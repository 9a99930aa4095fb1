//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod channel;
pub mod domain;
pub mod model;
pub mod render;
