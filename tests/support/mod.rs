<<<<<<< HEAD
//! Counterparts for tests: models of platforms, with state and strictness.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses another part of this room")]
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

pub mod fake_telegram;
=======
//! Counterparts for tests: strict models of the services that Hob talks to.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod fake_model;
>>>>>>> model
