//! `hob bench recall DATA.json`: how well what was said is found again, on conversations in LoCoMo's format.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::cli::progress::Progress;
use crate::cli::{runtime, show_data};
use crate::daemon::memory::{objection, source};
use hob_config::data_dir::data_dir;
use hob_config::environment::Environment;
use hob_config::load::load;
use hob_memory::bench::{Answer, recall};
use hob_memory::embedding::Embedder;
use hob_memory::upkeep::source::FetchPermission;
use hob_memory::upkeep::{EmbedderOpener, PrepareStep};
use hob_store::{SchedulingMode, Store};

/// What `hob bench` measures.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum BenchCommand {
    /// Ask the questions of conversations in LoCoMo's format and print the turns that were recalled, one JSON line per question
    Recall(RecallArguments),
}

/// What `hob bench recall` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RecallArguments {
    /// The conversations. Each becomes the memory of one person, in a database of its own that is deleted at the end; those
    /// questions are asked that have evidence. The embedding is the one under [memory.embedding] in the config.
    #[arg(value_name = "DATA.json")]
    data: PathBuf,
}

/// Measures.
///
/// # Errors
/// When the data cannot be read, or the embedding fails on the way.
pub(super) fn run(command: BenchCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let BenchCommand::Recall(RecallArguments { data }) = command;
    let text = std::fs::read_to_string(&data).with_context(|| format!("{} cannot be read", data.display()))?;
    let answers = runtime()?.block_on(async {
        let embedder = embedder(named).await?;
        let folder = tempfile::tempdir().context("there is no room for the databases")?;
        let progress = Progress::begin("Asking");
        let done = |at: (usize, usize), sample: &str, took: Duration| {
            progress.step(at.0, at.1, &format!("{sample}: {:.1} s", took.as_secs_f64()));
        };
        let open = async |number| {
            let file = folder.path().join(format!("{number}.db"));
            Store::open(&file, SchedulingMode::Threaded).await
        };
        anyhow::Ok(recall(&text, open, embedder, &done).await?)
    })?;
    for answer in &answers {
        show_data(&(serde_json::to_string(&answer.ranking)? + "\n"))?;
    }
    let mut told = std::io::stderr().lock();
    writeln!(told, "{} questions", answers.len())?;
    writeln!(told, "embedding a question: {}", percentiles(&answers, |answer| answer.embedding))?;
    writeln!(told, "all else of recall: {}", percentiles(&answers, |answer| answer.recall))?;
    Ok(())
}

/// The embedding that the config names, if it can be had.
async fn embedder(named: Option<&Path>) -> anyhow::Result<Option<Arc<dyn Embedder>>> {
    let environment = Environment::of_process();
    let config = load(named, &environment)?.config;
    let data_dir = data_dir(&config.state, &environment)?;
    let config = &config.memory.embedding;
    let leave = objection(config, &environment).map_or(FetchPermission::After(Duration::ZERO), FetchPermission::No);
    let Some(source) = source(config, &data_dir, leave) else {
        eprintln!("by words alone: no embedding is configured");
        return Ok(None);
    };
    let progress = Progress::begin("Fetching the embedding model");
    let tell = |step: PrepareStep| {
        if let PrepareStep::Fetching { done, of } = step {
            progress.at(done, of);
        }
    };
    let prepared = source.prepare(&tell).await;
    drop(progress);
    let opened = match prepared {
        Ok(()) => source.open().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match opened {
        Ok(embedder) => {
            eprintln!("by words and meaning: {}", embedder.model().name);
            Ok(Some(embedder))
        }
        Err(why) => {
            eprintln!("by words alone: {why}");
            Ok(None)
        }
    }
}

fn percentiles(answers: &[Answer], time: impl Fn(&Answer) -> Duration) -> String {
    let mut times: Vec<Duration> = answers.iter().map(time).collect();
    times.sort_unstable();
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    format!("p50 {:.1} ms, p95 {:.1} ms", ms(at(50)), ms(at(95)))
}
