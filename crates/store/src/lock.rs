//! One daemon per data directory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk};

/// Held while this process owns the data directory; the kernel lets go of it however the process ends.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

/// The data directory could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "another Hob (pid {pid}) is using {directory}: stop it, or give this one a data directory of its own by HOB_HOME"
    )]
    Taken {
        /// The other's process id, as it wrote it down.
        pid: String,
        directory: String,
    },
    /// The lock file cannot be made.
    #[error("{path} cannot be written: {source}; check the owner and the permissions of the data directory")]
    Io {
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl DataLock {
    /// Takes the directory.
    ///
    /// # Errors
    /// When another process has it, or the lock file cannot be written.
    pub fn take(directory: &Path) -> Result<Self, LockError> {
        let path = directory.join("hob.lock");
        let io = |source| LockError::Io { path: path.display().to_string(), source };
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        // A record lock belongs to this process alone. One of flock(2) is shared with a child that is being started:
        // killed at that moment, Hob would find its own lock still held at the next start.
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(io)?;
                let directory = directory.display().to_string();
                return Err(LockError::Taken { pid: pid.trim().to_owned(), directory });
            }
            Err(error) => return Err(io(error.into())),
        }
        file.set_len(0).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// Who has a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The process, as the kernel says; none: it is one of another namespace, such as a container, which has no id here.
    pub process: Option<Pid>,
    /// Its id, as it wrote it down where it runs.
    pub pid: String,
}

/// Who has the data directory; none: nobody. For a process that does not have it itself: to look closes
/// the file, and whoever held the lock would lose it.
///
/// # Errors
/// When the lock file is there and cannot be read.
pub fn holder(directory: &Path) -> Result<Option<LockHolder>, LockError> {
    let path = directory.join("hob.lock");
    let io = |source| LockError::Io { path: path.display().to_string(), source };
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io)?,
    };
    let lock = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).map_err(|error| io(error.into()))?;
    let Some(lock) = lock else { return Ok(None) };
    let mut pid = String::new();
    file.read_to_string(&mut pid).map_err(io)?;
    Ok(Some(LockHolder { process: lock.pid, pid: pid.trim().to_owned() }))
}
