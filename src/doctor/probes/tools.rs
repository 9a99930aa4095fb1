//! What is started: the sandbox's trial, the embedding, MCP servers, the voice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::daemon::memory::{objection, source};
use crate::daemon::toolset;
use crate::daemon::toolset::mcp::settings;
use crate::doctor::DoctorInputs;
use crate::doctor::rules::finding::{Check, Finding};
use crate::doctor::rules::network::{self, EmbeddingState};
use hob_config::Config;
use hob_memory::upkeep::source::FetchPermission;
use hob_memory::upkeep::{EmbedderOpener as _, PrepareError};
use hob_tools::mcp::classes::Classes;
use hob_tools::mcp::parked::ParkedCalls;
use hob_tools::mcp::settings::Settings;
use hob_tools::mcp::{ServerContext, probe};
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::sandbox::Sandbox;

/// How long a server's process is waited for at the end.
const END: Duration = Duration::from_secs(5);

pub(in crate::doctor) async fn sandbox(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(config), Ok(data_dir)) = (patient.config(), &patient.data_dir) else { return Vec::new() };
    if !data_dir.exists() {
        return vec![Finding::note(Check::Sandbox, "tried at the first start, which makes the folder for it")];
    }
    let sandbox = sandbox_trial(patient, config, data_dir).await;
    let outside = toolset::own_programs::unsandboxed_keys(config);
    let outside = (!outside.is_empty())
        .then(|| Finding::note(Check::Sandbox, format!("outside by the config: {}", outside.join(", "))));
    std::iter::once(network::sandbox(sandbox.strength(), config.terminal.enabled)).chain(outside).collect()
}

async fn sandbox_trial(patient: &DoctorInputs, config: &Config, data_dir: &Path) -> Sandbox {
    let workspace = toolset::workspace(config, data_dir);
    let file = patient.loaded.as_ref().and_then(|loaded| loaded.path.as_deref());
    Box::pin(toolset::terminal::try_sandbox(&config.terminal, &workspace, data_dir, file, &patient.environment)).await
}

pub(in crate::doctor) async fn embeddings(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(config), Ok(data_dir)) = (patient.config(), &patient.data_dir) else { return Vec::new() };
    let config = &config.memory.embedding;
    let objection = objection(config, &patient.environment);
    // Nothing is fetched by a look.
    let Some(source) = source(config, data_dir, FetchPermission::No(String::new())) else {
        return vec![network::embedding(&EmbeddingState::Off)];
    };
    let found = match source.prepare(&|_told| {}).await {
        Err(PrepareError::Forbidden(_)) => EmbeddingState::Unfetched { objection },
        Err(PrepareError::Failed(error)) => EmbeddingState::Broken { why: error.to_string() },
        Ok(()) => match source.open().await {
            Ok(embedder) => EmbeddingState::Ready { name: embedder.model().name.clone() },
            Err(error) => EmbeddingState::Broken { why: error.to_string() },
        },
    };
    vec![network::embedding(&found)]
}

/// A word is spoken, where that may be.
pub(in crate::doctor) async fn speech(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(config), Ok(data_dir)) = (patient.config(), &patient.data_dir) else { return Vec::new() };
    if config.speech.is_none() {
        return vec![Finding::ok(Check::Speech, "nobody says answers aloud")];
    }
    if !patient.live {
        return vec![Finding::note(Check::Speech, "not tried; `hob doctor --live` has a word spoken")];
    }
    let sandbox = sandbox_trial(patient, config, data_dir).await.into();
    let spoken = match toolset::speech::settings(config, &sandbox, data_dir) {
        Ok(Some(settings)) => settings.speak("Hello.").await.map_err(|error| error.why),
        Ok(None) => return Vec::new(),
        Err(error) => Err(error.to_string()),
    };
    vec![network::speech(&spoken.map(|sound| sound.len()))]
}

pub(in crate::doctor) async fn mcp(patient: &DoctorInputs) -> Vec<Finding> {
    let (Some(config), Ok(data_dir)) = (patient.config(), &patient.data_dir) else { return Vec::new() };
    let servers = config.mcp.iter().map(|(name, server)| settings(name, server, config, data_dir));
    let servers: Vec<Settings> = servers.collect();
    if servers.is_empty() {
        return vec![Finding::ok(Check::Mcp, "no server is configured")];
    }
    if !patient.live {
        let known = |server: &Settings| match probe::needs_login(server, data_dir) {
            true => network::mcp_needs_login(&server.name),
            false => network::mcp_known(&server.name, probe::cached_tool_count(server, data_dir)),
        };
        let unknown = |server: &Settings| {
            let known = probe::cached_arguments(server, data_dir)?;
            Some(config.mcp.get(&server.name)?.unknown_arguments(&server.name, &known))
        };
        let unknown = servers.iter().filter_map(unknown).flatten();
        let unknown = unknown.map(|note| Finding::warn(Check::Mcp, format!("{} {}", note.key, note.what), note.fix));
        return servers.iter().map(known).chain(unknown).collect();
    }
    let place = ServerContext {
        data_dir: data_dir.clone(),
        leftovers: ProcessReaper::of(data_dir),
        program_sandbox: toolset::own_programs::program_sandbox(
            &config.terminal,
            &sandbox_trial(patient, config, data_dir).await.into(),
            data_dir,
        ),
        clock: Arc::clone(&patient.clock),
        rng: Arc::clone(&patient.rng),
        tracker: TaskTracker::new(),
        stop: CancellationToken::new(),
        classes: Classes::default(),
        parked: ParkedCalls::default(),
    };
    let looked = servers.iter().map(|server| {
        let place = &place;
        async move {
            let seen = Box::pin(probe::probe_server(server, place)).await;
            let seen = seen.map(|seen| (seen.tools.len(), seen.took)).map_err(|error| error.to_string());
            network::mcp(&server.name, &seen)
        }
    });
    let found = join_all(looked).await;
    place.tracker.close();
    if tokio::time::timeout(END, place.tracker.wait()).await.is_err() {
        tracing::warn!("a server does not end");
    }
    found
}
