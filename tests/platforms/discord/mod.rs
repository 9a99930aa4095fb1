//! The Discord adapter against the fake gateway and API: what it hands in, how it keeps connected, what it sends.

mod catching_up;
mod connection;
mod deliver;
mod events;
mod files;
mod harness;
mod interactions;
mod signs;
