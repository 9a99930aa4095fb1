//! Telegram's Bot API: long polling or a webhook in, messages out.
//!
//! Never: an update acknowledged before the intake has it, a decision who may speak, or the token in a text.
//! Start at [`Telegram`]; `poll` and `webhook` bring in, `convert` translates, `send` and `edit` take out.

mod adapter;
mod album;
mod audience;
mod background_intake;
mod call;
mod commands;
mod content;
mod convert;
mod edit;
mod fetch;
mod message_text;
mod origin;
mod poll;
mod presence;
mod receiver;
mod receiver_context;
mod salvage;
mod send;
pub mod settings;
mod upload;
mod webhook;

pub use adapter::{SetupError, Telegram};
