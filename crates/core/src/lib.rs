//! The types that all crates share, the rules that need no I/O, and how text is written for a platform.
//!
//! Never: a clock, a socket, a file, a channel between tasks; a decision that depends on anything but its arguments.
//! Start at [`domain`]: ids, what comes in and goes out, principals, and the ports `Channel`, `Intake`, `Clock` and `Rng`. [`policy`]
//! decides over it: who may, what is asked first, what a command line says, which addresses are internal, when something is due.
//! [`render`] shows it: Markdown as each platform shows it.

pub mod domain;
pub mod policy;
pub mod render;
