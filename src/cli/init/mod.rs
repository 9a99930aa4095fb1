//! `hob init`: sets Hob up with the person at the terminal, step by step; or, without questions, from flags.
//!
//! Never: a step that is lost by leaving, a file that is overwritten, or a secret on the screen.
//! Start at `flow::lead` (the order of the steps); `world::World` and `asker::Asker` are the ports.

pub mod arguments;
pub(super) mod asker;
mod channels;
mod context;
mod guides;
mod model;
mod phone;
pub(super) mod providers;
mod real_environment;
pub(super) mod save;
mod secret_place;
pub mod setup_environment;
mod steps;
pub(super) mod terminal;
#[cfg(test)]
mod tests;
mod unattended;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::import::Program;
use crate::cli::init::arguments::InitArguments;
use crate::cli::init::asker::{Asker, SetupError, choose, text};
use crate::cli::init::context::SetupContext;
use crate::cli::init::real_environment::RealEnvironment;
use crate::cli::init::save::{ConfigDraft, SetupProgress};
use crate::cli::init::terminal::TerminalAsker;
use crate::cli::next_step::{refusal, refuse};
use hob_config::environment::Environment;
use hob_config::load::{LoadError, load, usual_place};
use hob_core::domain::secret::Secret;

/// Sets Hob up.
///
/// # Errors
/// When there is no terminal to ask at, the config that is there cannot be used, or a flag is missing.
pub(super) fn run(arguments: &InitArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let env = Environment::of_process();
    let found = find(named, &env)?;
    let mut environment = RealEnvironment::new(env.clone())?;
    if arguments.non_interactive {
        let mut asker = NoAsker;
        let path = found
            .path
            .map_or_else(|| usual_place(&env).context(refusal!("$HOME is not set"; "name a file with --config")), Ok)?;
        let draft = ConfigDraft::new(&path, found.text.expose(), &env)?;
        let progress = SetupProgress::read(&draft.data_dir()?);
        let given = arguments.given.clone();
        return unattended::run(
            &mut SetupContext { asker: &mut asker, environment: &mut environment, draft, progress, given },
            arguments,
        );
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        refuse!("`hob init` asks at a terminal, and there is none here; without questions"; "`hob init --non-interactive`");
    }
    let mut screen = TerminalAsker::open(env.text("TERM"))?;
    match interactive(&mut screen, &mut environment, found, arguments, &env) {
        Ok(()) => Ok(()),
        Err(SetupError::Left) => {
            screen.tell("\nLeft. What was done is kept; `hob init` goes on from there.");
            Ok(())
        }
        Err(SetupError::Failed(error)) => Err(error),
    }
}

fn interactive(
    screen: &mut TerminalAsker,
    environment: &mut RealEnvironment,
    found: ConfigLocation,
    arguments: &InitArguments,
    env: &Environment,
) -> Result<(), SetupError> {
    screen.tell("This sets Hob up: a model, the places where you write to it, and how it is started. Choose with the arrow keys or by number.");
    let is_new = !found.is_there;
    let path = match found.path {
        Some(path) => path,
        None => place(screen, env)?,
    };
    let verb = if is_new { "The config will be" } else { "Your config is" };
    screen.tell(&format!("{verb} {}.", path.display()));
    for (program, dir) in Program::at_home(env) {
        let (name, dir) = (program.name(), dir.display());
        screen.tell(&format!(
            "{name} was here before ({dir}): `hob import {name}` shows what Hob would take over from it."
        ));
    }
    let draft = ConfigDraft::new(&path, found.text.expose(), env).map_err(anyhow::Error::from)?;
    let progress = SetupProgress::read(&draft.data_dir()?);
    let given = arguments.given.clone();
    steps::run_steps(&mut SetupContext { asker: screen, environment, draft, progress, given }, is_new)
}

/// The config that is taken up, or is to be made.
pub(super) struct ConfigLocation {
    /// None: it is not decided.
    pub(super) path: Option<PathBuf>,
    is_there: bool,
    pub(super) text: Secret,
}

/// What is there, as every other command would find it.
pub(super) fn find(named: Option<&Path>, env: &Environment) -> anyhow::Result<ConfigLocation> {
    match load(named, env) {
        Ok(loaded) => {
            let path = loaded.path.map(std::path::absolute).transpose()?;
            Ok(ConfigLocation { is_there: path.is_some(), path, text: loaded.source })
        }
        Err(LoadError::NotFound { path, .. }) => {
            let path = std::path::absolute(path)?;
            Ok(ConfigLocation { path: Some(path), is_there: false, text: Secret::new(String::new()) })
        }
        Err(error) => {
            let wrong = anyhow::Error::from(error);
            Err(wrong.context(
                refusal!("the config that is there cannot be used"; "it has to be mended first, or moved away"),
            ))
        }
    }
}

/// Where a new one is to be.
fn place(asker: &mut dyn Asker, env: &Environment) -> Result<PathBuf, SetupError> {
    let here = std::path::absolute("config.toml").map_err(anyhow::Error::from)?;
    let mut places: Vec<PathBuf> = usual_place(env).into_iter().chain([here]).collect();
    let told = ["found from everywhere", "found from this folder only"];
    let from = told.len() - places.len();
    let mut lines: Vec<String> =
        places.iter().zip(told.iter().skip(from)).map(|(path, told)| format!("{} ({told})", path.display())).collect();
    lines.push("elsewhere".to_owned());
    let chosen = choose(asker, "Where is the config to be?", &lines, 0)?;
    if chosen < places.len() {
        return Ok(places.swap_remove(chosen));
    }
    let Some(path) = text(asker, "The file", None)? else { return place(asker, env) };
    asker.tell("It has to be named each time then: --config FILE, or $HOB_CONFIG.");
    Ok(std::path::absolute(path).map_err(anyhow::Error::from)?)
}

/// Nobody is asked.
struct NoAsker;

impl Asker for NoAsker {
    fn tell(&mut self, text: &str) {
        if let Err(error) = crate::cli::show(&format!("{text}\n")) {
            tracing::debug!(%error, "standard output is not read");
        }
    }

    fn line(&mut self, _prompt: &str) -> Result<String, SetupError> {
        Err(SetupError::Failed(
            refusal!("a question was asked where nobody answers"; "run `hob init` at a terminal").into(),
        ))
    }

    fn secret(&mut self, _prompt: &str) -> Result<Secret, SetupError> {
        Err(SetupError::Failed(
            refusal!("a question was asked where nobody answers"; "run `hob init` at a terminal").into(),
        ))
    }
}
