//! The supervised loop: the pure machine, its journal, and the driver that alone performs effects.
//!
//! Never: a platform's words, or a decision that the machine could make.
//! Start at [`machine`].

pub mod machine;
