//! The terminal: a conversation typed at a prompt, or read from a pipe.
//!
//! Never: conversation logic; what a command or a number means is the router's business.
//! Start at [`interact`] (a person types) and [`pipe`] (a script does); [`screen`] is the side that shows.

mod attach;
mod identity;
pub mod interact;
pub mod page;
pub mod pipe;
mod ports;
mod printer;
mod reply;
pub mod screen;
pub mod terminal;
mod text;

pub use attach::{read as read_attachment, shown};
pub use ports::{ConsoleError, LOCAL, Ports, SessionIdle, local, place};
