//! Between the channels and the agent: intake (dedupe, identity, commands), lanes, delivery.
//!
//! Never: a platform's call, or a decision about a run.
//! Start at [`intake`]: one transaction per message.

mod answering;
mod attachments;
mod clean;
pub mod command;
mod cost;
pub mod delivery;
pub mod events;
pub mod expiry;
pub mod failures;
mod groups;
pub mod heartbeat;
pub mod intake;
mod journal;
pub mod lanes;
pub mod mail;
mod memory;
mod moved;
pub mod operations;
pub mod owners;
pub mod pairing;
mod pause;
mod pause_texts;
mod persona;
pub mod respond;
pub mod schedules;
mod signs;
mod status;
mod stopping;
pub mod streaming;
pub mod texts;
mod unasked;
pub mod undo;
mod voice;
