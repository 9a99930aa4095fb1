//! Every platform against its strict fake (e-mail: against real servers), and one suite of conversations over all of them.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

mod adapter;
mod channels;
mod discord;
mod email;
mod slack;
mod telegram;
