//! The skills of this Hob: what lies in the folders, what is recorded of it, and what may be read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::folder::{self, SHOWN_BYTES_MAX, SKILL_FILE};
use crate::loaded_skills::{DRAFTS, LoadedSkill, LoadedSkills, SkillFolders, SkillOrigin};
use crate::matching::{SkillIndexEntry, SkillQuery, fitting};
use crate::skill_vectors::SkillVectors;
use crate::{draft, install, report};
use hob_core::domain::ids::UserId;
use hob_core::domain::redactor::Redactor;
use hob_core::domain::skills::{
    QuarantinedSkill, SkillBook, SkillContent, SkillError, SkillLine, SkillList, SkillState,
};
use hob_core::policy::redact::redact;
use hob_memory::embedding::Bill;
use hob_memory::embedding_service::EmbeddingService;
use hob_store::error::StoreError;
use hob_store::skills::{CallRow, OfferRow, SkillRow};
use hob_store::{Store, Tx, millis, skills};

/// A run does not wait any longer for what its message means.
const MEANING_MAX: Duration = Duration::from_millis(50);
/// The most characters of a skill's description in a list.
const LINE_CHARS_MAX: usize = 200;
const HEAD: &str = "skills that may fit (read one with use_skill before you begin):";

/// The skills.
pub struct Library {
    store: Store,
    places: SkillFolders,
    redactor: Redactor,
    embedding_service: Arc<EmbeddingService>,
    loaded: ArcSwap<LoadedSkills>,
    cards: ArcSwap<Vec<SkillIndexEntry>>,
    meaning: SkillVectors,
}

impl Library {
    /// Reads the folders.
    pub fn open(
        store: Store,
        places: SkillFolders,
        redactor: Redactor,
        embedding_service: Arc<EmbeddingService>,
    ) -> Self {
        let (loaded, cards) = (ArcSwap::default(), ArcSwap::default());
        let library =
            Self { store, places, redactor, embedding_service, loaded, cards, meaning: SkillVectors::default() };
        library.reload();
        library
    }

    /// Those of a household that configures nothing, found by words alone.
    pub fn plain(store: Store, data_dir: &Path) -> Self {
        Self::open(store, SkillFolders::of(data_dir, Vec::new()), Redactor::default(), Arc::default())
    }

    /// Where they lie.
    pub fn places(&self) -> &SkillFolders {
        &self.places
    }

    /// Reads the folders again. Who reads a skill at the moment goes on with what it was.
    pub fn reload(&self) {
        let loaded = LoadedSkills::load(&self.places);
        for QuarantinedSkill { place, why } in &loaded.quarantined {
            tracing::warn!(place, why, "skill.quarantined");
        }
        let cards = loaded.skills.values().map(|shelved| SkillIndexEntry::of(&shelved.found.skill)).collect();
        tracing::info!(skills = loaded.skills.len(), "skills.loaded");
        self.cards.store(Arc::new(cards));
        self.loaded.store(Arc::new(loaded));
    }

    /// Has the meaning of each skill ready, where vectors are made. What is ready stays.
    pub async fn prepare(&self) {
        if let Some(serving) = self.embedding_service.serving() {
            self.meaning.prepare(&*serving.embedder, &self.loaded.load()).await;
        }
    }

    /// The skills that may be used and fit what was said, as lines for the model; a vector is on this bill.
    pub async fn matching_lines(&self, text: &str, bill: &Bill) -> Vec<String> {
        let (loaded, cards) = (self.loaded.load_full(), self.cards.load_full());
        let near = match self.embedding_service.serving() {
            Some(serving) => {
                let near = self.meaning.near(&serving, text, bill);
                tokio::time::timeout(MEANING_MAX, near).await.unwrap_or_default()
            }
            None => Default::default(),
        };
        let names = fitting(&SkillQuery::of(text), &cards, &|name| near.get(name).copied());
        if names.is_empty() {
            return Vec::new();
        }
        let records = match self.records_for(&loaded).await {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(%error, "which skills are enabled cannot be read; none is shown");
                return Vec::new();
            }
        };
        let usable = names.into_iter().filter_map(|name| {
            let shelved = loaded.skills.get(name)?;
            let (standing, trusted) = shelved.standing(&records);
            standing.is_usable().then(|| model_line(shelved, trusted))
        });
        let lines: Vec<String> = usable.collect();
        if lines.is_empty() { lines } else { [vec![HEAD.to_owned()], lines].concat() }
    }

    /// Only installed ones have records.
    async fn records_for(&self, loaded: &LoadedSkills) -> Result<Vec<SkillRow>, StoreError> {
        if loaded.skills.values().all(|shelved| !matches!(shelved.home, SkillOrigin::Installed(_))) {
            return Ok(Vec::new());
        }
        self.store.read(skills::list).await
    }

    pub fn list_by(&self, records: &[SkillRow]) -> SkillList {
        let loaded = self.loaded.load();
        let line = |shelved: &Arc<LoadedSkill>| {
            let (standing, trusted) = shelved.standing(records);
            let skill = &shelved.found.skill;
            SkillLine { name: skill.name.clone(), description: skill.description.clone(), standing, trusted }
        };
        SkillList { skills: loaded.skills.values().map(line).collect(), quarantined: loaded.quarantined.clone() }
    }

    /// A skill, usable or not, how it stands, and whether its words may instruct.
    async fn find(&self, name: &str) -> Result<(Arc<LoadedSkill>, SkillState, bool), SkillError> {
        let loaded = self.loaded.load_full();
        let Some(shelved) = loaded.skills.get(name) else {
            let known = loaded.skills.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(SkillError::Unknown { name: name.chars().take(80).collect(), known });
        };
        let records = self.records_for(&loaded).await.map_err(stored)?;
        let (standing, trusted) = shelved.standing(&records);
        Ok((Arc::clone(shelved), standing, trusted))
    }

    /// An installed one, with its folder.
    async fn installed(&self, name: &str) -> Result<(Arc<LoadedSkill>, PathBuf), SkillError> {
        let (shelved, standing, _) = self.find(name).await?;
        match &shelved.home {
            SkillOrigin::Installed(path) => Ok((Arc::clone(&shelved), path.clone())),
            SkillOrigin::Shipped | SkillOrigin::Configured(_) => Err(SkillError::NotInstalled {
                name: name.to_owned(),
                standing: standing.as_str(),
                advice: if standing == SkillState::Shipped {
                    "it is always there; a skill of the same name in a folder of [skills] dirs goes before it"
                } else {
                    "change it in its folder"
                },
            }),
        }
    }

    /// Records that an installed skill, as it is now, may be used or instruct; what is not said stays.
    ///
    /// # Errors
    /// When there is none of that name, or the database fails.
    pub async fn record(&self, name: &str, said: RecordChange, now: Timestamp) -> Result<(), SkillError> {
        let (shelved, _) = self.installed(name).await?;
        let digest = shelved.found.digest.clone();
        let (name, said) = (name.to_owned(), said);
        self.store.write(async move |tx| record(tx, &name, &digest, &said, now).await).await.map_err(stored)
    }

    /// Records where an installed skill came from, if whoever installed it was ended before that; gives whether that was so.
    pub async fn record_missing(&self, name: &str, from: &str, now: Timestamp) -> Result<bool, SkillError> {
        let loaded = self.loaded.load_full();
        let is_installed =
            loaded.skills.get(name).is_some_and(|shelved| matches!(shelved.home, SkillOrigin::Installed(_)));
        if !is_installed || self.records_for(&loaded).await.map_err(stored)?.iter().any(|row| row.name == name) {
            return Ok(false);
        }
        self.record(name, RecordChange::Installed(from.to_owned()), now).await?;
        Ok(true)
    }
}

/// What is said of an installed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChange {
    Installed(String),
    /// It may be used, or not.
    Enabled(bool),
    /// Its words may instruct, or not.
    Trusted(bool),
}

/// A skill on a line of what the model reads. The words of one that nobody vouches for stay out: its name is all it may say.
fn model_line(shelved: &LoadedSkill, trusted: bool) -> String {
    let skill = &shelved.found.skill;
    if trusted {
        format!("- {}: {}", skill.name, in_line(&skill.description))
    } else {
        format!("- {} (installed)", skill.name)
    }
}

/// On one line, unable to end the block it stands in.
fn in_line(text: &str) -> String {
    report::plain(text, LINE_CHARS_MAX).replace('<', "‹").replace('>', "›")
}

fn stored(error: StoreError) -> SkillError {
    SkillError::Store(error.to_string())
}

fn failed(error: impl ToString) -> SkillError {
    SkillError::Files(error.to_string())
}

fn read_file(shelved: &LoadedSkill, file: &str) -> Result<String, SkillError> {
    let name = shelved.found.skill.name.clone();
    let outside = || SkillError::Outside { name: name.clone(), file: file.chars().take(200).collect() };
    let path = folder::within(file).ok_or_else(outside)?;
    let entry = shelved.found.files.iter().find(|entry| entry.path == path);
    let (Some(entry), Some(folder)) = (entry, shelved.folder()) else {
        let known = resources(shelved).join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        return Err(SkillError::NoFile { name, file: file.chars().take(200).collect(), known });
    };
    let unreadable = |why: String| SkillError::Unreadable { name: name.clone(), file: path.clone(), why };
    if entry.bytes > SHOWN_BYTES_MAX {
        return Err(unreadable(format!("it is longer than {} KiB", SHOWN_BYTES_MAX / 1024)));
    }
    let dir = folder::open(folder).map_err(|error| unreadable(error.to_string()))?;
    let bytes = folder::bytes_of(&dir, &path, SHOWN_BYTES_MAX + 1).map_err(|error| unreadable(error.to_string()))?;
    if folder::digest_of(&bytes) != entry.digest {
        return Err(unreadable("it was changed just now; try again".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_no_text| unreadable("it is not text".to_owned()))
}

/// The files beside `SKILL.md`.
fn resources(shelved: &LoadedSkill) -> Vec<String> {
    let files = shelved.found.files.iter().filter(|entry| entry.path != SKILL_FILE);
    files.map(|entry| entry.path.clone()).collect()
}

#[async_trait]
impl SkillBook for Library {
    async fn list(&self) -> Result<SkillList, SkillError> {
        let records = self.records_for(&self.loaded.load()).await.map_err(stored)?;
        Ok(self.list_by(&records))
    }

    async fn open(&self, name: &str, file: Option<&str>) -> Result<SkillContent, SkillError> {
        let (shelved, standing, trusted) = self.find(name).await?;
        if !standing.is_usable() {
            return Err(SkillError::Inert { name: name.to_owned(), standing: standing.as_str() });
        }
        let files = resources(&shelved);
        let allowed_tools = shelved.found.skill.allowed_tools.clone();
        let text = match file.filter(|file| *file != SKILL_FILE) {
            None => shelved.found.skill.body.clone(),
            Some(file) => {
                let file = file.to_owned();
                // A slow disk holds up this call alone.
                tokio::task::spawn_blocking(move || read_file(&shelved, &file)).await.map_err(failed)??
            }
        };
        Ok(SkillContent { text, files, allowed_tools, trusted })
    }

    async fn show(&self, name: &str) -> Result<String, SkillError> {
        let (shelved, standing, trusted) = self.find(name).await?;
        let trust = if trusted { "trusted" } else { "not trusted" };
        let place = shelved.folder().map(|path| format!("\nfolder: {}", path.display())).unwrap_or_default();
        let hidden = match shelved.folder() {
            Some(folder) => install::hidden(folder, &shelved.found).map_err(failed)?,
            None => Vec::new(),
        };
        let lines = report::lines(&shelved.found, &hidden).join("\n");
        Ok(format!("{lines}\nstate: {}, {trust}{place}", standing.as_str()))
    }

    async fn enable(&self, name: &str, enabled: bool, now: Timestamp) -> Result<(), SkillError> {
        self.record(name, RecordChange::Enabled(enabled), now).await
    }

    async fn remove(&self, name: &str) -> Result<(), SkillError> {
        let (_, place) = self.installed(name).await?;
        // Without its record it is inert, whatever becomes of its files.
        let name = name.to_owned();
        self.store.write(async move |tx| skills::remove(tx, &name).await).await.map_err(stored)?;
        install::remove(&place).map_err(|error| SkillError::Files(format!("{}: {error}", place.display())))?;
        self.reload();
        Ok(())
    }

    async fn draft(&self, user: UserId, now: Timestamp) -> Result<String, SkillError> {
        self.draft_for(Some(user), now).await
    }
}

impl Library {
    /// Writes down what is on offer; without a user: to anybody.
    ///
    /// # Errors
    /// When nothing is, or it cannot be written.
    pub async fn draft_for(&self, user: Option<UserId>, now: Timestamp) -> Result<String, SkillError> {
        let procedure = self.store.read(async |tx| current_offer(tx, user, now).await).await.map_err(stored)?;
        let (offer, runs) = procedure.ok_or(SkillError::NothingToDraft)?;
        let runs: Vec<_> = runs.iter().filter_map(|rows| draft::steps(rows)).collect();
        let clean = |text: &str| redact(&self.redactor.redact(text));
        let (name, text) = draft::draft(&runs, &clean).ok_or(SkillError::NothingToDraft)?;
        let drafts = self.places.installed.join(DRAFTS);
        let place = (1_u32..=99)
            .map(|number| drafts.join(if number == 1 { name.clone() } else { format!("{name}-{number}") }))
            .find(|place| !place.exists())
            .ok_or_else(|| SkillError::Files(format!("there are too many drafts in {}", drafts.display())))?;
        let named = place.file_name().and_then(|name| name.to_str()).unwrap_or(&name);
        let text = text.replacen(&format!("name: {name}\n"), &format!("name: {named}\n"), 1);
        let file = place.join(SKILL_FILE);
        install::write(&file, text.as_bytes(), false)
            .map_err(|error| SkillError::Files(format!("{} cannot be written: {error}", file.display())))?;
        self.store.write(async move |tx| skills::drafted(tx, &offer, now).await).await.map_err(stored)?;
        Ok(place.display().to_string())
    }
}

async fn record(tx: &mut Tx, name: &str, digest: &str, said: &RecordChange, now: Timestamp) -> Result<(), StoreError> {
    let known = skills::list(tx).await?.into_iter().find(|row| row.name == name);
    // What was said of other files is not said of these.
    let known = known.map(|row| {
        let same = row.digest == digest;
        SkillRow { trusted: row.trusted && same, state: if same { row.state } else { "inert".to_owned() }, ..row }
    });
    let mut row = known.unwrap_or_else(|| SkillRow {
        name: name.to_owned(),
        source: "put into its folder by hand".to_owned(),
        state: "inert".to_owned(),
        trusted: false,
        digest: String::new(),
    });
    digest.clone_into(&mut row.digest);
    match said {
        RecordChange::Installed(source) => {
            row = SkillRow { source: source.clone(), state: "inert".to_owned(), trusted: false, ..row };
        }
        RecordChange::Enabled(enabled) => row.state = if *enabled { "enabled" } else { "inert" }.to_owned(),
        RecordChange::Trusted(trusted) => row.trusted = *trusted,
    }
    skills::put(tx, &row, now).await
}

/// What is on offer, with the calls of the runs that did it.
async fn current_offer(
    tx: &mut Tx,
    user: Option<UserId>,
    now: Timestamp,
) -> Result<Option<(OfferRow, Vec<Vec<CallRow>>)>, StoreError> {
    let Some(offer) = skills::open_offer(tx, user).await? else { return Ok(None) };
    let limit = i64::try_from(draft::REPEATED).unwrap_or(i64::MAX);
    let mut all = Vec::new();
    for run in skills::alike(tx, offer.user, &offer.fingerprint, since(now), limit).await? {
        all.push(skills::calls(tx, run).await?);
    }
    Ok(Some((offer, all)))
}

/// From when on repetitions count, in Unix milliseconds.
pub fn since(now: Timestamp) -> i64 {
    millis(now)
        .saturating_sub(SignedDuration::from_hours(24 * draft::WITHIN_DAYS).as_millis().try_into().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
