//! The world as it is: model servers over the network, the daemon's own parts for a turn and for a channel, systemd.

use std::collections::BTreeSet;
use std::io::{self, Cursor};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::ask::CapturedOutput;
use crate::cli::chat::{WindowSession, ports};
use crate::cli::init::asker::SetupError;
use crate::cli::init::phone::is_of_a_home;
use crate::cli::init::save::ConfigDraft;
use crate::cli::init::setup_environment::{OwnerOutcome, Service, SetupEnvironment, SetupTrouble, TrialTurn};
use crate::cli::isolated_config::isolated_config;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::{service, version, web};
use crate::daemon::error::StartError;
use crate::daemon::models::{ModelSources, OLLAMA, offered};
use crate::daemon::upkeep::disk::SystemSpace;
use crate::daemon::{Blueprint, Daemon, ServedChannels};
use hob_agent::machine::event::Event;
use hob_agent::replay::RecordedRun;
use hob_agent::replay::load::{self, LoadOutcome};
use hob_config::Config;
use hob_config::environment::Environment;
use hob_console::LOCAL;
use hob_console::pipe::{ScriptInput, pipe};
use hob_console::screen::Console;
use hob_core::domain::channel::Intake;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::condition::Conditions;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::ids::CallId;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::rng::{Rng as _, SystemRng};
use hob_core::policy::pairing::Code;
use hob_model::discover::ollama::{OllamaAddress, probe};
use hob_model::error::ErrorClass;
use hob_model::guarded_provider::BreakerMonitor;
use hob_model::model_table::ModelTable;
use hob_model::provider::OfferedModel;
use hob_model::refused_parameters::NoParameterStore;
use hob_router::pairing::codes;
use hob_store::bystander_reader::Reader;
use hob_store::bystander_writer::BystanderWriter;
use hob_store::error::StoreError;
use hob_store::place::StatePlace;
use hob_store::run_list::RunListEntry;
use hob_store::work_dir::{self, WorkDir};
use hob_store::{Tx, outbox};
use hob_web::access::PageRole;

/// A question that cannot be answered without a tool, in words that the built-in model knows too.
const QUESTION: &str = "What time is it?";
/// How long an answer may take: a local model may have to be loaded first.
const TURN_MAX: Duration = Duration::from_secs(300);
/// How long a platform may take to say who Hob is there.
const CONNECT_MAX: Duration = Duration::from_secs(60);
/// A platform that has said who Hob is, and has had no trouble for so long, hears: Telegram's first answer may take a minute.
const SETTLED: Duration = Duration::from_secs(2);
/// How long the owner has to write.
const HEAR_MAX: Duration = Duration::from_secs(15 * 60);
/// How long the answer to them may take.
const ANSWER_MAX: Duration = Duration::from_secs(180);
/// How long a service may take until it serves the page.
const START_MAX: Duration = Duration::from_secs(20);
/// An address that is nobody's (RFC 5737), somewhere outside.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// This machine.
pub(super) struct RealEnvironment {
    runtime: Runtime,
    /// Ctrl-C, also where it is pressed between two things that take long.
    interrupt: Signal,
    environment: Environment,
    connected: Option<ConnectedChannel>,
}

/// Hob at work for one channel.
struct ConnectedChannel {
    daemon: Daemon,
    channel: ChannelKind,
    since: Timestamp,
}

impl RealEnvironment {
    /// With a runtime of its own.
    pub(super) fn new(environment: Environment) -> anyhow::Result<Self> {
        // On a thread of its own: what is connected goes on while a person thinks about an answer.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("the runtime could not be started")?;
        let interrupt = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).context("Ctrl-C cannot be listened for")?
        };
        Ok(Self { runtime, interrupt, environment, connected: None })
    }

    /// Does it, unless the person leaves meanwhile.
    fn work<T>(&mut self, what: impl Future<Output = T>) -> Result<T, SetupError> {
        let Self { runtime, interrupt, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                done = what => Ok(done),
                _ = interrupt.recv() => Err(SetupError::Left),
            }
        })
    }

    fn at_work(&self) -> Result<&ConnectedChannel, SetupError> {
        self.connected
            .as_ref()
            .ok_or_else(|| SetupError::Failed(refusal!("no channel is connected"; "begin `hob init` again").into()))
    }
}

/// What a daemon is built from for this while: nothing that belongs to a Hob that stays.
fn blueprint(draft: &ConfigDraft, config: Config, data_dir: PathBuf) -> anyhow::Result<Blueprint> {
    let loaded = draft.loaded()?;
    let state = StatePlace::of(config.state.url.as_ref(), &data_dir);
    Ok(Blueprint {
        config,
        config_file: loaded.path.clone(),
        source: loaded.source.clone(),
        redactor: Redactor::new(&loaded.secrets(&draft.env))?,
        data_dir,
        state,
        environment: draft.env.clone(),
        serves: ServedChannels::Configured,
        trial: None,
        stays: false,
        conditions: Conditions::default(),
        space: Arc::new(SystemSpace),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
    })
}

impl SetupEnvironment for RealEnvironment {
    fn is_built(&self, section: &str) -> bool {
        version::is_built(section)
    }

    fn ollama(&mut self) -> Result<Option<String>, SetupError> {
        let named = self.environment.text("OLLAMA_HOST").and_then(OllamaAddress::parse);
        match named.or_else(|| OllamaAddress::parse(OLLAMA)) {
            Some(address) => self.work(async { probe(&address).await }),
            None => Ok(None),
        }
    }

    fn offered(&mut self, draft: &ConfigDraft) -> Result<Result<Option<Vec<OfferedModel>>, SetupTrouble>, SetupError> {
        let table = ModelTable::new(&draft.config.models).map_err(anyhow::Error::from)?;
        let offered = self.work(Box::pin(offered(ModelSources {
            config: &draft.config,
            environment: &draft.env,
            table: &table,
            remember: Arc::new(NoParameterStore),
            watch: BreakerMonitor::new(Arc::new(SystemClock)),
        })))?;
        Ok(offered.map_err(|error| {
            let of_key = matches!(&error, StartError::Model(error) if error.class == ErrorClass::Auth)
                || matches!(&error, StartError::Provider(_));
            SetupTrouble { why: error.to_string(), of_key }
        }))
    }

    fn turn(&mut self, draft: &ConfigDraft) -> Result<Result<TrialTurn, SetupTrouble>, SetupError> {
        // Thrown away at the end, so that the household's memory does not begin with a test.
        let place = WorkDir::begin(work_dir::SETUP, &draft.data_dir()?);
        let place = place.context("no place for the trial")?;
        let turned = self.work(Box::pin(turn(draft, place.path())))?;
        Ok(turned.map_err(|error| SetupTrouble { why: format!("{error:#}"), of_key: false }))
    }

    fn connect(
        &mut self,
        draft: &ConfigDraft,
        channel: ChannelKind,
    ) -> Result<Result<String, SetupTrouble>, SetupError> {
        self.hang_up()?;
        let since = SystemClock.now();
        if !isolated_config(&draft.config, Some(channel)).has_channel() {
            let why = "a secret of its section cannot be had; `hob config check` says which".to_owned();
            return Ok(Err(SetupTrouble { why, of_key: true }));
        }
        let blueprint = blueprint(draft, isolated_config(&draft.config, Some(channel)), draft.data_dir()?)?;
        let daemon = match self.work(Box::pin(Daemon::start(blueprint)))? {
            Ok(daemon) => daemon,
            Err(error) => return Ok(Err(not_started(&error))),
        };
        let connected = ConnectedChannel { daemon, channel, since };
        let named = self.work(until_connected(&connected));
        self.connected = Some(connected);
        match named? {
            Ok(name) => Ok(Ok(name)),
            Err(why) => {
                self.hang_up()?;
                Ok(Err(SetupTrouble { why, of_key: true }))
            }
        }
    }

    fn code(&mut self) -> Result<String, SetupError> {
        let code = Code::new(|| SystemRng.next_u64());
        let router = self.at_work()?.daemon.router();
        let kept = code.clone();
        let offered = self.work(router.store.write(async move |tx| codes::set_owner_code(tx, Some(&kept)).await))?;
        offered.map_err(anyhow::Error::from)?;
        Ok(code.shown())
    }

    fn hear(&mut self) -> Result<OwnerOutcome, SetupError> {
        let Some(connected) = self.connected.take() else { return Ok(OwnerOutcome::Nobody) };
        let waited = self.work(Box::pin(async { tokio::time::timeout(HEAR_MAX, wait_for_owner(&connected)).await }));
        self.connected = Some(connected);
        match waited {
            Ok(Ok(heard)) => Ok(heard?),
            Ok(Err(_)) | Err(SetupError::Left) => Ok(OwnerOutcome::Nobody),
            Err(halt @ SetupError::Failed(_)) => Err(halt),
        }
    }

    fn hang_up(&mut self) -> Result<(), SetupError> {
        let Some(ConnectedChannel { daemon, .. }) = self.connected.take() else { return Ok(()) };
        // Not to be left half done: it ends by itself in any case.
        self.runtime.block_on(async {
            let withdrawn = daemon.router().store.write(async |tx| codes::set_owner_code(tx, None).await).await;
            daemon.stop().await;
            withdrawn.map_err(|error| SetupError::Failed(error.into()))
        })
    }

    fn paired(&mut self, draft: &ConfigDraft) -> Result<BTreeSet<ChannelKind>, SetupError> {
        let state = draft.state()?;
        let shown = self.work(async {
            Reader::open(&state).await?.read(async |tx| codes::pairing_overview(tx, SystemClock.now()).await).await
        })?;
        if matches!(shown, Err(StoreError::Missing(_))) {
            return Ok(BTreeSet::new());
        }
        // A database of another version is the start's to speak about.
        let members = shown.map(|shown| shown.members).unwrap_or_else(|error| {
            tracing::debug!(%error, "nobody can be asked who is paired");
            Vec::new()
        });
        let owners = members.into_iter().filter(|member| member.role == Role::Owner);
        Ok(owners.filter_map(|member| member.channel.parse().ok()).collect())
    }

    fn home_address(&self) -> Option<IpAddr> {
        // Nothing is sent: it is asked which of this machine's addresses the way out begins at.
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect((ELSEWHERE, 9)).ok()?;
        socket.local_addr().ok().map(|at| at.ip()).filter(|ip| is_of_a_home(*ip))
    }

    fn page(&mut self, draft: &ConfigDraft) -> Result<Option<String>, SetupError> {
        let (directory, state) = (draft.data_dir()?, draft.state()?);
        let started = self.work(async {
            let tried = async {
                loop {
                    match web::page(&directory) {
                        Ok(page) => return page,
                        Err(_not_yet) => tokio::time::sleep(LOOK_EVERY).await,
                    }
                }
            };
            tokio::time::timeout(START_MAX, tried).await
        })?;
        let Ok(page) = started else { return Ok(None) };
        let link = self.work(async {
            let mut beside = BystanderWriter::open(&state).await?;
            let link = web::invite(&mut beside, &page, PageRole::Owner, SystemClock.now()).await;
            beside.close().await;
            link
        })?;
        Ok(Some(web::link_text(&link.map_err(anyhow::Error::from)?, PageRole::Owner, true)))
    }

    fn serve(&mut self, service: Service, config: &Path) -> Result<(), SetupTrouble> {
        service::set_up(service, config).map_err(|error| SetupTrouble { why: format!("{error:#}"), of_key: false })
    }
}

impl Drop for RealEnvironment {
    fn drop(&mut self) {
        if let Err(error) = self.hang_up() {
            tracing::debug!(%error, "the pairing code could not be taken back; the next start does it");
        }
    }
}

fn not_started(error: &StartError) -> SetupTrouble {
    let why = match error {
        StartError::Lock(taken) => format!(
            "{taken}. Stop it for as long as this takes: `systemctl --user stop hob`, `sudo systemctl stop hob`, or Ctrl-C \
             where it runs."
        ),
        other => other.to_string(),
    };
    SetupTrouble { why, of_key: false }
}

/// One question, asked as at the terminal, and what the record says about the answer.
async fn turn(draft: &ConfigDraft, place: &Path) -> anyhow::Result<TrialTurn> {
    let page = CapturedOutput::default();
    let console = Console::pipe(page.clone());
    let plan = Blueprint {
        serves: ServedChannels::Terminals,
        state: StatePlace::of(None, place),
        ..blueprint(draft, isolated_config(&draft.config, None), place.to_owned())?
    };
    let session = WindowSession::with(Box::pin(Daemon::start(plan)).await?, LOCAL).await?;
    let input = ScriptInput { lines: Box::new(Cursor::new(QUESTION)), errors: Box::new(io::sink()) };
    let window = Arc::clone(&session.window);
    let ports = ports(Arc::clone(&window) as Arc<dyn Intake>, LOCAL);
    let talk = tokio::time::timeout(TURN_MAX, pipe(input, &console, &*window, &ports));
    let talked = session.hold(&console, talk).await.map_err(
        |_elapsed| refusal!("there was no answer within {} seconds", TURN_MAX.as_secs(); "try again, or name a faster model"),
    )?;
    talked.transpose()?;
    recorded_turn(place, page.text().trim_start().to_owned()).await
}

async fn recorded_turn(place: &Path, said: String) -> anyhow::Result<TrialTurn> {
    let mut reader = Reader::open(StatePlace::of(None, place)).await?;
    let runs = reader.read(async |tx| load::list_runs(tx, None, None, 1).await).await?;
    let run = runs
        .and_then(|runs| runs.into_iter().next())
        .context(refusal!("the question was not taken up"; "try again; `hob doctor` says more"))?;
    if run.state != "completed" {
        let said = if said.is_empty() { "it ended without an answer".to_owned() } else { said };
        refuse!("{said}"; "choose another model, or try again");
    }
    let LoadOutcome::Run(record) = reader.read(async |tx| load::load(tx, run.id).await).await? else {
        refuse!("run {} is not recorded", run.id; "try again; `hob doctor` says more");
    };
    let took = u64::try_from(run.ended_at.unwrap_or(run.created_at).saturating_sub(run.created_at)).unwrap_or(0);
    let (model, tools) = models_and_tools(&record);
    Ok(TrialTurn {
        model,
        asked: QUESTION.to_owned(),
        said,
        tools,
        took: Duration::from_millis(took),
        cost: run.cost.map(Money::from_nanos),
    })
}

/// Which model answered last, and which tools answered it.
fn models_and_tools(record: &RecordedRun) -> (String, Vec<String>) {
    let mut model = String::new();
    let mut called: Vec<(&CallId, &str)> = Vec::new();
    let mut tools = Vec::new();
    for timed in &record.events {
        match &timed.event {
            Event::ModelAsked { model: asked, .. } => model.clone_from(asked),
            Event::ToolStarted { call, name, .. } => called.push((call, name)),
            Event::ToolFinished { call, .. } => {
                tools.extend(called.iter().find(|(started, _)| *started == call).map(|(_, name)| (*name).to_owned()));
            }
            _ => {}
        }
    }
    (model, tools)
}

/// Who Hob is there, once the channel hears; or why it does not.
async fn until_connected(connected: &ConnectedChannel) -> Result<String, String> {
    let looked = async {
        let mut named = 0;
        loop {
            let health = health(connected);
            let name = health.as_ref().and_then(|health| health.name.clone());
            named = if name.is_some() { named + 1 } else { 0 };
            let is_settled = LOOK_EVERY * named >= SETTLED;
            match (health.map(|health| health.liveness), name) {
                (Some(Liveness::Down { why } | Liveness::Closed { why }), _) => return Err(why),
                (Some(Liveness::Connected), name) => return Ok(name.unwrap_or_default()),
                (Some(Liveness::Connecting), Some(name)) if is_settled => return Ok(name),
                (None | Some(Liveness::Connecting | Liveness::Deaf), _) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    };
    let in_time = tokio::time::timeout(CONNECT_MAX, looked).await;
    in_time.unwrap_or_else(|_elapsed| Err(format!("there was no answer within {} seconds", CONNECT_MAX.as_secs())))
}

fn health(connected: &ConnectedChannel) -> Option<ChannelHealth> {
    let all = connected.daemon.router().delivery.health();
    all.into_iter().find(|one| one.channel == connected.channel).map(|one| one.health)
}

/// Waits until an owner has written by the channel, and the answer is with them.
async fn wait_for_owner(connected: &ConnectedChannel) -> anyhow::Result<OwnerOutcome> {
    let ConnectedChannel { daemon, channel, since } = connected;
    let now = SystemClock.now();
    let name = loop {
        if let Some(name) =
            daemon.router().store.read(async |tx| find_owner_message(tx, *channel, *since, now).await).await?
        {
            break name;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    let answered = async {
        loop {
            match daemon.router().store.read(async |tx| delivery_progress(tx, *since).await).await? {
                DeliveryProgress::All => return anyhow::Ok(OwnerOutcome::Owner { name: name.clone() }),
                DeliveryProgress::Failed => {
                    let why = "the answer could not be sent; the log of `hob run` will say why".to_owned();
                    return Ok(OwnerOutcome::Mute { why });
                }
                DeliveryProgress::NotYet => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    };
    let in_time = tokio::time::timeout(ANSWER_MAX, answered).await;
    in_time.unwrap_or_else(|_elapsed| {
        let why = format!("the answer is not out after {} seconds", ANSWER_MAX.as_secs());
        Ok(OwnerOutcome::Mute { why })
    })
}

/// Who has written by the channel as an owner: by the code, or, in letters, as the config names them.
async fn find_owner_message(
    tx: &mut Tx,
    channel: ChannelKind,
    since: Timestamp,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    if channel == ChannelKind::Email {
        let runs = load::list_runs(tx, None, None, 5).await?.unwrap_or_default();
        let after = since.as_millisecond();
        let is_ours = |run: &&RunListEntry| run.session.starts_with("email") && run.created_at >= after;
        return Ok(runs.iter().find(is_ours).filter(|run| run.ended_at.is_some()).map(|run| run.who.clone()));
    }
    let shown = codes::pairing_overview(tx, now).await?;
    // The code is gone once somebody has said it.
    let has_code = shown.first_owner.is_some() || shown.is_void;
    let owners = shown.members.into_iter().filter(|member| member.role == Role::Owner);
    let mut here = owners.filter(|member| member.channel == channel.as_str());
    Ok(here.next_back().filter(|_| !has_code).map(|member| member.name))
}

/// Whether all that was said is out.
enum DeliveryProgress {
    All,
    NotYet,
    Failed,
}

async fn delivery_progress(tx: &mut Tx, since: Timestamp) -> Result<DeliveryProgress, StoreError> {
    let counts = outbox::queries::count(tx, since).await?;
    let has = |states: &[&str]| counts.iter().any(|one| states.contains(&one.state.as_str()) && one.count > 0);
    Ok(match (has(&["failed", "abandoned", "held"]), has(&["pending", "sending", "unknown"])) {
        (true, _) => DeliveryProgress::Failed,
        (false, true) => DeliveryProgress::NotYet,
        (false, false) => DeliveryProgress::All,
    })
}
