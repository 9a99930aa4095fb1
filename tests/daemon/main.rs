//! The daemon as its users meet it: the real process, between a model of Telegram and a model server.

#[path = "../support/mod.rs"]
mod support;

mod answering;
mod chat;
mod commands;
mod failures;
mod human;
mod kills;
mod queue;
mod starting;
mod stopping;
mod tools;
mod typed;
