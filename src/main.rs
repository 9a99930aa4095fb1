//! `hob`: arguments → one command.

use std::process::ExitCode;

use clap::Parser;
use hob::cli::{Arguments, dispatch};
use hob::telemetry::hidden;

#[expect(clippy::print_stderr, reason = "the last word of a command that failed")]
fn main() -> ExitCode {
    match dispatch(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", hidden(&format!("hob: {error:#}")));
            ExitCode::FAILURE
        }
    }
}
