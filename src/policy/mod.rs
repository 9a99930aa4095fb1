//! Who may what: pure rules over plain data.
//!
//! Never: I/O, or a default that lets somebody in.
//! Start at [`access`] (who may what) and [`routing`] (which model).

pub mod access;
pub mod routing;
