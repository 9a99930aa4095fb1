//! People's calendars and address books over CalDAV and CardDAV: looked at, and changed with care.
//!
//! Never: an entry overwritten that somebody else has changed, a line of one lost that Hob does not know, or a password sent
//! anywhere but to the account's own server.
//! Start at [`tools`]; under them lie [`entry`] (what an entry says), [`edit`] (how it is changed) and [`client`] (the protocol).

pub mod account;
pub mod client;
pub mod contact;
pub mod discovery;
pub mod edit;
pub mod entry;
pub mod error;
pub mod free;
pub mod lines;
mod reading;
pub mod rule;
pub mod series;
pub mod today;
pub mod tools;
pub mod when;
pub mod words;
mod xml;
