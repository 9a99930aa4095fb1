//! `watch_page` and `watch_command`: a schedule that asks the model only when a look found something (row F1).
//!
//! Each is of the module whose reach it has: who may read no pages, or run no commands, can have none looked at either. What they
//! make is a schedule like any other; the tool `schedule` lists and changes it.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::draft_workspace::DraftWorkspace;
use crate::net::{EgressGuard, address, disclosure};
use crate::registry::{parse, spec_of};
use crate::schedule::ScheduleKeeper;
use crate::schedule::creation::ScheduleRequest;
use crate::terminal::judge;
use crate::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};
use hob_core::policy::schedule::check::LookTarget;

/// The longest command, in characters.
const COMMAND_CHARS_MAX: usize = 4_000;

/// What looks without being asked about each time needs a whole sandbox.
const UNWALLED: &str = "Commands have no whole sandbox here (/status says what is missing), so none looks unattended. An owner can \
                        name it in config.toml, as `check` of a [[schedule]].";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageFields {
    /// https://… or http://…
    url: String,
    /// How often: `every 10 minutes`, or cron.
    when: String,
    /// What to do when it has changed, complete in itself.
    task: String,
    /// IANA zone, if not the household's.
    zone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommandFields {
    /// For a shell. Its last line says what to do: `NO_WORK`, or `{"wakeAgent": true}` after what there is to know.
    command: String,
    /// How often: `every 10 minutes`, or cron.
    when: String,
    /// What to do when it wakes you, complete in itself.
    task: String,
    /// IANA zone, if not the household's.
    zone: Option<String>,
}

/// The tool by which a page is watched.
pub struct WatchPage {
    spec: ToolSpec,
    keeper: ScheduleKeeper,
    guard: EgressGuard,
}

impl WatchPage {
    /// Pages are read through `guard`.
    pub fn new(keeper: ScheduleKeeper, guard: EgressGuard) -> Self {
        let about = "Looks at a page again and again, and wakes you only when its text has changed.";
        let spec = spec_of::<PageFields>("watch_page", about, true).of("web", Role::User).shown_on_need();
        let facts = ToolFacts { changes: true, risk: Risk::Send, ..ToolFacts::default() };
        Self { spec: spec.with(facts), keeper, guard }
    }
}

#[async_trait]
impl Tool for WatchPage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, is_mentioned: &MentionCheck<'_>) -> Assessment {
        let url = invocation.arguments["url"].as_str().unwrap_or_default();
        let known = disclosure::assess_address(url, self.guard.allowed(), is_mentioned);
        // It is gone to again and again: more than a look.
        Assessment { risk: known.risk.max(Risk::Write), site: None, ..known }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let PageFields { url, when, task, zone } = parse(&self.spec, invocation.arguments.clone())?;
        let url = address(&url).map_err(|error| error.outcome())?.to_string();
        let looks_at = Some(LookTarget::Page { url });
        let wish = ScheduleRequest { when: Some(when), task: Some(task), zone, looks_at, seen: None };
        self.keeper.create(&invocation, wish).await
    }
}

/// The tool by which a command looks.
pub struct WatchCommand {
    spec: ToolSpec,
    keeper: ScheduleKeeper,
    draft_workspace: DraftWorkspace,
    shell: PathBuf,
}

impl WatchCommand {
    /// Commands are read by `shell`, and run in the sandbox of `draft_workspace`.
    pub fn new(keeper: ScheduleKeeper, draft_workspace: DraftWorkspace, shell: PathBuf) -> Self {
        let about = "Runs a command again and again, and wakes you only when it says so.";
        let spec = spec_of::<CommandFields>("watch_command", about, true).of("terminal", Role::User).shown_on_need();
        let facts = ToolFacts { changes: true, risk: Risk::Execute, ..ToolFacts::default() };
        Self { spec: spec.with(facts), keeper, draft_workspace, shell }
    }
}

#[async_trait]
impl Tool for WatchCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let command = invocation.arguments["command"].as_str().unwrap_or_default();
        judge::judge_repeated(&self.draft_workspace, command).await
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let CommandFields { command, when, task, zone } = parse(&self.spec, invocation.arguments.clone())?;
        if command.chars().count() > COMMAND_CHARS_MAX {
            return Err(Outcome::Error(format!("A command has {COMMAND_CHARS_MAX} characters at most.")));
        }
        if !self.draft_workspace.confinement.sandbox.result().await.is_fully_enforced() {
            return Err(Outcome::Error(UNWALLED.to_owned()));
        }
        let command = vec![self.shell.display().to_string(), "-c".to_owned(), command];
        let looks_at = Some(LookTarget::Command { command, network: false });
        let wish = ScheduleRequest { when: Some(when), task: Some(task), zone, looks_at, seen: None };
        self.keeper.create(&invocation, wish).await
    }
}
