//! Slack: the adapter against a model of the Web API and Socket Mode, and the daemon behind it.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod daemon;
mod deliver;
mod files;
mod harness;
mod outages;
mod receive;
mod signs;
