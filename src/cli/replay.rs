//! `hob replay RUN`: a recorded run as a tree, checked, or under another policy. Beside a running Hob; nothing is written.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use crate::cli::configured_models;
use crate::cli::load_running_config;
use crate::cli::next_step::{Refusal, refusal, refuse};
use crate::cli::replay::continuation::{AskArguments, Caps, Continuation, ContinuationRunner};
use crate::cli::{runtime, show, show_json, state_place};
use hob_agent::machine::run_start::ModelBill;
use hob_agent::prompt::PromptInputs;
use hob_agent::replay::RecordedRun;
use hob_agent::replay::load::{self, LoadOutcome};
use hob_agent::replay::run_at;
use hob_agent::replay::tree::RunTree;
use hob_agent::replay::verify::ReplayVerdict;
use hob_agent::replay::what_if::{WhatIf, WhatIfChange, WhatIfReport, what_if, what_if_until_request};
use hob_config::environment::Environment;
use hob_config::load::LoadedConfig;
use hob_core::domain::ids::RunId;
use hob_core::domain::redactor::Redactor;
use hob_model::discover::preset::assumed_window;
use hob_model::model_table::ModelTable;
use hob_store::bystander_reader::Reader;
use tokio::runtime::Runtime;

mod continuation;
pub(super) mod phrases;
mod render;

/// What `hob replay` is told.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ReplayArguments {
    /// The run's number, as `hob runs` shows it
    run: i64,
    /// Replay the journal: does it lead to the same effects, and to the recorded state?
    #[arg(long, conflicts_with = "what_if")]
    verify: bool,
    /// Show where other settings would have decided differently: [policy.guards] and so on, [limits], models, system
    #[arg(long, value_name = "FILE")]
    what_if: Option<PathBuf>,
    #[command(flatten)]
    asking: AskArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A database that is looked at, and the config that led to it.
pub(super) struct OpenedDatabase {
    pub(super) reader: Reader,
    loaded: LoadedConfig,
}

/// A comparison, and how the run went on.
#[derive(Debug, Serialize)]
struct ComparisonReport {
    #[serde(flatten)]
    report: WhatIfReport,
    /// None: the record has an answer to everything.
    went_on: Option<Continuation>,
}

/// Opens the database of the configured data directory for reading.
pub(super) async fn open(named: Option<&Path>) -> anyhow::Result<OpenedDatabase> {
    let environment = Environment::of_process();
    let loaded = load_running_config(named, &environment)?;
    let reader = Reader::open(state_place(&loaded.config.state, &environment)?).await?;
    Ok(OpenedDatabase { reader, loaded })
}

/// A run as it was recorded, if there is any record of it.
pub(super) fn recorded(run: i64, found: LoadOutcome) -> Result<Box<RecordedRun>, Refusal> {
    match found {
        LoadOutcome::Run(recorded) if recorded.events.is_empty() && recorded.broken.is_none() => {
            Err(phrases::forgotten(run))
        }
        LoadOutcome::Run(recorded) => Ok(recorded),
        LoadOutcome::LetGo => Err(phrases::expired_journal(run)),
        LoadOutcome::Nothing { near } => Err(phrases::no_such_run(run, &near)),
    }
}

/// Shows a run, checks it, or compares it.
///
/// # Errors
/// When there is no such run, it cannot be read, or it is not what it was.
pub(super) fn run(arguments: ReplayArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let ReplayArguments { run, verify, what_if: file, asking, json } = arguments;
    let runtime = runtime()?;
    let (found, mut opened) = runtime.block_on(async {
        let mut opened = open(named).await?;
        anyhow::Ok((opened.reader.read(async |tx| load::load(tx, RunId(run)).await).await?, opened))
    })?;
    let recorded = recorded(run, found)?;
    if verify {
        let verdict = ReplayVerdict::of(&recorded);
        print(&verdict, json, |verdict| render::verdict(run, verdict))?;
        return if verdict.holds() {
            Ok(())
        } else {
            refuse!("run {run} is not what was recorded"; "`hob replay {run}` shows what was; please report it")
        };
    }
    if let Some(file) = file {
        let comparison = Comparison { recorded: &recorded, file: &file, json };
        return comparison.show(&mut opened, asking.caps(), &runtime);
    }
    let tree = RunTree::of(&recorded);
    print(&tree, json, render::tree)?;
    match &recorded.broken {
        Some(broken) => {
            refuse!("the journal of run {run} cannot be read from event {} on: {}", broken.seq, broken.what; "what is before it stands above; `hob doctor --live` checks the whole database")
        }
        None => Ok(()),
    }
}

/// A run, and what is to be otherwise in it.
struct Comparison<'a> {
    recorded: &'a RecordedRun,
    file: &'a Path,
    json: bool,
}

impl Comparison<'_> {
    /// Compares, and asks within the caps, if there are any.
    fn show(&self, opened: &mut OpenedDatabase, caps: Option<Caps>, runtime: &Runtime) -> anyhow::Result<()> {
        let Self { recorded, file, json } = *self;
        let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let misfit =
            |why| refusal!("{}: {why}", file.display(); "mend that file; `hob help replay` says what it can hold");
        let table = ModelTable::new(&opened.loaded.config.models)?;
        let change = priced(WhatIf::parse(&text).map_err(misfit)?, &table);
        let Some(caps) = caps else {
            let report = what_if(recorded, &change).map_err(misfit)?;
            return print(&report, json, |report| render::report(recorded.run.0, report));
        };
        let (report, going) = what_if_until_request(recorded, &change).map_err(misfit)?;
        let went_on = match going {
            None => None,
            Some(going) => Some(runtime.block_on(async {
                let material = material(&mut opened.reader, recorded, change.what.system).await?;
                let (config, environment) = (&opened.loaded.config, Environment::of_process());
                let redactor = Redactor::new(&opened.loaded.secrets(&environment))?;
                let catalog = configured_models::catalog(config, &environment, &table, &redactor).await?;
                let asker = ContinuationRunner { catalog: &catalog, table: &table, material: &material, caps };
                anyhow::Ok(asker.continue_run(going).await)
            })?),
        };
        print(&ComparisonReport { report, went_on }, json, |asked| {
            render::continuation_text(recorded.run.0, asked, caps)
        })
    }
}

/// What its models cost goes with it.
fn priced(what: WhatIf, table: &ModelTable) -> WhatIfChange {
    let bill = |label: &String| {
        let facts = table.facts(label);
        let assumed = assumed_window(label).filter(|_| facts.context_tokens.is_none());
        ModelBill { rates: facts.rates, per_mille: 1_000, window: facts.context_tokens, assumed }
    };
    WhatIfChange { bills: what.models.iter().map(bill).collect(), what }
}

/// What the run's requests are made of, with another prompt if there is one.
async fn material(reader: &mut Reader, recorded: &RecordedRun, system: Option<String>) -> anyhow::Result<PromptInputs> {
    let at = i64::try_from(recorded.events.len()).unwrap_or(i64::MAX);
    let unfolded = reader
        .read(async |tx| run_at::read_events(tx, recorded.run, at).await)
        .await?
        .context(refusal!("the run is not there any more"; "`hob runs` shows those that are"))?;
    let wanted = unfolded.fold()?.load_request().context(
        refusal!("the run has not begun: there is nothing to ask"; "choose one that is over, `hob runs` shows them"),
    )?;
    let kept = reader.read(async |tx| wanted.load(tx).await).await?;
    let kept = kept.context(refusal!("what the run's requests were made of is not kept any more: there is nothing to ask"; "choose a newer run"))?;
    Ok(match system {
        Some(system) => PromptInputs { system, ..kept },
        None => kept,
    })
}

fn print<T: Serialize>(what: &T, json: bool, words: impl Fn(&T) -> String) -> anyhow::Result<()> {
    if json { show_json(what) } else { Ok(show(&words(what))?) }
}
