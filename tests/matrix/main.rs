//! Matrix, end to end: the real Hob, a real Synapse, and people with a client that is not Hob's (matrix-nio), with keys of their own.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

mod conversations;
mod crashes;
mod devices;
mod proxy;
mod world;
