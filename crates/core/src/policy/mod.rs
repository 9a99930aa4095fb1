//! Who may what: pure rules over plain data.
//!
//! Never: I/O, or a default that lets somebody in.
//! Start at [`access`] (who may what), [`groups`] (who is meant), [`pairing`] (who is let in), [`persona`] (who Hob is), [`routing`] (which model), [`budget`] and [`quota`] (how
//! much), [`heartbeat`] (when), [`memory`] (who sees which memories), [`restricted`] (what of
//! them), [`shell`] (what a command would do), [`net`] (which addresses), [`arguments`] (what a call
//! says), [`plan`] (what was intended), [`reading`] (what a reader may answer), [`sources`] (who has said a value), [`schedule`] (when what was
//! asked for ahead is due).

pub mod access;
pub mod arguments;
pub mod budget;
pub mod groups;
pub mod heartbeat;
pub mod invisible;
pub mod lookup;
pub mod memory;
pub mod net;
pub mod pairing;
pub mod persona;
pub mod plan;
pub mod quota;
pub mod reading;
pub mod redact;
pub mod restricted;
pub mod routing;
pub mod schedule;
pub mod shell;
pub mod sources;
pub mod undo;
pub mod upkeep;
