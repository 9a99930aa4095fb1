//! The Telegram adapter against the fake Bot API: what it hands in, when it acknowledges, what it sends.

mod albums;
mod commands;
mod deliver;
mod edits;
mod files;
mod harness;
mod polling;
mod secrecy;
mod signs;
mod updates;
mod webhook;
