//! Deletes a folder that somebody else has filled: however deep it is, however much lies in it.
//!
//! Nothing here calls itself, and no path is put together: what lies in a folder of the heap is moved up to its top, one folder at
//! a time. Two folders are open at most, names are taken one by one, and a step is short. So whatever was made, neither stack,
//! memory, files nor time of this process can be used up by it, and it needs no process of its own.
//!
//! Never: a symbolic link is followed.
//! Start at `Removal::of`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// So many things are deleted in one go.
const AT_ONCE: usize = 20_000;

/// A folder that is being deleted.
#[derive(Debug)]
pub(crate) struct Removal {
    path: PathBuf,
    /// What was moved up so far.
    moved: u64,
}

impl Removal {
    /// Of this folder.
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), moved: 0 }
    }

    /// Deletes a good part of it; true when all of it is gone.
    pub(crate) fn delete_some(&mut self) -> io::Result<bool> {
        let top = match opened(CWD, self.path.as_path()) {
            Ok(top) => top,
            Err(Errno::NOENT) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let mut left = AT_ONCE;
        while left > 0 {
            let mut found = false;
            for entry in Dir::read_from(&top)? {
                let entry = entry?;
                if is_itself(entry.file_name()) {
                    continue;
                }
                if left == 0 {
                    return Ok(false);
                }
                found = true;
                left -= 1;
                if let Some(inner) = unlink(&top, entry.file_name())? {
                    left = self.empty(&top, &inner, entry.file_name(), left)?;
                }
            }
            if !found {
                unlinkat(CWD, &self.path, AtFlags::REMOVEDIR)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Empties a folder: what can be deleted is, and folders that are not empty go to the top.
    fn empty(&mut self, top: &OwnedFd, folder: &OwnedFd, name: &CStr, mut left: usize) -> io::Result<usize> {
        for entry in Dir::read_from(folder)? {
            if left == 0 {
                return Ok(0);
            }
            let entry = entry?;
            if is_itself(entry.file_name()) {
                continue;
            }
            left -= 1;
            if unlink(folder, entry.file_name())?.is_some() {
                self.move_up(top, folder, entry.file_name())?;
            }
        }
        match unlinkat(top, name, AtFlags::REMOVEDIR) {
            // Somebody who is about to end was quicker: it is looked at once more.
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(left),
            Err(error) => Err(error.into()),
        }
    }

    fn move_up(&mut self, top: &OwnedFd, folder: &OwnedFd, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            match renameat(folder, name, top, format!(".moved-{}", self.moved)) {
                Ok(()) => return Ok(()),
                // A name of the heap's own.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Deletes a file or an empty folder; gives a folder that is not empty, which may be worked in from then on.
fn unlink(at: &OwnedFd, name: &CStr) -> io::Result<Option<OwnedFd>> {
    match unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    match unlinkat(at, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Some(opened(at, name)?))
}

/// A folder, to be worked in. Its rights may be gone, on purpose; it is named by what was opened, or a link could be put in its
/// place meanwhile.
fn opened(at: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(at, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
    openat(&place, ".", FOLDER, Mode::empty())
}

fn is_itself(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Deletes it step by step, so that whoever ends meanwhile is held up by no more than one step.
pub(crate) async fn remove(path: PathBuf) {
    let mut removal = Removal::of(&path);
    loop {
        let step = tokio::task::spawn_blocking(move || (removal.delete_some(), removal)).await;
        match step {
            Ok((Ok(false), rest)) => removal = rest,
            Ok((Ok(true), _)) => return,
            Ok((Err(error), _)) => {
                return tracing::warn!(%error, path = %path.display(), "scratch.left: it is tried again at the next start");
            }
            Err(error) => return tracing::debug!(%error, "deleting a folder was cut off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn all(path: &Path) -> u32 {
        let mut removal = Removal::of(path);
        let mut steps = 1;
        while !removal.delete_some().unwrap() {
            steps += 1;
        }
        steps
    }

    #[test]
    fn a_very_deep_folder_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep");
        fs::create_dir(&path).unwrap();
        let mut at = openat(CWD, &path, FOLDER, Mode::empty()).unwrap();
        for _ in 0..40_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            drop(openat(&at, "f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
            at = openat(&at, "d", FOLDER, Mode::empty()).unwrap();
        }
        // The thread of a test has 2 MiB, as those of the daemon have.
        assert!(all(&path) > 1);
        assert!(!path.exists());
    }

    #[test]
    fn what_lies_in_it_cannot_keep_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("heap"), dir.path().join("other"));
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::create_dir_all(path.join(".moved-1/x/y")).unwrap();
        fs::create_dir_all(path.join("a/b/.moved-2")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(&other, path.join("a/link")).unwrap();
        std::os::unix::fs::symlink("a", path.join(".moved-3")).unwrap();
        fs::write(path.join("a/b/c/f"), "x").unwrap();
        for name in ["a/b/c", "a/b", "a"] {
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o000)).unwrap();
        }
        all(&path);
        assert!(!path.exists() && other.join("kept").exists());
        assert!(Removal::of(&path).delete_some().unwrap(), "what is gone is gone");
    }
}
