//! The MCP servers of the config.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::daemon::Blueprint;
use crate::daemon::assembly::ProcessServices;
use crate::daemon::toolset::{approval, own_programs, web};
use hob_config::Config;
use hob_config::mcp::McpConfig;
use hob_core::domain::secret::Secret;
use hob_tools::mcp::login::{CALLBACK, NOWHERE};
use hob_tools::mcp::settings::{LoginSettings, ServerTransport, Settings};
use hob_tools::mcp::{ServerContext, Servers};
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::registry_handle::ToolRegistryHandle;

/// How long a server is kept when nobody calls it.
const IDLE: Duration = Duration::from_secs(600);

/// All of them; what is known of their tools is on offer from now on, and none is started.
pub(in crate::daemon) fn servers(
    blueprint: &Blueprint,
    shed: &Arc<ToolRegistryHandle>,
    roots: &ProcessServices,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> Servers {
    let place = ServerContext {
        data_dir: blueprint.data_dir.clone(),
        leftovers: ProcessReaper::of(&blueprint.data_dir),
        program_sandbox: own_programs::program_sandbox(&blueprint.config.terminal, &roots.sandbox, &blueprint.data_dir),
        clock: Arc::clone(&blueprint.clock),
        rng: Arc::clone(&blueprint.rng),
        tracker: tracker.clone(),
        stop: stop.clone(),
        classes: roots.classes.clone(),
        parked: roots.parked.clone(),
    };
    Servers::new(all(blueprint), place, shed)
}

/// How each is reached.
pub(in crate::daemon) fn all(blueprint: &Blueprint) -> Vec<Settings> {
    let all = blueprint.config.mcp.iter();
    all.map(|(name, server)| settings(name, server, &blueprint.config, &blueprint.data_dir)).collect()
}

/// A server, as the config has it.
pub fn settings(name: &str, config: &McpConfig, whole: &Config, data_dir: &Path) -> Settings {
    let owned =
        |secrets: &BTreeMap<String, Secret>| secrets.iter().map(|(n, value)| (n.clone(), value.clone())).collect();
    let own = own_programs::of_server(name, config);
    let home = || own.as_ref().map_or_else(|| data_dir.to_owned(), |own| own.home(data_dir));
    let way = match &config.url {
        Some(url) => ServerTransport::Address {
            url: url.clone(),
            bearer: config.bearer.clone(),
            headers: owned(&config.headers),
            login: login(config, whole),
        },
        None => ServerTransport::Program {
            vector: config.command.clone(),
            environment: owned(&config.env),
            dir: config.working_dir.clone().unwrap_or_else(home),
            own: own.clone(),
        },
    };
    Settings {
        name: name.to_owned(),
        way,
        trusted_output: config.trusted_output,
        trusted_annotations: config.trusted_annotations,
        meta: config.meta,
        role: config.role,
        approval: config.approval.map(approval),
        undo: config.undo.iter().map(|(of, undo)| (of.clone(), undo.rule("undo", of).0)).collect(),
        arguments: config.arguments.clone(),
        allow: config.allow.clone(),
        deny: config.deny.clone(),
        start_within: Duration::from_secs(config.start_timeout_secs),
        call_within: Duration::from_secs(config.timeout_secs),
        idle: IDLE,
    }
}

/// How Hob logs in there.
fn login(config: &McpConfig, whole: &Config) -> LoginSettings {
    let page = whole.server.public_url.as_deref().map(|url| format!("{}{CALLBACK}", url.trim_end_matches('/')));
    LoginSettings {
        client: config.client_id.clone().map(|id| (id, config.client_secret.clone())),
        redirect: page.unwrap_or_else(|| NOWHERE.to_owned()),
        private: web::places(&whole.web.allow),
    }
}
