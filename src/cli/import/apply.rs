//! Does what a plan says: secrets into their files, skills, memory, and the config last, each whole or not at all. Killed in
//! between, the next import does what is missing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cli::import::edits::{ConfigStep, StepStatus};
use crate::cli::import::plan::{ImportPlan, SkillFolder};
use crate::cli::init::save::ConfigDraft;
use crate::cli::memory::person_named;
use crate::cli::next_step::refuse;
use crate::cli::progress::Progress;
use crate::cli::skill;
use hob_config::change::Edit;
use hob_config::data_dir::data_dir;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::memory::Scope;
use hob_core::domain::redactor::Redactor;
use hob_memory::transfer::export;
use hob_memory::transfer::import::ImportLines;
use hob_memory::transfer::line::{MemoryLine, ScopeRef, TransferLine};
use hob_skill::archive::Bundle;
use hob_skill::install;
use hob_skill::library::{Library, RecordChange};
use hob_skill::loaded_skills::{LoadedSkills, SkillFolders};
use hob_store::Store;
use hob_store::bystander_reader::Reader;
use hob_store::bystander_writer::BystanderWriter;
use hob_store::place::StatePlace;

/// How much what another assistant remembered counts.
const IMPORTANCE: f64 = 0.5;

/// What this house has already.
pub(super) struct ExistingContent {
    /// What came from that program before.
    memories: BTreeSet<String>,
    skills: BTreeSet<String>,
    people: Vec<String>,
}

impl ExistingContent {
    /// Looks, and changes nothing.
    ///
    /// # Errors
    /// When the database is another Hob's.
    pub(super) async fn read(draft: &ConfigDraft, plan: &ImportPlan) -> anyhow::Result<Self> {
        let data_dir = data_dir(&draft.config.state, &draft.env)?;
        let mut known = Self { memories: BTreeSet::new(), skills: BTreeSet::new(), people: Vec::new() };
        let lines = match Reader::find(StatePlace::of(draft.config.state.url.as_ref(), &data_dir)).await? {
            Some(mut reader) => reader.read(export::export).await?,
            None => Vec::new(),
        };
        let speaker = plan.program.name();
        for line in lines {
            match line {
                TransferLine::Memory(said) if said.speaker == speaker => drop(known.memories.insert(said.text)),
                TransferLine::Memory(said) => known.people.extend(said.said_by.map(|who| who.name)),
                TransferLine::Fact(_) | TransferLine::Person(_) => {}
            }
        }
        let places = SkillFolders::of(&data_dir, draft.config.skills.dirs.clone());
        known.skills = LoadedSkills::load(&places).skills.into_keys().collect();
        known.people.sort();
        known.people.dedup();
        Ok(known)
    }

    /// How much of it is not remembered yet.
    pub(super) fn new_memories(&self, plan: &ImportPlan) -> usize {
        plan.memories.iter().filter(|entry| !self.memories.contains(&entry.text)).count()
    }

    /// Whether there is a skill of that name.
    pub(super) fn has_skill(&self, name: &str) -> bool {
        self.skills.contains(name)
    }
}

/// Whose the memory becomes.
pub(super) enum MemoryOwner {
    House,
    Person(String),
    /// There is nothing to remember.
    Nobody,
}

/// Whose the memory becomes: that is not guessed, as others in the house may see it then.
pub(super) fn memory_owner(
    house: bool,
    person: Option<&str>,
    known: &ExistingContent,
    plan: &ImportPlan,
) -> anyhow::Result<MemoryOwner> {
    match person {
        Some(name) => Ok(MemoryOwner::Person(name.to_owned())),
        None if house => Ok(MemoryOwner::House),
        None if known.new_memories(plan) == 0 => Ok(MemoryOwner::Nobody),
        None => {
            let names = if known.people.is_empty() { String::new() } else { format!(" ({})", known.people.join(", ")) };
            refuse!(
                "nothing was changed";
                "say whose the memory becomes, with --person NAME for somebody who talks with Hob{names}, or --house for \
                 everybody in the house"
            )
        }
    }
}

/// Does it, and says what was done.
///
/// # Errors
/// When something cannot be written. What came before it is done.
pub(super) async fn apply(
    draft: &mut ConfigDraft,
    plan: &ImportPlan,
    steps: &[ConfigStep],
    known: &ExistingContent,
    whose: MemoryOwner,
) -> anyhow::Result<String> {
    let state = draft.state()?;
    let store = skill::open(&state).await?;
    let progress = Progress::begin("Importing");
    let all = plan.skills.len() + known.new_memories(plan);
    let skilled = skills(&store, draft, &plan.skills, &|done| progress.count(done, all)).await;
    store.close().await;
    let (installed, refused) = skilled?;
    let before = plan.skills.len();
    let remembered =
        remember(&state, plan, known, ImportTarget { whose, tell: &|done| progress.count(before + done, all) }).await?;
    drop(progress);
    let mut edits = Vec::new();
    for step in steps.iter().filter(|step| step.standing == StepStatus::New) {
        edits.extend(step.edits.iter().cloned());
        for kept in &step.kept {
            let file = draft.keep(&kept.file, &kept.secret)?;
            edits.push(Edit::set_value(&kept.key, format!("file:{}", file.display())));
        }
    }
    let count = steps.iter().filter(|step| step.standing == StepStatus::New).count();
    if !edits.is_empty() {
        draft.save(&edits)?;
    }
    let refused: String = refused.iter().map(|(name, why)| format!("The skill {name} was refused: {why}\n")).collect();
    if installed + remembered + count == 0 {
        return Ok(format!("\n{refused}Nothing was changed: all of it is there already.\n"));
    }
    Ok(format!(
        "\n{refused}Done: {remembered} memories, {installed} skills, {count} settings in {}.\n\
         Stop the other program before Hob answers in its place: a bot has one reader. `hob doctor` says what is missing.\n",
        draft.path.display()
    ))
}

/// How many were installed, and which were refused, with why.
async fn skills(
    store: &Store,
    draft: &ConfigDraft,
    folders: &[SkillFolder],
    tell: &(dyn Fn(usize) + Sync),
) -> anyhow::Result<(usize, Vec<(String, String)>)> {
    let places = SkillFolders::of(&draft.data_dir()?, draft.config.skills.dirs.clone());
    let library = Library::open(store.clone(), places, Redactor::default(), Arc::default());
    let (mut installed, mut refused) = (0, Vec::new());
    for (done, folder) in folders.iter().enumerate() {
        tell(done);
        let shelf = LoadedSkills::load(library.places());
        let from = folder.path.display().to_string();
        if shelf.skills.contains_key(&folder.name) {
            installed += usize::from(library.record_missing(&folder.name, &from, SystemClock.now()).await?);
            continue;
        }
        let done = Bundle::of_folder(&folder.path)
            .map_err(anyhow::Error::from)
            .and_then(|bundle| Ok(install::install(&bundle, &library.places().installed, &shelf, SystemClock.now())?));
        match done {
            Ok(found) => {
                library.reload();
                library.record(&found.skill.name, RecordChange::Installed(from), SystemClock.now()).await?;
                installed += 1;
            }
            Err(error) => refused.push((folder.name.clone(), format!("{error:#}"))),
        }
    }
    Ok((installed, refused))
}

/// Whose the memories become, and who is told how many are there.
struct ImportTarget<'a> {
    whose: MemoryOwner,
    tell: &'a (dyn Fn(usize) + Sync),
}

/// In one transaction.
async fn remember(
    state: &StatePlace,
    plan: &ImportPlan,
    known: &ExistingContent,
    target: ImportTarget<'_>,
) -> anyhow::Result<usize> {
    let ImportTarget { whose, tell } = target;
    let scope = match whose {
        MemoryOwner::Nobody => return Ok(0),
        MemoryOwner::House => Scope::House,
        MemoryOwner::Person(name) => person_named(&mut Reader::open(state).await?, &name).await?,
    };
    let new = plan.memories.iter().filter(|entry| !known.memories.contains(&entry.text));
    let lines = (1_u64..).zip(new).map(|(number, entry)| {
        let line = TransferLine::Memory(MemoryLine {
            scope: ScopeRef::House,
            episode: number,
            speaker: plan.program.name().to_owned(),
            said_by: None,
            text: entry.text.clone(),
            asked: None,
            origin: "import".to_owned(),
            importance: IMPORTANCE,
            pinned: false,
            uses: 0,
            used_at: None,
            at: entry.at,
        });
        (usize::try_from(number).unwrap_or(usize::MAX), line)
    });
    let import = ImportLines { lines: lines.collect(), into: Some(scope) };
    let mut beside = BystanderWriter::open(state).await?;
    let imported = beside.write(async |tx| import.run(tx, tell).await).await?;
    beside.close().await;
    match imported {
        Ok(imported) => Ok(imported.memories),
        Err(problems) => {
            refuse!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"); "\nmend these lines there, and import anew")
        }
    }
}
