//! Counterparts for tests: strict models of the services that Hob talks to.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod fake_model;
