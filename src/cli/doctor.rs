//! `hob doctor`: looks at everything that a Hob needs.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::cli::{exit, runtime, service, show, show_json, state_if_known};
use crate::daemon::triggers;
use crate::doctor::rules::finding::{Check, Verdict};
use crate::doctor::{DoctorInputs, run_checks};
use hob_config::environment::Environment;
use hob_config::load::{LoadError, LoadedConfig, load};
use hob_config::secrets;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::SystemRng;

const NAMES: [&str; Check::ALL.len()] = {
    let mut names = [""; Check::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Check::ALL[at].as_str();
        at += 1;
    }
    names
};

/// What `hob doctor` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Make real calls as well: each model says a word (a few tokens), MCP servers are started, the whole database is checked
    #[arg(long)]
    live: bool,
    /// Run only this check; can be given more than once
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(NAMES))]
    only: Vec<String>,
}

/// Looks, and ends with 0 unless something does not work.
///
/// # Errors
/// What does not work, as an exit code.
pub(super) fn run(arguments: &DoctorArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let is_wanted =
        |check: &Check| arguments.only.is_empty() || arguments.only.iter().any(|name| name == check.as_str());
    let checks: Vec<Check> = Check::ALL.into_iter().filter(is_wanted).collect();
    let patient = patient(arguments.live, named)?;
    let report = runtime()?.block_on(run_checks(&patient, &checks));
    if arguments.json {
        show_json(&report)?
    } else {
        show(&report.to_string())?
    }
    if report.worst < Verdict::Fail { Ok(()) } else { Err(exit::SilentExit(exit::FAILED).into()) }
}

fn patient(live: bool, named: Option<&Path>) -> anyhow::Result<DoctorInputs> {
    let environment = Environment::of_process();
    let (loaded, problems) = match load(named, &environment) {
        Ok(loaded) => schedules(loaded),
        Err(LoadError::Invalid(problems)) => (None, problems.iter().map(ToString::to_string).collect()),
        Err(error) => (None, vec![error.to_string()]),
    };
    let hidden =
        loaded.as_ref().map_or_else(|| secrets::of_environment(&environment), |loaded| loaded.secrets(&environment));
    let redactor = Redactor::new(&hidden)?;
    hob_telemetry::hide(redactor.clone());
    let (data_dir, state) = match state_if_known(named, &environment) {
        Ok((data_dir, state)) => (Ok(data_dir), Ok(state)),
        Err(error) => (Err(error.to_string()), Err(error.to_string())),
    };
    Ok(DoctorInputs {
        loaded,
        problems,
        data_dir,
        state,
        units: service::installed(&environment),
        environment,
        redactor,
        live,
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    })
}

/// With what is wrong with the words under `[[schedule]]`, which the config knows nothing of.
fn schedules(loaded: LoadedConfig) -> (Option<LoadedConfig>, Vec<String>) {
    let problems = loaded.problems(triggers::unreadable(&loaded.config, SystemClock.now()));
    let problems = problems.iter().flat_map(|problems| problems.iter()).map(ToString::to_string).collect();
    (Some(loaded), problems)
}
