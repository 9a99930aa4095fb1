//! Hob: a household daemon. `docs/architecture.md` is the map.

pub mod agent;
pub mod backup;
pub mod channel;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod doctor;
pub mod domain;
pub mod memory;
pub mod model;
pub mod policy;
pub mod render;
pub mod router;
pub mod skill;
pub mod store;
pub mod telemetry;
pub mod tool;
pub mod web;
