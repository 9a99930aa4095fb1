//! Recorded runs, looked at afterwards (rows N2, D8).

mod going;
mod tree;
mod verify;
mod what_if;

pub(crate) use crate::replay::testkit::*;
