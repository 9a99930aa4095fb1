//! `hob replay RUN`: a recorded run as a tree, checked, or under another policy. Beside a running Hob; nothing is written.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use crate::cli::settled;
use crate::cli::{runtime, show, show_json};
use crate::daemon::DATABASE;
use hob_agent::machine::begun::ModelBill;
use hob_agent::replay::Recorded;
use hob_agent::replay::load::{Found, Load};
use hob_agent::replay::tree::Tree;
use hob_agent::replay::verify::Verdict;
use hob_agent::replay::what_if::{Change, WhatIf, what_if};
use hob_config::Config;
use hob_config::data_dir::data_dir;
use hob_config::environment::Environment;
use hob_core::domain::ids::RunId;
use hob_model::discover::preset::assumed_window;
use hob_model::table::Table;
use hob_store::reader::Reader;

mod render;
pub(super) mod words;

/// What `hob replay` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ReplayArguments {
    /// The run's number, as `hob runs` shows it
    run: i64,
    /// Replay the journal: does it lead to the same effects, and to the recorded state?
    #[arg(long, conflicts_with = "what_if")]
    verify: bool,
    /// Show where other numbers would have decided differently: [policy.guards] and so on, [limits], models, system
    #[arg(long, value_name = "FILE")]
    what_if: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A database that is looked at, and the config that led to it.
pub(super) struct Opened {
    pub(super) reader: Reader,
    config: Config,
}

/// Opens the database of the configured data directory for reading.
pub(super) async fn open(named: Option<&Path>) -> anyhow::Result<Opened> {
    let environment = Environment::of_process();
    let config = settled(named, &environment)?.config;
    let reader = Reader::open(&data_dir(&config.state, &environment)?.join(DATABASE)).await?;
    Ok(Opened { reader, config })
}

/// Shows a run, checks it, or compares it.
///
/// # Errors
/// When there is no such run, it cannot be read, or it is not what it was.
pub(super) fn run(arguments: ReplayArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let ReplayArguments { run, verify, what_if: file, json } = arguments;
    let (found, config) = runtime()?.block_on(async {
        let mut opened = open(named).await?;
        anyhow::Ok((opened.reader.read(Load { run: RunId(run) }).await?, opened.config))
    })?;
    let recorded = match found {
        Found::Run(recorded) => recorded,
        Found::LetGo => bail!("{}", words::let_go(run)),
        Found::Nothing { near } => bail!("{}", words::no_such_run(run, &near)),
    };
    if recorded.events.is_empty() && recorded.broken.is_none() {
        bail!("{}", words::forgotten(run));
    }
    if verify {
        let verdict = Verdict::of(&recorded);
        print(&verdict, json, |verdict| render::verdict(run, verdict))?;
        return if verdict.holds() { Ok(()) } else { bail!("run {run} is not what was recorded") };
    }
    if let Some(file) = file {
        return compare(&recorded, &file, &config, json);
    }
    let tree = Tree::of(&recorded);
    print(&tree, json, render::tree)?;
    match &recorded.broken {
        Some(broken) => bail!("the journal of run {run} cannot be read from event {} on: {}", broken.seq, broken.what),
        None => Ok(()),
    }
}

fn compare(recorded: &Recorded, file: &Path, config: &Config, json: bool) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let what = WhatIf::parse(&text).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
    let table = Table::new(&config.models)?;
    let bill = |label: &String| {
        let facts = table.facts(label);
        let assumed = assumed_window(label).filter(|_| facts.context_tokens.is_none());
        ModelBill { rates: facts.rates, per_mille: 1_000, window: facts.context_tokens, assumed }
    };
    let bills = what.models.iter().map(bill).collect();
    let report =
        what_if(recorded, &Change { what, bills }).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
    print(&report, json, |report| render::report(recorded.run.0, report))
}

fn print<T: Serialize>(what: &T, json: bool, words: impl Fn(&T) -> String) -> anyhow::Result<()> {
    if json { show_json(what) } else { Ok(show(&words(what))?) }
}
