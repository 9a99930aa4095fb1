//! The Telegram adapter against the fake Bot API: what it hands in, when it acknowledges, what it sends.

mod support;

#[path = "telegram/albums.rs"]
mod albums;
#[path = "telegram/commands.rs"]
mod commands;
#[path = "telegram/deliver.rs"]
mod deliver;
#[path = "telegram/edits.rs"]
mod edits;
#[path = "telegram/files.rs"]
mod files;
#[path = "telegram/harness.rs"]
mod harness;
#[path = "telegram/polling.rs"]
mod polling;
#[path = "telegram/secrecy.rs"]
mod secrecy;
#[path = "telegram/signs.rs"]
mod signs;
#[path = "telegram/updates.rs"]
mod updates;
#[path = "telegram/webhook.rs"]
mod webhook;
