//! The commands of the command line: a file each, thin around the rooms below.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "here Hob speaks to the person at the command line")]

pub mod ask;
mod attach;
pub mod backup;
pub mod bench;
pub mod chat;
pub mod config;
mod configured_models;
pub mod doctor;
pub mod drain;
pub mod eval;
pub mod exit;
pub mod health;
pub mod help;
pub mod import;
pub mod init;
mod isolated_config;
#[cfg(feature = "mail")]
pub mod mail;
#[cfg(feature = "matrix")]
pub mod matrix;
pub mod mcp;
pub mod memory;
pub mod models;
mod next_step;
mod notify;
pub mod pair;
mod progress;
mod qr;
pub mod replay;
pub mod run;
pub mod runs;
pub mod schedule;
pub mod service;
pub mod shell;
pub mod skill;
#[cfg(feature = "postgres")]
pub mod state;
pub mod status;
pub mod undo;
pub mod version;
pub mod web;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::cli::ask::AskArguments;
use crate::cli::backup::{BackupArguments, RestoreArguments};
use crate::cli::bench::BenchCommand;
use crate::cli::chat::ChatArguments;
use crate::cli::config::ConfigCommand;
use crate::cli::doctor::DoctorArguments;
use crate::cli::eval::EvalArguments;
use crate::cli::health::HealthArguments;
use crate::cli::help::HelpArguments;
use crate::cli::import::ImportArguments;
use crate::cli::init::arguments::InitArguments;
#[cfg(feature = "mail")]
use crate::cli::mail::MailCommand;
#[cfg(feature = "matrix")]
use crate::cli::matrix::MatrixCommand;
use crate::cli::mcp::McpCommand;
use crate::cli::memory::MemoryCommand;
use crate::cli::models::ModelsArguments;
use crate::cli::pair::PairArguments;
use crate::cli::replay::ReplayArguments;
use crate::cli::runs::RunsArguments;
use crate::cli::schedule::ScheduleCommand;
use crate::cli::service::ServiceCommand;
use crate::cli::shell::CompletionsArguments;
use crate::cli::skill::SkillCommand;
#[cfg(feature = "postgres")]
use crate::cli::state::StateCommand;
use crate::cli::status::StatusArguments;
use crate::cli::version::VersionArguments;
use crate::cli::web::WebArguments;
use crate::daemon::triggers;
use hob_config::data_dir::{self, DataDirError, create_data_dir, data_dir};
use hob_config::environment::Environment;
use hob_config::good_configs::fallback::{Fallback, load_or_good};
use hob_config::load::{LoadedConfig, load};
use hob_config::state::StateConfig;
use hob_config::switched_off;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::condition::{Conditions, SystemPart};
use hob_core::domain::redactor::Redactor;
use hob_core::render::clean::clean;
use hob_store::bystander_reader::Reader;
use hob_store::daemons::{self, RunningDaemon};
use hob_store::place::StatePlace;

/// A household daemon: it answers at the terminal and on Telegram, uses tools, and remembers.
#[derive(Debug, Parser)]
#[command(name = "hob", version, long_version = version::long(), about, disable_help_subcommand = true)]
pub struct Arguments {
    /// The config file; by default $HOB_CONFIG, ./config.toml, ~/.config/hob/config.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What Hob can be told on the command line.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Set Hob up, step by step: model, channels, service
    Init(Box<InitArguments>),
    /// Import what openclaw, hermes or nanobot has kept; it is shown first
    Import(ImportArguments),
    /// Chat with Hob in this terminal; from a pipe, each line is a message
    Chat(ChatArguments),
    /// Ask one question, and print the answer
    Ask(AskArguments),
    /// Serve the configured channels until told to stop
    Run,
    /// Show the models that are configured, or try one
    Models(ModelsArguments),
    /// Show the recorded runs, newest first
    Runs(RunsArguments),
    /// Show how a run went, check its record, or see what another policy would have decided
    Replay(ReplayArguments),
    /// Run cases and judge the results; exit code 1: one has failed, 2: the file cannot be used
    Eval(EvalArguments),
    /// Search, forget, export and import what is remembered
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Log in to people's mailboxes that take no password
    #[cfg(feature = "mail")]
    #[command(subcommand)]
    Mail(MailCommand),
    /// Verify Hob's device on Matrix, or begin a new one
    #[cfg(feature = "matrix")]
    #[command(subcommand)]
    Matrix(MatrixCommand),
    /// Add, show and try the MCP servers, and say what their tools do
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Let somebody in with the code that Hob gave them, or show who is waiting
    Pair(PairArguments),
    /// List schedules, or show when one would run next
    #[command(subcommand)]
    Schedule(ScheduleCommand),
    /// Show, install and enable skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Show, check and change the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check everything that Hob needs and say what to do; exit code 1: something does not work
    Doctor(DoctorArguments),
    /// Show Hob's state on one screen
    Status(StatusArguments),
    /// Ask the running Hob whether it is ready; exit code 0: ready, 1: not ready, 2: not running
    Health(HealthArguments),
    /// Have the running Hob finish what it can, hand over, and end; returns when it has
    Drain,
    /// Print a link that opens Hob's page, or make keys for programs
    Web(WebArguments),
    /// Undo the last change to the workspace, within a day; run it again to undo the one before
    Undo,
    /// Run under systemd: install, uninstall, status
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Make a verified backup while Hob keeps running
    Backup(BackupArguments),
    /// Check a backup, or restore it over the data; stop Hob first
    Restore(RestoreArguments),
    /// Move the state between a file and a PostgreSQL server
    #[cfg(feature = "postgres")]
    #[command(subcommand)]
    State(StateCommand),
    /// Show the version; --check: whether it fits the database and the config
    Version(VersionArguments),
    /// Show what a command takes, or a page of the docs
    Help(HelpArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Print the man page
    Man,
    /// Run the benchmarks
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// The loaded config and the data directory, which exists.
struct CliContext {
    loaded: LoadedConfig,
    data_dir: PathBuf,
    environment: Environment,
    redactor: Redactor,
    /// The config file cannot be used: an older one runs.
    fallback: Option<Fallback>,
}

impl CliContext {
    fn state(&self) -> StatePlace {
        StatePlace::of(self.loaded.config.state.url.as_ref(), &self.data_dir)
    }

    /// What does not work as it should, before anything has started; it is in the log as well.
    fn conditions(&self) -> Conditions {
        let conditions = Conditions::default();
        if let Some(fallback) = &self.fallback {
            let trouble = fallback.trouble(SystemClock.now());
            tracing::error!(from = %fallback.from.display(), version = fallback.version, same = fallback.same,
                "config.degraded: {trouble}");
            for skipped in &fallback.skipped {
                tracing::error!("config.skipped: a good config that was kept cannot be used: {skipped}");
            }
            conditions.report(SystemPart::Config, trouble);
        }
        switched_off::report(&self.loaded.off, &conditions, SystemClock.now());
        conditions
    }

    /// The same process on this older config. Its secrets are kept out of sight beside those of the file.
    fn with(self, loaded: LoadedConfig, fallback: Fallback) -> anyhow::Result<Self> {
        let data_dir = data_dir(&loaded.config.state, &self.environment)?;
        create_data_dir(&data_dir)?;
        self.redactor.add_secrets(&loaded.secrets(&self.environment))?;
        Ok(Self { loaded, data_dir, fallback: Some(fallback), ..self })
    }
}

/// The config, with nothing wrong in it, its schedules' words among that.
fn checked(named: Option<&std::path::Path>, environment: &Environment) -> anyhow::Result<LoadedConfig> {
    let loaded = load(named, environment)?;
    match loaded.problems(triggers::unreadable(&loaded.config, SystemClock.now())) {
        Some(problems) => Err(problems.into()),
        None => Ok(loaded),
    }
}

/// The config of a Hob that may be running: the last good one, as there, if the file cannot be used. That is said.
fn load_running_config(named: Option<&std::path::Path>, environment: &Environment) -> anyhow::Result<LoadedConfig> {
    let (loaded, fallback) = load_or_good(named, environment, triggers::check_beyond_schema)?;
    if let Some(fallback) = fallback {
        eprintln!("degraded: {}", fallback.trouble(SystemClock.now()));
    }
    Ok(loaded)
}

/// Where the state is.
fn state_place(state: &StateConfig, environment: &Environment) -> Result<StatePlace, DataDirError> {
    Ok(StatePlace::of(state.url.as_ref(), &data_dir(state, environment)?))
}

/// Which daemon leads, where the one of this data directory stands by; none: it does not, or that cannot be seen.
fn standby_of(data_dir: &std::path::Path, state: &StatePlace) -> Option<String> {
    let all = daemons_of(state);
    let here = daemons::name(data_dir);
    all.iter().find(|daemon| !daemon.leads && daemon.name == here)?;
    Some(leading(all).unwrap_or_else(|| "nobody, for a moment,".to_owned()))
}

/// Which daemon leads; none: nobody, or that cannot be seen, or it is a file, which has one daemon.
fn leader_of(state: &StatePlace) -> Option<String> {
    leading(daemons_of(state))
}

fn leading(all: Vec<RunningDaemon>) -> Option<String> {
    all.into_iter().find(|daemon| daemon.leads).map(|leader| leader.name)
}

/// The daemons of a server's state.
fn daemons_of(state: &StatePlace) -> Vec<RunningDaemon> {
    let StatePlace::Server(_) = state else { return Vec::new() };
    let looking = async { Reader::open(state).await?.read(daemons::list).await };
    runtime().ok().and_then(|runtime| runtime.block_on(looking).ok()).unwrap_or_default()
}

/// Where the data is and where the state, of a config that may have problems.
fn state_if_known(
    named: Option<&std::path::Path>,
    environment: &Environment,
) -> Result<(PathBuf, StatePlace), DataDirError> {
    let state = data_dir::state_if_known(named, environment);
    let data_dir = data_dir(&state, environment)?;
    let place = StatePlace::of(state.url.as_ref(), &data_dir);
    Ok((data_dir, place))
}

/// Loads the config, or the last good one, and makes the data directory.
fn base(named: Option<&std::path::Path>) -> anyhow::Result<CliContext> {
    let environment = Environment::of_process();
    let (loaded, fallback) = load_or_good(named, &environment, triggers::check_beyond_schema)?;
    let data_dir = data_dir(&loaded.config.state, &environment)?;
    create_data_dir(&data_dir)?;
    let redactor = Redactor::new(&loaded.secrets(&environment))?;
    hob_telemetry::hide(redactor.clone());
    Ok(CliContext { loaded, data_dir, environment, redactor, fallback })
}

/// Carries a command out.
///
/// # Errors
/// What went wrong, in words for the person at the command line.
pub fn dispatch(arguments: Arguments) -> anyhow::Result<()> {
    let named = arguments.config.as_deref();
    match arguments.command {
        Command::Init(what) => init::run(&what, named),
        Command::Import(what) => import::run(&what, named),
        Command::Chat(what) => chat::run(what, base(named)?),
        Command::Ask(what) => ask::run(&what, base(named)?),
        Command::Run => run::run(base(named)?),
        Command::Models(what) => models::run(what, named),
        Command::Runs(what) => runs::run(what, named),
        Command::Replay(what) => replay::run(what, named),
        Command::Eval(what) => eval::run(what, named),
        Command::Memory(what) => memory::run(what, named),
        #[cfg(feature = "matrix")]
        Command::Matrix(what) => matrix::run(&what, &base(named)?),
        #[cfg(feature = "mail")]
        Command::Mail(what) => mail::run(&what, &base(named)?),
        Command::Mcp(what) => mcp::run(&what, base(named)?),
        Command::Skill(what) => skill::run(what, named),
        Command::Doctor(what) => doctor::run(&what, named),
        Command::Status(what) => status::run(&what, named),
        Command::Health(what) => health::run(&what, named),
        Command::Drain => drain::run(named),
        Command::Web(what) => web::run(what, named),
        Command::Undo => undo::run(named),
        Command::Service(what) => service::run(what, named),
        Command::Backup(what) => backup::make(what, named),
        Command::Restore(what) => backup::restore(&what, named),
        #[cfg(feature = "postgres")]
        Command::State(what) => state::run(what, named),
        Command::Version(what) => version::run(&what, named),
        Command::Help(what) => help::run(&what, &Environment::of_process()),
        Command::Completions(what) => shell::completions(&what),
        Command::Man => shell::man(),
        Command::Bench(what) => bench::run(what, named),
        Command::Pair(what) => pair::run(what, named),
        Command::Schedule(what) => schedule::run(what, named),
        Command::Config(what) => config::run(what, named, &Environment::of_process(), &mut std::io::stdout().lock()),
    }
}

/// Writes to standard output as it stands; whoever reads no further (`| head`) is not an error.
fn write_out(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Shows people a text. Names, pages and what servers answer stand in it: none of them steers the terminal.
fn show(text: &str) -> std::io::Result<()> {
    write_out(&clean(text))
}

/// Shows JSON that programs read: what JSON leaves unescaped and a terminal obeys is escaped, so that nothing of it is lost.
fn show_data(json: &str) -> std::io::Result<()> {
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{9f}' => format!("\\u{:04x}", u32::from(c)),
        plain => plain.to_string(),
    };
    write_out(&json.chars().map(escaped).collect::<String>())
}

/// The same of anything.
fn show_json<T: Serialize>(what: &T) -> anyhow::Result<()> {
    Ok(show_data(&(serde_json::to_string_pretty(what)? + "\n"))?)
}

/// A runtime on this thread. SQLite has threads of its own, and what takes long on a processor gets one; all else waits for others,
/// and a second thread to wait on costs a change of thread at each turn's every statement.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().thread_name("hob").enable_all().build()
}
