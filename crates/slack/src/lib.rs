//! Slack: Socket Mode in, the Web API out.
//!
//! Never: an envelope acknowledged before the intake has it, a decision who may speak, a token in a text, or an answer in
//! the channel at large because its thread is not known.
//! Start at [`Slack`]; `socket` brings in, `feeder` hands in, `catch_up` fetches what was missed, `convert` translates, `send` takes out.

mod adapter;
mod call;
mod catch_up;
mod convert;
mod feeder;
mod files;
mod joined_chats;
mod mrkdwn;
mod name_cache;
mod outcome;
mod presence;
mod send;
pub mod settings;
mod socket;
mod upload;

pub use adapter::{SetupError, Slack};
