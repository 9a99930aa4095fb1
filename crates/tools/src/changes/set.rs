//! A change set as plain data.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fs::FileType;
use sha2::{Digest as _, Sha256};

use crate::changes::dir_handles::{FileStat, FileTime};
use hob_core::domain::text::hex;

/// The bits of a mode that are kept.
pub(crate) const MODE_BITS: u32 = 0o777;

/// What stands at a path once the change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryAfter {
    File {
        /// Its length in bytes.
        size: u64,
        /// The SHA-256 of its content; none: nobody asked for it.
        hash: Option<String>,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: OsString,
    },
    Folder,
    /// Nothing.
    Gone,
    /// Something that is never kept: a FIFO, a socket, a device.
    Special {
        what: &'static str,
    },
}

/// What stands there in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryBefore {
    Nothing,
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: OsString,
    },
    Folder {
        /// How many files and folders go with it, if it goes.
        holds: u64,
    },
    /// A FIFO, a socket, a device.
    Special,
}

/// What can be shown of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPreview {
    /// Nothing: it is not a file or not text, or is too long.
    Hidden,
    /// Text, as a unified diff.
    Diff(String),
    /// The whole text of a new file.
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// In which root: its place among the draft's roots.
    pub root: usize,
    pub path: PathBuf,
    /// What stands there then.
    pub now: EntryAfter,
    /// The mode then, without setuid, setgid and the sticky bit.
    pub mode: u32,
    /// Setuid, setgid or the sticky bit was set, and is not kept.
    pub(crate) was_special: bool,
    /// What stands there in the workspace.
    pub before: EntryBefore,
    pub(crate) mode_before: u32,
    /// It changed in the workspace after the draft had begun.
    pub(crate) conflicts: bool,
    /// What can be shown of it.
    pub content: ContentPreview,
    /// The new file's number; 0: there is none.
    pub inode: u64,
    /// The number of what stands there; 0: nothing does.
    pub(crate) inode_before: u64,
    /// When that last changed, by the file system's clock.
    pub(super) changed_before: FileTime,
    /// What it takes on the disk, with all that is in it.
    pub(crate) stored_before: u64,
}

impl Change {
    /// A change of nothing.
    #[cfg(test)]
    pub(super) fn blank() -> Self {
        let seen = FileStat {
            inode: 1,
            kind: FileType::RegularFile,
            mode: 0,
            size: 0,
            stored: 0,
            changed: FileTime(0, 0),
            device: (0, 0),
        };
        Self::without_before(0, PathBuf::new(), &seen, EntryAfter::Gone)
    }

    /// With nothing said about what stands there in the workspace.
    pub(super) fn without_before(root: usize, path: PathBuf, seen: &FileStat, now: EntryAfter) -> Self {
        let was_special = seen.kind == FileType::RegularFile && seen.mode & !MODE_BITS != 0;
        Self {
            root,
            path,
            now,
            mode: seen.mode & MODE_BITS,
            was_special,
            before: EntryBefore::Nothing,
            mode_before: 0,
            conflicts: false,
            content: ContentPreview::Hidden,
            inode: seen.inode,
            inode_before: 0,
            changed_before: FileTime(0, 0),
            stored_before: 0,
        }
    }
}

/// Everything that a draft changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The draft's roots; the first is the workspace.
    pub roots: Vec<PathBuf>,
    /// The changes, by root and path: a folder comes before what is in it.
    pub changes: Vec<Change>,
}

impl ChangeSet {
    /// Is nothing changed?
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// SHA-256 over all that is changed.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for change in &self.changes {
            let mut field = |bytes: &[u8]| {
                hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
                hasher.update(bytes);
            };
            let (kind, what): (&[u8], &[u8]) = match &change.now {
                EntryAfter::File { hash, .. } => (b"file", hash.as_deref().unwrap_or_default().as_bytes()),
                EntryAfter::Link { target } => (b"link", target.as_encoded_bytes()),
                EntryAfter::Folder => (b"folder", b""),
                EntryAfter::Gone => (b"gone", b""),
                EntryAfter::Special { what } => (b"special", what.as_bytes()),
            };
            field(&u64::try_from(change.root).unwrap_or(u64::MAX).to_le_bytes());
            field(change.path.as_os_str().as_encoded_bytes());
            field(kind);
            field(&change.mode.to_le_bytes());
            field(what);
        }
        hex(&hasher.finalize())
    }
}
