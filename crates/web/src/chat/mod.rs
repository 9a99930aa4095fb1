//! The page as a channel.
//!
//! What people write on it is handed in like any other platform's, what Hob says is read back from the outbox. Nothing is kept
//! twice, so nothing can be lost or doubled on the way to a browser.
//!
//! Never: conversation logic; what a command or a number means is the router's business.
//! Start at [`channel::PageChannel`]; [`routes`] is its API, [`stream`] what browsers hear.

pub mod channel;
mod files;
pub(crate) mod intake;
mod manage;
mod reply_stream;
pub mod routes;
pub mod stream;
pub(crate) mod timeline;
