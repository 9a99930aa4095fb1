//! All skills as they lie in their folders, read at once. What holds of them is recorded elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::{self, FolderError, SKILL_FILE, SkillFolder};
use crate::{format, shipped};
use hob_core::domain::skills::{QuarantinedSkill, SkillState};
use hob_store::skills::SkillRow;

/// The most folders that are looked into in one place.
const FOLDERS_MAX: usize = 500;
/// The folder for drafts among the installed skills.
pub const DRAFTS: &str = "drafts";

/// Where skills lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolders {
    pub installed: PathBuf,
    /// The operator's own folders.
    pub configured: Vec<PathBuf>,
}

impl SkillFolders {
    /// The places of a household.
    pub fn of(data_dir: &Path, configured: Vec<PathBuf>) -> Self {
        Self { installed: data_dir.join("skills"), configured }
    }
}

/// Whence a skill comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillOrigin {
    /// It is a part of this program.
    Shipped,
    /// A folder of the operator's.
    Configured(PathBuf),
    /// A folder that was installed.
    Installed(PathBuf),
}

/// A skill that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// What it says.
    pub found: SkillFolder,
    /// Whence it comes.
    pub home: SkillOrigin,
}

impl LoadedSkill {
    /// How it stands by the records, and whether its words may instruct.
    pub fn standing(&self, records: &[SkillRow]) -> (SkillState, bool) {
        match &self.home {
            SkillOrigin::Shipped => (SkillState::Shipped, true),
            SkillOrigin::Configured(_) => (SkillState::Configured, true),
            SkillOrigin::Installed(_) => {
                let record = records.iter().find(|row| row.name == self.found.skill.name);
                match record {
                    Some(row) if row.state != "enabled" => (SkillState::Inert, row.trusted && self.matches_record(row)),
                    Some(row) if !self.matches_record(row) => (SkillState::Changed, false),
                    Some(row) => (SkillState::Enabled, row.trusted),
                    None => (SkillState::Inert, false),
                }
            }
        }
    }

    /// Are its files those of the record?
    fn matches_record(&self, row: &SkillRow) -> bool {
        row.digest == self.found.digest
    }

    /// The folder; none: it is a part of this program.
    pub fn folder(&self) -> Option<&Path> {
        match &self.home {
            SkillOrigin::Shipped => None,
            SkillOrigin::Configured(path) | SkillOrigin::Installed(path) => Some(path),
        }
    }
}

/// All that was found.
#[derive(Debug, Clone, Default)]
pub struct LoadedSkills {
    /// By name.
    pub skills: BTreeMap<String, Arc<LoadedSkill>>,
    /// What is not a skill.
    pub quarantined: Vec<QuarantinedSkill>,
}

impl LoadedSkills {
    /// Reads everything. Of two with one name the operator's counts, then Hob's own.
    pub fn load(places: &SkillFolders) -> Self {
        let mut shelf = Self::default();
        for place in &places.configured {
            shelf.read_place(place, &SkillOrigin::Configured);
        }
        for found in shipped::all() {
            let name = found.skill.name.clone();
            shelf.skills.entry(name).or_insert_with(|| Arc::new(LoadedSkill { found, home: SkillOrigin::Shipped }));
        }
        // Nobody need have installed anything.
        if places.installed.exists() {
            shelf.read_place(&places.installed, &SkillOrigin::Installed);
        }
        shelf
    }

    fn read_place(&mut self, place: &Path, home: &dyn Fn(PathBuf) -> SkillOrigin) {
        let names = match folders(place) {
            Ok(names) => names,
            Err(error) => {
                return self.refuse(place, &format!("the folder cannot be read: {error}; see [skills] in config.toml"));
            }
        };
        // The folder may itself be one skill.
        if place.join(SKILL_FILE).is_file() {
            return self.read_one(place, home);
        }
        if names.len() > FOLDERS_MAX {
            self.refuse(place, &format!("there are more than {FOLDERS_MAX} folders in it; the rest is left out"));
        }
        for name in names.into_iter().take(FOLDERS_MAX) {
            self.read_one(&place.join(name), home);
        }
    }

    fn read_one(&mut self, path: &Path, home: &dyn Fn(PathBuf) -> SkillOrigin) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let read = if path.is_symlink() {
            Err(FolderError::Linked)
        } else {
            folder::open(path).and_then(|dir| folder::read(&dir, name))
        };
        match read {
            Ok(found) => match self.skills.get(name) {
                None => {
                    let shelved = LoadedSkill { found, home: home(path.to_owned()) };
                    self.skills.insert(name.to_owned(), Arc::new(shelved));
                }
                Some(other) => {
                    let place =
                        other.folder().map_or_else(|| "Hob itself".to_owned(), |path| path.display().to_string());
                    self.refuse(path, &format!("there is a skill {name} in {place} already; rename one of them"));
                }
            },
            Err(FolderError::Format(format::FormatError { line, why })) => {
                self.quarantined
                    .push(QuarantinedSkill { place: format!("{}:{line}", path.join(SKILL_FILE).display()), why });
            }
            Err(error) => self.refuse(path, &error.to_string()),
        }
    }

    fn refuse(&mut self, path: &Path, why: &str) {
        self.quarantined.push(QuarantinedSkill { place: path.display().to_string(), why: why.to_owned() });
    }
}

/// The folders in a place, sorted; hidden ones are somebody else's, and drafts are no skills yet.
fn folders(place: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if (kind.is_dir() || (kind.is_symlink() && entry.path().is_dir())) && !name.starts_with('.') && name != DRAFTS {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
