//! One suite of conversations over every channel: whichever way people come, Hob is the same.
//!
//! A platform is [`platform::Platform`] over its strict fake (or, for e-mail, real servers); each conversation in
//! [`conversations`] is told once and runs on all of them.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod by_hand;
mod conversations;
mod discord;
mod email;
mod everywhere;
mod platform;
#[expect(dead_code, reason = "these conversations need less of the servers than the letters do")]
#[path = "../email/servers.rs"]
mod servers;
mod simulated;
mod slack;
mod telegram;
mod ten_minutes;
