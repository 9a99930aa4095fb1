//! A skill's folder: its `SKILL.md`, and what lies beside it. Looked at within bounds; a link in it is not a skill.

use std::io::{self, Read as _};
use std::path::{Component, Path};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};

use crate::format::{self, Skill};
use hob_core::domain::text::hex;

/// The file that makes a folder a skill.
pub(crate) const SKILL_FILE: &str = "SKILL.md";
/// The most files of a skill.
pub const FILES_MAX: usize = 200;
/// The most bytes of all of them.
pub const TOTAL_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The most folders of a skill: each is opened, however little lies in it.
pub(crate) const FOLDERS_MAX: usize = 100;
/// How deep folders may lie in it.
pub const DEPTH_MAX: usize = 6;
/// The most bytes of a file that is shown to a model.
pub const SHOWN_BYTES_MAX: u64 = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Where in the folder, with `/`.
    pub path: String,
    /// How long.
    pub bytes: u64,
    /// Its contents' digest.
    pub digest: String,
    /// It looks like something that is run: by its mode, its ending or its first bytes.
    pub script: bool,
    /// Its mode says that it may be run.
    pub(crate) executable: bool,
}

/// A folder that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFolder {
    /// What it says.
    pub skill: Skill,
    /// Its files, by path; `SKILL.md` among them.
    pub files: Vec<SkillFile>,
    /// The digest of all of them with their names.
    pub digest: String,
}

/// Why a folder is not a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// Its `SKILL.md` is none.
    #[error("{SKILL_FILE}:{}: {}", .0.line, .0.why)]
    Format(#[from] format::FormatError),
    /// There is none.
    #[error("there is no {SKILL_FILE} in it; a skill is a folder with one")]
    NoSkill,
    /// A link may lead anywhere.
    #[error("{0} is a link, and a skill's files must lie in its folder: put the file itself there")]
    Link(String),
    /// The folder itself is a link.
    #[error("the folder is a link: name the folder that it leads to under [skills] dirs, or put the skill itself here")]
    Linked,
    /// Neither a file nor a folder.
    #[error("{0} is neither a file nor a folder; remove it")]
    Special(String),
    /// Too much.
    #[error("it has more than {FILES_MAX} files, {FOLDERS_MAX} folders, {} MiB, or folders {DEPTH_MAX} deep: remove what it does not need", TOTAL_BYTES_MAX >> 20)]
    TooLarge,
    /// A name that is not text.
    #[error("a file in it has a name that is not UTF-8; rename it")]
    Name,
    /// It cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: String, why: String },
}

fn unreadable(path: &str) -> impl FnOnce(io::Error) -> FolderError {
    let path = if path.is_empty() { "the folder".to_owned() } else { path.to_owned() };
    move |error| FolderError::Unreadable { path, why: error.to_string() }
}

/// Opens a folder; whatever is asked of it stays within it.
///
/// # Errors
/// When there is none, or it may not be read.
pub fn open(path: &Path) -> Result<Dir, FolderError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(unreadable(""))
}

/// Reads a skill's folder. `name` is the folder's own.
pub fn read(dir: &Dir, name: &str) -> Result<SkillFolder, FolderError> {
    let files = list(dir)?;
    if !files.iter().any(|file| file.path == SKILL_FILE) {
        return Err(FolderError::NoSkill);
    }
    let bytes = bytes_of(dir, SKILL_FILE, format::BYTES_MAX as u64 + 1)?;
    let skill = format::parse(&bytes, Some(name))?;
    if !files.iter().any(|file| file.path == SKILL_FILE && file.digest == digest_of(&bytes)) {
        // It was written between two looks: the next look sees it whole.
        let why = "it is being written".to_owned();
        return Err(FolderError::Unreadable { path: SKILL_FILE.to_owned(), why });
    }
    let digest = digest_of_all(&files);
    Ok(SkillFolder { skill, files, digest })
}

/// All files of a folder, by path.
///
/// # Errors
/// When it holds what a skill's may not, or too much.
pub fn list(dir: &Dir) -> Result<Vec<SkillFile>, FolderError> {
    let mut tally = FolderScan { files: Vec::new(), bytes_left: TOTAL_BYTES_MAX, folders_left: FOLDERS_MAX };
    walk(dir, "", DEPTH_MAX, &mut tally)?;
    let mut files = tally.files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What was found up to now, and how much more there may be.
struct FolderScan {
    files: Vec<SkillFile>,
    bytes_left: u64,
    folders_left: usize,
}

fn walk(dir: &Dir, within: &str, depth: usize, tally: &mut FolderScan) -> Result<(), FolderError> {
    for entry in dir.entries().map_err(unreadable(within))? {
        let entry = entry.map_err(unreadable(within))?;
        let name = entry.file_name().into_string().map_err(|_not_utf8| FolderError::Name)?;
        let path = if within.is_empty() { name.clone() } else { format!("{within}/{name}") };
        let kind = entry.file_type().map_err(unreadable(&path))?;
        if kind.is_symlink() {
            return Err(FolderError::Link(path));
        }
        if kind.is_dir() {
            let depth = depth.checked_sub(1).ok_or(FolderError::TooLarge)?;
            tally.folders_left = tally.folders_left.checked_sub(1).ok_or(FolderError::TooLarge)?;
            let below = dir.open_dir(&name).map_err(unreadable(&path))?;
            walk(&below, &path, depth, tally)?;
            continue;
        }
        if !kind.is_file() {
            return Err(FolderError::Special(path));
        }
        let file = look_at(dir, &name, path, tally.bytes_left)?;
        tally.bytes_left -= file.bytes;
        tally.files.push(file);
        if tally.files.len() > FILES_MAX {
            return Err(FolderError::TooLarge);
        }
    }
    Ok(())
}

/// A file, read to its end for its digest.
fn look_at(dir: &Dir, name: &str, path: String, left: u64) -> Result<SkillFile, FolderError> {
    use cap_std::fs::PermissionsExt as _;
    let bytes = bytes_of(dir, name, left + 1)?;
    let length = bytes.len() as u64;
    if length > left {
        return Err(FolderError::TooLarge);
    }
    let mode = dir.metadata(name).map_err(unreadable(&path))?.permissions().mode();
    let executable = mode & 0o111 != 0;
    let script = executable || is_script(&path, &bytes);
    Ok(SkillFile { path, bytes: length, digest: digest_of(&bytes), script, executable })
}

/// The bytes of a file in the folder, at most so many.
pub(crate) fn bytes_of(dir: &Dir, path: &str, max: u64) -> Result<Vec<u8>, FolderError> {
    let file = dir.open(path).map_err(unreadable(path))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).map_err(unreadable(path))?;
    Ok(bytes)
}

/// Does it look like something that is run?
pub(crate) fn is_script(path: &str, bytes: &[u8]) -> bool {
    const ENDINGS: [&str; 14] =
        ["sh", "bash", "zsh", "fish", "py", "rb", "pl", "js", "mjs", "ts", "ps1", "bat", "exe", "lua"];
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
    let named = ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()));
    named || bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF")
}

pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of all files with their names and whether they may be run.
fn digest_of_all(files: &[SkillFile]) -> String {
    let mut all = Sha256::new();
    for file in files {
        let line = format!("{}\0{}\0{}\n", file.path, file.digest, file.executable);
        all.update(line.as_bytes());
    }
    hex(&all.finalize())
}

/// A path within the folder as it is listed, or none where it leads out of it.
pub fn within(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty() && !path.contains(['\\', '\0'])).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;
