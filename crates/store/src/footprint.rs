//! How much room the database takes.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::error::StoreError;
use crate::{Statement, Tx};

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
        let disk = rustix::fs::statvfs(path.parent().unwrap_or(path));
        Self {
            file_bytes: bytes(path),
            wal_bytes: bytes(&PathBuf::from(wal)),
            disk_free_bytes: disk.ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        }
    }
}

/// The pages of the database: a look at its header.
#[derive(Debug, Clone)]
pub struct Pages;

/// How many pages there are, and how many of them hold nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCount {
    /// All.
    pub all: i64,
    /// Those that hold nothing.
    pub free: i64,
}

#[async_trait]
impl Statement for Pages {
    type Output = PageCount;

    async fn run(&self, tx: &mut Tx) -> Result<PageCount, StoreError> {
        let all = sqlx::query_scalar::<_, i64>("PRAGMA page_count").fetch_one(&mut *tx).await?;
        let free = sqlx::query_scalar::<_, i64>("PRAGMA freelist_count").fetch_one(&mut *tx).await?;
        Ok(PageCount { all, free })
    }
}
