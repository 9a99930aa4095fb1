//! The port to language models: one internal message type, one trait, a file per dialect.
//!
//! Never: conversation logic, retries across calls, or the store.
//! Start at [`provider`] (the trait) and [`message`] (what is said).

pub mod breaker;
pub mod catalog;
pub mod classify;
pub mod discover;
pub mod error;
pub mod guarded;
pub mod http;
pub mod legal;
pub mod message;
pub mod offline;
pub mod openai;
pub mod provider;
pub mod settings;
pub mod think;
