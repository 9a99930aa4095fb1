//! All tools of this Hob: the built-in ones, then those that the operator declares. A file per family of tools.

mod agents;
pub(crate) mod dav;
pub(in crate::daemon) mod files;
pub(crate) mod home;
pub(crate) mod mail;
pub mod mcp;
pub mod own_programs;
pub mod speech;
pub mod terminal;
pub(in crate::daemon) mod web;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::daemon::toolset::home::HomeHandle;
use crate::daemon::triggers::check_beyond_schema;
use hob_config::Config;
use hob_config::environment::Environment;
use hob_config::load::usual_place;
use hob_config::tools::{ApprovalConfig, ToolConfig};
use hob_config::writer::Writer;
use hob_core::domain::clock::SystemClock;
use hob_core::domain::rng::Rng;
use hob_core::domain::skills::SkillBook;
use hob_core::domain::tools::{Approval, Risk, ToolFacts};
use hob_memory::recall::Memory;
use hob_model::catalog::Catalog;
use hob_skill::library::Library;
use hob_store::contents::Contents;
use hob_tools::Timeout;
use hob_tools::ask_human::AskHuman;
use hob_tools::changes::Drafts;
use hob_tools::command::{CommandTool, Declaration};
use hob_tools::current_time::CurrentTime;
use hob_tools::forget::ForgetTool;
use hob_tools::keep_changes::KeepChanges;
use hob_tools::manage_config::ManageConfig;
use hob_tools::manage_people::ManagePeople;
use hob_tools::plan::PlanTool;
use hob_tools::process_reaper::ProcessReaper;
use hob_tools::read_result::ReadResult;
use hob_tools::recall::RecallTool;
use hob_tools::registry::Registry;
use hob_tools::remember_fact::RememberFact;
use hob_tools::request_more_iterations::RequestMoreIterations;
use hob_tools::results::ResultStore;
use hob_tools::run_journal::RunJournal;
use hob_tools::sandbox::program_sandbox::ProgramSandbox;
use hob_tools::sandbox::trial::SandboxTrial;
use hob_tools::schedule::{ScheduleKeeper, ScheduleTool};
use hob_tools::skills::manage_skills::ManageSkills;
use hob_tools::skills::use_skill::UseSkill;
use hob_tools::system_info::{InstanceInfo, SystemInfo};
use hob_tools::use_tool::UseTool;
use hob_tools::workspace::Workspace;

/// What tools are made from.
pub(super) struct ToolDependencies<'a> {
    /// The config, as loaded.
    pub(super) config: &'a Config,
    /// Rung when a schedule has changed.
    pub(super) alarm: &'a Arc<Notify>,
    /// What is remembered, with the database and the household's zone.
    pub(super) memory: &'a Memory,
    /// Where Hob's data is.
    pub(super) data_dir: &'a Path,
    /// The process's environment.
    pub(super) environment: &'a Environment,
    /// Randomness: the names of what tools make.
    pub(super) rng: &'a Arc<dyn Rng>,
    /// Where tools may read and write files.
    pub(super) workspace: &'a Workspace,
    /// The file that the config was loaded from.
    pub(super) config_file: Option<&'a Path>,
    pub(super) models: &'a Catalog,
    pub(super) skills: &'a Arc<Library>,
    /// When this process started.
    pub(super) started: Timestamp,
    /// The contents of recorded files.
    pub(super) contents: &'a Contents,
    /// How programs are confined here.
    pub(super) sandbox: &'a SandboxTrial,
    /// The drafts of the workspace.
    pub(super) drafts: &'a Drafts,
    /// The household's Home Assistant.
    #[cfg_attr(not(feature = "home"), expect(dead_code, reason = "its tools are not in this build"))]
    pub(super) home: &'a HomeHandle,
}

/// Where tools may read and write files.
pub fn workspace(config: &Config, data_dir: &Path) -> Workspace {
    let of = &config.workspace;
    let usual = Workspace::of(data_dir);
    Workspace { root: of.dir.clone().unwrap_or(usual.root), read: of.read_dirs.clone(), write: of.write_dirs.clone() }
}

pub(super) fn tools(dependencies: &ToolDependencies<'_>) -> Registry {
    let (config, data_dir) = (dependencies.config, dependencies.data_dir);
    let (leftovers, sandbox) =
        (ProcessReaper::of(data_dir), own_programs::program_sandbox(&config.terminal, dependencies.sandbox, data_dir));
    let declared = config.tools.iter().map(|(name, tool)| declaration(name, tool, data_dir, &leftovers, &sandbox));
    declared.fold(built_in(dependencies), |registry, tool| registry.with(Arc::new(CommandTool::new(tool))))
}

fn built_in(dependencies: &ToolDependencies<'_>) -> Registry {
    let (memory, config) = (dependencies.memory, dependencies.config);
    let (store, zone) = (&memory.store, &memory.zone);
    let book = || Arc::clone(dependencies.skills) as Arc<dyn SkillBook>;
    let results = ResultStore::of(dependencies.data_dir).shared_in(store);
    let chars_max = config.agent.tool_output_chars_max;
    let registry = terminal::add(Registry::default(), dependencies)
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
        .with(Arc::new(PlanTool::default()))
        .with(Arc::new(KeepChanges::new(dependencies.drafts.clone())))
        .with(Arc::new(ScheduleTool::new(schedules(dependencies))))
        .with(Arc::new(UseTool::default()))
        .with(Arc::new(UseSkill::new(book())))
        .with(Arc::new(ManageSkills::new(book())))
        .with(Arc::new(SystemInfo::new(household(dependencies))))
        .with(Arc::new(ManageConfig::new(writer(dependencies), Arc::new(SystemClock))));
    let registry = web::add(mail::add(files::add(registry, dependencies), dependencies), dependencies);
    home::add(dav::add(agents::with(registry, dependencies), dependencies), dependencies)
}

/// Where schedules are kept.
fn schedules(dependencies: &ToolDependencies<'_>) -> ScheduleKeeper {
    let Memory { store, zone, .. } = dependencies.memory;
    ScheduleKeeper { store: store.clone(), zone: zone.clone(), alarm: Arc::clone(dependencies.alarm) }
}

fn household(dependencies: &ToolDependencies<'_>) -> InstanceInfo {
    let config = dependencies.config;
    InstanceInfo {
        started: dependencies.started,
        zone: dependencies.memory.zone.clone(),
        data_dir: dependencies.data_dir.to_owned(),
        models: dependencies.models.labels().map(|(_, label)| label.to_owned()).collect(),
        personas: config.personas.keys().cloned().collect(),
        channels: config.channels().iter().map(ToString::to_string).collect(),
    }
}

/// Who writes the config file: the one that was read, or else where one belongs.
fn writer(dependencies: &ToolDependencies<'_>) -> Option<Writer> {
    let environment = dependencies.environment.clone();
    // The process may change its directory, the file stays where it is.
    let read = dependencies.config_file.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    Some(Writer::new(read.or_else(|| usual_place(&environment))?, environment, check_beyond_schema))
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
    leftovers: &ProcessReaper,
    sandbox: &ProgramSandbox,
) -> Declaration {
    let confinement = own_programs::of_tool(name, tool).map(|own| sandbox.confine(&own, &tool.command));
    let home = confinement.as_ref().and_then(|confinement| confinement.home()).map(Path::to_owned);
    // Even one that may be run twice may have switched a light.
    let changes = tool.changes.unwrap_or(true);
    Declaration {
        name: name.to_owned(),
        description: tool.description.clone(),
        command: tool.command.clone(),
        parameters: tool.parameters.clone(),
        module: tool.module.clone(),
        role: tool.role,
        idempotent: tool.idempotent,
        trusted_output: tool.trusted_output,
        facts: ToolFacts {
            changes,
            exclusive: tool.exclusive,
            approval: approval(tool.approval),
            risk: if changes { Risk::Execute } else { Risk::Read },
            workspace: changes,
            by_state: false,
        },
        timeout: tool.timeout_secs.map_or(Timeout::Usual, |secs| Timeout::Own(Duration::from_secs(secs))),
        working_dir: tool.working_dir.clone().or(home).unwrap_or_else(|| data_dir.to_owned()),
        leftovers: leftovers.clone(),
        confinement,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use hob_agent::prompt::{self, PromptSettings};
    use hob_core::domain::clock::SystemClock;
    use hob_core::domain::ids::UserId;
    use hob_core::domain::principal::{Principal, Role, Trust};
    use hob_core::domain::rng::SystemRng;
    use hob_core::policy::access::ToolAccess;
    use hob_model::catalog::ModelEntry;
    use hob_model::message::Message;
    use hob_model::offline::Offline;
    use hob_model::tokens;
    use hob_store::Store;
    use hob_tools::sandbox::Sandbox;

    async fn usual() -> Registry {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hob.db"), hob_store::SchedulingMode::Threaded).await.unwrap();
        let offline = ModelEntry::new("primary", Arc::new(Offline));
        let memory = Memory::by_words(store.clone(), TimeZone::UTC);
        let skills = Arc::new(Library::plain(store, dir.path()));
        tools(&ToolDependencies {
            config: &Config::default(),
            memory: &memory,
            data_dir: dir.path(),
            environment: &Environment::of("/w", [("HOME", "/h")]),
            alarm: &Arc::default(),
            rng: &(Arc::new(SystemRng) as Arc<dyn Rng>),
            workspace: &Workspace::of(dir.path()),
            config_file: None,
            contents: &Contents::of(dir.path()),
            skills: &skills,
            models: &Catalog::new(offline, Vec::new(), Arc::new(SystemClock)),
            started: Timestamp::UNIX_EPOCH,
            sandbox: &Sandbox::none("this is a test").into(),
            drafts: &Drafts::new(dir.path(), &Workspace::of(dir.path())),
            home: &HomeHandle::default(),
        })
    }

    #[tokio::test]
    async fn the_built_in_tools_are_known_by_name() {
        // No coding agent is installed in this environment, and nobody's mailbox is configured.
        let absent = |name: &str| name == "cli_agent" || name.starts_with("mail_");
        let there = hob_core::domain::tools::BUILT_IN.into_iter().filter(|name| !absent(name)).collect::<Vec<_>>();
        let usual = usual().await;
        assert_eq!(usual.names(), there);
        let any = serde_json::json!({});
        let wrong = there.iter().filter_map(|name| usual.argument_errors(name, &any));
        assert_eq!(wrong.filter(|words| words.contains("cannot be called")).collect::<Vec<_>>(), [""; 0]);
    }

    #[tokio::test]
    async fn a_small_prompt_is_what_hi_costs() {
        let all = usual().await;
        let offered = all.offered_within(&ToolAccess { role: Role::Admin, modules: None }).with_use_tool();
        let settings = PromptSettings { base: prompt::BASE.to_owned(), zone: TimeZone::UTC, history_messages_max: 40 };
        let (name, trust) = ("Ada".to_owned(), Trust::Trusted);
        let principal = Principal { user: UserId(1), name, role: Role::Admin, trust };
        let tail = settings.tail(Timestamp::UNIX_EPOCH, &principal, &[]);
        let messages = [Message::user(format!("<context>\n{tail}\n</context>")), Message::user("hi")];
        let tokens = tokens::estimate(&settings.base, &offered.schemas(), &messages);
        assert!(tokens < 2_500, "{tokens} tokens: {:#?}", offered.schemas());
    }

    #[test]
    fn e3_a_tools_own_timeout_goes_before_both() {
        let tool = |settings: &str| -> ToolConfig {
            toml::from_str(&format!("description = \"x\"\ncommand = [\"/bin/true\"]\n{settings}")).unwrap()
        };
        let of = |settings: &str| {
            let (dir, leftovers) = (Path::new("/d"), ProcessReaper::of(Path::new("/d")));
            declaration("x", &tool(settings), dir, &leftovers, &ProgramSandbox::none(dir))
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
