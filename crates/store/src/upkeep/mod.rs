//! Keeping the file in shape: what is old goes, free pages are given back, indexes are merged, the log is folded in.
//!
//! Every statement here is small, so that whoever waits for a commit does not notice it. When, how much at once and in which
//! order is said in `daemon::upkeep`.

pub mod blobs;
pub mod journals;
pub mod latest_message;
pub mod log;
pub(crate) mod page_layout;
pub mod pages;
pub mod rows;
