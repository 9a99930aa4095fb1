//! Matrix, behind a feature: end-to-end encrypted, by a sync loop of its own over `matrix-sdk-crypto`'s machine.
//!
//! Never: a sync token kept before the intake has what came with it, a message sent under two transaction ids, a key outside of the
//! key store, or words in clear in a room that has been encrypted.
//! Start at [`Matrix`]; `session` logs in, `sync` brings in, `convert` translates, `send` takes out, `key_store` keeps the keys.

mod adapter;
mod call;
mod content;
mod convert;
mod files;
mod key_store;
mod login;
mod machine;
mod presence;
pub mod reset;
mod rooms;
mod send;
mod session;
pub mod settings;
mod sync;
mod timeline;
mod undecrypted;
pub mod verify;

pub use adapter::{Matrix, SetupError};
