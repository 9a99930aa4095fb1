//! Who may what: pure rules over plain data.
//!
//! Never: I/O, or a default that lets somebody in.
//! Start at [`access`].

pub mod access;
pub mod budget;
