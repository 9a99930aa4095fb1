//! The port to language models: one internal message type, one trait, a file per dialect.
//!
//! Never: conversation logic, retries across calls, or the store.
//! Start at [`provider`] (the trait) and [`message`] (what is said); the dialects share one [`exchange`], [`legal`] makes a history what a
//! provider accepts, [`budget_guard`] holds the caps. Pictures, transcription and speech have a file each.

pub mod anthropic;
pub(crate) mod breaker;
pub mod budget_guard;
pub mod catalog;
pub(crate) mod classify;
pub mod discover;
pub mod error;
pub mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod gemini;
pub mod guarded_provider;
pub mod legal;
mod lenient;
pub mod message;
pub mod metered_provider;
pub mod model_table;
pub mod offered_tools;
pub mod offline;
pub mod ollama;
pub mod openai;
pub mod picture;
pub mod price;
pub mod provider;
pub(crate) mod redacting_provider;
pub mod refused_parameters;
mod reply_draft;
pub mod responses;
mod schema;
pub mod settings;
pub mod sound;
pub mod speech;
pub(crate) mod think_filter;
pub mod tokens;
pub mod transcription;
pub mod unconfigured;
