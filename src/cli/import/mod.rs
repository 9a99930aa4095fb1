//! `hob import`: moves in with what another assistant has kept. The folder is read, what would come of it is shown, and with
//! `--apply` it is done; what is there already stays, so that twice is once.
//!
//! Never: a change of the other program's folder, or a secret that was not asked for.
//! Start at `run`; the readers (`openclaw`, `nanobot`, `hermes`) are pure: files in, a plan out.

mod apply;
mod edits;
mod foreign_folder;
mod hermes;
mod nanobot;
mod openclaw;
mod plan;
mod read;
mod text;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;

use crate::cli::import::edits::{ConfigStep, StepStatus, steps};
use crate::cli::import::foreign_folder::ForeignFolder;
use crate::cli::import::plan::{ImportPlan, SkippedItem};
use crate::cli::import::read::{ReadContext, text};
use crate::cli::init::find;
use crate::cli::init::save::ConfigDraft;
use crate::cli::next_step::{refusal, refuse};
use crate::cli::{runtime, show};
use hob_config::change::Edit;
use hob_config::environment::Environment;
use hob_config::load::usual_place;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_skill::report;

/// The longest line that is shown of what the other program says.
const LINE_CHARS_MAX: usize = 400;

/// What `hob import` is told.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ImportArguments {
    /// Whose folder it is
    #[arg(value_enum)]
    pub(super) program: Program,
    /// The folder; by default where that program keeps it
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    mode: ImportMode,
    /// Take keys and tokens as well, each into a file of its own beside the config
    #[arg(long)]
    secrets: bool,
    /// Give what was remembered to this person, who talks with Hob
    #[arg(long, value_name = "NAME", conflicts_with = "house")]
    person: Option<String>,
    /// Give what was remembered to everybody in the household
    #[arg(long)]
    house: bool,
}

/// Whether it is done.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
struct ImportMode {
    /// Do it; without this, only show what would be done
    #[arg(long)]
    apply: bool,
    /// Only show what would be done, as without --apply
    #[arg(long, conflicts_with = "apply")]
    dry_run: bool,
}

/// Another assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// openclaw, usually in ~/.openclaw
    Openclaw,
    /// hermes-agent, usually in ~/.hermes
    Hermes,
    /// nanobot-ai, usually in ~/.nanobot
    Nanobot,
}

impl Program {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Openclaw => "openclaw",
            Self::Hermes => "hermes",
            Self::Nanobot => "nanobot",
        }
    }

    /// Those that are in this home, each with its folder.
    pub(super) fn at_home(environment: &Environment) -> Vec<(Self, PathBuf)> {
        let home = environment.path("HOME");
        let found = |home: &PathBuf| {
            [Self::Openclaw, Self::Hermes, Self::Nanobot]
                .into_iter()
                .filter_map(|program| Some((program, program.folder_in(home)?)))
                .collect()
        };
        home.as_ref().map(found).unwrap_or_default()
    }

    /// Its folder in a home, by what lies in it.
    fn folder_in(self, home: &Path) -> Option<PathBuf> {
        let dir = home.join(format!(".{}", self.name()));
        let config = match self {
            Self::Openclaw => "openclaw.json",
            Self::Hermes => "config.yaml",
            Self::Nanobot => "config.json",
        };
        dir.join(config).is_file().then_some(dir)
    }

    /// The files that are read.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Openclaw => &[
                "openclaw.json",
                ".env",
                "cron/jobs.json",
                "workspace/SOUL.md",
                "workspace/IDENTITY.md",
                "workspace/USER.md",
                "workspace/MEMORY.md",
                "workspace/AGENTS.md",
            ],
            Self::Hermes => {
                &["config.yaml", ".env", "SOUL.md", "memories/MEMORY.md", "memories/USER.md", "cron/jobs.json"]
            }
            Self::Nanobot => &[
                "config.json",
                "pairing.json",
                "cron/jobs.json",
                "cron/action.jsonl",
                "workspace/SOUL.md",
                "workspace/USER.md",
                "workspace/HEARTBEAT.md",
                "workspace/memory/MEMORY.md",
                "workspace/memory/history.jsonl",
                "workspace/cron/jobs.json",
                "workspace/cron/action.jsonl",
            ],
        }
    }

    /// The folders of notes that are read.
    fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Openclaw => &["workspace/memory"],
            Self::Hermes | Self::Nanobot => &[],
        }
    }

    /// The folders with skills that somebody put there.
    fn skill_folders(self) -> &'static [&'static str] {
        match self {
            Self::Openclaw => &["skills", "workspace/skills"],
            Self::Hermes => &["skills"],
            Self::Nanobot => &["workspace/skills"],
        }
    }

    /// What its files say.
    fn plan(self, foreign: &ForeignFolder, here: &ReadContext) -> anyhow::Result<ImportPlan> {
        let mut plan = match self {
            Self::Openclaw => openclaw::plan(foreign, here),
            Self::Hermes => hermes::plan(foreign, here),
            Self::Nanobot => nanobot::plan(foreign, here),
        }?;
        let why = "is a link that leads out of the folder; put there what it leads to";
        plan.left.extend(foreign.outside.iter().map(|path| SkippedItem::new(path.clone(), why)));
        let why = "are the other program's own; what it kept of them as memory is taken";
        plan.left.push(SkippedItem::new("conversations", why));
        Ok(plan)
    }
}

/// Shows what an import would do, or does it.
///
/// # Errors
/// When the folder is no such program's, or something cannot be read or written.
pub(super) fn run(arguments: &ImportArguments, named: Option<&Path>) -> anyhow::Result<()> {
    let environment = Environment::of_process();
    let program = arguments.program;
    let usual = || program.folder_in(&environment.path("HOME")?);
    let dir = arguments.dir.clone().or_else(usual);
    let name = program.name();
    let dir = dir.with_context(|| refusal!("{name} has no folder at its usual place"; "`hob import {name} FOLDER`"))?;
    if !dir.is_dir() {
        refuse!("{} is not a folder", dir.display(); "`hob import {name} FOLDER` takes the one that has {name}'s config");
    }
    let found = find(named, &environment)?;
    let path = found.path.clone().map_or_else(
        || usual_place(&environment).context(refusal!("$HOME is not set"; "name a file with --config")),
        Ok,
    )?;
    let mut draft = ConfigDraft::new(&path, found.text.expose(), &environment)?;
    let zone = draft.config.agent.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
    let zone = zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC));
    let here = ReadContext { zone, now: SystemClock.now() };
    runtime()?.block_on(async {
        let foreign = read_folder(program, &dir, &environment).await?;
        let mut plan = program.plan(&foreign, &here)?;
        if !arguments.secrets {
            plan = plan.without_secrets();
        }
        let table = found.text.expose().parse()?;
        let known = apply::ExistingContent::read(&draft, &plan).await?;
        let steps = settable(steps(&plan, &table), &draft, &mut plan.left);
        let done = if arguments.mode.apply {
            let whose = apply::memory_owner(arguments.house, arguments.person.as_deref(), &known, &plan)?;
            apply::apply(&mut draft, &plan, &steps, &known, whose).await?
        } else {
            let command = format!("hob import {} {} --apply", program.name(), dir.display());
            let whose = if known.new_memories(&plan) == 0 { "" } else { " --house (or --person NAME)" };
            format!("\nNothing was changed. {command}{whose} does it.\n")
        };
        Ok(show(&(plan_text(&plan, &steps, &known, &dir) + &done))?)
    })
}

/// The workspace is where the config says, if that is there: a folder that was moved has its own.
async fn read_folder(program: Program, dir: &Path, environment: &Environment) -> anyhow::Result<ForeignFolder> {
    let config = match program {
        Program::Openclaw => openclaw::config(&ForeignFolder::read(program, dir, None).await?)?,
        Program::Nanobot => nanobot::config(&ForeignFolder::read(program, dir, None).await?)?,
        Program::Hermes => return ForeignFolder::read(program, dir, None).await,
    };
    let said = text(&config, "/agents/defaults/workspace").map(|said| match said.strip_prefix("~/") {
        Some(rest) => environment.path("HOME").unwrap_or_default().join(rest),
        None => PathBuf::from(said),
    });
    ForeignFolder::read(program, dir, said.filter(|path| path.is_absolute() && path.is_dir())).await
}

/// The steps that the config's check accepts, each on top of those before it; one that it refuses is left, with its reason.
fn settable(steps: Vec<ConfigStep>, draft: &ConfigDraft, left: &mut Vec<SkippedItem>) -> Vec<ConfigStep> {
    let (mut fine, mut so_far) = (Vec::new(), draft.clone());
    for step in steps {
        if step.standing != StepStatus::New {
            fine.push(step);
            continue;
        }
        let kept = step.kept.iter().map(|kept| Edit::set_value(&kept.key, kept.secret.expose()));
        let edits: Vec<Edit> = step.edits.iter().cloned().chain(kept).collect();
        match so_far.with(&edits) {
            Ok(next) => {
                so_far = next;
                fine.push(step);
            }
            Err(error) => {
                let why = error.to_string().lines().last().unwrap_or_default().to_owned();
                left.push(SkippedItem::new(format!("{} {}", step.what, step.told), format!("Hob refuses it: {why}")));
            }
        }
    }
    fine
}

/// What would come, and what would not. A name of somebody else's might do something to the terminal.
fn plan_text(plan: &ImportPlan, steps: &[ConfigStep], known: &apply::ExistingContent, dir: &Path) -> String {
    let mut lines = vec![format!("From {} ({}):", plan.program.name(), dir.display()), String::new()];
    let mut line = |what: &str, told: &str, standing: StepStatus| {
        let how = match standing {
            StepStatus::New => "",
            StepStatus::There => " – there already",
            StepStatus::Yours => " – not taken: yours says otherwise, and stays",
        };
        lines.push(report::plain(&format!("  {what:<11} {told}{how}"), LINE_CHARS_MAX));
    };
    if !plan.memories.is_empty() {
        let new = known.new_memories(plan);
        line("memory", &plan.memory_told(new), if new > 0 { StepStatus::New } else { StepStatus::There });
    }
    for skill in &plan.skills {
        let standing = if known.has_skill(&skill.name) { StepStatus::There } else { StepStatus::New };
        line("skill", &format!("{}, off until you enable it", skill.name), standing);
    }
    steps.iter().for_each(|step| line(step.what, &step.told, step.standing));
    if !plan.left.is_empty() {
        lines.extend([String::new(), "Not taken:".to_owned()]);
        let left = plan.left.iter().map(|left| format!("  {}: {}", left.what, left.why));
        lines.extend(left.map(|left| report::plain(&left, LINE_CHARS_MAX)));
    }
    lines.join("\n") + "\n"
}
