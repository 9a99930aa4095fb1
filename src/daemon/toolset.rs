//! All tools of this Hob: the built-in ones, then those that the operator declares. A file per family of tools.

pub(super) mod terminal;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::config::environment::Environment;
use crate::config::tools::{ApprovalConfig, ToolConfig};
use crate::daemon::parts::role;
use crate::domain::tools::{Approval, Risk, ToolFacts};
use crate::memory::recall::Memory;
use crate::tool::Timeout;
use crate::tool::ask_human::AskHuman;
use crate::tool::command::{CommandTool, Declaration};
use crate::tool::current_time::CurrentTime;
use crate::tool::forget::ForgetTool;
use crate::tool::leftovers::Leftovers;
use crate::tool::manage_people::ManagePeople;
use crate::tool::read_result::ReadResult;
use crate::tool::recall::RecallTool;
use crate::tool::registry::Registry;
use crate::tool::remember_fact::RememberFact;
use crate::tool::request_more_iterations::RequestMoreIterations;
use crate::tool::results::Results;
use crate::tool::run_journal::RunJournal;
use crate::tool::sandbox::Sandbox;
use crate::tool::sandbox::confined::Confined;
use crate::tool::workspace::Workspace;

/// What tools are made from.
pub(super) struct Grounds<'a> {
    /// The config, as loaded.
    pub(super) config: &'a Config,
    /// What is remembered, with the database and the household's zone.
    pub(super) memory: &'a Memory,
    /// Where Hob's data is.
    pub(super) data_dir: &'a Path,
    /// The process's environment.
    pub(super) environment: &'a Environment,
    /// Where tools may read and write files.
    pub(super) workspace: &'a Workspace,
    /// How programs are confined here.
    pub(super) sandbox: &'a Sandbox,
}

/// Where tools may read and write files.
pub(super) fn workspace(config: &Config, data_dir: &Path) -> Workspace {
    let of = &config.workspace;
    let usual = Workspace::of(data_dir);
    Workspace { root: of.dir.clone().unwrap_or(usual.root), read: of.read_dirs.clone(), write: of.write_dirs.clone() }
}

/// All of them.
pub(super) fn tools(grounds: &Grounds<'_>) -> Registry {
    let (config, data_dir) = (grounds.config, grounds.data_dir);
    let (leftovers, confined) = (Leftovers::of(data_dir), terminal::confined(grounds));
    let declared = config.tools.iter().map(|(name, tool)| declaration(name, tool, data_dir, (&leftovers, &confined)));
    declared.fold(built_in(grounds), |registry, tool| registry.with(Arc::new(CommandTool::new(tool))))
}

fn built_in(grounds: &Grounds<'_>) -> Registry {
    let (memory, config) = (grounds.memory, grounds.config);
    let (store, zone) = (&memory.store, &memory.zone);
    let (results, chars_max) = (Results::of(grounds.data_dir), config.agent.tool_output_chars_max);
    let registry = terminal::add(Registry::default(), grounds);
    registry
        .with(Arc::new(RememberFact::new(store.clone(), zone.clone())))
        .with(Arc::new(ManagePeople::new(store.clone(), zone.clone())))
        .with(Arc::new(ForgetTool::new(memory.clone())))
        .with(Arc::new(RecallTool::new(memory.clone())))
        .with(Arc::new(ReadResult::new(store.clone(), results, chars_max)))
        .with(Arc::new(CurrentTime::new(zone.clone())))
        .with(Arc::new(RequestMoreIterations::default()))
        .with(Arc::new(RunJournal::get()))
        .with(Arc::new(RunJournal::update()))
        .with(Arc::new(RunJournal::append()))
        .with(Arc::new(AskHuman::default()))
}

/// Whether a person has to approve a tool's calls.
fn approval(approval: ApprovalConfig) -> Approval {
    match approval {
        ApprovalConfig::Never => Approval::Free,
        ApprovalConfig::Ask => Approval::Ask,
        ApprovalConfig::Critical => Approval::Critical,
    }
}

fn declaration(
    name: &str,
    tool: &ToolConfig,
    data_dir: &Path,
    (leftovers, confined): (&Leftovers, &Confined),
) -> Declaration {
    let root = confined.reach.write.first().filter(|_| tool.sandbox);
    // Even one that may be run twice may have switched a light.
    let changes = tool.changes.unwrap_or(true);
    Declaration {
        name: name.to_owned(),
        description: tool.description.clone(),
        command: tool.command.clone(),
        parameters: tool.parameters.clone(),
        module: tool.module.clone(),
        role: role(tool.role),
        idempotent: tool.idempotent,
        facts: ToolFacts {
            changes,
            exclusive: tool.exclusive,
            approval: approval(tool.approval),
            risk: if changes { Risk::Execute } else { Risk::Read },
        },
        timeout: tool.timeout_secs.map_or(Timeout::Usual, |secs| Timeout::Own(Duration::from_secs(secs))),
        working_dir: tool.working_dir.as_ref().or(root).cloned().unwrap_or_else(|| data_dir.to_owned()),
        leftovers: leftovers.clone(),
        confined: tool.sandbox.then(|| confined.clone()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::store::Store;
    use crate::tool::sandbox::spec::{Limits, Reach};

    #[tokio::test]
    async fn d4_the_built_in_tools_are_known_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), crate::store::Pace::Threaded).await.unwrap();
        let memory = Memory::by_words(store, TimeZone::UTC);
        let built_in = tools(&Grounds {
            config: &Config::default(),
            memory: &memory,
            data_dir: dir.path(),
            environment: &Environment::of("/w", [("HOME", "/h")]),
            workspace: &Workspace::of(dir.path()),
            sandbox: &Sandbox::none("this is a test"),
        });
        assert_eq!(built_in.names(), crate::domain::tools::BUILT_IN);
    }

    #[test]
    fn e3_a_tools_own_timeout_goes_before_both() {
        let tool = |settings: &str| -> ToolConfig {
            toml::from_str(&format!("description = \"x\"\ncommand = [\"/bin/true\"]\n{settings}")).unwrap()
        };
        let of = |settings: &str| {
            let (dir, leftovers) = (Path::new("/d"), Leftovers::of(Path::new("/d")));
            let reach = Reach { read: Vec::new(), write: Vec::new(), network: false, limits: Limits::default() };
            let confined = Confined::new(Sandbox::none("this is a test"), reach, dir);
            declaration("x", &tool(settings), dir, (&leftovers, &confined))
        };
        assert_eq!(of("").timeout, Timeout::Usual);
        assert_eq!(of("timeout_secs = 0").timeout, Timeout::Own(Duration::ZERO));
        assert_eq!(of("timeout_secs = 5").timeout, Timeout::Own(Duration::from_secs(5)));
        let facts = |settings: &str| (of(settings).facts.changes, of(settings).facts.exclusive);
        assert_eq!(facts(""), (true, false));
        assert_eq!(facts("idempotent = true\nexclusive = true"), (true, true), "it may have switched a light");
        assert_eq!(facts("changes = false"), (false, false));
    }
}
