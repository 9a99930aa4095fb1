//! Where people reach Hob: a room per platform, each turning its updates into `Inbound` and `Outgoing` into its calls.
//!
//! Never: conversation logic, or one platform's room importing another's.
//! Start at [`console`], the terminal: the smallest of them.

pub mod console;
