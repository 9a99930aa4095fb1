//! One suite of conversations over every channel: whichever way people come, Hob is the same.
//!
//! A platform is [`platform::Platform`] over its strict fake (or, for e-mail, real servers); each conversation in
//! [`conversations`] is told once and runs on all of them.

mod by_hand;
pub(crate) mod conversations;
mod discord;
mod email;
mod everywhere;
mod platform;
mod simulated;
mod slack;
mod telegram;
mod ten_minutes;
