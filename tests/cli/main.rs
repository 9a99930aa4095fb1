//! `hob` as people run it from a shell: each command, what it prints and how it ends.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod backup;
mod bench;
mod config;
mod doctor;
mod errors;
mod eval;
mod import;
mod init;
mod memory;
mod models;
mod service;
mod skill;
