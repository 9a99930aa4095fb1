//! The Discord adapter against the fake gateway and API: what it hands in, how it keeps connected, what it sends.

mod support;

#[path = "discord/catching_up.rs"]
mod catching_up;
#[path = "discord/connection.rs"]
mod connection;
#[path = "discord/deliver.rs"]
mod deliver;
#[path = "discord/events.rs"]
mod events;
#[path = "discord/files.rs"]
mod files;
#[path = "discord/harness.rs"]
mod harness;
#[path = "discord/interactions.rs"]
mod interactions;
#[path = "discord/signs.rs"]
mod signs;
