//! What everything else is said in: the household's terms, the rules that need no I/O, and how text is written for a platform.
//!
//! Never: a clock, a socket, a file, a channel between tasks; a decision that depends on anything but its arguments.
//! Start at [`domain`]; [`policy`] decides over it, [`render`] shows it.

pub mod domain;
pub mod policy;
pub mod render;
