//! `hob runs`: the recorded runs, newest first.

use std::path::Path;

use clap::Args;

use crate::cli::next_step::refuse;
use crate::cli::replay::open;
use crate::cli::{runtime, show, show_json};
use hob_agent::machine::status::Status;
use hob_agent::replay::load;
use hob_store::Tx;
use hob_web::runs::list::RunEntry;

mod render;

/// What `hob runs` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RunsArguments {
    /// How many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only those of this session, e.g. 7 or slack:C1:17
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Only those in this state
    #[arg(long, value_parser = STATES)]
    state: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const STATES: [&str; 8] = [
    Status::Queued.as_str(),
    Status::Running.as_str(),
    Status::Waiting.as_str(),
    Status::Completed.as_str(),
    Status::Cancelled.as_str(),
    Status::Failed.as_str(),
    Status::Withdrawn.as_str(),
    Status::Joined.as_str(),
];

/// Lists runs.
///
/// # Errors
/// When the database cannot be read, or there is no such session.
pub(super) fn run(arguments: RunsArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let RunsArguments { limit, session, state, json } = arguments;
    let limit = i64::from(limit);
    let list = async |tx: &mut Tx| load::list_runs(tx, session.as_deref(), state.as_deref(), limit).await;
    let runs = runtime()?.block_on(async { anyhow::Ok(open(named).await?.reader.read(list).await?) })?;
    let Some(runs) = runs else {
        refuse!("there is no session {}", session.unwrap_or_default(); "`hob runs` shows them all");
    };
    if json {
        return show_json(&runs.into_iter().map(RunEntry::from).collect::<Vec<_>>());
    }
    Ok(show(&render::table(&runs))?)
}
