//! The vocabulary every other room speaks: ids, people, messages in and out, and the ports.
//!
//! Never: I/O, SQL, a clock read in place, or an import of another room.
//! Start at [`inbound`] (what comes in), [`outgoing`] (what goes out) and [`channel`] (the port between them).

pub mod agents;
pub mod backoff;
pub mod capabilities;
pub mod channel;
pub mod choices;
pub mod clock;
pub mod condition;
pub mod config_status;
pub mod draft;
pub mod elicitation;
pub mod email_envelope;
pub mod health;
pub mod ids;
pub mod inbound;
pub mod lexicon;
pub mod lock;
pub mod memory;
pub mod message_context;
pub mod money;
#[cfg(any(test, feature = "testkit"))]
pub mod mutation;
pub mod network;
pub mod notebook;
pub mod origin;
pub mod outgoing;
pub mod plan;
pub mod principal;
pub mod redactor;
pub mod rng;
pub mod secret;
pub mod skills;
pub mod space;
pub mod sql_value;
pub mod text;
pub mod tool_class;
pub mod tools;
pub mod undo;
pub mod upkeep;
