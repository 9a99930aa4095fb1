//! `hob`: arguments → one command.

use std::process::ExitCode;

use clap::Parser;
use hob::cli::exit::{self, Said};
use hob::cli::{Arguments, dispatch};
use hob_telemetry::hidden;
use hob_tools::sandbox::{inside, private};

#[expect(clippy::print_stderr, reason = "the last word of a command that failed")]
fn main() -> ExitCode {
    private::begin();
    // Before anything else: each command that Hob runs in its sandbox waits for this.
    if let Some(code) = inside::entered(std::env::args_os().skip(1)) {
        return code;
    }
    private::hide();
    match dispatch(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is::<Said>() {
                eprintln!("{}", hidden(&format!("hob: {error:#}")));
            }
            ExitCode::from(exit::code(&error))
        }
    }
}
