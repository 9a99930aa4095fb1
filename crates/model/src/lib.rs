//! The port to language models: one internal message type, one trait, a file per dialect.
//!
//! Never: conversation logic, retries across calls, or the store.
//! Start at [`provider`] (the trait) and [`message`] (what is said).

pub mod anthropic;
pub mod breaker;
pub mod budget_guard;
pub mod catalog;
pub mod classify;
pub mod discover;
mod draft;
pub mod error;
pub mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod gemini;
pub mod guarded;
pub mod keyless;
pub mod learned;
pub mod legal;
mod lenient;
pub mod message;
pub mod metered;
pub mod offered;
pub mod offline;
pub mod ollama;
pub mod openai;
pub mod picture;
pub mod price;
pub mod provider;
pub mod redacting;
pub mod responses;
mod schema;
pub mod settings;
pub mod table;
pub mod think;
pub mod tokens;
pub mod transcription;
