//! Web Push: a browser is told that something waits, when the page is open nowhere.
//!
//! Triggered by the outbox once a message is committed, and by nothing else. It is a hint, kept in memory alone: what it tells of
//! stands on the page in any case.
//! Never: words of anybody in it, a wait for a push service on anybody's way, or an address that the house's guard did not check.
//! Start at [`trigger::PushTrigger`]; `seal` is RFC 8291, `vapid` RFC 8292, `routes` what browsers ask.

mod encryption;
pub(crate) mod routes;
mod send;
pub mod trigger;
mod vapid;
