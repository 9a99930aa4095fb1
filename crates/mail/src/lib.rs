//! Mail as a tool: people's own mailboxes are searched, read, filed and written from. IMAP, SMTP and the reading of letters are
//! those of `hob-email`, which is also the channel.
//!
//! Never: a letter sent that nobody was asked about, a letter marked as read by being read, a folder's role guessed from its
//! name, or anybody's mailbox shown to others than its people.
//! Start at [`account::Account`]; what the model calls is in [`tools`], and who may in [`audience`].

pub mod account;
pub mod audience;
pub(crate) mod compose;
pub(crate) mod file;
pub mod folders;
pub(crate) mod letter_id;
pub mod login;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod send;
pub mod settings;
pub mod tools;
