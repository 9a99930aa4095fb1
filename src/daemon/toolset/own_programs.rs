//! The sandbox of the owner's own programs, as the config says.

use std::path::{Path, PathBuf};

use hob_config::Config;
use hob_config::cli_agents::CliAgentConfig;
use hob_config::hooks::HookConfig;
use hob_config::mcp::McpConfig;
use hob_config::speech::SpeechConfig;
use hob_config::terminal::TerminalConfig;
use hob_config::tools::ToolConfig;
use hob_tools::sandbox::program_sandbox::{ProgramAccess, ProgramSandbox};
use hob_tools::sandbox::spec::Limits;
use hob_tools::sandbox::trial::{Confinement, SandboxTrial};

/// From what they are made.
pub fn program_sandbox(config: &TerminalConfig, sandbox: &SandboxTrial, data_dir: &Path) -> ProgramSandbox {
    let limits = Limits {
        memory_mb: config.memory_mb,
        processes: config.processes_max,
        file_mb: config.file_mb,
        ..Limits::default()
    };
    ProgramSandbox { sandbox: sandbox.clone(), limits, data_dir: data_dir.to_owned() }
}

/// Around a declared tool; none: the owner wants none.
pub(super) fn of_tool(name: &str, tool: &ToolConfig) -> Option<ProgramAccess> {
    tool.sandbox.then(|| ProgramAccess {
        folder: format!("tools/{name}"),
        network: tool.network,
        read: tool.read_dirs.clone(),
        write: with_working_dir(&tool.write_dirs, tool.working_dir.as_ref()),
    })
}

/// Around a hook, likewise. All of them have one folder.
pub(in crate::daemon) fn of_hook(hook: &HookConfig) -> Option<ProgramAccess> {
    hook.sandbox.then(|| ProgramAccess {
        folder: "hooks".to_owned(),
        network: hook.network,
        read: hook.read_dirs.clone(),
        write: hook.write_dirs.clone(),
    })
}

/// Around what says answers aloud, always.
pub(in crate::daemon) fn of_speech(speech: &SpeechConfig) -> ProgramAccess {
    ProgramAccess {
        folder: "speech".to_owned(),
        network: speech.network,
        read: speech.read_dirs.clone(),
        write: Vec::new(),
    }
}

/// Around an MCP server, likewise.
pub(super) fn of_server(name: &str, server: &McpConfig) -> Option<ProgramAccess> {
    server.sandbox.then(|| ProgramAccess {
        folder: format!("mcp/{name}"),
        network: server.network,
        read: server.read_dirs.clone(),
        write: with_working_dir(&server.write_dirs, server.working_dir.as_ref()),
    })
}

/// Around a coding agent, likewise. It works in the workspace.
pub(super) fn of_agent(name: &str, agent: &CliAgentConfig) -> Option<ProgramAccess> {
    agent.sandbox.then(|| ProgramAccess {
        folder: format!("agents/{name}"),
        network: agent.network,
        read: agent.read_dirs.clone(),
        write: agent.write_dirs.clone(),
    })
}

fn with_working_dir(dirs: &[PathBuf], working: Option<&PathBuf>) -> Vec<PathBuf> {
    dirs.iter().chain(working).cloned().collect()
}

/// Who is outside the sandbox by the owner's word, by their keys in the config.
pub fn unsandboxed_keys(config: &Config) -> Vec<String> {
    let tools = config.tools.iter().filter(|(_, tool)| !tool.sandbox).map(|(name, _)| format!("tools.{name}"));
    let hooks = config.hooks.iter().enumerate().filter(|(_, hook)| !hook.sandbox);
    let servers = config.mcp.iter().filter(|(_, server)| !server.sandbox && server.url.is_none());
    let agents = config.cli_agents.iter().filter(|(_, agent)| !agent.sandbox);
    tools
        .chain(hooks.map(|(index, _)| format!("hooks[{}]", index + 1)))
        .chain(servers.map(|(name, _)| format!("mcp.{name}")))
        .chain(agents.map(|(name, _)| format!("cli_agents.{name}")))
        .collect()
}

/// How programs are confined.
pub fn confinement(sandbox: &SandboxTrial, config: &Config) -> Confinement {
    Confinement { trial: sandbox.clone(), outside: unsandboxed_keys(config) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_tools::sandbox::Sandbox;

    #[test]
    fn d6_who_is_outside_is_told_and_nobody_else_is_outside() {
        let config: Config = toml::from_str(
            "[tools.a]\ndescription = 'x'\ncommand = ['a']\n[tools.b]\ndescription = 'x'\ncommand = ['b']\nsandbox = false\n\
             [mcp.c]\ncommand = ['c']\n[mcp.d]\ncommand = ['d']\nsandbox = false\n[mcp.e]\nurl = 'http://h'\n\
             [cli_agents.f]\ncommand = ['f', '{task}']\nsandbox = false\n[[hooks]]\nwhen = 'before_tool'\ncommand = ['g']\n\
             [[hooks]]\nwhen = 'before_tool'\ncommand = ['h']\nsandbox = false",
        )
        .unwrap();
        let told = confinement(&Sandbox::none("this is a test").into(), &config).words();
        insta::assert_snapshot!(told, @"commands cannot be confined, so each must be approved: this is a test; outside by the config: tools.b, hooks[2], mcp.d, cli_agents.f");
        let networks = config.mcp.iter().map(|(name, server)| of_server(name, server).map(|own| own.network));
        assert_eq!(networks.collect::<Vec<_>>(), [Some(true), None, Some(true)]);
        assert!(!of_tool("a", &config.tools["a"]).unwrap().network && !of_hook(&config.hooks[0]).unwrap().network);
    }
}
