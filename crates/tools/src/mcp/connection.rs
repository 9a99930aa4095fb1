//! A connection to a server: opened, asked for its tools, called, closed.
//!
//! What a server asks of Hob in turn (a model's words, folders) it does not get: Hob says that it can do none of that. What it asks
//! a person, and how far it is, goes to the call that it works on (`call_listeners`).
//! Start at [`Connection::open`].

pub(super) mod call;
mod offers;
mod outputs;
mod task;

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerResult, UrlElicitationCapability,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, RequestContext, RunningService, ServiceError,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::mcp::bounded::{BoundedReader, MESSAGE_BYTES_MAX, OutputAllowance};
use crate::mcp::call_listeners::CallListeners;
use crate::mcp::child::{self, Program, ShutdownTokens};
use crate::mcp::connection::outputs::OutputSchemas;
use crate::mcp::diagnostics::ServerDiagnostics;
use crate::mcp::error::McpError;
use crate::mcp::listed::{ListedTool, plain};
use crate::mcp::login::{self, ServerLogin};
use crate::mcp::settings::{ServerTransport, Settings};
use crate::mcp::{ServerContext, excerpt};
use hob_core::domain::secret::Secret;
use hob_telemetry::tasks;

/// How long a connection to an address may take.
const CONNECT: Duration = Duration::from_secs(10);
/// The most pages of a list.
const PAGES_MAX: usize = 50;
/// The most tools of a server.
const TOOLS_MAX: usize = 256;
/// How long is waited for a word on how a process ended, once it does not answer any more.
const FATE: Duration = Duration::from_secs(2);
/// How long a process that is to leave is waited for, at most.
const LEAVE: Duration = Duration::from_secs(5);

/// What Hob says of itself, and what it hears besides answers.
#[derive(Debug, Clone)]
struct HobClientHandler {
    /// Its tools are others now.
    changed: Arc<Notify>,
    /// Who hears what it asks a person, and how far it is.
    listeners: CallListeners,
}

impl ClientHandler for HobClientHandler {
    fn get_info(&self) -> ClientConfig {
        let hob = Implementation::new("hob", env!("CARGO_PKG_VERSION"));
        // It may ask for a person's words, and for no model's, and no folders.
        let mut able = ClientCapabilities::default();
        let asks = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        able.elicitation = Some(asks.with_url(UrlElicitationCapability::default()));
        ClientConfig::new(able, hob).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            biased;
            answer = self.listeners.ask(request) => Ok(answer),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.listeners.progressed(&progress);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        // Whether there is anything to read says which tools there are.
        self.changed.notify_one();
    }
}

/// A connection. Dropping it ends what is at its other end, if that is a process.
pub(super) struct Connection {
    service: RunningService<RoleClient, HobClientHandler>,
    tokens: ShutdownTokens,
    fate: Arc<ServerDiagnostics>,
    allowance: Arc<OutputAllowance>,
    /// It is a process, which can be ended.
    is_process: bool,
    login: ServerLogin,
    calls: AtomicUsize,
    used: Mutex<Instant>,
    /// The tools that it takes as tasks alone.
    as_tasks: Mutex<BTreeSet<String>>,
    listeners: CallListeners,
    /// What its tools say that they answer.
    outputs: OutputSchemas,
}

/// A server's tools, and those that cannot be offered, each with the reason.
pub(super) struct ToolList {
    pub(super) tools: Vec<ListedTool>,
    pub(super) quarantined: Vec<(String, String)>,
}

impl Connection {
    /// Connects. Dropping the future leaves nothing behind.
    pub(super) async fn open(
        settings: &Settings,
        place: &ServerContext,
        changed: &Arc<Notify>,
    ) -> Result<Self, McpError> {
        let listeners =
            HobClientHandler { changed: Arc::clone(changed), listeners: CallListeners::new(&settings.name) };
        let opened = Box::pin(Self::greet(settings, place, &listeners, ClientLifecycleMode::Initialize)).await;
        match opened {
            // It may be too new for a handshake.
            Err(McpError::Refused(first)) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                let discover = ClientLifecycleMode::Discover { preferred_versions };
                let second = Box::pin(Self::greet(settings, place, &listeners, discover)).await;
                second.map_err(|_its_first_word_says_more| McpError::Refused(first))
            }
            other => other,
        }
    }

    async fn greet(
        settings: &Settings,
        place: &ServerContext,
        listeners: &HobClientHandler,
        mode: ClientLifecycleMode,
    ) -> Result<Self, McpError> {
        let (tokens, fate, allowance) =
            (ShutdownTokens::default(), Arc::new(ServerDiagnostics::default()), Arc::new(OutputAllowance::default()));
        let guard = tokens.over.clone().drop_guard();
        let over = tokens.over.clone();
        let greeted = match &settings.way {
            ServerTransport::Program { vector, environment, dir, own } => {
                let confinement = own.as_ref().map(|own| place.program_sandbox.confine(own, vector));
                let program = Program { vector, environment, dir, leftovers: &place.leftovers, confinement };
                let (started, stdin, stdout) = child::start(&program).await.map_err(|reason| McpError::NotStarted {
                    program: vector.first().cloned().unwrap_or_default(),
                    reason,
                })?;
                tasks::spawn_among(&place.tracker, "mcp.program", started.supervise(Arc::clone(&fate), tokens.clone()));
                let stdout = BoundedReader::new(stdout, Arc::clone(&allowance), Arc::clone(&fate));
                let transport = AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(2 * MESSAGE_BYTES_MAX);
                serve(listeners, transport, mode, over, settings.start_within).await
            }
            ServerTransport::Address { url, bearer, headers, .. } => {
                tokens.gone.cancel();
                let config = address(url, bearer.as_ref(), headers)?;
                let client = hob_http::client(CONNECT).map_err(|error| McpError::Lost(error.to_string()))?;
                let known = login::client_with_token(settings, &place.data_dir, &place.tracker, &client).await;
                match known.map_err(|error| McpError::Lost(error.to_string()))? {
                    Some(known) => {
                        let transport = StreamableHttpClientTransport::with_client(known, config);
                        serve(listeners, transport, mode, over, settings.start_within).await
                    }
                    None => {
                        let transport = StreamableHttpClientTransport::with_client(client, config);
                        serve(listeners, transport, mode, over, settings.start_within).await
                    }
                }
            }
        };
        let login = ServerLogin::of(settings, &place.data_dir);
        let is_process = matches!(settings.way, ServerTransport::Program { .. });
        match greeted {
            Ok(service) => {
                guard.disarm();
                let (calls, used) = (AtomicUsize::new(0), Mutex::new(Instant::now()));
                let as_tasks = Mutex::default();
                let (listeners, outputs) = (listeners.listeners.clone(), OutputSchemas::default());
                Ok(Self {
                    service,
                    tokens,
                    fate,
                    allowance,
                    is_process,
                    login,
                    calls,
                    used,
                    as_tasks,
                    listeners,
                    outputs,
                })
            }
            Err(error) => {
                let error = login.explained(error).await;
                // Who has broken off may be about to say by its exit why; nobody else is waited for.
                if !matches!(error, McpError::Lost(_)) {
                    tokens.over.cancel();
                }
                Err(error.with_diagnostics(&closed_reason(&fate, &tokens, is_process).await))
            }
        }
    }

    /// Who listens to its server.
    pub(super) fn listeners(&self) -> &CallListeners {
        &self.listeners
    }

    /// Can nobody be reached by it any more?
    pub(super) fn is_closed(&self) -> bool {
        self.tokens.over.is_cancelled() || self.service.peer().is_transport_closed()
    }

    /// Is there a process at its other end?
    pub(super) fn is_process(&self) -> bool {
        self.is_process
    }

    /// Resolves when it is over.
    pub(super) async fn wait_closed(&self) {
        self.tokens.over.cancelled().await;
    }

    /// Since when it has not been used; none: it is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        (self.calls.load(Ordering::Acquire) == 0).then_some(used)
    }

    /// Has a process end by itself, and waits until it is gone.
    pub(super) async fn end_process(&self) {
        if !self.is_process {
            self.tokens.over.cancel();
            return;
        }
        self.tokens.leaving.cancel();
        if tokio::time::timeout(LEAVE, self.tokens.gone.cancelled()).await.is_err() {
            tracing::warn!("mcp.stays: a server does not end");
        }
    }

    /// Asks for its tools, page by page.
    pub(super) async fn list(&self) -> Result<ToolList, McpError> {
        let (mut found, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            self.allowance.reset();
            let (tools, next) = self.page(cursor.take()).await?;
            found.extend(tools);
            cursor = next;
            if cursor.is_none() || found.len() > TOOLS_MAX {
                break;
            }
        }
        self.outputs.learn(&found);
        let mut list = sort_tools(found);
        let own: Vec<ListedTool> = self.resource_tools().await?;
        let is_free = |tool: &ListedTool| list.tools.iter().all(|known| known.name != tool.name);
        let own: Vec<ListedTool> = own.into_iter().filter(is_free).collect();
        list.tools.extend(own);
        Ok(list)
    }

    async fn page(&self, cursor: Option<String>) -> Result<(Vec<Value>, Option<String>), McpError> {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
        let answer = self.service.peer().send_request(ClientRequest::ListToolsRequest(request)).await;
        let list = match answer {
            Ok(ServerResult::ListToolsResult(list)) => {
                serde_json::to_value(list).map_err(|_unwritable| McpError::Strange)?
            }
            // One tool that is none must not cost the others.
            Ok(ServerResult::CustomResult(list)) => list.0,
            Ok(_) => return Err(McpError::Strange),
            Err(error) => return Err(self.failure(error).await),
        };
        let list = self.login.redact_json(list)?;
        let tools = list["tools"].as_array().ok_or(McpError::Strange)?.clone();
        let next = list["nextCursor"].as_str().filter(|next| !next.is_empty()).map(str::to_owned);
        Ok((tools, next))
    }

    async fn failure(&self, error: ServiceError) -> McpError {
        let error = match error {
            ServiceError::McpError(error) => McpError::Refused(excerpt(&error.message)),
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => McpError::Lost(String::new())
                .with_diagnostics(&closed_reason(&self.fate, &self.tokens, self.is_process).await),
            ServiceError::TransportSend(error) => match transport_error(error.error.as_ref()) {
                asked @ McpError::Challenged(_) => asked,
                lost => lost.with_diagnostics(&closed_reason(&self.fate, &self.tokens, self.is_process).await),
            },
            _ => McpError::Strange,
        };
        self.login.explained(error).await
    }
}

/// Counts a call while it lasts.
struct OpenCallGuard<'a>(&'a Connection);

impl<'a> OpenCallGuard<'a> {
    fn of(link: &'a Connection) -> Self {
        link.calls.fetch_add(1, Ordering::AcqRel);
        Self(link)
    }
}

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn serve<T, E, A>(
    listeners: &HobClientHandler,
    transport: T,
    mode: ClientLifecycleMode,
    over: tokio_util::sync::CancellationToken,
    within: Duration,
) -> Result<RunningService<RoleClient, HobClientHandler>, McpError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let serving = Box::pin(serve_client_with_lifecycle_and_ct(listeners.clone(), transport, mode, over));
    match tokio::time::timeout(within, serving).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(start_error(&error)),
        Err(_elapsed) => Err(McpError::Silent { within, why: String::new() }),
    }
}

fn start_error(error: &ClientInitializeError) -> McpError {
    match error {
        ClientInitializeError::JsonRpcError(error) => McpError::Refused(excerpt(&error.message)),
        ClientInitializeError::TransportError { error, .. } => transport_error(error.error.as_ref()),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => McpError::Lost(String::new()),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            McpError::Refused("it speaks no version of MCP that Hob speaks".to_owned())
        }
        _ => McpError::Strange,
    }
}

fn transport_error(error: &(dyn Error + 'static)) -> McpError {
    login::challenge(error).map_or_else(|| McpError::Lost(causes(error)), McpError::Challenged)
}

/// What became of the server; how a process ended is known a little later than that it has.
async fn closed_reason(fate: &ServerDiagnostics, tokens: &ShutdownTokens, is_process: bool) -> String {
    if is_process && tokio::time::timeout(FATE, tokens.gone.cancelled()).await.is_err() {
        tracing::debug!("the server has not ended");
    }
    fate.summary()
}

/// An error with those behind it, each once.
fn causes(error: &(dyn Error + 'static)) -> String {
    // The SDK's own error does not say what is behind it.
    if let Some(StreamableHttpError::Client(error)) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        return causes(error);
    }
    let mut words: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let said = error.to_string();
        if !words.iter().any(|known| known.contains(&said)) {
            words.push(said);
        }
        cause = error.source();
    }
    plain(&words.join(": "), 300)
}

fn address(
    url: &str,
    bearer: Option<&Secret>,
    headers: &[(String, Secret)],
) -> Result<StreamableHttpClientTransportConfig, McpError> {
    let mut further = HashMap::new();
    for (name, value) in headers {
        let name = HeaderName::try_from(name.as_str()).map_err(|_named| McpError::Header(name.clone()))?;
        let mut sent = HeaderValue::try_from(value.expose()).map_err(|_secret| McpError::Header(name.to_string()))?;
        sent.set_sensitive(true);
        further.insert(name, sent);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(further)
        .max_sse_event_size(MESSAGE_BYTES_MAX);
    config.auth_header = bearer.map(|token| token.expose().to_owned());
    Ok(config)
}

/// Reads a list; what cannot be offered is set aside.
fn sort_tools(found: Vec<Value>) -> ToolList {
    let (mut tools, mut quarantined, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for tool in found {
        let name = excerpt(tool["name"].as_str().unwrap_or_default());
        match ListedTool::read(&tool) {
            Ok(_) if tools.len() == TOOLS_MAX => {
                quarantined.push((name, format!("its server has more than {TOOLS_MAX} tools")));
            }
            Ok(listed) if names.insert(listed.name.clone()) => tools.push(listed),
            Ok(_) => quarantined.push((name, "its server has another of the same name".to_owned())),
            Err(unfit) => quarantined.push((name, unfit.to_string())),
        }
    }
    ToolList { tools, quarantined }
}
