//! `hob`: arguments → one command.

use std::process::ExitCode;

use clap::Parser;
use hob::cli::{Arguments, dispatch};

#[expect(clippy::print_stderr, reason = "the last word of a command that failed")]
fn main() -> ExitCode {
    match dispatch(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hob: {error:#}");
            ExitCode::FAILURE
        }
    }
}
