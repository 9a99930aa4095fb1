//! The terminal, and the sandbox that it shares with other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::daemon::toolset::Grounds;
use hob_config::environment::Environment;
use hob_config::terminal::{BubblewrapConfig, TerminalConfig};
use hob_tools::desk::Desk;
use hob_tools::registry::Registry;
use hob_tools::sandbox::Sandbox;
use hob_tools::sandbox::confined::{Confined, clear};
use hob_tools::sandbox::probe::Question;
use hob_tools::sandbox::spec::{Limits, Reach};
use hob_tools::terminal::{Settings, Terminal};
use hob_tools::workspace::Workspace;

/// Hob itself, also when its file was replaced.
const PROGRAM: &str = "/proc/self/exe";

/// Finds out what programs can be kept from here, and says so. Only for who holds the data directory's lock.
pub(in crate::daemon) async fn sandbox(
    config: &TerminalConfig,
    workspace: &Workspace,
    (data_dir, environment): (&Path, &Environment),
) -> Sandbox {
    clear(data_dir);
    let sandbox = look(config, workspace, (data_dir, environment)).await;
    if sandbox.is_whole() {
        tracing::info!(strength = %sandbox.strength(), "sandbox.ready");
    } else {
        tracing::warn!(strength = %sandbox.strength(), "sandbox.weak: every command in the terminal must be approved");
    }
    sandbox
}

/// Tries what programs can be kept from here; it may be tried beside a Hob at work.
pub async fn look(
    config: &TerminalConfig,
    workspace: &Workspace,
    (data_dir, environment): (&Path, &Environment),
) -> Sandbox {
    let reach = reach(config, workspace);
    let path = match config.bubblewrap {
        BubblewrapConfig::Auto => environment.get("PATH"),
        BubblewrapConfig::Off => None,
    };
    let question = Question { program: Path::new(PROGRAM), data_dir, reach: &reach, namespaces: true, path };
    Sandbox::probe(&question).await
}

fn reach(config: &TerminalConfig, workspace: &Workspace) -> Reach {
    let limits = Limits {
        memory_mb: config.memory_mb,
        processes: config.processes_max,
        file_mb: config.file_mb,
        ..Limits::default()
    };
    let write = [&workspace.root].into_iter().chain(&workspace.write).cloned().collect();
    Reach { read: workspace.read.clone(), write, network: config.network, limits }
}

/// The walls around programs that work in the workspace.
pub(super) fn confined(grounds: &Grounds<'_>) -> Confined {
    let reach = reach(&grounds.config.terminal, grounds.workspace);
    Confined::new(grounds.sandbox.clone(), reach, grounds.data_dir)
}

/// Where tools work on the workspace.
pub(super) fn desk(grounds: &Grounds<'_>) -> Desk {
    Desk { confined: confined(grounds), drafts: grounds.drafts.clone() }
}

/// What reads commands unless the operator says so.
fn usual_shell() -> PathBuf {
    let bash = Path::new("/bin/bash");
    if bash.exists() { bash } else { Path::new("/bin/sh") }.to_owned()
}

/// With the terminal, if it is wanted.
pub(super) fn add(registry: Registry, grounds: &Grounds<'_>) -> Registry {
    let config = &grounds.config.terminal;
    if !config.enabled {
        return registry;
    }
    if let Err(error) = std::fs::create_dir_all(&grounds.workspace.root) {
        tracing::error!(%error, "the workspace cannot be made: no command can run in it");
    }
    registry.with(Arc::new(Terminal::new(Settings {
        desk: desk(grounds),
        workspace: grounds.workspace.clone(),
        shell: config.shell.clone().unwrap_or_else(usual_shell),
        timeout: Duration::from_secs(config.timeout_secs),
        trusted_output: config.trusted_output,
        data_dir: grounds.data_dir.to_owned(),
    })))
}
