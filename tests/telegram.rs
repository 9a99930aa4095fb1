//! The Telegram adapter against the fake Bot API: what it hands in, when it acknowledges, what it sends.

mod support;

#[path = "telegram/deliver.rs"]
mod deliver;
#[path = "telegram/files.rs"]
mod files;
#[path = "telegram/harness.rs"]
mod harness;
#[path = "telegram/polling.rs"]
mod polling;
#[path = "telegram/secrecy.rs"]
mod secrecy;
#[path = "telegram/typing.rs"]
mod typing;
#[path = "telegram/updates.rs"]
mod updates;
