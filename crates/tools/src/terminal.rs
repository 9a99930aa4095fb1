//! `terminal`: shell commands in the workspace, in the sandbox, in the foreground or the background.
//!
//! What a command may do is judged before it runs (`judge`); what it can do is the sandbox's. Its output is gathered in a file
//! of bounded size, and what it started ends with it.
//!
//! Never: a secret in its environment, or another person's command in the list.
//! Start at [`Terminal`].

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::draft_workspace::{CallPreparation, DraftWorkspace, RetrySafety};
use crate::process::ProcessSpec;
use crate::process_reaper::ProcessReaper;
use crate::registry::{parse, spec_of};
use crate::sandbox::confinement::Confinement;
use crate::terminal::job::{BackgroundCommand, JobRequest, JobState, Jobs, RUNNING_MAX, RunningCommand, gather};
use crate::workspace::Workspace;
use crate::{Invocation, MentionCheck, Outcome, Timeout, Tool, ToolResult, ToolSpec};
use hob_core::domain::draft::DraftUse;
use hob_core::domain::ids::{SessionKey, UserId};
use hob_core::domain::lock::lock;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, Risk, ToolFacts};
use hob_core::policy::shell::{self, CommandVerdict};

mod job;
pub(crate) mod judge;
mod spool;

/// The longest that a command in the foreground may take, in seconds.
pub(crate) const TIMEOUT_SECS_MAX: u64 = 3_600;
/// What ending it may take beyond that.
const MARGIN: Duration = Duration::from_secs(60);
/// What programs print that have not found the network.
const NO_NETWORK: [&str; 5] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "failed to lookup address",
];
/// For the model: why that is so, and what to do.
const ASK_FOR_NETWORK: &str = "(It had no network. With `network` it would have, and a person is asked.)";
/// What leads a shell to a folder, and has it run a command there: the shell, the folder, the command.
const GO_THERE: &str = r#"cd -- "$1" && exec "$0" -c "$2""#;
/// So many characters of a command stand in a list.
const COMMAND_CHARS_MAX: usize = 100;

/// What is to be done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Runs it to its end.
    #[default]
    Run,
    /// Runs it in the background.
    Start,
    /// What one in the background printed since, and how it stands.
    Check,
    /// Ends it.
    Kill,
    /// Those in the background.
    List,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// For run and start.
    command: Option<String>,
    /// start: in the background; then check or kill by id.
    #[serde(default)]
    #[schemars(with = "ActionName")]
    action: Action,
    /// For check and kill.
    id: Option<String>,
    /// Where it runs, within the workspace.
    dir: Option<String>,
    /// run: when it is ended. check: how long to wait for its end.
    #[schemars(range(min = 0, max = 3600))]
    timeout_secs: Option<u64>,
    /// Whether it needs the network; somebody is asked then.
    #[serde(default)]
    network: bool,
}

/// The actions' names without their meaning, which their descriptions say in fewer words.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum ActionName {
    Run,
    Start,
    Check,
    Kill,
    List,
}

/// What the terminal is made from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The sandbox of each command, and the drafts that it works in.
    pub draft_workspace: DraftWorkspace,
    /// Where commands work.
    pub workspace: Workspace,
    /// What reads them.
    pub shell: PathBuf,
    /// How long one in the foreground may take unless its call says so.
    pub timeout: Duration,
    /// What commands print is vouched for.
    pub trusted_output: bool,
    /// Hob's own data, where output is gathered.
    pub data_dir: PathBuf,
}

/// The tool.
pub struct Terminal {
    spec: ToolSpec,
    settings: Settings,
    leftovers: ProcessReaper,
    jobs: Jobs,
}

/// Whose a command is: one person's, in one conversation.
fn job_owner(invocation: &Invocation) -> (SessionKey, UserId) {
    (invocation.session.clone(), invocation.principal.user)
}

impl Terminal {
    /// A terminal.
    pub fn new(settings: Settings) -> Self {
        let about = "Runs a shell command in the workspace: no input, no network.";
        let facts =
            ToolFacts { changes: true, workspace: true, by_state: true, risk: Risk::Execute, ..ToolFacts::default() };
        let spec = spec_of::<Fields>("terminal", about, false).of("terminal", Role::User).with(facts);
        let timeout = Timeout::Own(Duration::from_secs(TIMEOUT_SECS_MAX) + MARGIN);
        let leftovers = ProcessReaper::of(&settings.data_dir);
        Self { spec: ToolSpec { timeout, ..spec }, settings, leftovers, jobs: Jobs::default() }
    }

    /// Where a command is to run, with no symbolic link in it; or why it cannot run there.
    fn dir(&self, named: Option<&str>) -> Result<PathBuf, String> {
        let Workspace { root, read, write } = &self.settings.workspace;
        let wanted = root.join(named.unwrap_or_default());
        let resolved = wanted.canonicalize().map_err(|error| format!("{} is not there: {error}.", wanted.display()))?;
        let within = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| resolved.starts_with(folder));
        if ![root].into_iter().chain(read).chain(write).any(within) {
            return Err(format!("{} is not in the workspace, {}.", wanted.display(), root.display()));
        }
        if !resolved.is_dir() {
            return Err(format!("{} is not a folder.", wanted.display()));
        }
        Ok(resolved)
    }

    fn errand(
        &self,
        command: &str,
        fields: &Fields,
        confinement: &Confinement,
        place: DraftUse,
    ) -> Result<ProcessSpec, String> {
        let Settings { workspace, shell, .. } = &self.settings;
        let home = workspace.root.display().to_string();
        let (dir, said) = match (self.dir(fields.dir.as_deref()), &fields.dir) {
            (Ok(dir), _) => (dir, vec![command.to_owned()]),
            // It may be there in the draft alone: the sandbox is the same wherever a command goes.
            (Err(_), Some(dir)) if place != DraftUse::AtOnce => {
                let said = [GO_THERE, &shell.display().to_string(), dir, command];
                (self.dir(None)?, said.map(str::to_owned).to_vec())
            }
            (Err(why), _) => return Err(why),
        };
        Ok(ProcessSpec {
            vector: [&[shell.display().to_string(), "-c".to_owned()], &said[..]].concat(),
            dir,
            environment: vec![("HOME".to_owned(), home), ("TERM".to_owned(), "dumb".to_owned())],
            input: None,
            bytes_max: 0,
            leftovers: self.leftovers.clone(),
            confinement: Some(confinement.clone().with_network(fields.network)),
        })
    }

    /// Whether commands have no network unless their call asks for it.
    async fn has_no_network(&self) -> bool {
        let confinement = &self.settings.draft_workspace.confinement;
        !confinement.reach.network && confinement.sandbox.result().await.is_fully_enforced()
    }

    /// What a command printed is vouched for by nobody, unless the operator does.
    fn tainted_output(&self, printed: bool, outcome: Outcome) -> Outcome {
        if printed && !self.settings.trusted_output {
            return outcome.from(OriginSource::new(Origin::Tool, "terminal"));
        }
        outcome
    }

    async fn run(&self, command: &str, fields: &Fields, invocation: &Invocation) -> Result<Outcome, String> {
        let bench = match self.settings.draft_workspace.begin(invocation, RetrySafety::Unsafe).await? {
            CallPreparation::Work(bench) => bench,
            CallPreparation::Over { text, is_error: true } => return Err(text),
            CallPreparation::Over { text, is_error: false } => return Ok(Outcome::Text(text)),
        };
        let outcome = self.finish(command, fields, &bench.confinement, invocation.draft).await;
        // What it changed counts whatever came of it.
        let Some(said) = bench.end().await else { return outcome };
        let outcome = match outcome {
            Ok(outcome) => outcome.with(&said),
            Err(why) => Outcome::Error(format!("{why}\n{said}")),
        };
        // It names files, and whoever packed an archive has named those that it held.
        Ok(self.tainted_output(true, outcome))
    }

    async fn finish(
        &self,
        command: &str,
        fields: &Fields,
        confinement: &Confinement,
        place: DraftUse,
    ) -> Result<Outcome, String> {
        let errand = self.errand(command, fields, confinement, place)?;
        let asked = fields.timeout_secs.map(Duration::from_secs).unwrap_or(self.settings.timeout);
        let limit = asked.clamp(Duration::from_secs(1), Duration::from_secs(TIMEOUT_SECS_MAX));
        let spool = gather(&self.settings.data_dir).map_err(cannot_run)?;
        let work = RunningCommand::start(&errand.ready().await).map_err(cannot_run)?;
        let state = work.run_until(limit, &spool).await.map_err(cannot_run)?;
        let printed = lock(&spool).excerpt_from(0).map_err(cannot_run)?.into_text();
        let printed = printed.trim_end();
        let outcome = match (state.code(), printed.is_empty()) {
            (Some(0), true) => Outcome::Exited { text: "Done; it printed nothing.".to_owned(), code: 0 },
            (Some(0), false) => Outcome::Exited { text: printed.to_owned(), code: 0 },
            (Some(code), _) => {
                let cut_off = !fields.network && looks_like_network_failure(printed) && self.has_no_network().await;
                let hint = if cut_off { ASK_FOR_NETWORK } else { "" };
                let text = format!("exit code {code}\n{printed}").trim_end().to_owned();
                Outcome::Exited { text: format!("{text}\n{hint}").trim_end().to_owned(), code }
            }
            (None, _) => {
                let secs = limit.as_secs();
                let ended = format!("It was ended after {secs} s, with all that it had started.\n{printed}");
                Outcome::Error(ended.trim_end().to_owned())
            }
        };
        Ok(self.tainted_output(!printed.is_empty(), outcome))
    }

    async fn start(&self, command: &str, fields: &Fields, invocation: &Invocation) -> Result<Outcome, String> {
        let draft_workspace = &self.settings.draft_workspace;
        // Nobody was asked about what only looks: should it change anything all the same, that is gone with it.
        let looks = shell::assess(command) == CommandVerdict::Looks;
        let aside = if looks { draft_workspace.scratch_copy(invocation).await? } else { None };
        let confinement = aside.as_ref().map_or(&draft_workspace.confinement, |aside| &aside.confinement);
        let errand = self.errand(command, fields, confinement, DraftUse::AtOnce)?;
        let id = format!("{}/{}", invocation.run, invocation.call);
        let order = JobRequest {
            id: id.clone(),
            command: command.to_owned(),
            whose: job_owner(invocation),
            now: invocation.now,
            gathered: gather(&self.settings.data_dir).map_err(cannot_run)?,
        };
        let changes = if aside.is_some() { "is thrown away" } else { "cannot be undone" };
        if !self.jobs.start(order, &errand.ready().await, aside).map_err(cannot_run)? {
            return Err(format!(
                "{RUNNING_MAX} commands run in the background already, which is as many as may: kill one, or wait."
            ));
        }
        Ok(Outcome::Text(format!("It runs in the background; what it changes {changes}. Its id: {id}")))
    }

    fn job(&self, fields: &Fields, invocation: &Invocation) -> Result<(String, Arc<BackgroundCommand>), String> {
        let id = fields.id.clone().ok_or("Which one? Its id is missing; action list shows them.")?;
        let job = self.jobs.get(&id, &job_owner(invocation)).ok_or_else(|| {
            format!(
                "There is no command {id:?} in the background of this conversation. If there was one, it is gone: it ended \
                 long ago, or with the Hob that had started it."
            )
        })?;
        Ok((id, job))
    }

    async fn check(&self, fields: &Fields, invocation: &Invocation) -> Result<Outcome, String> {
        let (id, job) = self.job(fields, invocation)?;
        job.wait(Duration::from_secs(fields.timeout_secs.unwrap_or(0).min(TIMEOUT_SECS_MAX))).await;
        // Its state first: what it prints between the two is then told with the next check.
        let state = job.state();
        let printed = job.news().map_err(cannot_run)?.into_text();
        let printed = printed.trim_end();
        let news = if printed.is_empty() { "(nothing new was printed)" } else { printed };
        let text = format!("{id}: {}\n{news}", state_text(state, &job, invocation));
        Ok(self.tainted_output(!printed.is_empty(), Outcome::Text(text)))
    }

    async fn kill(&self, fields: &Fields, invocation: &Invocation) -> Result<Outcome, String> {
        let (id, job) = self.job(fields, invocation)?;
        job.kill().await;
        Ok(Outcome::Text(format!("{id}: {}", state_text(job.state(), &job, invocation))))
    }

    fn list(&self, invocation: &Invocation) -> Outcome {
        let line = |(id, job): (String, Arc<BackgroundCommand>)| {
            let command: String = job.command.chars().take(COMMAND_CHARS_MAX).collect();
            format!("{id}: {}: {command:?}", state_text(job.state(), &job, invocation))
        };
        let lines: Vec<String> = self.jobs.list(&job_owner(invocation)).into_iter().map(line).collect();
        let none = "No command runs in the background of this conversation.".to_owned();
        Outcome::Text(if lines.is_empty() { none } else { lines.join("\n") })
    }
}

fn looks_like_network_failure(printed: &str) -> bool {
    NO_NETWORK.iter().any(|words| printed.contains(words))
}

/// How a command stands, in words for the model.
fn state_text(state: JobState, job: &BackgroundCommand, invocation: &Invocation) -> String {
    match (state, state.code()) {
        (JobState::Running, _) => {
            format!("runs, since {} s", invocation.now.duration_since(job.since).as_secs().max(0))
        }
        (JobState::Killed, _) => "was ended, with all that it had started".to_owned(),
        (JobState::TimedOut, _) => "was ended after a day, which is as long as one may run".to_owned(),
        (JobState::Lost, _) => "was ended, as its output could not be kept".to_owned(),
        (JobState::Ended(_), code) => format!("has ended, exit code {}", code.unwrap_or(-1)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn cannot_run(error: io::Error) -> String {
    format!("The command could not be run: {error}.")
}

#[async_trait]
impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, invocation: &Invocation, _is_mentioned: &MentionCheck<'_>) -> Assessment {
        let Ok(fields) = serde_json::from_value::<Fields>(invocation.arguments.clone()) else {
            return Assessment::usual(Risk::Execute);
        };
        match (fields.action, &fields.command) {
            (Action::Run | Action::Start, Some(command)) => {
                judge::judge(&self.settings.draft_workspace, command, &fields).await
            }
            (Action::Run | Action::Start, None) => Assessment::usual(Risk::Execute),
            // It looks at what was printed, and at no file.
            (Action::Check | Action::List, _) => Assessment { contained: true, ..Assessment::usual(Risk::Read) },
            (Action::Kill, _) => Assessment::usual(Risk::Write),
        }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let fields: Fields = parse(&self.spec, invocation.arguments.clone())?;
        let told = match (fields.action, &fields.command) {
            (Action::Run, Some(command)) => self.run(command, &fields, &invocation).await,
            (Action::Start, Some(command)) => self.start(command, &fields, &invocation).await,
            (Action::Run | Action::Start, None) => Err("What is to be run? The command is missing.".to_owned()),
            (Action::Check, _) => self.check(&fields, &invocation).await,
            (Action::Kill, _) => self.kill(&fields, &invocation).await,
            (Action::List, _) => Ok(self.list(&invocation)),
        };
        told.map_err(Outcome::Error)
    }
}
