//! Hob as an MCP server: `ask`, memory and schedules, for programs.
//!
//! A client is a program, mostly one with a model of its own. Its words are those of whoever let it in, as they are for
//! `crate::compat`, but that they are no command and answer no question of Hob's: those are for people.
//!
//! Never: a session. Each request over HTTP shows its key and stands for itself; on the socket a client is there as long as its
//! connection.
//! Start at `server::HobServer`; `http` is `/mcp` beside the page, [`local`] the socket's side of `hob mcp serve`.

pub mod asker;
pub(crate) mod http;
pub mod local;
mod page_asker;
pub mod server;
mod tools;

/// The largest message of a client, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
