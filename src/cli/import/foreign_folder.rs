//! What lies in another program's folder, read into plain data. Nothing there is changed, and nothing outside it is looked at but
//! the workspace that its config names.
//!
//! Start at [`ForeignFolder::read`].

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;

use crate::cli::import::Program;
use crate::cli::import::plan::SkillFolder;
use crate::cli::next_step::refuse;
use hob_store::foreign_databases::openclaw_jobs;

/// Bigger files are no notes and no config.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// So many files of one folder are read, at most.
const FILES_MAX: usize = 4_000;
/// What the paths in the workspace begin with.
const WORKSPACE: &str = "workspace/";
/// The program's own skills, which it keeps up to date by itself: `name:hash` a line.
const BUNDLED: &str = ".bundled_manifest";

#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) text: String,
    /// When it was changed last.
    pub(super) changed: Timestamp,
}

/// A folder's content, as far as it is of use.
#[derive(Debug, Default)]
pub(super) struct ForeignFolder {
    /// By its path; what lies in the workspace begins with `workspace/`, wherever that is.
    pub(super) texts: BTreeMap<String, TextFile>,
    /// Jobs that are kept in a database, as JSON.
    pub(super) jobs: Vec<String>,
    /// Folders with a `SKILL.md`.
    pub(super) skills: Vec<SkillFolder>,
    /// Links that lead out of it.
    pub(super) outside: Vec<String>,
}

impl ForeignFolder {
    /// The text of a file, if it is there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(|file| file.text.as_str())
    }

    /// Reads the folder.
    ///
    /// # Errors
    /// When it is not this program's, or cannot be read.
    pub(super) async fn read(program: Program, dir: &Path, workspace: Option<PathBuf>) -> anyhow::Result<Self> {
        let mut foreign = Self::default();
        let workspace = workspace.unwrap_or_else(|| dir.join("workspace"));
        let root = |path: &str| if path.starts_with(WORKSPACE) { workspace.as_path() } else { dir };
        for path in program.files() {
            foreign.take(root(path), path)?;
        }
        for folder in program.folders() {
            foreign.take_folder(root(folder), folder)?;
        }
        for folder in program.skill_folders() {
            let place = within(root(folder), folder);
            let bundled = content(&place.join(BUNDLED))?.map(|file| file.text).unwrap_or_default();
            let own: Vec<&str> = bundled.lines().filter_map(|line| line.split(':').next()).collect();
            for skill in skills(&place, 2)?.into_iter().filter(|skill| !own.contains(&skill.name.as_str())) {
                if foreign.holds(root(folder), &skill.path, &format!("{folder}/{}", skill.name)) {
                    foreign.skills.push(skill);
                }
            }
        }
        foreign.skills.sort_by(|one, other| one.name.cmp(&other.name));
        let database = dir.join("state/openclaw.sqlite");
        if program == Program::Openclaw && database.is_file() {
            let told = || format!("{} cannot be read; stop openclaw, and try again", database.display());
            foreign.jobs = openclaw_jobs(&database).await.with_context(told)?;
        }
        Ok(foreign)
    }

    /// Whether what is found at a place lies below the root; one that is not there leads nowhere.
    fn holds(&mut self, root: &Path, place: &Path, path: &str) -> bool {
        let is_below = match (root.canonicalize(), place.canonicalize()) {
            (Ok(root), Ok(place)) => place.starts_with(root),
            (_, place) => place.is_err(),
        };
        self.outside.extend((!is_below).then(|| path.to_owned()));
        is_below
    }

    fn take(&mut self, root: &Path, path: &str) -> anyhow::Result<()> {
        let place = within(root, path);
        if self.holds(root, &place, path)
            && let Some(file) = content(&place)?
        {
            self.texts.insert(path.to_owned(), file);
        }
        Ok(())
    }

    /// The Markdown files of a folder.
    fn take_folder(&mut self, root: &Path, folder: &str) -> anyhow::Result<()> {
        for name in names(&within(root, folder))? {
            if name.ends_with(".md") {
                self.take(root, &format!("{folder}/{name}"))?;
            }
        }
        Ok(())
    }
}

/// What stands in a file, if there is one that is not too big.
fn content(place: &Path) -> anyhow::Result<Option<TextFile>> {
    let told = || format!("{} cannot be read", place.display());
    let metadata = match fs::metadata(place) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        metadata => metadata.with_context(told)?,
    };
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&fs::read(place).with_context(told)?).into_owned();
    let changed = Timestamp::try_from(metadata.modified().with_context(told)?).with_context(told)?;
    Ok(Some(TextFile { text, changed }))
}

fn within(root: &Path, path: &str) -> PathBuf {
    root.join(path.strip_prefix(WORKSPACE).unwrap_or(path))
}

/// The names in a folder, in order; none where there is no folder.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let told = || format!("{} cannot be read", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        entries => entries.with_context(told)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.with_context(told)?.file_name().into_string());
        if names.len() > FILES_MAX {
            refuse!("{} holds more than {FILES_MAX} files, which no folder of an assistant does", folder.display(); "name the right one");
        }
    }
    names.sort();
    Ok(names)
}

/// The skills in a folder: in it, or a folder deeper, where they are sorted by what they are about.
fn skills(folder: &Path, depth: usize) -> anyhow::Result<Vec<SkillFolder>> {
    let mut found = Vec::new();
    for name in names(folder)?.into_iter().filter(|name| !name.starts_with('.')) {
        let path = folder.join(&name);
        if path.join("SKILL.md").is_file() {
            found.push(SkillFolder { name, path });
        } else if depth > 1 && path.is_dir() {
            found.extend(skills(&path, depth - 1)?);
        }
    }
    Ok(found)
}
