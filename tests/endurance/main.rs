//! The whole program for a long time, with what happens to a household: `scripts/torture` and `scripts/soak` run it longer.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper that fails fails its test")]

mod soak;
mod torture;
