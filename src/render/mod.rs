//! Text for platforms: cleaned of what they refuse, cut into what they take.
//!
//! Never: I/O, or a cut inside what a reader sees as one character.
//! Start at [`chunk::chunks`].
#![warn(clippy::string_slice)]

pub mod chunk;
pub mod clean;
