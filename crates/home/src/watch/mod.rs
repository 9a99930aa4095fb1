//! What becomes of things while nobody asks: "tell me when the washing machine is done".
//!
//! A watch is a schedule that looks first. Home Assistant's socket only hastens its look ([`follow`]); what it comes to is found by
//! the look alone ([`look`]), which compares how it stands now with what was last known. So nothing is lost while one of both was
//! down, and the schedules' own rules say how often, how long and for whom.

pub mod follow;
mod judge;
pub mod look;
pub mod observed;
