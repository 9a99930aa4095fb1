//! Words and files that go out besides the answer. The tools only say what is wanted: the machine queues it, once for
//! each call, with the record of the call itself.

pub mod addresses;
pub mod send_file;
pub mod send_message;

/// The module of these tools.
pub const MODULE: &str = "messages";

/// How the conversation of the run itself is called.
pub(crate) const HERE: &str = "this conversation";
