//! Where the rows are: a file of SQLite's in the data directory, or a PostgreSQL.

use std::fmt;
use std::path::{Path, PathBuf};

use hob_core::domain::secret::Secret;

use crate::daemons::{DaemonIdentity, StandsBy};
use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres::server;
use crate::{SchedulingMode, Store};

/// The database's file in the data directory.
pub const DATABASE: &str = "hob.db";

/// Where the rows of one Hob are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatePlace {
    /// In this file.
    File(PathBuf),
    /// On the server at this URL, which may hold a password.
    Server(Secret),
}

impl StatePlace {
    /// On the server, if there is a URL, else in the data directory.
    pub fn of(url: Option<&Secret>, data_dir: &Path) -> Self {
        url.map_or_else(|| Self::File(data_dir.join(DATABASE)), |url| Self::Server(url.clone()))
    }

    /// Opens it, makes it if there is none, and brings it to this Hob's schema.
    ///
    /// # Errors
    /// When it cannot be reached, read or written, or was made by a newer Hob.
    pub async fn open(&self) -> Result<Store, StoreError> {
        match self {
            Self::File(path) => Store::open(path, SchedulingMode::Threaded).await,
            #[cfg(feature = "postgres")]
            Self::Server(url) => Store::open_url(url.expose()).await,
            #[cfg(not(feature = "postgres"))]
            Self::Server(_) => Err(unsupported()),
        }
    }

    /// The same for a daemon, once it is the only one that works with it. While another does, `stands_by` is told its name, and may
    /// break off. A file's daemon has its data directory's lock already.
    ///
    /// # Errors
    /// As [`StatePlace::open`], and when it was broken off.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no other daemon"))]
    pub async fn lead(
        &self,
        who: impl FnOnce() -> Result<DaemonIdentity, StoreError>,
        stands_by: &StandsBy<'_>,
    ) -> Result<Store, StoreError> {
        match self {
            Self::File(_) => self.open().await,
            #[cfg(feature = "postgres")]
            Self::Server(url) => Store::lead_url(url.expose(), &who()?, stands_by).await,
            #[cfg(not(feature = "postgres"))]
            Self::Server(_) => Err(unsupported()),
        }
    }
}

impl From<&Path> for StatePlace {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<&PathBuf> for StatePlace {
    fn from(path: &PathBuf) -> Self {
        Self::File(path.clone())
    }
}

impl From<&Self> for StatePlace {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

/// Without a password.
impl fmt::Display for StatePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "postgres")]
            Self::Server(url) => f.write_str(&server::shown(url.expose())),
            #[cfg(not(feature = "postgres"))]
            Self::Server(_) => f.write_str("a PostgreSQL server"),
        }
    }
}

/// A build that knows no server.
#[cfg(not(feature = "postgres"))]
pub(crate) fn unsupported() -> StoreError {
    StoreError::Server {
        what: "this Hob was built without PostgreSQL".to_owned(),
        fix: "take a build with the feature `postgres`, or remove `url` under [state] in config.toml".to_owned(),
    }
}
