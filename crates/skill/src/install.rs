//! Puts a skill among the installed ones, and takes it away again: whole or not at all.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;

use crate::archive::{ArchiveError, Bundle};
use crate::folder::{self, FolderError, SKILL_FILE, SkillFolder};
use crate::format::{self, FormatError};
use crate::loaded_skills::LoadedSkills;
use crate::report::{self, HiddenCharacter};
use hob_store::contents::FREE_MIN;
use hob_store::space;
use hob_store::work_dir::{self, WorkDir};

/// Why a skill was not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Its files.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Its `SKILL.md`.
    #[error("{SKILL_FILE}:{}: {}", .0.line, .0.why)]
    Format(#[from] FormatError),
    /// Its folder, once it was written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its name is another's.
    #[error("there is a skill {0} already; `hob skill remove {0}` removes an installed one")]
    Taken(String),
    /// There is little room on the disk.
    #[error("the disk of {0} is nearly full: free some space, then install it")]
    Room(String),
    /// It cannot be written.
    #[error("{path} cannot be written: {source}")]
    Unwritable {
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Writes a skill's files among the installed ones.
///
/// # Errors
/// When it is none, its name is taken, or the disk refuses: then nothing is left of it.
pub fn install(
    bundle: &Bundle,
    installed: &Path,
    shelf: &LoadedSkills,
    now: Timestamp,
) -> Result<SkillFolder, InstallError> {
    let text = bundle.0.get(SKILL_FILE).ok_or(ArchiveError::NoSkill)?;
    let name = format::parse(&text.bytes, None)?.name;
    let place = installed.join(&name);
    if shelf.skills.contains_key(&name) || place.exists() {
        return Err(InstallError::Taken(name));
    }
    let unwritable = |source| InstallError::Unwritable { path: installed.display().to_string(), source };
    std::fs::create_dir_all(installed).map_err(unwritable)?;
    if !has_room(space::free(installed).map_err(unwritable)?) {
        return Err(InstallError::Room(installed.display().to_string()));
    }
    // A hidden folder is looked at by nobody, and goes by itself if this ends early.
    work_dir::sweep(installed, &work_dir::IN_SKILLS, now);
    let staged = WorkDir::begin(work_dir::NEW, installed).map_err(unwritable)?;
    let folder = staged.path().join(&name);
    for (path, piece) in &bundle.0 {
        write(&folder.join(path), &piece.bytes, piece.executable).map_err(unwritable)?;
    }
    let found = folder::read(&folder::open(&folder)?, &name)?;
    std::fs::rename(&folder, &place).map_err(unwritable)?;
    Ok(found)
}

/// Whether so many free bytes are enough for more than messages.
fn has_room(free: u64) -> bool {
    free >= FREE_MIN
}

/// Writes a file of a skill, with the folders above it, for this user only.
///
/// # Errors
/// When it is there already, or the disk refuses.
pub fn write(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mode = if executable { 0o700 } else { 0o600 };
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)
}

/// Takes an installed skill's folder away. It is gone from its place at once.
pub fn remove(place: &Path) -> io::Result<()> {
    let installed = place.parent().unwrap_or(Path::new("/"));
    let grave = WorkDir::begin(work_dir::OLD, installed)?;
    std::fs::rename(place, grave.path().join("skill"))?;
    grave.close()
}

/// What is hidden in the texts of a skill's folder.
pub fn hidden(place: &Path, found: &SkillFolder) -> Result<Vec<HiddenCharacter>, FolderError> {
    let dir = folder::open(place)?;
    let mut all = Vec::new();
    for file in &found.files {
        let bytes = folder::bytes_of(&dir, &file.path, folder::TOTAL_BYTES_MAX)?;
        // What is no text is shown to no model.
        if let Ok(text) = std::str::from_utf8(&bytes) {
            all.extend(report::hidden(&file.path, text));
        }
    }
    Ok(all)
}
