//! `hob matrix`: what Hob's device on Matrix needs a person at a terminal for.

use std::io::BufRead as _;

use clap::{Args, Subcommand};

use crate::cli::next_step::{refusal, refuse};
use crate::cli::{CliContext, runtime, show};
use crate::daemon::matrix::settings;
use hob_core::domain::inbound::DEFAULT_ACCOUNT;
use hob_core::domain::rng::SystemRng;
use hob_core::domain::text::inert;
use hob_matrix::reset::ResetError;
use hob_matrix::settings::Settings;
use hob_matrix::verify::Code;

/// What `hob matrix` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum MatrixCommand {
    /// Compare a code with somebody's client, so that each trusts the other; Hob must not be running
    Verify(NamedAccount),
    /// Give up Hob's device, whose keys are gone, and begin a new one at the next start; Hob must not be running
    Reset(NamedAccount),
}

/// Which of Hob's accounts.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct NamedAccount {
    /// The account's name in the config, if it is not `[matrix]`
    #[arg(long, default_value = DEFAULT_ACCOUNT)]
    account: String,
}

/// Carries it out.
///
/// # Errors
/// When there is no such account, a running Hob uses it, or nobody is verified.
pub(super) fn run(command: &MatrixCommand, base: &CliContext) -> anyhow::Result<()> {
    match command {
        MatrixCommand::Verify(named) => verify(&account(named, base)?),
        MatrixCommand::Reset(named) => reset(&account(named, base)?),
    }
}

fn account(named: &NamedAccount, base: &CliContext) -> anyhow::Result<Settings> {
    let config = &base.loaded.config;
    let Some(found) = config.matrices().find(|known| known.name == named.account) else {
        refuse!("there is no account {:?} on Matrix in the config", named.account; "add one, `hob help matrix` says how");
    };
    let made = settings(found.name, found.section, &base.data_dir);
    Ok(made
        .map_err(|error| refusal!("the homeserver's address is none: {error}"; "mend that section of config.toml"))?)
}

fn verify(settings: &Settings) -> anyhow::Result<()> {
    show(
        "In your Matrix client, open Hob's profile (or, as Hob's own account, its list of sessions) and choose Verify, with \
         emoji. This waits for ten minutes.\n",
    )?;
    let ended = runtime()?.block_on(Box::pin(hob_matrix::verify::verify(settings, &SystemRng, is_same)));
    let with = ended.map_err(|error| refusal!("{error}"; "stop Hob if it runs, and begin again"))?;
    Ok(show(&format!("Verified: {} and Hob's device vouch for each other.\n", inert(&with)))?)
}

/// Asks whoever sits here.
fn is_same(code: &Code) -> bool {
    let [a, b, c] = code.numbers;
    let pictures: Vec<String> = code.pictures.iter().map(|(symbol, name)| format!("{symbol} {name}")).collect();
    let asked = format!(
        "\n{} shows:\n\n    {}\n    {a} {b} {c}\n\nIs it the same there? [y/N] ",
        inert(&code.with),
        pictures.join("   ")
    );
    let mut answer = String::new();
    let is_read = show(&asked).is_ok() && std::io::stdin().lock().read_line(&mut answer).is_ok();
    is_read && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn reset(settings: &Settings) -> anyhow::Result<()> {
    let was_told =
        runtime()?.block_on(Box::pin(hob_matrix::reset::reset(settings, &SystemRng))).map_err(|error| match error {
            ResetError::Busy => refusal!("{error}"; "stop Hob, and begin again"),
            error => refusal!("{error}"; "see to the data directory"),
        })?;
    let known = match was_told {
        true => "The device is signed out, and its keys are removed.",
        false => "The device's keys are removed; if the homeserver still lists it, sign it out there.",
    };
    Ok(show(&format!(
        "{known} With its next start Hob logs in as a new device, with new cross-signing keys. What was encrypted for the former \
         one and not read yet cannot be read any more.\n"
    ))?)
}
