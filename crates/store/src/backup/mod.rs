//! Backups: one archive with everything that would be missed, checked when it is made and again before it is used.
//!
//! Never: a copy of the live database's file, a secret of the config, or a restore that leaves half of the old and half of the
//! new. Start at [`make::make`]; [`restore::restore`] is the way back.

pub(crate) mod archive;
pub mod archives;
mod folder_contents;
pub mod make;
pub mod mounts;
pub(crate) mod owner;
pub mod restore;
pub mod seal;
mod space_check;

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::lock::LockError;
use crate::place::DATABASE;

/// The folders of the data directory that are in an archive, whole.
const FOLDERS: [&str; 3] = ["skills", "workspace", "results"];
/// The folder of recorded files' contents.
const CONTENTS: &str = "files";
/// The config's name in an archive: a copy to look at, without secrets.
const CONFIG: &str = "config.toml";
/// What the archive holds, as its last entry.
const MANIFEST: &str = "manifest.json";
/// The form of archives that this Hob writes.
const FORMAT: u32 = 1;

/// How much of the bytes at hand is done: for whoever waits for it.
#[derive(Debug, Default)]
pub struct ByteCount {
    done: AtomicU64,
    all: AtomicU64,
}

impl ByteCount {
    /// How many are done, and how many there are; of 0 nobody knows yet.
    pub fn now(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }

    fn expect(&self, all: u64) {
        self.all.store(all, Ordering::Relaxed);
    }
}

/// Counts what is read through it.
struct CountingReader<R> {
    inner: R,
    count: Arc<ByteCount>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The archive's form.
    pub format: u32,
    /// Which Hob made it.
    pub hob: String,
    /// The newest migration in its database.
    pub schema: i64,
    pub made_at: Timestamp,
    /// Every file in it but this one.
    pub entries: Vec<ArchiveEntry>,
    /// Contents that were forgotten while it was made.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Folders that hold no file.
    #[serde(default)]
    pub folders: Vec<String>,
}

/// One file in an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArchiveEntry {
    /// Where, with `/` between folders.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
}

/// A backup could not be made, or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file or a folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database, or the copy of it, cannot be used.
    #[error("the database: {0}")]
    Store(#[from] StoreError),
    /// The archive is not what it should be.
    #[error("{} cannot be used: {why}; take another backup", archive.display())]
    Broken {
        archive: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no room for it.
    #[error("there is no room for a backup on the disk of {}: {} MB are needed there, {} are free; free some, or back up to another disk", folder.display(), needed.div_ceil(1 << 20), free >> 20)]
    Room {
        folder: PathBuf,
        /// How many bytes it may take.
        needed: u64,
        /// How many there are.
        free: u64,
    },
    /// A restore would have to move what cannot be moved.
    #[error("{} is a mount point, which cannot be exchanged: unmount it, restore, move what is in the new folder to what was mounted there, and mount it again", place.display())]
    Mounted { place: PathBuf },
    /// There is little room on the disk of the data directory: a backup would take what messages need.
    #[error("the disk is nearly full: backups wait until there is space")]
    Low,
    /// Hob stops, or whoever asked for it wants it no more.
    #[error("the backup was stopped; nothing of it is left")]
    Stopped,
    /// A key of age cannot be used.
    #[error("{0}")]
    Key(String),
    /// A Hob is at work there.
    #[error(transparent)]
    Taken(#[from] LockError),
    /// Work that was given to a thread came to no end.
    #[error("a fault in Hob itself: {0}")]
    Bug(String),
}

/// With the path that it is about.
pub(crate) fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, BackupError> {
    result.map_err(|source| BackupError::Io { path: path.to_path_buf(), source })
}
