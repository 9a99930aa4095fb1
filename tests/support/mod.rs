//! Counterparts for tests: models of platforms, with state and strictness.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses another part of this room")]
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

pub mod fake_telegram;
