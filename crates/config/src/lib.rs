//! What the owner can set: a typed section per file, and the way from a `config.toml` to a [`Config`] or its problems.
//!
//! Never: a look at `std::env` outside [`environment`], a secret in a text, a write to the user's file but by [`writer`],
//! or an import of another room but `domain`.
//! Start at [`load::load`]; the order is `document` → `renamed_keys` → `expand` → `check` → each section's `validate` → `switched_off`.
//! The types are the single source: `shape` reads names, docs, defaults and limits off their JSON schema, and the check as
//! well as `config.example.toml`, `docs/config.md` and the editors' schema follow from it.

pub mod accounts;
pub(crate) mod agent;
pub(crate) mod approvals;
pub mod backup;
pub mod budget;
pub mod change;
mod check;
pub mod cli_agents;
pub mod command;
mod config;
pub mod context;
pub mod daemon;
pub mod data_dir;
pub mod dav;
pub mod declared_loop;
pub mod delivery;
pub mod destinations;
pub mod diff;
pub mod discord;
mod document;
pub mod edit;
pub mod email;
pub mod environment;
pub mod example;
mod expand;
pub mod good_configs;
pub mod groups;
pub mod guards;
pub mod heartbeat;
pub mod home_assistant;
pub mod hooks;
pub mod http;
mod key_destinations;
mod key_path;
pub mod keychain;
pub mod load;
pub mod mail;
pub mod matrix;
pub mod mcp;
pub mod memory;
pub mod models;
pub mod people;
pub mod persona;
pub mod problem;
pub mod provider;
pub mod quotas;
mod redacted_text;
#[cfg(test)]
mod reference_page;
pub mod remarks;
pub(crate) mod renamed_keys;
mod sandbox_keys;
pub mod schedule;
pub mod schema;
pub(crate) mod secret_reference;
pub mod secrets;
mod shape;
pub mod show;
pub(crate) mod skills;
pub mod slack;
pub mod speech;
pub mod state;
pub mod switched_off;
pub mod telegram;
pub mod telemetry;
pub mod terminal;
#[cfg(test)]
mod tests;
pub mod tools;
pub mod transcription;
pub mod upkeep;
mod values;
pub mod web;
pub mod webhooks;
pub mod workspace;
pub mod writer;
pub mod zone;

pub use config::Config;
