//! The daemon as its users meet it: the real process, between a model of Telegram and a model server.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod agents;
mod answering;
mod approvals;
mod attached;
mod beginning;
mod calendar;
#[expect(dead_code, reason = "the tests of hob-dav use all of it")]
#[path = "../../crates/dav/tests/servers/server.rs"]
mod calendar_server;
mod caps;
mod chat;
mod classes;
mod commands;
mod context;
mod cost;
mod days;
mod discord;
mod documents;
mod drafts;
mod elicitation;
mod embedding;
mod failures;
mod faults;
mod files;
mod forgetting;
mod group;
mod groups;
mod guards;
mod home;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../../crates/home/tests/servers/server.rs"]
mod home_server;
mod human;
mod kills;
mod looks;
mod loops;
mod mail;
mod mcp;
mod mcp_add;
mod mcp_offers;
mod memory;
mod models;
mod notebook;
mod own_words;
mod pairing;
mod pausing;
mod people;
mod people_memory;
mod personas;
mod pictures;
mod queue;
mod reload;
mod replay;
mod salience;
mod schedules;
mod secrets;
mod server;
mod several;
mod skills;
mod speech;
mod starting;
mod stopping;
mod switching;
mod taint;
mod telegram;
mod telemetry;
mod toolbox;
mod tools;
mod typed;
mod undoing;
mod upgrading;
mod upkeep;
mod voice;
mod windows;
