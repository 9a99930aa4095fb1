//! Discord: its gateway in, its REST API out.
//!
//! Never: an event passed over before the intake has it, a decision who may speak, or the token in a text.
//! Start at [`Discord`]; `gateway` keeps the connection, `submitter` hands in, `convert` translates,
//! `catch_up` fetches what was missed, `send` takes out.

mod adapter;
mod author_cache;
mod call;
mod catch_up;
pub mod commands;
mod connection;
mod convert;
mod error_codes;
mod fetch;
mod gateway;
mod limits;
mod presence;
mod send;
mod session;
pub mod settings;
mod socket;
mod submitter;
mod text;
mod upload;
mod wire;

pub use adapter::{Discord, SetupError};
