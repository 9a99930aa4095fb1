//! SQLite: a file per aggregate, one writer. Journal rows are opaque here: kind, version, bytes.
//!
//! Never: a decision about a run. What a row means is said in `agent`.
//! Start at [`Store`], then [`writer`].

pub mod agents;
pub mod answers;
pub mod arrival;
pub mod backup;
pub mod blobs;
pub mod bystander_reader;
pub mod bystander_writer;
pub mod calendar_calls;
pub mod chat_migration;
pub mod chunks;
pub mod contents;
#[cfg(feature = "postgres")]
pub mod copy;
pub mod cursors;
pub mod daemons;
mod database;
pub mod drafts;
pub mod emergency_stop;
pub mod episodes;
pub mod error;
pub mod facts;
pub mod files;
pub mod follow_ups;
pub mod footprint;
pub mod foreign_databases;
pub mod forgetting;
pub mod grants;
pub mod groups;
pub mod inbound;
pub mod inspect;
pub mod journal;
pub mod lock;
pub mod mcp_classes;
pub mod members;
pub mod memories;
pub mod memory_calls;
pub mod memory_pages;
pub mod memory_views;
pub mod messages;
pub mod model_calls;
pub mod occurrences;
pub mod open_runs;
pub mod operations;
pub mod outbox;
pub mod overheard;
mod packed_texts;
pub mod pairings;
pub mod parked;
pub mod people;
pub mod place;
#[cfg(feature = "postgres")]
mod postgres;
pub mod private_chats;
pub mod quarantined_mail;
mod readers;
pub mod recall;
pub mod recall_log;
pub mod recall_reasons;
pub mod recorded_run;
pub mod recordings;
pub mod retention;
pub mod run_context;
pub mod run_list;
pub mod runs;
pub mod schedules;
pub mod sessions;
pub mod signals;
pub mod skills;
pub(crate) mod snapshot;
pub mod space;
pub mod speeches;
pub mod spend;
mod sql;
mod sqlite;
pub mod summaries;
#[cfg(test)]
mod tests;
pub mod tool_calls;
pub mod transfer;
mod tx;
pub mod undos;
pub mod unit;
pub mod upkeep;
pub mod usage;
pub mod users;
pub mod vectors;
pub mod web_access;
pub mod web_chat;
pub mod web_compat;
pub mod web_push;
pub mod work_dir;
pub mod writer;

#[cfg(feature = "postgres")]
pub(crate) use database::open_to_write;
pub(crate) use database::{
    BUSY_TIMEOUT, MIGRATIONS, PAGE_BYTES, close, existing_file_options, in_snapshot, options, schema,
};
pub use database::{SchedulingMode, Store, millis};
pub use tx::Tx;
