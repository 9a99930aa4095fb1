//! Runs a case: the daemon's own loop, in a data directory that is thrown away.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::cli::attach::AttachedWindow;
use crate::cli::chat::{WindowSession, ports};
use crate::cli::eval::case::Case;
use crate::cli::isolated_config::isolated_config;
use crate::cli::next_step::{refusal, refuse};
use crate::daemon::trial::Trial;
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, ServedChannels};
use hob_agent::replay::load::{self, LoadOutcome};
use hob_agent::replay::tree::{Evaluation, RunTree};
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::telemetry::TelemetryConfig;
use hob_config::workspace::WorkspaceConfig;
use hob_console::pipe::once;
use hob_console::screen::Console;
use hob_console::{ConsoleError, LOCAL};
use hob_core::domain::channel::{IdleReason, Intake};
use hob_core::domain::clock::SystemClock;
use hob_core::domain::condition::Conditions;
use hob_core::domain::money::Money;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::SystemRng;
use hob_core::domain::secret::Secret;
use hob_model::provider::Provider;
use hob_store::bystander_reader::Reader;
use hob_store::place::StatePlace;

/// A message is given up after this, whatever the config's own limits are.
const TURN_MAX: Duration = Duration::from_secs(900);
/// So many questions of one message are answered.
const QUESTIONS_MAX: usize = 20;
/// The most runs of a case that are added up.
const RUNS_MAX: i64 = 1_000;

/// What cases are tried with.
pub(super) struct TrialContext<'a> {
    pub(super) config: &'a Config,
    pub(super) environment: &'a Environment,
    pub(super) redactor: &'a Redactor,
}

/// What came of a case.
pub(super) struct TrialOutcome {
    pub(super) evaluation: Evaluation,
    pub(super) cost: Money,
    pub(super) unpriced: bool,
}

/// Runs a case; `model` answers instead of the configured ones.
pub(super) async fn run(
    ground: &TrialContext<'_>,
    case: &Case,
    model: Option<Arc<dyn Provider>>,
    left: Money,
) -> anyhow::Result<TrialOutcome> {
    let folder = tempfile::Builder::new().prefix("hob-eval-").tempdir().context("there is no room for a trial")?;
    let daemon = Box::pin(Daemon::start(Blueprint {
        config: trial_config(ground.config, case, model.is_some(), left)?,
        // Whoever would change the config changes what is thrown away.
        config_file: Some(folder.path().join("config.toml")),
        source: Secret::new(String::new()),
        redactor: ground.redactor.clone(),
        data_dir: folder.path().to_owned(),
        state: StatePlace::of(None, folder.path()),
        environment: ground.environment.clone(),
        serves: ServedChannels::Terminals,
        trial: Some(Trial { model }),
        stays: false,
        conditions: Conditions::default(),
        space: Arc::new(SystemSpace),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    }))
    .await?;
    let session = WindowSession::with(daemon, LOCAL).await?;
    let (console, window) = (Console::pipe(io::sink()), Arc::clone(&session.window));
    let talk = tokio::time::timeout(TURN_MAX, play_case(&window, &console, case));
    let played = session.hold(&console, talk).await.map_err(
        |_elapsed| refusal!("it was not over within {} seconds", TURN_MAX.as_secs(); "ask for less in it, or name a faster model"),
    )?;
    played.transpose()?;
    recorded(folder.path()).await
}

/// Says everything, and answers what is asked back.
async fn play_case(window: &Arc<AttachedWindow>, console: &Console<io::Sink>, case: &Case) -> Result<(), ConsoleError> {
    let ports = ports(Arc::clone(window) as Arc<dyn Intake>, LOCAL);
    let answer = if case.approve { "yes" } else { "no" };
    for text in case.user_turns() {
        let mut ended = once(text.clone(), console, &**window, &ports).await?;
        for _question in 0..QUESTIONS_MAX {
            if ended != Some(IdleReason::Suspended) {
                break;
            }
            ended = once(answer.to_owned(), console, &**window, &ports).await?;
        }
    }
    Ok(())
}

/// The config of a Hob that nobody reaches, and that reaches nobody.
fn trial_config(config: &Config, case: &Case, is_given: bool, left: Money) -> anyhow::Result<Config> {
    let mut config = isolated_config(config, None);
    config.destinations.clear();
    config.hooks.clear();
    config.transcription = None;
    config.speech = None;
    config.telemetry = TelemetryConfig::default();
    config.workspace = WorkspaceConfig::default();
    config.memory.extract = false;
    if let Some(persona) = &case.persona {
        if !config.personas.contains_key(persona) {
            let known: Vec<&str> = config.personas.keys().map(String::as_str).collect();
            refuse!("there is no persona {persona} in the config"; "there are {}", known.join(", "));
        }
        config.agent.persona = Some(persona.clone());
    }
    if is_given {
        // One model is there, and it answers for all.
        config.aliases = BTreeMap::new();
        config.personas.values_mut().for_each(|persona| persona.model = None);
    }
    #[expect(clippy::cast_precision_loss, reason = "dollars that anybody has fit")]
    let left = left.nanos() as f64 / 1e9;
    config.budget.day_usd = Some(config.budget.day_usd.map_or(left, |own| own.min(left)));
    Ok(config)
}

async fn recorded(data_dir: &Path) -> anyhow::Result<TrialOutcome> {
    let mut reader = Reader::open(StatePlace::of(None, data_dir)).await?;
    let runs = reader.read(async |tx| load::list_runs(tx, None, None, RUNS_MAX).await).await?.unwrap_or_default();
    let (mut last, mut cost, mut unpriced) = (None, Money::ZERO, false);
    for listed in runs {
        let LoadOutcome::Run(recorded) = reader.read(async |tx| load::load(tx, listed.id).await).await? else {
            continue;
        };
        let tree = RunTree::of(&recorded);
        cost = cost.plus(tree.cost);
        unpriced |= tree.unpriced;
        if last.is_none() && tree.parent.is_none() {
            last = Some(tree.evaluation);
        }
    }
    let evaluation = last.context(
        refusal!("nothing was run: what was said is a command of the chat"; "say something that a model answers"),
    )?;
    Ok(TrialOutcome { evaluation, cost, unpriced })
}
