//! `hob state`: the state as a whole.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::cli::next_step::refuse;
use crate::cli::progress::Progress;
use crate::cli::replay::phrases::count_of;
use crate::cli::{load_running_config, runtime, show, state_place};
use hob_config::environment::Environment;
use hob_core::domain::secret::Secret;
use hob_store::copy::{CopyReport, copy};
use hob_store::place::{DATABASE, StatePlace};

/// What `hob state` is told.
#[derive(Debug, Clone, Subcommand)]
pub enum StateCommand {
    /// Copy the whole state between a file and a server, or two of a kind; stop Hob first. Cut off, it goes on where it was
    Copy(CopyArguments),
}

/// What `hob state copy` is told.
#[derive(Debug, Clone, Args)]
pub struct CopyArguments {
    /// From where: hob.db or the folder that it is in, or postgres://…; by default where the config says that the state is
    #[arg(long, value_name = "PLACE", value_parser = place, required_unless_present = "to")]
    from: Option<StatePlace>,
    /// To where, and nothing is there yet; by default where the config says
    #[arg(long, value_name = "PLACE", value_parser = place)]
    to: Option<StatePlace>,
}

/// As clap wants it: there is nothing that is none.
fn place(text: &str) -> Result<StatePlace, std::convert::Infallible> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Ok(StatePlace::Server(Secret::new(text.to_owned())));
    }
    let path = PathBuf::from(text);
    Ok(StatePlace::File(if path.is_dir() { path.join(DATABASE) } else { path }))
}

/// Carries it out.
///
/// # Errors
/// When a Hob is at work there, or the state cannot be read, written, or is not the same afterwards.
pub(super) fn run(command: StateCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let StateCommand::Copy(arguments) = command;
    let environment = Environment::of_process();
    let configured = || anyhow::Ok(state_place(&load_running_config(named, &environment)?.config.state, &environment)?);
    let from = arguments.from.map_or_else(configured, Ok)?;
    let to = arguments.to.map_or_else(configured, Ok)?;
    if from == to {
        refuse!("{from} is where the state is already"; "name another place by --from or --to");
    }
    let progress = Progress::begin("Copying");
    let told = |done: u64, all: u64| {
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        progress.count(count(done), count(all));
    };
    let CopyReport { tables, rows } = runtime()?.block_on(copy(&from, &to, &told))?;
    drop(progress);
    let (tables, rows) = (count_of(tables as u64, "table"), count_of(rows, "row"));
    let next = match &to {
        StatePlace::Server(_) => {
            "`url` under [state] in config.toml makes Hob use it; files stay in the data directory"
        }
        StatePlace::File(_) => "without `url` under [state] in config.toml, Hob uses the hob.db of its data directory",
    };
    Ok(show(&format!("{to}: {tables}, {rows}, the same as in {from}.\nnext: {next}\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n15_a_place_is_a_file_a_folder_or_one_postgresql() {
        let folder = tempfile::tempdir().unwrap();
        let told = |text: &str| place(text).unwrap().to_string();
        assert_eq!(told("postgres://hob:hunter2@db/house"), "postgres://hob@db:5432/house");
        assert_eq!(told("/d/hob.db"), "/d/hob.db");
        let inside = folder.path().join("hob.db");
        assert_eq!(told(folder.path().to_str().unwrap()), inside.to_str().unwrap());
    }
}
