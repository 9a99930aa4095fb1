//! The commands of the command line: a file each, thin around the rooms below.

pub mod config;
