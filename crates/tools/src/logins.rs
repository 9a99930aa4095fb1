//! What is kept of a login at somebody else's service: a file of Hob's own, which nobody else can read, `logins/NAME.json` in the
//! data directory.
//!
//! Whoever renews tokens holds the lock beside it until the new ones are on the disk: another Hob, or a command beside it, waits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The file of one login.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

/// The right to change the file, with room on the disk for what it will hold; it ends when this goes.
#[derive(Debug)]
pub struct LoginLock {
    _file: File,
    beside: PathBuf,
}

impl Drop for LoginLock {
    fn drop(&mut self) {
        // Whatever was written has its name by now.
        if let Err(error) = fs::remove_file(&self.beside)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(path = %self.beside.display(), %error, "the room for a login is left");
        }
    }
}

/// By so much a login may grow, in bytes.
const GROWTH_MAX: u64 = 64 << 10;

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

    /// Waits until nobody else changes it. The room is taken now: who issues new tokens may take the former ones back at once, so
    /// nobody is asked for some that could not be kept.
    pub fn lock(&self) -> io::Result<LoginLock> {
        if let Some(dir) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let path = self.path.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        lock.lock()?;
        let lock = LoginLock { _file: lock, beside: self.beside() };
        let room = fs::metadata(&self.path).map_or(0, |file| file.len()) + GROWTH_MAX;
        match fallocate(self.open_beside()?, FallocateFlags::empty(), 0, room) {
            // Some file systems cannot.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(lock),
            Err(error) => Err(error.into()),
        }
    }

    fn beside(&self) -> PathBuf {
        self.path.with_extension("json.new")
    }

    fn open_beside(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(self.beside())
    }

    /// Puts this into it, for whoever holds the lock.
    pub fn write(&self, kept: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(kept)?;
        text.push(b'\n');
        // Over the room that was taken, and only then without the rest of it.
        let mut written = self.open_beside()?;
        written.write_all(&text)?;
        written.set_len(text.len() as u64)?;
        written.sync_all()?;
        fs::rename(self.beside(), &self.path)?;
        // A token that was renewed must outlive a cut of the power: the former one is worth nothing any more.
        self.path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    }

    /// Removes it; gives whether it was there.
    pub fn remove(&self) -> io::Result<bool> {
        // What a killed Hob left may hold a token as well.
        if let Err(error) = fs::remove_file(self.beside())
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_before_anybody_is_asked_and_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = TokenFile::new(dir.path(), "mail-ada");
        let held = file.lock().unwrap();
        assert!(fs::metadata(file.beside()).unwrap().len() >= GROWTH_MAX);
        file.write(&"a".repeat(100)).unwrap();
        file.write(&"b").unwrap();
        drop(held);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "\"b\"\n");
        drop(file.lock().unwrap());
        let left: Vec<_> =
            fs::read_dir(dir.path().join("logins")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the login and its lock: {left:?}");
        // What was left by a kill goes with the next that is written, or with the login.
        fs::write(file.beside(), "x".repeat(1_000)).unwrap();
        file.lock().unwrap();
        assert!(!file.beside().exists());
        fs::write(file.beside(), "x").unwrap();
        assert!(file.remove().unwrap() && !file.beside().exists());
        drop(file.lock().unwrap());
        file.write(&"b").unwrap();
        // Where nothing can be written, nobody gets to ask for what could not be kept.
        fs::create_dir(file.beside()).unwrap();
        file.lock().unwrap_err();
        assert_eq!(file.read::<String>().unwrap().unwrap(), "b");
    }
}
