//! Who may what: pure rules over plain data.
//!
//! Never: I/O, or a default that lets somebody in.
//! Start at [`access`] (who may what), [`routing`] (which model), [`budget`] (how much) and [`heartbeat`] (when).

pub mod access;
pub mod budget;
pub mod heartbeat;
pub mod routing;
