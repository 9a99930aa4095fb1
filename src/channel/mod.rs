//! Where people reach Hob: a room per platform, each turning its updates into `Inbound` and `Outgoing` into its calls.
//!
//! Never: a decision who may speak (the router's), SQL, or one platform's room importing another's.
//! Start at [`console`], the terminal: the smallest of them.
#![warn(clippy::string_slice)]

pub mod console;
pub mod discord;
pub mod email;
pub mod slack;
pub mod telegram;
