//! A look at a server for the person at the command line: whether it starts, what it has, and how long that takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::mcp::classes::Classes;
use crate::mcp::connection::call::CallParams;
use crate::mcp::error::McpError;
use crate::mcp::listed::ListedTool;
use crate::mcp::settings::Settings;
use crate::mcp::tool_cache::CachedTools;
use crate::mcp::tool_table::{ClassChange, ClassError, ServerTools};
use crate::mcp::{ServerContext, login, names, server};
use hob_core::domain::elicitation::{ElicitReply, Elicitation, ElicitationError};
use hob_store::Store;

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// How long it took until it was connected and had told its tools.
    pub took: Duration,
    /// Its tools that are on offer: their names here, and what they do.
    pub tools: Vec<(String, String)>,
    /// Those that the config leaves out, by the server's own names.
    pub left_out: Vec<String>,
    /// Those that cannot be offered, each with the reason.
    pub quarantined: Vec<(String, String)>,
    /// Those that said something else of themselves before, by the server's own names.
    pub changed: Vec<String>,
}

/// Connects, asks for the tools, and lets the server go. Who looks has seen what has changed: it is noted no longer.
///
/// # Errors
/// When the server cannot be reached, or does not answer.
pub async fn probe_server(settings: &Settings, place: &ServerContext) -> Result<ProbeReport, McpError> {
    let began = Instant::now();
    let (link, list) = Box::pin(server::open(settings, place, &Arc::new(Notify::new()))).await?;
    let took = began.elapsed();
    link.end_process().await;
    let before = CachedTools::load(&place.data_dir, &settings.name, &settings.identity()).unwrap_or_default();
    let changed = before.updated(list.tools.clone(), place.clock.now()).changed.into_keys().collect();
    let known = CachedTools::first(&settings.identity(), list.tools);
    if let Err(error) = known.save(&place.data_dir, &settings.name) {
        tracing::warn!(server = settings.name, %error, "what was seen is not kept");
    }
    let (offered, left_out): (Vec<_>, Vec<_>) = known.tools.iter().partition(|tool| settings.offers(&tool.name));
    let own: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    let tools = names::offered(&settings.name, &own).into_iter();
    Ok(ProbeReport {
        took,
        tools: tools.zip(offered.iter().map(|tool| tool.description.clone())).collect(),
        left_out: left_out.iter().map(|tool| tool.name.clone()).collect(),
        quarantined: list.quarantined,
        changed,
    })
}

/// Connects, calls a tool by the server's own name for it, and lets the server go. What it asks a person, `person` answers. Gives
/// what it answers, and whether that is a failure.
///
/// # Errors
/// When the server cannot be reached, or does not answer.
pub async fn call_tool(
    settings: &Settings,
    place: &ServerContext,
    tool: &str,
    arguments: Map<String, Value>,
    person: impl AsyncFn(Result<Elicitation, ElicitationError>) -> ElicitReply,
) -> Result<(String, bool), McpError> {
    let (link, list) = Box::pin(server::open(settings, place, &Arc::new(Notify::new()))).await?;
    let link = Arc::new(link);
    let Some(tool) = list.tools.iter().find(|listed| listed.name == tool) else {
        link.end_process().await;
        return Err(McpError::Gone);
    };
    let call = CallParams { arguments, ..CallParams::default() };
    let (mut call, mut listener) = (Box::pin(link.call(tool, call)), link.listeners().open());
    let within = settings.call_within;
    let answer = loop {
        let asked = tokio::select! {
            biased;
            answer = &mut call => break answer,
            Some(asked) = listener.asked.recv() => asked,
            () = tokio::time::sleep(within) => break Err(McpError::Silent { within, why: String::new() }),
        };
        if asked.reply.send(person(asked.question).await).is_err() {
            tracing::debug!("the server no longer waits for an answer");
        }
    };
    drop(call);
    link.end_process().await;
    answer.map(|answer| (answer.text, answer.failed))
}

/// How many tools of a server are known from the last time; none: it was never asked.
pub fn cached_tool_count(settings: &Settings, data_dir: &Path) -> Option<usize> {
    let known = CachedTools::load(data_dir, &settings.name, &settings.identity())?;
    Some(known.tools.iter().filter(|tool| settings.offers(&tool.name)).count())
}

/// The arguments of each of its tools that is known from the last time, by the server's own names; none: it was never asked.
pub fn cached_arguments(settings: &Settings, data_dir: &Path) -> Option<BTreeMap<String, Vec<String>>> {
    let known = CachedTools::load(data_dir, &settings.name, &settings.identity())?;
    let of = |tool: &ListedTool| {
        let arguments = tool.schema.get("properties").and_then(Value::as_object);
        (tool.name.clone(), arguments.into_iter().flat_map(|all| all.keys().cloned()).collect())
    };
    Some(known.tools.iter().map(of).collect())
}

/// Has it asked for a login, and there was none since?
pub fn needs_login(settings: &Settings, data_dir: &Path) -> bool {
    login::store(settings, data_dir).is_some_and(|login| login.is_wanted())
}

/// As [`crate::mcp::Servers::class`], beside no running Hob: of the tools that the server had when it was last asked.
///
/// # Errors
/// When it was never asked, or there is no such tool.
pub async fn class(
    settings: &Settings,
    wish: &ClassChange,
    data_dir: &Path,
    store: &Store,
    now: Timestamp,
) -> Result<ServerTools, ClassError> {
    let classes = Classes::default();
    classes.load(store, |_| true).await?;
    let known = CachedTools::load(data_dir, &settings.name, &settings.identity());
    let known = known.ok_or_else(|| ClassError::Unknown(settings.name.clone()))?;
    let tools = || ServerTools::of(settings, &known.tools, &classes);
    tools().class(wish, store, &classes, now).await?;
    Ok(tools())
}
