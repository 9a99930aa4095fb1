//! How much room the database takes.

use std::path::{Path, PathBuf};

use crate::space;

/// The files and their disk, as the file system tells of them without opening anything (lesson 10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of the database.
    pub file_bytes: u64,
    /// Bytes of its write-ahead log.
    pub wal_bytes: u64,
    /// Bytes that are free for Hob on that disk; none: the system does not say.
    pub disk_free_bytes: Option<u64>,
}

impl Footprint {
    pub(super) fn of(path: &Path) -> Self {
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let mut wal = path.as_os_str().to_owned();
        wal.push("-wal");
        Self {
            file_bytes: bytes(path),
            wal_bytes: bytes(&PathBuf::from(wal)),
            disk_free_bytes: space::free(path.parent().unwrap_or(path)).ok(),
        }
    }
}
