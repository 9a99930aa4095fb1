<<<<<<< HEAD
//! Where people reach Hob: a room per platform, each turning its updates into `Inbound` and `Outgoing` into its calls.
//!
//! Never: conversation logic, or one platform's room importing another's.
//! Start at [`console`], the terminal: the smallest of them.

pub mod console;
=======
//! Adapters: a platform's updates become `Inbound`, an `Outgoing` becomes the platform's calls.
//!
//! Never: a decision who may speak (the router's), SQL, or one adapter that knows another.
//! Start at the adapter's own `mod.rs`.
#![warn(clippy::string_slice)]

pub mod telegram;
>>>>>>> telegram
