//! What OpenAI's clients speak, so that they can talk with Hob: `/v1/chat/completions`, `/v1/models`.
//!
//! A request is a message in a conversation of the page. Clients send all that was said each time; Hob has it already, and
//! takes the last message only. The answer is what the outbox says, so that whoever hangs up finds it on the page.
//!
//! Never: a tool of the client's, or a model of the client's choosing.
//! Start at [`routes`]; `request` is what is asked, `place` in which conversation, `follow` what comes of it.

mod answer_stream;
mod error;
pub(crate) mod follower;
pub(crate) mod progress;
mod request;
mod responses;
pub(crate) mod routes;
pub(crate) mod target;
