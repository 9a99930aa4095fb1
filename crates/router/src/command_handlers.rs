//! Chat commands, carried out and answered within the transaction that claims them.

use jiff::Timestamp;

use std::path::PathBuf;
use std::sync::Arc;

use crate::agenda::Agenda;
use crate::command::{Command, LoginRequest};
use crate::intake::answers::WaitingRunSnapshot;
use crate::memory::PrefetchedInputs;
use crate::pairing::{PairingCaller, Visitor};
use crate::stopping::{StopCommand, effects_under_way};
use crate::{
    agenda, clean, cost, groups, journal, mail, memory, pairing, pause, pause_texts, persona, prompts, status, texts,
    voice_choice,
};
use hob_agent::driver::encode_signal;
use hob_agent::journal::{QueueChange, RunKey};
use hob_agent::machine::stop::CancelReason;
use hob_agent::persona::Personas;
use hob_agent::quota::QuotaChecker;
use hob_agent::signal::Signal;
use hob_agent::write_off::change_queued;
use hob_core::domain::choices::IntakeMode;
use hob_core::domain::condition::Conditions;
use hob_core::domain::config_status::{ConfigStatus, ConfigStatusHandle};
use hob_core::domain::health::AccountHealth;
use hob_core::domain::ids::{InboundId, MemoryId, SessionId};
use hob_core::domain::inbound::{Conversation, Inbound};
use hob_core::domain::memory::Scope;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::{Principal, Role};
use hob_core::domain::rng::Rng;
use hob_core::domain::upkeep::LastUpkeepRound;
use hob_core::policy::access::AccessList;
use hob_core::policy::routing::Tiers;
use hob_core::render::{TextFormat, pieces};
use hob_memory::recall::Memory;
use hob_model::budget_guard::{BudgetGuard, Spender};
use hob_model::catalog::Catalog;
use hob_model::model_table::ModelTable;
use hob_skill::library::Library;
use hob_store::error::StoreError;
use hob_store::grants::GrantRow;
use hob_store::sessions::Session;
use hob_store::{Tx, agents, grants, outbox, overheard, runs, sessions, signals, skills, summaries};
use hob_tools::changes::Drafts;
use hob_tools::mcp::Servers;
use hob_tools::mcp::prompts::PromptAnswer;
use hob_tools::sandbox::trial::Confinement;
use hob_tools::schedule::change::{self, Change, Viewer};

/// What commands can tell about the house.
pub struct CommandServices {
    pub models: Arc<Catalog>,
    /// What is known of each without asking it.
    pub table: Arc<ModelTable>,
    /// The household's caps on money, and its calendar.
    pub budget_guard: Arc<BudgetGuard>,
    /// The limits of each person.
    pub meter: Arc<QuotaChecker>,
    /// Who Hob is where.
    pub personas: Arc<Personas>,
    /// What is remembered.
    pub memory: Memory,
    /// The MCP servers.
    pub servers: Servers,
    /// Randomness, for ids.
    pub rng: Arc<dyn Rng>,
    /// How commands are confined on this machine.
    pub confinement: Confinement,
    pub skills: Arc<Library>,
    /// What was changed in the workspace and can be taken back.
    pub drafts: Drafts,
    /// What does not work as it should.
    pub conditions: Conditions,
    /// How it stands with the config.
    pub config: ConfigStatusHandle,
    /// What the last round of upkeep did.
    pub upkeep: LastUpkeepRound,
    /// Where backups go.
    pub backups: PathBuf,
    /// Whether somebody can say answers aloud.
    pub speaks: bool,
    /// Who knows what is on today; none: no calendar is set up.
    pub agenda: Option<Arc<dyn Agenda>>,
    /// How it stands with the household's Home Assistant; none: there is none.
    pub home: Option<Arc<dyn Fn(Timestamp) -> String + Send + Sync>>,
    /// When this process started.
    pub started: Timestamp,
}

impl CommandServices {
    /// Among which models the form of a message chooses (row A2).
    pub(super) fn tiers(&self) -> Tiers<'_> {
        let primary = self.models.by_role("primary").unwrap_or_default();
        Tiers { fast: self.models.by_role("fast"), primary, smart: self.models.by_role("smart") }
    }

    /// The house at this moment.
    pub(super) fn command_context(
        self: &Arc<Self>,
        now: Timestamp,
        channels: Vec<AccountHealth>,
        looked: PrefetchedInputs,
        access: Arc<AccessList>,
    ) -> CommandContext {
        CommandContext { services: Arc::clone(self), channels, looked, access, now }
    }
}

/// What a command is carried out with.
pub(super) struct CommandContext {
    pub(super) services: Arc<CommandServices>,
    /// How each account fares.
    pub(super) channels: Vec<AccountHealth>,
    /// What was found for the command's words.
    pub(super) looked: PrefetchedInputs,
    /// Who is let in, by the config, and when Hob answers in groups.
    pub(super) access: Arc<AccessList>,
    pub(super) now: Timestamp,
}

impl CommandContext {
    /// Whoever gave a command, as caps know them.
    pub(super) fn spender<'a>(&'a self, caller: &'a Caller<'_>) -> Spender<'a> {
        let persona = self.services.personas.resolve(caller.place, caller.session).name();
        Spender { run: None, user: caller.principal.user, role: caller.principal.role, persona }
    }

    /// The model that somebody has chosen here, or the persona's.
    pub(super) fn chosen_model<'a>(&'a self, caller: &'a Caller<'_>) -> Option<&'a str> {
        let personas = &self.services.personas;
        let name = personas.resolve(caller.place, caller.session).name();
        let persona = personas.get(name).and_then(|persona| persona.model.as_deref());
        caller.session.model.as_deref().or(persona)
    }
}

/// Who gave a command, and where.
pub(super) struct Caller<'a> {
    pub(super) session: &'a Session,
    pub(super) principal: &'a Principal,
    pub(super) place: &'a Conversation,
    pub(super) mode: IntakeMode,
    /// The message.
    pub(super) inbound: &'a Inbound,
    /// What the runs that it may be about were seen to be at.
    pub(super) seen: &'a [WaitingRunSnapshot],
}

impl Caller<'_> {
    /// As whoever lets others in sees them.
    fn commander(&self, now: Timestamp) -> PairingCaller<'_> {
        let Inbound { conversation, sender, metadata, .. } = self.inbound;
        let visitor = Visitor { place: conversation, sender, proof: &metadata.proof };
        PairingCaller { principal: self.principal, visitor, now }
    }

    fn mode(&self) -> IntakeMode {
        self.session.queue_mode.as_deref().and_then(IntakeMode::parse).unwrap_or(self.mode)
    }
}

/// What is done for a command once it is taken in, as it takes a while or must not be done twice. What comes of it is said there.
pub(super) enum FollowUp {
    /// The config file is read again.
    Reload,
    /// The last change of the workspace is taken back.
    Undo,
    /// It is looked up what is on.
    Today,
    /// Somebody logs in at an MCP server.
    LogIn(LoginRequest),
}

/// What a command has done besides storing something.
#[derive(Default)]
pub(super) struct CommandOutcome {
    /// The words that answer it.
    pub(super) text: String,
    /// Memories that are gone.
    pub(super) forgotten: Vec<(Scope, MemoryId)>,
    /// Of this scope everything is to go, slice by slice.
    pub(super) emptied: Option<Scope>,
    /// Something is to be said there as well.
    pub(super) elsewhere: Option<SessionId>,
    /// Letters of these sessions go out now.
    pub(super) released: Vec<SessionId>,
    pub(super) follow_up: Option<FollowUp>,
}

impl From<String> for CommandOutcome {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<FollowUp> for CommandOutcome {
    fn from(follow_up: FollowUp) -> Self {
        Self { follow_up: Some(follow_up), ..Self::default() }
    }
}

/// Carries a command out and gives the words that answer it.
pub(super) async fn carry_out(
    tx: &mut Tx,
    context: &CommandContext,
    caller: &Caller<'_>,
    command: Command,
) -> Result<CommandOutcome, StoreError> {
    if caller.principal.role < Role::User && command.is_for_household(caller.place.is_private()) {
        return Ok(texts::NOT_FOR_GUESTS.to_owned().into());
    }
    if let Command::Forget(what) = &command {
        return memory::forget(tx, &memory::MemoryView::of(context, caller), what).await;
    }
    if let Command::Mail(order) = command {
        let mail::MailDecisionOutcome { text, released } =
            mail::carry_out(tx, caller.principal, order, context.now).await?;
        return Ok(CommandOutcome { released, ..CommandOutcome::from(text) });
    }
    if let Command::Pair(pair) = &command {
        return pairing::command(tx, &caller.commander(context.now), pair.as_ref()).await;
    }
    Ok(match command {
        Command::Reload => for_owner_alone(caller, FollowUp::Reload),
        Command::Login(order) => for_owner_alone(caller, FollowUp::LogIn(order)),
        Command::Undo => FollowUp::Undo.into(),
        Command::Today if context.services.agenda.is_none() => agenda::NONE.to_owned().into(),
        Command::Today => FollowUp::Today.into(),
        command => answer(tx, context, caller, command).await?.into(),
    })
}

/// What a command that says no more than words says.
async fn answer(
    tx: &mut Tx,
    context: &CommandContext,
    caller: &Caller<'_>,
    command: Command,
) -> Result<String, StoreError> {
    let view = memory::MemoryView::of(context, caller);
    match command {
        Command::Help => Ok(texts::HELP.to_owned()),
        Command::Status => status::status(tx, context, caller).await,
        Command::Stop { at_once } => StopCommand { context, caller, at_once }.stop(tx).await,
        Command::New => {
            start_afresh(tx, caller.session.id).await?;
            Ok(texts::NEW.to_owned())
        }
        Command::Reset => reset(tx, context, caller).await,
        Command::Clean => clean::answer(tx, caller.session.id, context.now).await,
        // Where nothing runs, it goes through the lane (`intake.rs`).
        Command::Compact => Ok(texts::COMPACTING_NEXT.to_owned()),
        Command::Model(name) => model(tx, context, caller, name).await,
        Command::Auto => {
            sessions::set_model(tx, caller.session.id, None).await?;
            Ok(texts::auto(&context.services.tiers()))
        }
        Command::Persona(name) => persona::answer(tx, &context.services.personas, caller, name.as_deref()).await,
        Command::Voice(_) if !context.services.speaks => Ok(voice_choice::NONE.to_owned()),
        Command::Voice(mode) => voice_choice::answer(tx, caller, mode).await,
        Command::Cost => cost::bill(tx, &context.services.budget_guard, context.spender(caller), context.now).await,
        Command::Journal => journal::show(tx, caller.session.id, caller.principal, caller.seen, context.now).await,
        Command::Queue => Ok(texts::queue(&runs::list_queued(tx, caller.session.id).await?, caller.mode())),
        Command::Drop(number) => take_back(tx, context, caller, number).await,
        Command::Mode(mode) => {
            sessions::set_queue_mode(tx, caller.session.id, mode.as_str()).await?;
            Ok(texts::mode_set(mode))
        }
        Command::Pause(channels) => pause::pause(tx, &order(context, caller), channels).await,
        Command::Resume(channels) => pause::resume(tx, &order(context, caller), channels).await,
        Command::Grants => Ok(pause_texts::grants(&grants_of(tx, caller).await?, &context.services.budget_guard.zone)),
        Command::Revoke(number) => revoke(tx, context, caller, number).await,
        Command::Schedules => Ok(change::list(tx, &viewer(caller), context.now).await?.0),
        Command::Schedule(change, id) => {
            let did = match change {
                Change::Pause => "Paused",
                Change::Resume => "It goes on",
                Change::Remove => "Deleted",
                Change::RunNow => "It is run now, beside its rule",
            };
            let changed = change::apply_change(tx, &viewer(caller), id, change, context.now).await?;
            Ok(changed.describe(did, context.now).unwrap_or_else(|refused| refused))
        }
        Command::Prompt(_) => Ok(match &context.looked.prompt {
            Some(PromptAnswer::Told(text)) => text.clone(),
            Some(PromptAnswer::Said { .. }) | None => prompts::NONE.to_owned(),
        }),
        Command::Skills => Ok(texts::skills(&context.services.skills.list_by(&skills::list(tx).await?))),
        Command::Why => memory::why(tx, &view).await,
        Command::Memory(words) => memory::memory(tx, &view, words.as_deref()).await,
        Command::Facts(words) => memory::facts(tx, &view, words.as_deref()).await,
        Command::FactHistory(key) => memory::history(tx, &view, &key).await,
        Command::Pin(item) => memory::pin(tx, &view, item, true).await,
        Command::Unpin(item) => memory::pin(tx, &view, item, false).await,
        // Carried out above, as they do more than to speak.
        Command::Forget(_)
        | Command::Pair(_)
        | Command::Mail(_)
        | Command::Login(_)
        | Command::Reload
        | Command::Today
        | Command::Undo => Ok(String::new()),
        Command::Attach => Ok(texts::ATTACH.to_owned()),
        Command::Group(change) => {
            groups::answer(tx, &context.access.groups, caller.principal, caller.place, change).await
        }
        Command::People => pairing::people(tx, &context.access, &caller.commander(context.now)).await,
        Command::Unpair(who) => {
            pairing::unpair(tx, &context.access, &caller.commander(context.now), who.as_deref()).await
        }
        Command::Unknown(text) => Ok(texts::unknown_command(&text)),
    }
}

/// What an owner alone may do, and alone. What came of it is an answer of its own, as it takes a while.
fn for_owner_alone(caller: &Caller<'_>, done: FollowUp) -> CommandOutcome {
    if caller.principal.role < Role::Owner {
        pairing::texts::OWNERS_ONLY.to_owned().into()
    } else if !caller.place.is_private() {
        pairing::texts::NOT_HERE.to_owned().into()
    } else {
        done.into()
    }
}

fn viewer(caller: &Caller<'_>) -> Viewer {
    Viewer { principal: caller.principal.clone(), conversation: caller.place.clone() }
}

fn order<'a>(context: &CommandContext, caller: &Caller<'a>) -> pause::PauseRequest<'a> {
    pause::PauseRequest { session: caller.session, principal: caller.principal, now: context.now }
}

/// What this person may see and take back: their own grants, an owner's all of the conversation.
async fn grants_of(tx: &mut Tx, caller: &Caller<'_>) -> Result<Vec<GrantRow>, StoreError> {
    let user = (caller.principal.role < Role::Owner).then_some(caller.principal.user);
    grants::list(tx, caller.session.id, user).await
}

/// A grant is taken back at once.
async fn revoke(
    tx: &mut Tx,
    context: &CommandContext,
    caller: &Caller<'_>,
    number: usize,
) -> Result<String, StoreError> {
    let held = grants_of(tx, caller).await?;
    let Some(grant) = number.checked_sub(1).and_then(|index| held.get(index)) else {
        return Ok(pause_texts::no_such_grant(number, held.len()));
    };
    take_grant_back(tx, caller.session.id, grant, context.now).await?;
    Ok(pause_texts::revoked(grant))
}

/// A grant of this conversation holds no more, nor for a run that has begun with it.
pub(super) async fn take_grant_back(
    tx: &mut Tx,
    session: SessionId,
    grant: &GrantRow,
    now: Timestamp,
) -> Result<(), StoreError> {
    grants::revoke(tx, grant.id, now).await?;
    let own = runs::find_active(tx, session).await?.filter(|run| run.user == grant.user).map(|run| run.id);
    let agents = agents::open_at_home(tx, session).await?;
    let agents = agents.iter().filter(|agent| agent.user == grant.user && !agent.is_queued()).map(|agent| agent.id);
    let encoded = encode_signal(&Signal::Revoke { tool: grant.tool.clone() })?;
    for run in own.into_iter().chain(agents) {
        signals::add(tx, run, &encoded, now).await?;
    }
    Ok(())
}

/// Nobody sees any more what was said before.
async fn start_afresh(tx: &mut Tx, session: SessionId) -> Result<(), StoreError> {
    sessions::start_afresh(tx, session).await?;
    overheard::drop_open(tx, session).await?;
    summaries::forget(tx, session).await
}

async fn reset(tx: &mut Tx, context: &CommandContext, caller: &Caller<'_>) -> Result<String, StoreError> {
    let active = runs::find_active(tx, caller.session.id).await?;
    if active.as_ref().is_some_and(|run| !caller.principal.may_act_for(run.user, run.role)) {
        return Ok(texts::NOT_YOURS.to_owned());
    }
    start_afresh(tx, caller.session.id).await?;
    let Some(active) = active else {
        return Ok(texts::RESET.to_owned());
    };
    let reason = CancelReason::Reset { by: caller.principal.user };
    let cut = effects_under_way(tx, active.id).await?;
    signals::add(tx, active.id, &encode_signal(&Signal::Cancel { reason })?, context.now).await?;
    Ok(format!("{} {}", texts::stopping(&cut, true), texts::RESET))
}

async fn model(
    tx: &mut Tx,
    context: &CommandContext,
    caller: &Caller<'_>,
    name: Option<String>,
) -> Result<String, StoreError> {
    let known: Vec<(&str, &str)> = context.services.models.labels().collect();
    let Some(name) = name else {
        let chosen = context.chosen_model(caller);
        let routed = chosen.is_none().then(|| context.services.tiers());
        let chain = context.services.models.chain(chosen);
        let current = texts::current(chain.first().map(String::as_str).unwrap_or_default(), routed.as_ref());
        return Ok(texts::models(&current, &known));
    };
    match context.services.models.resolve(&name) {
        Some(label) => {
            sessions::set_model(tx, caller.session.id, Some(label)).await?;
            Ok(texts::model_set(label))
        }
        None => Ok(texts::model_unknown(&name, &context.services.models.candidates(&name), &known)),
    }
}

async fn take_back(
    tx: &mut Tx,
    context: &CommandContext,
    caller: &Caller<'_>,
    number: usize,
) -> Result<String, StoreError> {
    let waiting = runs::list_queued(tx, caller.session.id).await?;
    let Some(run) = number.checked_sub(1).and_then(|index| waiting.get(index)) else {
        return Ok(texts::no_such_place(number, waiting.len()));
    };
    if !caller.principal.may_act_for(run.user, run.role) {
        return Ok(texts::NOT_YOURS.to_owned());
    }
    let key = RunKey { run: run.id, session: caller.session.id };
    change_queued(tx, &key, QueueChange::Withdrawn, context.now).await?;
    Ok(texts::dropped(&run.text))
}

/// How it stands with the config; none: there is no file.
pub(super) fn config_line(services: &CommandServices) -> Option<String> {
    let ConfigStatus { at, changes, refused, waits, .. } = services.config.status();
    let clock = |at: Timestamp| at.to_zoned(services.budget_guard.zone.clone()).strftime("%H:%M").to_string();
    let changes = match changes {
        None => String::new(),
        Some(1) => ", 1 change".to_owned(),
        Some(several) => format!(", {several} changes"),
    };
    let waits = if waits.is_empty() { waits } else { vec![format!("; waits for a restart: {}", waits.join(", "))] };
    let refused = refused.map(|(at, _why)| format!("; what was read at {} was refused", clock(at))).unwrap_or_default();
    Some(format!("config: loaded {}{changes}{}{refused}", clock(at?), waits.concat()))
}

/// Words that answer a message directly, without a run.
pub(super) struct DirectReply<'a> {
    session: SessionId,
    destination: &'a Destination,
    inbound: InboundId,
}

impl<'a> DirectReply<'a> {
    pub(super) fn to(session: SessionId, destination: &'a Destination, inbound: InboundId) -> Self {
        Self { session, destination, inbound }
    }
}

/// Queues the words that answer a message; said once, however often they are queued.
pub(super) async fn say(tx: &mut Tx, reply: &DirectReply<'_>, text: &str, now: Timestamp) -> Result<(), StoreError> {
    let channel = reply.destination.conversation.channel;
    for (index, piece) in pieces(text, TextFormat::Plain, channel).iter().enumerate() {
        let new = outbox::NewChunk {
            key: &format!("inbound:{}:{index}", reply.inbound),
            session: reply.session,
            run: None,
            destination: reply.destination,
            piece,
            choices: &[],
            file: None,
            part: outbox::ChunkRole::Words,
        };
        outbox::add(tx, &new, now).await?;
    }
    Ok(())
}
