//! `hob memory`: what is remembered, looked at, forgotten, brought out and in. Beside a running Hob.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::cli::load_running_config;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::progress::Progress;
use crate::cli::{runtime, show, show_data, show_json, state_place};
use hob_config::environment::Environment;
use hob_core::domain::memory::Scope;
use hob_memory::forget::ForgetItem;
use hob_memory::item::MemoryItem;
use hob_memory::transfer::export;
use hob_memory::transfer::import::ImportLines;
use hob_memory::transfer::line;
use hob_store::bystander_reader::Reader;
use hob_store::bystander_writer::BystanderWriter;
use hob_store::place::StatePlace;
use hob_store::{memory_views, transfer};

mod query;
mod render;
mod stats;

/// The most problems of a file that are shown.
const PROBLEMS_MAX: usize = 20;

/// What `hob memory` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum MemoryCommand {
    /// Search what people said, and facts
    Search {
        /// What to look for
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        which: MemorySelection,
    },
    /// Show the newest memories
    List {
        #[command(flatten)]
        which: MemorySelection,
    },
    /// Forget for good, by the names that search and list show: m12, f7
    Forget {
        /// m12 for something said, f7 for a fact
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Write everything as JSONL (docs/memory.md)
    Export {
        /// Where to; by default to standard output
        file: Option<PathBuf>,
    },
    /// Import JSONL, all of it or nothing; what is already there stays
    Import {
        /// Where from; - is standard input
        file: PathBuf,
        /// Give it to this person, who talks with Hob; by default to whoever had it
        #[arg(long, value_name = "NAME", conflicts_with = "house")]
        person: Option<String>,
        /// Make it everyone's in the household
        #[arg(long)]
        house: bool,
    },
    /// Show how much is remembered, and how much room it takes
    Stats {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which of what is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct MemorySelection {
    /// Only what this person may be told in private
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// How many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Carries it out.
///
/// # Errors
/// When the database cannot be read or written, or what was asked for cannot be done.
pub(super) fn run(command: MemoryCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let config = load_running_config(named, &environment)?.config;
    let state = state_place(&config.state, &environment)?;
    runtime()?.block_on(async {
        match command {
            MemoryCommand::Search { words, which } => search(&state, &words.join(" "), &which).await,
            MemoryCommand::List { which } => list(&state, &which).await,
            MemoryCommand::Forget { ids } => forget(&state, &ids).await,
            MemoryCommand::Export { file } => export(&state, file.as_deref()).await,
            MemoryCommand::Import { file, person, house } => {
                let into = if house {
                    ImportTarget::House
                } else {
                    person.map_or(ImportTarget::AsItWas, ImportTarget::Person)
                };
                import(&state, &file, into).await
            }
            MemoryCommand::Stats { json } => {
                let stats = stats::read(&state).await?;
                if json { show_json(&stats) } else { Ok(show(&render::stats(&stats))?) }
            }
        }
    })
}

async fn search(state: &StatePlace, words: &str, which: &MemorySelection) -> anyhow::Result<()> {
    let mut reader = Reader::open(state).await?;
    let scopes = scopes(&mut reader, which.person.as_deref()).await?;
    let found = query::search(state, words, scopes, usize::from(which.limit)).await?;
    if which.json { show_json(&found) } else { Ok(show(&render::row_lines(&found))?) }
}

async fn list(state: &StatePlace, which: &MemorySelection) -> anyhow::Result<()> {
    let mut reader = Reader::open(state).await?;
    let scopes = scopes(&mut reader, which.person.as_deref()).await?;
    let found = reader.read(async |tx| query::newest(tx, &scopes, i64::from(which.limit)).await).await?;
    if which.json { show_json(&found) } else { Ok(show(&render::row_lines(&found))?) }
}

/// Where may be looked: for one person what they may be told in private, else everywhere.
async fn scopes(reader: &mut Reader, person: Option<&str>) -> anyhow::Result<Vec<Scope>> {
    match person {
        None => Ok(reader.read(memory_views::scopes).await?),
        Some(name) => Ok(vec![person_named(reader, name).await?, Scope::House]),
    }
}

pub(super) async fn person_named(reader: &mut Reader, name: &str) -> anyhow::Result<Scope> {
    match reader.read(async |tx| transfer::users_by_name(tx, name).await).await?.as_slice() {
        [user] => Ok(Scope::Person(*user)),
        [] => refuse!("nobody called {name} has talked with Hob"; "`hob memory stats` shows who has"),
        several => {
            refuse!("{} people are called {name}", several.len(); "let one of them have another name on their platform")
        }
    }
}

async fn forget(state: &StatePlace, ids: &[String]) -> anyhow::Result<()> {
    let items = ids.iter().map(|id| {
        MemoryItem::parse(id).with_context(|| {
            refusal!("{id} is not a name of something remembered"; "m12 is something said, f7 a fact (`hob memory list`)")
        })
    });
    let items = items.collect::<anyhow::Result<Vec<_>>>()?;
    let mut beside = BystanderWriter::open(state).await?;
    let mut missing = Vec::new();
    for item in items {
        let forgotten = beside.write(async |tx| ForgetItem::from(item).run(tx).await).await?;
        if forgotten.memories.is_empty() && forgotten.facts.is_empty() {
            missing.push(item.to_string());
        } else {
            show(&render::forgotten(item, &forgotten))?;
        }
    }
    beside.close().await;
    if missing.is_empty() {
        Ok(())
    } else {
        refuse!("there is no {}", missing.join(", no "); "`hob memory list` shows what there is")
    }
}

async fn export(state: &StatePlace, file: Option<&Path>) -> anyhow::Result<()> {
    let lines = Reader::open(state).await?.read(export::export).await?;
    let text = line::write(&lines)?;
    let Some(file) = file else {
        return Ok(show_data(&text)?);
    };
    write_private(file, &text).with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(show(&format!("{} lines in {}\n", lines.len(), file.display()))?)
}

/// What is remembered is for its owner's eyes only. A file that is there already is not overwritten.
fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Whose an import becomes.
enum ImportTarget {
    AsItWas,
    House,
    Person(String),
}

async fn import(state: &StatePlace, file: &Path, into: ImportTarget) -> anyhow::Result<()> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_bytes| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    let lines = line::read(&text).map_err(|problems| nothing_imported(&problems))?;
    let into = match into {
        ImportTarget::AsItWas => None,
        ImportTarget::House => Some(Scope::House),
        ImportTarget::Person(name) => Some(person_named(&mut Reader::open(state).await?, &name).await?),
    };
    let mut beside = BystanderWriter::open(state).await?;
    let progress = Progress::begin("Importing");
    let (all, import) = (lines.len(), ImportLines { lines, into });
    let imported = beside.write(async |tx| import.run(tx, &|done| progress.count(done, all)).await).await?;
    drop(progress);
    beside.close().await;
    let imported = imported.map_err(|problems| nothing_imported(&problems))?;
    Ok(show(&render::imported(&imported))?)
}

fn nothing_imported(problems: &[line::LineError]) -> anyhow::Error {
    let shown = problems.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    refusal!("nothing was imported:\n{shown}{more}"; "\nmend these lines, and import the file again").into()
}
