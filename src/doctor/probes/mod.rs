//! Where the facts come from: files, the kernel, other programs' answers.
//!
//! Never: a judgement. That is the rules'.

pub(super) mod calendars;
pub(super) mod data;
pub(super) mod home;
pub(super) mod host;
pub(super) mod network;
pub(super) mod tools;
