//! `hob skill`: what skills there are, what is in them, and which are used. Beside a running Hob.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Subcommand;
use jiff::Timestamp;

use crate::cli::next_step::refuse;
use crate::cli::{CliContext, base, runtime, show};
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::skills::{SkillBook as _, SkillList};
use hob_skill::archive::{ARCHIVE_BYTES_MAX, Bundle};
use hob_skill::library::{Library, RecordChange};
use hob_skill::loaded_skills::{LoadedSkills, SkillFolders};
use hob_skill::{fetch, install, report};
use hob_store::Store;
use hob_store::bystander_reader::Reader;
use hob_store::place::StatePlace;

/// The most characters of a skill's description in the list.
const LINE_CHARS_MAX: usize = 100;

/// What `hob skill` is told.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SkillCommand {
    /// Show all skills, and what is wrong with folders that are none
    List,
    /// Show what is in a skill
    Show {
        /// Its name
        name: String,
    },
    /// Install a skill from a folder, a SKILL.md, a .zip or a .tar.gz, local or at an https:// address; it is inert until enabled
    Add {
        /// Where it is
        #[arg(value_name = "PATH|URL")]
        from: String,
    },
    /// Enable an installed skill, as it is now
    Enable {
        /// Its name
        name: String,
    },
    /// Disable a skill
    Disable {
        /// Its name
        name: String,
    },
    /// Trust an installed skill: what it says no longer taints runs
    Trust {
        /// Its name
        name: String,
        /// Trust a skill no longer
        #[arg(long)]
        undo: bool,
    },
    /// Remove an installed skill and its files
    Remove {
        /// Its name
        name: String,
    },
    /// Write what was done five times as a draft skill, which is not used yet
    Draft,
}

/// Carries it out.
///
/// # Errors
/// When there is no such skill, or files or the database cannot be read or written.
pub(super) fn run(command: SkillCommand, named: Option<&Path>) -> anyhow::Result<()> {
    let base = base(named)?;
    runtime()?.block_on(async {
        let store = open(&base.state()).await?;
        let places = SkillFolders::of(&base.data_dir, base.loaded.config.skills.dirs.clone());
        let library = Library::open(store.clone(), places, base.redactor.clone(), Arc::default());
        let done = carry_out(command, &library, &base).await;
        store.close().await;
        done
    })
}

/// A Hob that never ran has no database yet; one of another Hob is left as it is.
pub(super) async fn open(state: &StatePlace) -> anyhow::Result<Store> {
    drop(Reader::find(state).await?);
    Ok(state.open().await?)
}

async fn carry_out(command: SkillCommand, library: &Library, base: &CliContext) -> anyhow::Result<()> {
    let now = SystemClock.now();
    let text = match command {
        SkillCommand::List => listed(&library.list().await?),
        SkillCommand::Show { name } => library.show(&name).await? + "\n",
        SkillCommand::Add { from } => add(&from, library, now).await?,
        SkillCommand::Enable { name } => {
            library.enable(&name, true, now).await?;
            format!("{name} is enabled as it is now. If one of its files changes, it is inert again.\n")
        }
        SkillCommand::Disable { name } => {
            library.enable(&name, false, now).await?;
            format!("{name} is not used any more.\n")
        }
        SkillCommand::Trust { name, undo } => {
            library.record(&name, RecordChange::Trusted(!undo), now).await?;
            let how = if undo { "is not trusted any more" } else { "is trusted as it is now" };
            format!("{name} {how}.\n")
        }
        SkillCommand::Remove { name } => {
            library.remove(&name).await?;
            format!("{name} is gone, with its files.\n")
        }
        SkillCommand::Draft => {
            let place = library.draft_for(None, now).await?;
            format!("The draft is in {place}.\nLook at it, change it, then install it: hob skill add {place}\n")
        }
    };
    // A name or a path of somebody else's might do something to the terminal.
    let lines: Vec<String> = text.lines().map(|line| report::plain(line, usize::MAX)).collect();
    Ok(show(&base.redactor.redact(&(lines.join("\n") + "\n")))?)
}

fn listed(list: &SkillList) -> String {
    let skills = list.skills.iter().map(|skill| {
        let trust = if skill.trusted { "" } else { ", not trusted" };
        let about = report::plain(&skill.description, LINE_CHARS_MAX);
        format!("{} ({}{trust}): {about}\n", skill.name, skill.standing.as_str())
    });
    let others = list.quarantined.iter().map(|one| format!("cannot be used: {}: {}\n", one.place, one.why));
    skills.chain(others).collect()
}

async fn add(from: &str, library: &Library, now: Timestamp) -> anyhow::Result<String> {
    let bundle = if from.contains("://") {
        let wanted = fetch::fetch_target(from)?;
        Bundle::of_bytes(&fetch::fetch(&wanted).await?, wanted.below.as_deref())?
    } else {
        on_this_machine(&PathBuf::from(from))?
    };
    let places = library.places();
    let found = install::install(&bundle, &places.installed, &LoadedSkills::load(places), now)?;
    library.reload();
    let name = found.skill.name.clone();
    library.record(&name, RecordChange::Installed(from.to_owned()), now).await?;
    let hidden = install::hidden(&places.installed.join(&name), &found)?;
    let lines = report::lines(&found, &hidden).join("\n");
    Ok(format!(
        "{lines}\n\nInstalled, and inert: nothing of it is used yet. Read it, then\n\
         hob skill enable {name}   has Hob use it; a task that has read it asks before it changes anything\n\
         hob skill trust {name}    vouches for its words: then it need not ask\n\
         hob skill remove {name}   takes it away\n"
    ))
}

fn on_this_machine(path: &Path) -> anyhow::Result<Bundle> {
    let told = path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("{told} cannot be read"))?;
    if metadata.is_dir() {
        return Ok(Bundle::of_folder(path)?);
    }
    if !metadata.is_file() {
        refuse!("{told} is neither a file nor a folder"; "name the skill's folder, its SKILL.md or an archive of it");
    }
    if metadata.len() > ARCHIVE_BYTES_MAX {
        refuse!("{told} is longer than {} MiB", ARCHIVE_BYTES_MAX >> 20; "take out of it what the skill does not need");
    }
    let bytes = std::fs::read(path).with_context(|| format!("{told} cannot be read"))?;
    Ok(Bundle::of_bytes(&bytes, None)?)
}
