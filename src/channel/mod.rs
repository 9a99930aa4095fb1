//! Adapters: a platform's updates become `Inbound`, an `Outgoing` becomes the platform's calls.
//!
//! Never: a decision who may speak (the router's), SQL, or one adapter that knows another.
//! Start at the adapter's own `mod.rs`.
#![warn(clippy::string_slice)]

pub mod telegram;
