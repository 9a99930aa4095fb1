//! What is noted of a draft beside its layers.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::changes::dir_handles::FileTime;
use crate::changes::{ChangesError, KeepOutcome, SkippedPath, UndoOutcome};
use hob_core::domain::ids::{RunId, SessionKey, UserId};
use hob_core::domain::text::hex;

/// The draft's own notes.
pub(super) const DRAFT: &str = "draft.json";
/// What is being kept.
pub(super) const MANIFEST: &str = "manifest.json";
/// What kept files looked like in their places.
pub(super) const PLACED: &str = "kept.json";
/// What is not taken back, as it was changed since: the numbers of its entries, noted before anything moves.
pub(super) const REFUSED: &str = "refused.json";
/// What was taken back, as it stood before and after.
pub(super) const RESTORED: &str = "undone.json";

/// Whose a draft is, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DraftRecord {
    pub(super) run: RunId,
    pub(super) session: SessionKey,
    pub(super) user: UserId,
    pub(super) created: Timestamp,
    pub(super) roots: Vec<PathBuf>,
    pub(super) state: DraftState,
}

/// How far a draft has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DraftState {
    /// Commands may work in it.
    Open,
    /// Its manifest is carried out.
    Keeping {
        /// What was agreed to; none: nobody was asked.
        digest: Option<String>,
        at: Timestamp,
    },
    /// It is in the workspace.
    Kept { digest: Option<String>, at: Timestamp, kept: KeepOutcome, stored: u64 },
    /// Its manifest is carried out backwards.
    Undoing { at: Timestamp },
    /// It was taken back.
    Undone {
        at: Timestamp,
        /// What came of it; none: it was taken back by a Hob that did not note that.
        #[serde(default)]
        outcome: Option<UndoOutcome>,
    },
}

/// What is to be done, in this order; folders' modes come last, in the opposite order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) entries: Vec<Entry>,
    pub(super) left_out: Vec<SkippedPath>,
    pub(super) no_undo: Option<String>,
    /// What the old versions take on the disk.
    pub(super) stored: u64,
    /// What lies on another file system than the workspace was copied there.
    pub(super) staged: bool,
}

/// One path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) root: usize,
    #[serde(serialize_with = "written", deserialize_with = "parsed")]
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    pub(super) act: EntryAction,
}

impl Entry {
    /// Is this the new file that comes there?
    pub(super) fn brings(&self, inode: u64) -> bool {
        matches!(self.act, EntryAction::Put { new, .. } | EntryAction::Replace { new, .. } if new == inode)
    }
}

/// What is done there. Files are told apart by their numbers, so that whoever begins again sees what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum EntryAction {
    /// A new file or link comes.
    Put { new: u64, link: bool },
    /// One takes the place of another, which goes where the new one was.
    Replace { new: u64, old: PreviousEntry, link: bool },
    /// Something goes.
    Remove { old: PreviousEntry },
    /// A folder comes; in the place of something, or of nothing.
    Make { old: Option<PreviousEntry> },
    /// A folder gets another mode.
    Mode { old: u32 },
    /// A folder is opened up for the others' sake, and gets its mode back.
    Open,
}

/// What stands there before, by its number, and when it last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PreviousEntry {
    pub(super) inode: u64,
    pub(super) changed: FileTime,
    pub(super) folder: bool,
}

/// What a file looked like, by its entry's number: its own number and its time.
pub(super) type PlacedFiles = HashMap<usize, (u64, FileTime)>;

/// A file that was put back: its number, and its time before it was replaced and since it is back.
pub(super) type RestoredFiles = Vec<(u64, FileTime, FileTime)>;

fn written<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(&format!("={text}")),
        None => serializer.serialize_str(&format!("#{}", hex(path.as_os_str().as_bytes()))),
    }
}

fn parsed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(deserializer)?;
    if let Some(text) = text.strip_prefix('=') {
        return Ok(PathBuf::from(text));
    }
    let digits = text.strip_prefix('#').ok_or_else(|| D::Error::custom("a path begins with = or #"))?;
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    let bytes = bytes.ok_or_else(|| D::Error::custom("a path is in hexadecimal digits"))?;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

/// Reads what is noted under this name; none: nothing is.
pub(super) fn read<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, ChangesError> {
    match std::fs::read(dir.join(name)) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ChangesError::Io { what: "the draft's notes", source }),
    }
}

/// Writes it, whole or not at all, and to the disk.
pub(super) fn write<T: Serialize>(dir: &Path, name: &str, what: &T) -> Result<(), ChangesError> {
    let bytes = serde_json::to_vec(what)?;
    let write = || -> io::Result<()> {
        let beside = dir.join(format!("{name}.new"));
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        let mut file = BufWriter::new(file);
        file.write_all(&bytes)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&beside, dir.join(name))?;
        File::open(dir)?.sync_all()
    };
    write().map_err(|source| ChangesError::Io { what: "the draft's notes", source })
}
