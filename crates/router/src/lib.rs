//! Between the channels and the agent: intake (dedupe, identity, commands), lanes, delivery, streaming, schedules, and what owners
//! do to the whole household.
//!
//! Never: a platform's call, or a decision about a run.
//! Start at [`intake`]: one transaction per message.

pub mod agenda;
mod attachments;
mod chat_migration;
mod clean;
pub mod command;
mod command_follow_ups;
pub mod command_handlers;
pub mod cost;
pub mod delivery;
pub(crate) mod expiry;
pub mod failures;
mod groups;
pub mod heartbeat;
pub mod intake;
mod journal;
pub mod lanes;
pub mod mail;
mod memory;
mod open_questions;
pub mod operations;
pub mod owner_notices;
pub mod pairing;
mod pause;
mod pause_texts;
mod persona;
mod presence;
mod prompts;
pub mod schedules;
pub mod speech;
mod status;
mod stopping;
pub mod streaming;
pub mod texts;
mod triggered_runs;
pub(crate) mod undo;
mod voice;
mod voice_choice;
pub mod webhook_runs;
pub mod workload;
