//! The supervised loop: the pure machine, its journal, and the driver that alone performs effects.
//!
//! Never: a platform's words, or a decision that the machine could make.
//! Start at [`machine`].

mod activity_text;
pub mod driver;
pub mod handover;
pub mod journal;
pub mod machine;
pub mod persona;
pub mod ports;
pub(crate) mod prefix;
pub mod projection;
pub mod prompt;
pub mod quota;
pub(crate) mod recalled_context;
pub mod replay;
pub mod signal;
pub mod token_counts;
pub mod write_off;

#[cfg(test)]
mod tests;
