//! How much room the database takes.

use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::place::StatePlace;
#[cfg(feature = "postgres")]
use crate::postgres::server;
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
    /// Of the database at this place; on a server only the database itself is seen.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn at(place: &StatePlace) -> Result<Self, StoreError> {
        match place {
            StatePlace::File(path) => Ok(Self::of(path)),
            #[cfg(feature = "postgres")]
            StatePlace::Server(url) => Ok(Self { file_bytes: server::bytes(url.expose()).await?, ..Self::default() }),
            #[cfg(not(feature = "postgres"))]
            StatePlace::Server(_) => Err(crate::place::unsupported()),
        }
    }

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
