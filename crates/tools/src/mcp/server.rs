//! One server: started when it is needed, kept while it is used, started again when it has died, left alone for a while
//! when it keeps failing.
//!
//! Start at [`Server::call`]; what goes on beside the calls is [`Server::supervise`].

mod in_flight;

pub(super) use in_flight::InFlightCall;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Tool;
use crate::mcp::classes::ClassStatus;
use crate::mcp::connection::call::CallParams;
use crate::mcp::connection::{Connection, ToolList};
use crate::mcp::error::McpError;
use crate::mcp::listed::ListedTool;
use crate::mcp::login;
use crate::mcp::login::stored::LoginStore;
use crate::mcp::offer::McpTool;
use crate::mcp::parked::{CallStep, LiveCall, ParkedCalls};
use crate::mcp::prompts::{PromptAnswer, PromptRequest};
use crate::mcp::settings::Settings;
use crate::mcp::status::{ServerState, ServerStatus};
use crate::mcp::tool_cache::CachedTools;
use crate::mcp::tool_table::ServerTools;
use crate::mcp::{ServerContext, excerpt, names, prompts, undo_rule};
use crate::registry_handle::ToolRegistryHandle;
use hob_core::domain::tool_class::ToolClass;

/// The first rest of a server that keeps failing; each is twice the one before.
const REST: Duration = Duration::from_secs(1);
/// The longest.
const REST_MAX: Duration = Duration::from_secs(300);
/// How soon it is looked again whether a person has logged in, perhaps beside this process.
const LOGIN_EVERY: Duration = Duration::from_secs(2);
/// How soon after one look at its tools the next may follow, however often it says that they have changed.
const LIST_EVERY: Duration = Duration::from_secs(2);

/// How often it is looked whether anybody still has the tools of a server that the config has no more.
const RETIRED_EVERY: Duration = Duration::from_millis(500);

/// A server.
pub(super) struct Server {
    pub(super) settings: Settings,
    place: Arc<ServerContext>,
    /// Its login; none: it has none.
    login: Option<LoginStore>,
    /// Where its tools are on offer.
    shed: Mutex<Weak<ToolRegistryHandle>>,
    /// The config has it no more.
    pub(super) retired: CancellationToken,
    now: Mutex<LiveState>,
    /// Only one start at a time.
    starting: tokio::sync::Mutex<()>,
    /// It says that its tools have changed.
    changed: Arc<Notify>,
    /// Something is to be looked after.
    wake: Notify,
}

/// How it is at the moment.
#[derive(Default)]
struct LiveState {
    known: Option<CachedTools>,
    link: Option<Arc<Connection>>,
    failures: u32,
    failing: Option<(Timestamp, String)>,
    rests_until: Option<Instant>,
    /// It asks for a login: nobody asks it for anything before there was one.
    wants_login: bool,
}

impl Server {
    /// A server with the tools that it had when it was last looked at; nothing is started.
    pub(super) fn new(settings: Settings, place: &Arc<ServerContext>, shed: &Arc<ToolRegistryHandle>) -> Arc<Self> {
        let known = CachedTools::load(&place.data_dir, &settings.name, &settings.identity());
        let login = login::store(&settings, &place.data_dir);
        let wants_login = login.as_ref().is_some_and(LoginStore::is_wanted);
        let server = Arc::new(Self {
            login,
            settings,
            place: Arc::clone(place),
            shed: Mutex::new(Arc::downgrade(shed)),
            retired: CancellationToken::new(),
            now: Mutex::new(LiveState { known, wants_login, ..LiveState::default() }),
            starting: tokio::sync::Mutex::new(()),
            changed: Arc::new(Notify::new()),
            wake: Notify::new(),
        });
        place.classes.register_server(&server);
        server.publish();
        server
    }

    fn now(&self) -> MutexGuard<'_, LiveState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a tool that its server described so.
    pub(super) async fn call(self: &Arc<Self>, tool: &ListedTool, call: CallParams) -> Result<CallStep, McpError> {
        let link = self.link().await?;
        self.check_unchanged(tool)?;
        LiveCall::begin(self, &link, tool.clone(), call).step().await
    }

    /// Its calls that wait for people.
    pub(super) fn parked(&self) -> &ParkedCalls {
        &self.place.parked
    }

    /// What a prompt says.
    pub(super) async fn prompt(self: &Arc<Self>, asked: &PromptRequest) -> Result<PromptAnswer, McpError> {
        let link = self.link().await?;
        let name = &self.settings.name;
        let prompts = self.in_time(&link, link.prompts()).await?;
        let wanted = prompts::find(name, &prompts, &asked.prompt)
            .and_then(|prompt| Ok((prompt, prompts::arguments(name, prompt, &asked.words)?)));
        let (prompt, arguments) = match wanted {
            Ok(wanted) => wanted,
            Err(refused) => return Ok(PromptAnswer::Told(refused.to_string())),
        };
        let text = self.in_time(&link, link.prompt(&prompt.name, arguments)).await?;
        let from = (!self.settings.trusted_output).then(|| format!("the MCP server {name}"));
        // It begins like no command.
        let text = if from.is_some() { text } else { format!("[{name}: {}]\n{text}", excerpt(&prompt.name)) };
        Ok(PromptAnswer::Said { text, from })
    }

    /// What a server is asked for, within its time; whether it fares well is noted.
    async fn in_time<T>(
        self: &Arc<Self>,
        link: &Arc<Connection>,
        asked: impl Future<Output = Result<T, McpError>>,
    ) -> Result<T, McpError> {
        let mut hand = InFlightCall::of(self, link);
        let within = self.settings.call_within;
        let answer = match tokio::time::timeout(within, asked).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(McpError::Silent { within, why: String::new() }),
        };
        hand.end(answer.as_ref().err());
        answer
    }

    /// Does the server still say of the tool what it said when the tool was chosen?
    fn check_unchanged(&self, tool: &ListedTool) -> Result<(), McpError> {
        let now = self.now();
        let known = now.known.iter().flat_map(|known| &known.tools).find(|known| known.name == tool.name);
        match known {
            None => Err(McpError::Gone),
            Some(known) if known != tool => Err(McpError::Changed),
            Some(_) => Ok(()),
        }
    }

    /// Has a tool changed since it was first known? Since when.
    pub(super) fn changed(&self, tool: &str) -> Option<Timestamp> {
        self.now().known.as_ref().and_then(|known| known.changed.get(tool).copied())
    }

    fn live_connection(&self) -> Option<Arc<Connection>> {
        self.now().link.as_ref().filter(|link| !link.is_closed()).cloned()
    }

    /// The connection, which is made if there is none.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Connection>, McpError> {
        if let Some(link) = self.live_connection() {
            return Ok(link);
        }
        let _turn = self.starting.lock().await;
        if let Some(link) = self.live_connection() {
            return Ok(link);
        }
        if self.place.stop.is_cancelled() {
            return Err(McpError::Stopping);
        }
        self.is_logged_in()?;
        self.is_rested()?;
        let (link, list) =
            Box::pin(open(&self.settings, &self.place, &self.changed)).await.inspect_err(|error| self.failed(error))?;
        self.take(list);
        let link = Arc::new(link);
        self.now().link = Some(Arc::clone(&link));
        self.wake.notify_one();
        Ok(link)
    }

    /// Who asked for a login is left alone until there was one.
    fn is_logged_in(&self) -> Result<(), McpError> {
        if !self.now().wants_login {
            return Ok(());
        }
        if self.login.as_ref().is_some_and(LoginStore::is_wanted) {
            return Err(McpError::NeedsLogin(self.settings.name.clone()));
        }
        self.now().wants_login = false;
        Ok(())
    }

    fn is_rested(&self) -> Result<(), McpError> {
        let now = self.now();
        let wait = now.rests_until.map(|until| until.saturating_duration_since(Instant::now()));
        let Some(wait) = wait.filter(|wait| !wait.is_zero()) else { return Ok(()) };
        let why = now.failing.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
        Err(McpError::Resting { why, wait })
    }

    fn is_well(&self) {
        let mut now = self.now();
        (now.failures, now.failing, now.rests_until) = (0, None, None);
    }

    fn failed(&self, error: &McpError) {
        let mut now = self.now();
        if matches!(error, McpError::NeedsLogin(_)) {
            now.wants_login = true;
            tracing::warn!(server = self.settings.name, "mcp.needs_login: hob mcp login {}", self.settings.name);
            return;
        }
        now.failures = now.failures.saturating_add(1);
        // The first failure costs nothing: a server that died is started again at once.
        let rest = back_off(now.failures, self.place.rng.fraction());
        now.rests_until = Some(Instant::now() + rest);
        let since = now.failing.as_ref().map_or_else(|| self.place.clock.now(), |(since, _)| *since);
        now.failing = Some((since, error.to_string()));
        tracing::warn!(server = self.settings.name, %error, failures = now.failures, "mcp.failed");
    }

    /// From now on nobody calls by this connection. It ends with its last call.
    fn retire(&self, link: &Arc<Connection>) {
        let retired = self.now().link.take_if(|current| Arc::ptr_eq(current, link));
        if retired.is_some() {
            // Who watches it holds it as well.
            self.wake.notify_one();
        }
    }

    /// Takes over what the server lists now.
    fn take(self: &Arc<Self>, list: ToolList) {
        let (name, identity) = (&self.settings.name, self.settings.identity());
        for (tool, why) in &list.quarantined {
            tracing::error!(server = name, tool, why, "tool.quarantined: it is left out");
        }
        // Somebody may have looked at it at the command line meanwhile.
        let before = CachedTools::load(&self.place.data_dir, name, &identity);
        let known = match before {
            Some(before) => before.updated(list.tools, self.place.clock.now()),
            None => CachedTools::first(&identity, list.tools),
        };
        if let Err(error) = known.save(&self.place.data_dir, name) {
            tracing::warn!(server = name, %error, "mcp.list_unsaved: the server is asked again after the next start");
        }
        let is_new = self.now().known.as_ref() != Some(&known);
        for tool in known.changed.keys().filter(|tool| self.changed(tool).is_none()) {
            tracing::warn!(server = name, tool, "mcp.tool_changed: the server says something else of this tool now");
        }
        self.now().known = Some(known);
        if is_new {
            self.publish();
        }
    }

    /// From now on its tools are on offer there; where they were they stay as they are.
    pub(super) fn offer_in(self: &Arc<Self>, shed: &Arc<ToolRegistryHandle>) {
        *self.shed.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(shed);
        self.publish();
    }

    /// Its tools are on offer as they are known, and as they are classed.
    pub(super) fn publish(self: &Arc<Self>) {
        let shed = self.shed.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(shed) = shed else { return };
        let known = self.now().known.clone().unwrap_or_default();
        let offered: Vec<ListedTool> =
            known.tools.into_iter().filter(|tool| self.settings.offers(&tool.name)).collect();
        let own: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        let names = names::offered(&self.settings.name, &own);
        let identity = self.settings.identity();
        let classed = |tool: &ListedTool| self.place.classes.of(&self.settings.name, &identity, tool);
        let known: Vec<(String, ListedTool)> = names.into_iter().zip(offered).collect();
        let tools = known.iter().filter_map(|(name, tool)| {
            let class = classed(tool);
            let is_off = class == ClassStatus::Said(ToolClass::Off);
            let undo = || undo_rule::known(&self.settings, &tool.name, &known, &classed);
            let made = || McpTool::new(self, name.clone(), class, tool.clone()).with_undo(undo());
            (!is_off).then(|| Arc::new(made()) as Arc<dyn Tool>)
        });
        shed.publish(&self.settings.name, tools.collect());
    }

    /// Its tools as their owner sees them; none: they are not known yet. Somebody may have asked for them at the command line.
    pub(super) fn tools(&self) -> Option<ServerTools> {
        let known = self.now().known.clone();
        let seen = || CachedTools::load(&self.place.data_dir, &self.settings.name, &self.settings.identity());
        let known = known.or_else(seen)?;
        Some(ServerTools::of(&self.settings, &known.tools, &self.place.classes))
    }

    /// How it is, for people.
    pub(super) fn status(&self) -> ServerStatus {
        let tools = self.tools().map(|tools| tools.tools).unwrap_or_default();
        let needs_login = self.is_logged_in().is_err();
        let now = self.now();
        let is_there = now.link.as_ref().is_some_and(|link| !link.is_closed());
        let state = match &now.failing {
            _ if needs_login => ServerState::NeedsLogin,
            Some((since, why)) => ServerState::Failing { since: *since, why: why.clone() },
            None if is_there => ServerState::Ready,
            None if now.known.is_some() => ServerState::Idle,
            None => ServerState::Unknown,
        };
        let known = now.known.as_ref();
        let offered = |known: &CachedTools| known.tools.iter().filter(|tool| self.settings.offers(&tool.name)).count();
        ServerStatus {
            name: self.settings.name.clone(),
            state,
            tools: known.map(offered),
            changed: known.map(|known| known.changed.keys().cloned().collect()).unwrap_or_default(),
            stale: tools.into_iter().filter(|tool| tool.was.is_some()).map(|tool| tool.own).collect(),
        }
    }

    /// Looks after it until Hob stops: asks for a list that is not known yet, a few servers at a time, hears of changes,
    /// and ends what nobody uses.
    pub(super) async fn supervise(self: Arc<Self>, few: Arc<Semaphore>, asks: bool) {
        let stop = self.place.stop.clone();
        loop {
            let step = async {
                if asks && self.now().known.is_none() {
                    self.ask(&few).await;
                } else {
                    self.watch().await;
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.retire_when_unused() => break,
                () = Box::pin(step) => {}
            }
        }
        let link = self.now().link.take();
        if let Some(link) = link {
            link.end_process().await;
        }
    }

    /// The config has it no more, and no run has its tools: each of them holds it.
    async fn retire_when_unused(self: &Arc<Self>) {
        self.retired.cancelled().await;
        while Arc::strong_count(self) > 1 {
            tokio::time::sleep(RETIRED_EVERY).await;
        }
    }

    /// Asks for its tools, which nobody knows yet, and lets it go.
    pub(super) async fn ask(self: &Arc<Self>, few: &Semaphore) {
        while self.is_logged_in().is_err() {
            tokio::time::sleep(LOGIN_EVERY).await;
        }
        let rests_until = self.now().rests_until;
        if let Some(until) = rests_until {
            tokio::time::sleep_until(until).await;
        }
        let Ok(_turn) = few.acquire().await else { return };
        match self.link().await {
            Ok(link) => {
                self.is_well();
                tracing::info!(server = self.settings.name, "mcp.listed");
                if self.now().link.take_if(|current| Arc::ptr_eq(current, &link)).is_some()
                    && link.idle_since().is_some()
                {
                    link.end_process().await;
                }
            }
            Err(error) => tracing::debug!(server = self.settings.name, %error, "its tools are not known yet"),
        }
    }

    /// Waits for something to do, and does it.
    pub(super) async fn watch(self: &Arc<Self>) {
        let link = self.live_connection();
        let idle = async {
            match &link {
                Some(link) => {
                    tokio::time::sleep_until(link.idle_since().unwrap_or_else(Instant::now) + self.settings.idle).await
                }
                None => std::future::pending().await,
            }
        };
        let over = async {
            match &link {
                Some(link) => link.wait_closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.wake.notified() => {}
            () = over => {
                tracing::info!(server = self.settings.name, "mcp.ended");
                link.iter().for_each(|link| self.retire(link));
            }
            () = self.changed.notified() => {
                tokio::time::sleep(LIST_EVERY).await;
                self.refresh_tools().await;
            }
            () = idle => self.close_if_idle().await,
        }
    }

    /// Asks for its tools, of which it says that they have changed.
    async fn refresh_tools(self: &Arc<Self>) {
        let Some(link) = self.live_connection() else { return };
        match tokio::time::timeout(self.settings.start_within, link.list()).await {
            Ok(Ok(list)) => self.take(list),
            Ok(Err(error)) => {
                tracing::warn!(server = self.settings.name, %error, "mcp.unlisted: its tools stay as they were known");
            }
            Err(_elapsed) => tracing::warn!(server = self.settings.name, "mcp.unlisted: it tells no tools in time"),
        }
    }

    /// Ends it if nobody has used it for long.
    async fn close_if_idle(&self) {
        let is_idle = |link: &mut Arc<Connection>| {
            link.idle_since().is_some_and(|since| since + self.settings.idle <= Instant::now())
        };
        let link = self.now().link.take_if(is_idle);
        if let Some(link) = link {
            tracing::info!(server = self.settings.name, "mcp.idle: nobody has used it for a while; it is ended");
            link.end_process().await;
        }
    }
}

/// Connects, and asks for the tools.
pub(super) async fn open(
    settings: &Settings,
    place: &ServerContext,
    changed: &Arc<Notify>,
) -> Result<(Connection, ToolList), McpError> {
    let within = settings.start_within;
    let link = Connection::open(settings, place, changed).await?;
    match tokio::time::timeout(within, link.list()).await {
        Ok(list) => Ok((link, list?)),
        Err(_elapsed) => Err(McpError::Silent { within, why: String::new() }),
    }
}

/// How long it rests after so many failures.
fn back_off(failures: u32, fraction: f64) -> Duration {
    let Some(doublings) = failures.checked_sub(2) else { return Duration::ZERO };
    let full = REST.saturating_mul(2_u32.saturating_pow(doublings)).min(REST_MAX);
    full.mul_f64(0.5 + fraction / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_failing_rests_longer_and_longer() {
        let secs = |failures| (back_off(failures, 0.0).as_millis(), back_off(failures, 1.0).as_millis());
        assert_eq!(secs(0), (0, 0));
        assert_eq!(secs(1), (0, 0));
        assert_eq!(secs(2), (500, 1_000));
        assert_eq!(secs(5), (4_000, 8_000));
        assert_eq!(secs(200), (150_000, 300_000));
    }
}
