//! The daemon as its users meet it: the real process, between a model of Telegram and a model server.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod answering;
mod chat;
mod commands;
mod cost;
mod failures;
mod faults;
mod group;
mod human;
mod kills;
mod models;
mod queue;
mod replay;
mod starting;
mod stopping;
mod switching;
mod tools;
mod typed;
