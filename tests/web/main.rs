//! Hob's page, as browsers and programs meet it: the real process, asked over HTTP.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod browser;
mod chat;
mod compat;
mod contract;
mod door;
mod e2e;
mod files;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../crates/home/tests/servers/server.rs"]
mod home_server;
mod logins;
mod mcp;
mod memory;
mod operations;
mod push;
mod runs;
mod standby;
mod voice;
