//! The terminal, and the sandbox that it shares with other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::daemon::Blueprint;
use crate::daemon::toolset::{self, ToolDependencies, web};
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::terminal::{BubblewrapConfig, TerminalConfig};
use hob_tools::draft_workspace::DraftWorkspace;
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::registry::Registry;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::confinement::{Confinement, clear};
use hob_tools::sandbox::probe::ProbeRequest;
use hob_tools::sandbox::spec::{Limits, SandboxAccess};
use hob_tools::sandbox::trial::SandboxTrial;
use hob_tools::schedule::look::HouseLooker;
use hob_tools::schedule::watch::WatchCommand;
use hob_tools::terminal::{Settings, Terminal};
use hob_tools::workspace::Workspace;

/// Hob itself, also when its file was replaced.
const PROGRAM: &str = "/proc/self/exe";

/// What programs can be kept from here, found out and said when the first has to know. Only for who holds the data directory's lock.
pub(in crate::daemon) fn trial(blueprint: &Blueprint) -> SandboxTrial {
    let workspace = toolset::workspace(&blueprint.config, &blueprint.data_dir);
    // A draft lies over a folder.
    if let Err(error) = std::fs::create_dir_all(&workspace.root) {
        tracing::error!(%error, "the workspace cannot be made: no tool can work in it");
    }
    clear(&blueprint.data_dir);
    let around = (blueprint.data_dir.clone(), blueprint.config_file.clone(), blueprint.environment.clone());
    let (config, around) = (blueprint.config.terminal.clone(), Arc::new(around));
    SandboxTrial::later(move || {
        let (config, workspace, around) = (config.clone(), workspace.clone(), Arc::clone(&around));
        async move {
            let (data_dir, config_file, environment) = &*around;
            let sandbox = try_sandbox(&config, &workspace, data_dir, config_file.as_deref(), environment).await;
            if sandbox.is_fully_enforced() {
                tracing::info!(strength = %sandbox.strength(), "sandbox.ready");
            } else {
                tracing::warn!(strength = %sandbox.strength(), "sandbox.weak: every command in the terminal must be approved");
            }
            sandbox
        }
    })
}

/// Tries what programs can be kept from here; it may be tried beside a Hob at work.
pub async fn try_sandbox(
    config: &TerminalConfig,
    workspace: &Workspace,
    data_dir: &Path,
    config_file: Option<&Path>,
    environment: &Environment,
) -> Sandbox {
    let reach = sandbox_access(config, workspace);
    let path = match config.bubblewrap {
        BubblewrapConfig::Auto => environment.get("PATH"),
        BubblewrapConfig::Off => None,
    };
    // The process may change its directory, the file stays where it is.
    let config = config_file.and_then(|file| std::path::absolute(file).ok());
    let (program, config) = (Path::new(PROGRAM), config.as_deref());
    Sandbox::probe(&ProbeRequest { program, data_dir, config, reach: &reach, namespaces: true, path }).await
}

fn sandbox_access(config: &TerminalConfig, workspace: &Workspace) -> SandboxAccess {
    let limits = Limits {
        memory_mb: config.memory_mb,
        processes: config.processes_max,
        file_mb: config.file_mb,
        ..Limits::default()
    };
    let write = [&workspace.root].into_iter().chain(&workspace.write).cloned().collect();
    SandboxAccess { read: workspace.read.clone(), write, network: config.network, limits }
}

/// The sandbox of programs that work in the workspace.
pub(super) fn confinement(dependencies: &ToolDependencies<'_>) -> Confinement {
    let reach = sandbox_access(&dependencies.config.terminal, dependencies.workspace);
    Confinement::new(dependencies.sandbox.clone(), reach, dependencies.data_dir)
}

/// Where tools work on the workspace.
pub(super) fn draft_workspace(dependencies: &ToolDependencies<'_>) -> DraftWorkspace {
    DraftWorkspace { confinement: confinement(dependencies), drafts: dependencies.drafts.clone() }
}

/// Who looks for schedules.
pub(in crate::daemon) fn looker(config: &Config, sandbox: &SandboxTrial, data_dir: &Path) -> HouseLooker {
    let workspace = toolset::workspace(config, data_dir);
    HouseLooker {
        guard: web::guard(&config.web),
        confinement: Confinement::new(sandbox.clone(), sandbox_access(&config.terminal, &workspace), data_dir),
        terminal: config.terminal.enabled,
        dir: workspace.root,
        timeout: Duration::from_secs(config.terminal.timeout_secs),
        leftovers: ProcessReaper::of(data_dir),
        home: None,
        calendars: None,
    }
}

/// What reads commands unless the operator says so.
fn usual_shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    if bash.exists() { bash } else { Path::new("/bin/sh") }.to_owned()
}

/// With the terminal, if it is wanted.
pub(super) fn add(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    let config = &dependencies.config.terminal;
    if !config.enabled {
        return registry;
    }
    if let Err(error) = std::fs::create_dir_all(&dependencies.workspace.root) {
        tracing::error!(%error, "the workspace cannot be made: no command can run in it");
    }
    let (draft_workspace, shell) = (draft_workspace(dependencies), config.shell.clone().unwrap_or_else(usual_shell));
    let watch = WatchCommand::new(toolset::schedules(dependencies), draft_workspace.clone(), shell.clone());
    registry.with(Arc::new(watch)).with(Arc::new(Terminal::new(Settings {
        draft_workspace,
        workspace: dependencies.workspace.clone(),
        shell,
        timeout: Duration::from_secs(config.timeout_secs),
        trusted_output: config.trusted_output,
        data_dir: dependencies.data_dir.to_owned(),
    })))
}
