//! `hob`: arguments → one command.

use std::process::ExitCode;

use clap::Parser;
use hob::cli::exit::{self, SilentExit, told};
use hob::cli::{Arguments, dispatch};
use hob_core::render::clean::clean;
use hob_telemetry::hidden;
use hob_tools::sandbox::{launcher, process_hardening};

#[expect(clippy::print_stderr, reason = "the last word of a command that failed")]
fn main() -> ExitCode {
    process_hardening::begin();
    // Before anything else: each command that Hob runs in its sandbox waits for this.
    if let Some(code) = launcher::entered(std::env::args_os().skip(1)) {
        return code;
    }
    process_hardening::hide();
    match dispatch(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !error.is::<SilentExit>() {
                eprintln!("{}", clean(&hidden(&format!("hob: {}", told(&error)))));
            }
            ExitCode::from(exit::code(&error))
        }
    }
}
