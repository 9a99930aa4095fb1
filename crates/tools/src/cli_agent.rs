//! `cli_agent`: hands a task to a coding agent that is installed here, in its headless mode.
//!
//! Never: a variable of Hob's environment that the owner has not named for that agent, or a folder outside the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::process::{self, ProcessOutput, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::registry::{parse, spec_of};
use crate::results::BYTES_MAX;
use crate::sandbox::confinement::Confinement;
use crate::sandbox::program_sandbox::{ProgramAccess, ProgramSandbox};
use crate::workspace::Workspace;
use crate::{Invocation, MentionCheck, Outcome, Timeout, Tool, ToolResult, ToolSpec};
use hob_core::domain::agents::TASK;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, Risk, ToolFacts};

/// An agent that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments; one of them is [`TASK`].
    pub command: Vec<String>,
    /// What the owner lets it have of the environment.
    pub environment: Vec<(String, String)>,
    /// What it may reach besides the workspace; none: it is outside the sandbox.
    pub own: Option<ProgramAccess>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Which.
    agent: String,
    /// What it is to do, complete in itself.
    task: String,
    /// The folder in the workspace that it works in.
    dir: Option<String>,
}

/// The tool.
pub struct CliAgent {
    spec: ToolSpec,
    programs: BTreeMap<String, Program>,
    workspace: Workspace,
    sandbox: ProgramSandbox,
    leftovers: ProcessReaper,
}

impl CliAgent {
    /// The tool over these agents, by name; none: there are none.
    pub fn new(programs: BTreeMap<String, Program>, workspace: Workspace, sandbox: ProgramSandbox) -> Option<Self> {
        if programs.is_empty() {
            return None;
        }
        let about = "Hands a task to a coding agent that is installed here and returns what it printed.";
        let facts = ToolFacts {
            changes: true,
            workspace: true,
            approval: Approval::Critical,
            risk: Risk::Execute,
            ..ToolFacts::default()
        };
        let spec =
            spec_of::<Arguments>("cli_agent", about, false).of("agents", Role::Admin).with(facts).shown_on_need();
        let mut spec = ToolSpec { timeout: Timeout::Agent, ..spec };
        if let Some(agent) = spec.schema.parameters.pointer_mut("/properties/agent").and_then(Value::as_object_mut) {
            agent.insert("enum".to_owned(), programs.keys().cloned().map(Value::from).collect());
        }
        let leftovers = ProcessReaper::of(&sandbox.data_dir);
        Some(Self { spec, programs, workspace, sandbox, leftovers })
    }

    /// What is to be run, and where; or why not, in words for the model.
    fn errand(&self, arguments: &Arguments) -> Result<ProcessSpec, String> {
        let Arguments { agent, task, dir } = arguments;
        let Some(program) = self.programs.get(agent) else {
            let names = self.programs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(format!("There is no agent {agent:?}. There are: {names}."));
        };
        if task.trim().is_empty() || task.contains('\0') {
            return Err("The task is empty or has a NUL character.".to_owned());
        }
        // What begins like an option would be taken for one.
        let task = if task.trim_start().starts_with('-') { format!("Task: {task}") } else { task.clone() };
        let fill = |element: &String| if element == TASK { task.clone() } else { element.clone() };
        Ok(ProcessSpec {
            vector: program.command.iter().map(fill).collect(),
            dir: self.dir(dir.as_deref().unwrap_or("."))?,
            environment: program.environment.clone(),
            input: None,
            bytes_max: BYTES_MAX / 2,
            confinement: program.own.as_ref().map(|own| self.confinement(own, &program.command)),
            leftovers: self.leftovers.clone(),
        })
    }

    /// Its sandbox: the workspace is within.
    fn confinement(&self, own: &ProgramAccess, command: &[String]) -> Confinement {
        let Workspace { root, read, write } = &self.workspace;
        let mut own = own.clone();
        own.read.extend(read.iter().cloned());
        own.write.extend([root].into_iter().chain(write).cloned());
        self.sandbox.confine(&own, command)
    }

    /// The folder as it is when symbolic links are followed: one that may be written to.
    fn dir(&self, dir: &str) -> Result<PathBuf, String> {
        let real = |path: &Path| path.canonicalize();
        let found =
            real(&self.workspace.root.join(dir)).map_err(|error| format!("There is no folder {dir:?}: {error}."))?;
        let mut roots = std::iter::once(&self.workspace.root).chain(&self.workspace.write);
        let within = roots.any(|root| real(root).is_ok_and(|root| found.starts_with(root)));
        if !within {
            return Err(format!("The folder {dir:?} is outside the workspace."));
        }
        if found.is_dir() { Ok(found) } else { Err(format!("{dir:?} is not a folder.")) }
    }
}

#[async_trait]
impl Tool for CliAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let text = |name: &str| invocation.arguments.get(name).and_then(Value::as_str);
        let (agent, dir) = (text("agent").unwrap_or_default(), text("dir").unwrap_or("the workspace"));
        let reason = format!("It runs {agent}, a program that decides by itself what to run and to change, in {dir}");
        Assessment { grade: DangerGrade::High, reasons: vec![reason], ..Assessment::usual(Risk::Execute) }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let arguments: Arguments = parse(&self.spec, invocation.arguments)?;
        let errand = self.errand(&arguments).map_err(Outcome::Error)?;
        let agent = arguments.agent;
        match Box::pin(process::run(errand)).await {
            Ok(ended) => Ok(outcome(&agent, &ended).from(OriginSource::new(Origin::Tool, &agent))),
            Err(error) => Err(Outcome::Error(format!("{agent} could not be run: {error}."))),
        }
    }
}

fn outcome(agent: &str, ended: &ProcessOutput) -> Outcome {
    let printed = ended.printed();
    let said = if printed.is_empty() { "(It printed nothing.)" } else { printed.as_str() };
    match ended.status.code() {
        Some(0) => Outcome::Exited { text: format!("[{agent}'s own words; a claim]\n{said}"), code: 0 },
        Some(code) => Outcome::Exited { text: format!("{}\n{said}", ended.status), code },
        None => Outcome::Error(format!("{}\n{said}", ended.status)),
    }
}

#[cfg(test)]
mod tests;
