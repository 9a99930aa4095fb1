//! A skill that is to be installed, as files in memory: from a folder, an archive, or a single `SKILL.md`. Bounded.
//!
//! Never: a path that leads out, a link, or more than a skill may have.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

use flate2::read::GzDecoder;

use crate::folder::{self, DEPTH_MAX, FILES_MAX, FolderError, SKILL_FILE, TOTAL_BYTES_MAX, within};

/// The most bytes of an archive.
pub const ARCHIVE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most bytes that an archive may be when it is unpacked: a repository holds more than its skill.
const UNPACKED_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// The most entries of an archive.
const ENTRIES_MAX: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    pub bytes: Vec<u8>,
    /// It may be run.
    pub(crate) executable: bool,
}

/// The files of one skill, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundle(pub BTreeMap<String, BundleFile>);

/// Why there is no skill in it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Something in it leads out.
    #[error("{0:?} in it leads out of the skill's folder: it was not installed")]
    Outside(String),
    #[error("{0:?} in it is a link: it was not installed; a skill's files must lie in its folder")]
    Link(String),
    /// The same twice.
    #[error("{0:?} is in it twice: it was not installed")]
    Twice(String),
    /// Too much.
    #[error("it is larger than a skill may be ({FILES_MAX} files, {} MiB, {DEPTH_MAX} folders deep): it was not installed", TOTAL_BYTES_MAX >> 20)]
    TooLarge,
    /// No skill.
    #[error("there is no {SKILL_FILE} in it: name a folder, an archive or a file that is a skill")]
    NoSkill,
    #[error("there are several skills in it: {0}; name the folder of one of them")]
    Several(String),
    /// It cannot be unpacked.
    #[error("it cannot be unpacked: {0}; is it whole?")]
    Damaged(String),
    /// A folder that cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Bundle {
    /// A folder on this machine.
    ///
    /// # Errors
    /// When it is not a skill's.
    pub fn of_folder(path: &Path) -> Result<Self, ArchiveError> {
        let dir = folder::open(path)?;
        let files = folder::list(&dir)?;
        let mut all = BTreeMap::new();
        for entry in files {
            let bytes = folder::bytes_of(&dir, &entry.path, TOTAL_BYTES_MAX + 1)?;
            all.insert(entry.path, BundleFile { bytes, executable: entry.executable });
        }
        Self::checked(all)
    }

    /// What came over the network, or a file on this machine. `below` is the folder in it that is meant, if one is.
    ///
    /// # Errors
    /// When there is no skill in it.
    pub fn of_bytes(bytes: &[u8], below: Option<&str>) -> Result<Self, ArchiveError> {
        if bytes.starts_with(b"PK\x03\x04") {
            return Self::one_of(unzip(bytes)?, below);
        }
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Self::one_of(untar(bytes)?, below);
        }
        let piece = BundleFile { bytes: bytes.to_vec(), executable: false };
        Self::checked(BTreeMap::from([(SKILL_FILE.to_owned(), piece)]))
    }

    /// The skill that lies least deep; it must be one.
    fn one_of(all: BTreeMap<String, BundleFile>, below: Option<&str>) -> Result<Self, ArchiveError> {
        let named = |folder: &str| below.is_none_or(|below| folder == below || folder.ends_with(&format!("/{below}")));
        let folders = all.keys().filter_map(|path| match path.rsplit_once('/') {
            Some((folder, SKILL_FILE)) => Some(folder),
            None if path == SKILL_FILE => Some(""),
            Some(_) | None => None,
        });
        let folders: Vec<&str> = folders.filter(|folder| named(folder)).collect();
        let depth = |folder: &str| if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
        let least = folders.iter().map(|folder| depth(folder)).min().ok_or(ArchiveError::NoSkill)?;
        let root = match folders.iter().filter(|folder| depth(folder) == least).copied().collect::<Vec<_>>().as_slice()
        {
            [one] => (*one).to_owned(),
            several => {
                return Err(ArchiveError::Several(several.iter().take(20).copied().collect::<Vec<_>>().join(", ")));
            }
        };
        let prefix = if root.is_empty() { root } else { format!("{root}/") };
        let inside = all.into_iter().filter_map(|(path, piece)| Some((path.strip_prefix(&prefix)?.to_owned(), piece)));
        Self::checked(inside.collect())
    }

    fn checked(all: BTreeMap<String, BundleFile>) -> Result<Self, ArchiveError> {
        let bytes: u64 = all.values().map(|piece| piece.bytes.len() as u64).sum();
        let deep = all.keys().any(|path| path.matches('/').count() > DEPTH_MAX);
        if all.len() > FILES_MAX || bytes > TOTAL_BYTES_MAX || deep {
            return Err(ArchiveError::TooLarge);
        }
        if !all.contains_key(SKILL_FILE) {
            return Err(ArchiveError::NoSkill);
        }
        Ok(Self(all))
    }
}

fn damaged(error: impl ToString) -> ArchiveError {
    ArchiveError::Damaged(error.to_string().chars().take(200).collect())
}

/// What is kept of an archive while it is unpacked.
struct Unpacking {
    files: BTreeMap<String, BundleFile>,
    left: u64,
}

impl Unpacking {
    fn new() -> Self {
        Self { files: BTreeMap::new(), left: UNPACKED_BYTES_MAX }
    }

    fn take(&mut self, path: &str, reader: &mut dyn Read, mode: u32) -> Result<(), ArchiveError> {
        let name = within(path).ok_or_else(|| ArchiveError::Outside(path.to_owned()))?;
        let mut bytes = Vec::new();
        reader.take(self.left + 1).read_to_end(&mut bytes).map_err(damaged)?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(ArchiveError::TooLarge)?;
        let piece = BundleFile { bytes, executable: mode & 0o111 != 0 };
        match self.files.insert(name, piece) {
            None => Ok(()),
            Some(_) => Err(ArchiveError::Twice(path.to_owned())),
        }
    }
}

fn unzip(bytes: &[u8]) -> Result<BTreeMap<String, BundleFile>, ArchiveError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    if archive.len() > ENTRIES_MAX {
        return Err(ArchiveError::TooLarge);
    }
    let mut unpacking = Unpacking::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let path = entry.name().map_err(damaged)?.into_owned();
        if entry.is_symlink() {
            return Err(ArchiveError::Link(path));
        }
        if entry.is_dir() {
            continue;
        }
        let mode = entry.unix_mode().unwrap_or(0);
        unpacking.take(&path, &mut entry, mode)?;
    }
    Ok(unpacking.files)
}

fn untar(bytes: &[u8]) -> Result<BTreeMap<String, BundleFile>, ArchiveError> {
    use tar::EntryType;
    // What a tar's own headers take counts too, so that no endless row of them is read.
    let unpacked = GzDecoder::new(bytes).take(UNPACKED_BYTES_MAX + 1);
    let mut archive = tar::Archive::new(unpacked);
    let mut unpacking = Unpacking::new();
    for (index, entry) in archive.entries().map_err(damaged)?.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        if index >= ENTRIES_MAX {
            return Err(ArchiveError::TooLarge);
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {
                let mode = entry.header().mode().unwrap_or(0);
                unpacking.take(&path, &mut entry, mode)?;
            }
            EntryType::Directory | EntryType::XGlobalHeader => {}
            _ => return Err(ArchiveError::Link(path)),
        }
    }
    Ok(unpacking.files)
}

#[cfg(test)]
mod tests;
