//! What an owner does to the whole house, wherever it happens: the same that commands do where somebody sits.
//!
//! Never: who may do it; that was asked before.
//! Start at [`queue`].

mod grants;
pub mod outbox;
pub mod queue;
mod servers;
