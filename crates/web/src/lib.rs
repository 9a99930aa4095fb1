//! HTTP: from outside (`[server]`), and over the socket in the data directory. What is served stands in a file of its own.
//!
//! Never: a decision about a run, or an answer that tells more than whoever asks has proved to know.
//! Start at [`serve::serve`]; [`hooks`] takes events in, [`telegram`] what Telegram posts, [`health`] and [`status`] tell how Hob
//! fares; [`page`] is Hob's own page, behind the [`access`], with
//! [`chat`], [`push`] and [`memory`]; [`forward`] hands on what a daemon is asked that stands by; [`mcp`] is Hob for other programs' models; [`local`] is the socket, [`local_client`] asks over it.

pub mod access;
pub(crate) mod api_error;
pub mod app_state;
pub mod chat;
pub mod classes;
pub(crate) mod compat;
pub mod forward;
pub mod health;
pub mod hooks;
pub mod limit;
pub mod local;
pub mod local_client;
pub mod mcp;
pub mod memory;
mod metrics;
mod openapi;
pub mod operations;
pub mod owner;
pub mod page;
pub mod push;
pub mod runs;
pub mod serve;
pub mod signature;
pub mod status;
pub mod telegram;
pub mod undo;
