//! `hob mcp`: the MCP servers of the config, a look at one of them, and what its tools do.

mod add;
mod answer;
mod class;
mod login;
mod serve;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Subcommand;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::mcp::add::NewServer;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::{CliContext, runtime, show};
use crate::daemon::toolset;
use crate::daemon::toolset::mcp::settings;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::rng::SystemRng;
use hob_tools::mcp::ServerContext;
use hob_tools::mcp::classes::Classes;
use hob_tools::mcp::error::McpError;
use hob_tools::mcp::parked::ParkedCalls;
use hob_tools::mcp::probe::{self, ProbeReport};
use hob_tools::mcp::settings::{ServerTransport, Settings};
use hob_tools::process_reaper::ProcessReaper;

/// The most characters of what a tool does on its line.
const LINE_CHARS_MAX: usize = 80;
/// How long a server's process is waited for at the end.
const END: Duration = Duration::from_secs(5);

/// What `hob mcp` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum McpCommand {
    /// Show the configured servers; none is started
    List,
    /// Add a server to the config once it has answered, and say what its tools do: `hob mcp add notes -- npx -y PACKAGE`
    Add {
        /// What it is to be called
        name: String,
        /// The address of a server that is reached over HTTP
        #[arg(long, conflicts_with = "command")]
        url: Option<String>,
        /// The program that is the server, and its arguments
        #[arg(last = true, required_unless_present = "url")]
        command: Vec<String>,
    },
    /// Start a server, show its tools, and remember them as they now are
    Test {
        /// Its name in the config
        name: String,
    },
    /// Log in to a server that asks for it: shows a link to open in any browser, and takes what the browser brings back
    Login {
        /// Its name in the config
        name: String,
    },
    /// Forget the tokens of a server
    Logout {
        /// Its name in the config
        name: String,
    },
    /// Call a server's tool and show its answer
    Call {
        /// Its name in the config
        name: String,
        /// The server's own name for the tool
        tool: String,
        /// The arguments, as a JSON object
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Serve MCP over standard input and output, for the Hob that runs here
    Serve,
    /// Say once what a server's tools do, instead of at each call; without arguments, show what was said
    Class {
        /// Its name in the config
        name: String,
        /// What a tool does: looks, changes, critical (asked about each time), off (not offered), or ask (forget what was said of it)
        #[arg(value_name = "TOOL=CLASS")]
        tools: Vec<String>,
        /// Take the server's word for all tools of which nothing was said
        #[arg(long)]
        as_it_says: bool,
    },
}

/// Carries it out.
///
/// # Errors
/// When there is no such server, or it does not answer.
pub(super) fn run(command: &McpCommand, base: CliContext) -> anyhow::Result<()> {
    let servers =
        base.loaded.config.mcp.iter().map(|(name, config)| settings(name, config, &base.loaded.config, &base.data_dir));
    let servers: Vec<Settings> = servers.collect();
    match command {
        McpCommand::List => Ok(show(&list(&servers, &base))?),
        McpCommand::Add { name, url, command } => {
            let server = url.as_deref().map_or(NewServer::Program(command), NewServer::Address);
            add::add(name, &server, &base)
        }
        McpCommand::Test { name } => {
            let server = server_by_name(&servers, name)?;
            let seen = runtime()?.block_on(probe_server(server, &base))?;
            let known = probe::cached_arguments(server, &base.data_dir);
            let section = base.loaded.config.mcp.get(name);
            let unknown = section.zip(known).map(|(section, known)| section.unknown_arguments(name, &known));
            let unknown: String = unknown.into_iter().flatten().map(|note| format!("{note}\n")).collect();
            Ok(show(&base.redactor.redact(&format!("{}{unknown}", probe_text(server, &seen))))?)
        }
        McpCommand::Login { name } => login::log_in(server_by_name(&servers, name)?, &base),
        McpCommand::Logout { name } => login::log_out(server_by_name(&servers, name)?, &base),
        McpCommand::Call { name, tool, arguments } => {
            let server = server_by_name(&servers, name)?;
            let arguments = serde_json::from_str(arguments)
                .context(refusal!("the arguments are not a JSON object"; "write them like '{{\"city\": \"Bonn\"}}'"))?;
            let called = async |place: &ServerContext| {
                probe::call_tool(server, place, tool, arguments, answer::ask_person).await
            };
            let (text, failed) = runtime()?.block_on(with_server(server, &base, called))?;
            show(&format!("{}\n", base.redactor.redact(&text)))?;
            if failed {
                refuse!("the call has failed"; "`hob mcp test {name}` shows what its tools take")
            } else {
                Ok(())
            }
        }
        McpCommand::Serve => serve::serve(&base.data_dir),
        McpCommand::Class { name, tools, as_it_says } => {
            let (server, wish) = (server_by_name(&servers, name)?, class::parse_classes(tools, *as_it_says)?);
            let tools = runtime()?.block_on(async {
                // Who has never been asked is asked now: else there is nothing to be said.
                if probe::cached_tool_count(server, &base.data_dir).is_none() {
                    Box::pin(probe_server(server, &base)).await?;
                }
                class::class(server, wish, &base).await
            })?;
            Ok(show(&base.redactor.redact(&class::class_table(&tools)))?)
        }
    }
}

fn server_by_name<'a>(servers: &'a [Settings], name: &str) -> anyhow::Result<&'a Settings> {
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        if names.is_empty() {
            refuse!("there is no [mcp.{name}] in the config, and no other"; "add one, `hob help mcp` says how");
        }
        refuse!("there is no [mcp.{name}] in the config"; "name one of {}", names.join(", "));
    };
    Ok(server)
}

async fn probe_server(server: &Settings, base: &CliContext) -> anyhow::Result<ProbeReport> {
    with_server(server, base, async |place: &ServerContext| probe::probe_server(server, place).await).await
}

/// Does something with a server where the daemon would, and waits until the server is gone.
async fn with_server<T>(
    server: &Settings,
    base: &CliContext,
    work: impl AsyncFnOnce(&ServerContext) -> Result<T, McpError>,
) -> anyhow::Result<T> {
    let (config, data_dir) = (&base.loaded.config, base.data_dir.as_path());
    let workspace = toolset::workspace(config, data_dir);
    // As the daemon will find it: the trial needs the folder.
    std::fs::create_dir_all(data_dir)?;
    let file = base.loaded.path.as_deref();
    let sandbox =
        Box::pin(toolset::terminal::try_sandbox(&config.terminal, &workspace, data_dir, file, &base.environment)).await;
    let place = ServerContext {
        program_sandbox: toolset::own_programs::program_sandbox(&config.terminal, &sandbox.into(), data_dir),
        data_dir: base.data_dir.clone(),
        leftovers: ProcessReaper::of(&base.data_dir),
        clock: Arc::new(SystemClock),
        rng: Arc::new(SystemRng),
        tracker: TaskTracker::new(),
        stop: CancellationToken::new(),
        classes: Classes::default(),
        parked: ParkedCalls::default(),
    };
    let seen = Box::pin(work(&place)).await;
    place.tracker.close();
    if tokio::time::timeout(END, place.tracker.wait()).await.is_err() {
        tracing::warn!("the server does not end");
    }
    seen.with_context(|| format!("the MCP server {}", server.name))
}

fn list(servers: &[Settings], base: &CliContext) -> String {
    if servers.is_empty() {
        return "The config names no MCP server; `hob mcp add` adds one.\n".to_owned();
    }
    let line = |server: &Settings| {
        let place = match &server.way {
            ServerTransport::Program { vector, .. } => vector.join(" "),
            ServerTransport::Address { url, .. } => url.clone(),
        };
        let tools = match probe::cached_tool_count(server, &base.data_dir) {
            _ if probe::needs_login(server, &base.data_dir) => format!("needs a login: hob mcp login {}", server.name),
            Some(1) => "1 tool".to_owned(),
            Some(tools) => format!("{tools} tools"),
            None => "tools not known yet".to_owned(),
        };
        let trusted = match (server.trusted_output, server.trusted_annotations) {
            (true, true) => ", its output and its annotations trusted",
            (true, false) => ", its output trusted",
            (false, true) => ", its annotations trusted",
            (false, false) => "",
        };
        format!("{}: {tools}{trusted}: {place}\n", server.name)
    };
    let all: String = servers.iter().map(line).collect();
    base.redactor.redact(&all).into_owned()
}

fn probe_text(server: &Settings, seen: &ProbeReport) -> String {
    let mut lines = vec![format!(
        "{} answers after {:.1} s; tools on offer: {}",
        server.name,
        seen.took.as_secs_f64(),
        seen.tools.len()
    )];
    let short = |words: &str| words.lines().next().unwrap_or_default().chars().take(LINE_CHARS_MAX).collect::<String>();
    lines.extend(seen.tools.iter().map(|(name, about)| format!("  {name}: {}", short(about))));
    let several = |what: &str, names: &[String]| (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")));
    lines.extend(several("left out by the config", &seen.left_out));
    lines.extend(quarantined(seen));
    lines.extend(several("described otherwise than before", &seen.changed));
    if server.approval.is_none() && !seen.tools.is_empty() {
        lines.push(format!("say once what they do, instead of at each call: hob mcp class {}", server.name));
    }
    lines.join("\n") + "\n"
}

/// The tools that cannot be offered, a line each.
fn quarantined(seen: &ProbeReport) -> Vec<String> {
    seen.quarantined.iter().map(|(name, why)| format!("cannot be offered: {name:?}: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_config::Config;

    #[test]
    fn a_look_at_a_server_is_told_in_full() {
        let server = &toml::from_str("command = ['notes']").unwrap();
        let server = settings("notes", server, &Config::default(), std::path::Path::new("/d"));
        let seen = ProbeReport {
            took: Duration::from_millis(640),
            tools: vec![("notes__add".to_owned(), "Adds a note.\nMore.".to_owned())],
            left_out: vec!["drop".to_owned()],
            quarantined: vec![("bad".to_owned(), "the schema of its arguments is not a JSON schema".to_owned())],
            changed: vec!["add".to_owned()],
        };
        insta::assert_snapshot!(probe_text(&server, &seen), @r#"
        notes answers after 0.6 s; tools on offer: 1
          notes__add: Adds a note.
        left out by the config: drop
        cannot be offered: "bad": the schema of its arguments is not a JSON schema
        described otherwise than before: add
        say once what they do, instead of at each call: hob mcp class notes
        "#);
    }
}
