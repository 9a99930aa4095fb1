//! What is kept of a login at somebody else's service: a file of Hob's own, which nobody else can read, `logins/NAME.json` in the
//! data directory.
//!
//! Whoever renews tokens holds the lock beside it until the new ones are on the disk: another Hob, or a command beside it, waits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The file of one login.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

/// The right to change the file; it ends when this goes.
#[derive(Debug)]
pub struct LoginLock {
    _file: File,
}

impl TokenFile {
    /// That of the login called `name`.
    pub fn new(data_dir: &Path, name: &str) -> Self {
        Self { path: data_dir.join("logins").join(format!("{name}.json")) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it; none: it is not there.
    pub fn read<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until nobody else changes it.
    pub fn lock(&self) -> io::Result<LoginLock> {
        if let Some(dir) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let path = self.path.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        lock.lock()?;
        Ok(LoginLock { _file: lock })
    }

    /// Puts this into it, for whoever holds the lock.
    pub fn write(&self, kept: &impl Serialize) -> io::Result<()> {
        let beside = self.path.with_extension(format!("json.{}", std::process::id()));
        let mut written = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        serde_json::to_writer_pretty(&mut written, kept)?;
        written.write_all(b"\n")?;
        written.sync_all()?;
        fs::rename(&beside, &self.path)?;
        // A token that was renewed must outlive a cut of the power: the former one is worth nothing any more.
        self.path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }

    /// Removes it; gives whether it was there.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Does what waits for the disk or for a lock. It is done to its end, even if nobody waits for it any more.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
