//! Tools that hand work on: to agents of Hob's own, and to those that are installed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::daemon::toolset::{ToolDependencies, own_programs};
use hob_config::cli_agents::CliAgentConfig;
use hob_config::environment::Environment;
use hob_core::domain::agents::KNOWN;
use hob_tools::agent_send::AgentSend;
use hob_tools::ask_reader::AskReader;
use hob_tools::cli_agent::{CliAgent, Program};
use hob_tools::registry::Registry;
use hob_tools::spawn_agent::SpawnAgent;

pub(super) fn with(registry: Registry, dependencies: &ToolDependencies<'_>) -> Registry {
    let registry = registry.with(Arc::new(SpawnAgent::new(Arc::clone(dependencies.rng))));
    let registry = registry.with(Arc::new(AgentSend::default())).with(Arc::new(AskReader::default()));
    let programs = programs(&dependencies.config.cli_agents, dependencies.environment);
    let sandbox =
        own_programs::program_sandbox(&dependencies.config.terminal, dependencies.sandbox, dependencies.data_dir);
    match CliAgent::new(programs, dependencies.workspace.clone(), sandbox) {
        Some(tool) => registry.with(Arc::new(tool)),
        None => registry,
    }
}

/// Those that are installed: the known ones, and those that the config names.
fn programs(configured: &BTreeMap<String, CliAgentConfig>, environment: &Environment) -> BTreeMap<String, Program> {
    let known = KNOWN.iter().map(|(name, command)| {
        let command = command.iter().map(|element| (*element).to_owned()).collect();
        ((*name).to_owned(), CliAgentConfig { command, ..CliAgentConfig::default() })
    });
    let mut all: BTreeMap<String, CliAgentConfig> = known.collect();
    for (name, agent) in configured {
        let usual = all.remove(name).map(|usual| usual.command);
        let command = if agent.command.is_empty() { usual.unwrap_or_default() } else { agent.command.clone() };
        all.insert(name.clone(), CliAgentConfig { command, ..agent.clone() });
    }
    let found = all.into_iter().filter_map(|(name, agent)| Some((name.clone(), program(&name, agent, environment)?)));
    found.collect()
}

/// The agent as it is installed; none: it is not.
fn program(name: &str, agent: CliAgentConfig, environment: &Environment) -> Option<Program> {
    let (program, rest) = agent.command.split_first()?;
    let program = find(Path::new(program), environment)?.into_os_string().into_string().ok()?;
    let command = std::iter::once(program).chain(rest.iter().cloned()).collect();
    let variable = |name: &String| Some((name.clone(), environment.text(name)?.to_owned()));
    let own = own_programs::of_agent(name, &agent);
    Some(Program { command, environment: agent.env.iter().filter_map(variable).collect(), own })
}

/// Where a program is: by its path, or in one of the folders of PATH.
fn find(program: &Path, environment: &Environment) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned()).filter(|program| program.is_absolute() && is_executable(program));
    }
    let folders = environment.get("PATH")?;
    std::env::split_paths(folders)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|at| is_executable(at))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_installed_is_on_offer() {
        let dir = tempfile::tempdir().unwrap();
        let install = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let claude = install("claude", 0o755);
        let mine = install("coder", 0o755);
        install("codex", 0o644);
        let path = dir.path().to_str().unwrap();
        let environment = Environment::of("/w", [("PATH", path), ("ANTHROPIC_API_KEY", "k1"), ("OTHER", "k2")]);
        let config: BTreeMap<String, CliAgentConfig> = toml::from_str(&format!(
            "[claude]\nenv = ['ANTHROPIC_API_KEY', 'NOT_SET']\n[mine]\ncommand = ['{}', '{{task}}']\n[gone]\ncommand = ['/gone', '{{task}}']",
            mine.display()
        ))
        .unwrap();
        let found = programs(&config, &environment);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["claude", "mine"]);
        let claude = [claude.to_str().unwrap(), "--permission-mode", "acceptEdits", "-p", "{task}"];
        assert_eq!(found["claude"].command, claude);
        assert_eq!(found["claude"].environment, [("ANTHROPIC_API_KEY".to_owned(), "k1".to_owned())]);
        assert_eq!(programs(&BTreeMap::new(), &Environment::of("/w", [("HOME", "/h")])), BTreeMap::new());
    }
}
