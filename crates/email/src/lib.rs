//! E-mail: a mailbox is watched over IMAP, answers go out over SMTP.
//!
//! Never: a letter passed over before that is stored, an answer to what no person wrote, or a connection without TLS to
//! another machine.
//! Start at [`Email`]; `watch` brings in, `letter` translates, `send` takes out.

mod adapter;
mod authentic;
mod automatic;
mod body;
mod charset;
pub mod command;
mod compose;
pub mod connect;
mod folder;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod header;
mod ignored;
mod invitation;
mod letter;
pub mod part_handle;
mod quotes;
pub mod reading;
mod send;
pub mod settings;
mod side_sessions;
pub mod smtp;
mod source;
#[cfg(test)]
mod tests;
mod thread;
pub(crate) mod verify;
mod watch;

pub use adapter::{Email, SetupError, one_line};
