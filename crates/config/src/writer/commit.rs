//! A text put in a file's place, whole or not at all, whatever ends when; and never over something that nobody has seen.
//!
//! Never: a moment at which the file is not there, or holds half of something.
//! Start at [`exchange`]; [`put`] is for files that are Hob's own.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::writer::snapshot::FileSnapshot;

/// What has just been done. Whoever looks on learns at which points a process can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStep {
    /// The new text stands in a file of its own.
    Written,
    /// It is on the disk.
    Synced,
    /// What stands in the place is what was seen.
    Compared,
    /// The new text has taken the place; the old one has the other's name.
    Exchanged,
    /// What came out is what was seen.
    Confirmed,
    /// What came out was not what was seen, and is back in its place.
    TakenBack,
    /// The old text has a name under which it stays, or is gone.
    Kept,
    /// The folder is on the disk.
    Settled,
}

/// Is told of each step when it is done.
pub type StepObserver<'a> = &'a mut dyn FnMut(CommitStep);

/// The text did not come into its place. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Somebody else has changed it.
    #[error("it was changed meanwhile")]
    Changed,
    /// It is not this user's to replace.
    #[error("it belongs to another user (uid {uid}, gid {gid}), who must do this")]
    Owner {
        /// Whose it is.
        uid: u32,
        /// And which group's.
        gid: u32,
    },
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A text for a place.
pub struct CommitRequest<'a> {
    /// The file itself, not a link to it.
    pub target: &'a Path,
    /// What must stand there.
    pub seen: &'a FileSnapshot,
    /// What is to stand there.
    pub text: &'a str,
    /// What stood there is kept beside, under a name with this time; none: it goes.
    pub keep: Option<Timestamp>,
}

/// Carries it out; gives where that which stood there is kept.
///
/// # Errors
/// When it cannot be, or something else stands there. The file is then as it was.
pub fn exchange(order: &CommitRequest<'_>, witness: StepObserver<'_>) -> Result<Option<PathBuf>, CommitError> {
    let CommitRequest { target, seen, text, keep } = *order;
    let file = written(target, text.as_bytes())?;
    if let Some(old) = fs::metadata(target).ok().filter(Metadata::is_file) {
        copy_ownership(&file, &old)?;
    }
    witness(CommitStep::Written);
    file.as_file().sync_all()?;
    witness(CommitStep::Synced);
    if FileSnapshot::at(target)? != *seen {
        return Err(CommitError::Changed);
    }
    witness(CommitStep::Compared);
    // From here on a user's file may stand under this name: nothing deletes it by itself.
    let new = file.into_temp_path().keep().map_err(|error| error.error)?;
    if *seen == FileSnapshot::Nothing {
        begin(&new, target).inspect_err(|_| discard(&new))?;
        witness(CommitStep::Exchanged);
        sync_folder(target, witness)?;
        return Ok(None);
    }
    swap(&new, target).inspect_err(|_| discard(&new))?;
    witness(CommitStep::Exchanged);
    if FileSnapshot::at(&new)? != *seen {
        take_back(&new, target, text, keep.unwrap_or_default())?;
        witness(CommitStep::TakenBack);
        return Err(CommitError::Changed);
    }
    witness(CommitStep::Confirmed);
    let kept = match keep {
        Some(now) => Some(set_aside(&new, target, now)?),
        None => {
            fs::remove_file(&new)?;
            None
        }
    };
    witness(CommitStep::Kept);
    sync_folder(target, witness)?;
    Ok(kept)
}

/// Puts bytes in the place of a file that only Hob writes; for this user alone.
///
/// # Errors
/// When that cannot be. The file is then as it was.
pub fn put(target: &Path, bytes: &[u8], witness: StepObserver<'_>) -> io::Result<()> {
    let file = written(target, bytes)?;
    witness(CommitStep::Written);
    file.as_file().sync_all()?;
    witness(CommitStep::Synced);
    file.persist(target).map_err(|error| error.error)?;
    witness(CommitStep::Exchanged);
    sync_folder(target, witness)
}

/// What a process left behind that ended in the middle: what is a text of its own is kept, for it may be somebody's.
/// Only for who holds the lock.
pub(crate) fn remove_leftovers(target: &Path, now: Timestamp) -> io::Result<()> {
    let prefix = prefix(target);
    let current = FileSnapshot::at(target)?;
    for entry in fs::read_dir(folder(target))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(&prefix) || !name.ends_with(SUFFIX) {
            continue;
        }
        let left = FileSnapshot::at(&entry.path())?;
        let is_something = match &left {
            FileSnapshot::File(bytes) => !bytes.is_empty() && left != current,
            FileSnapshot::NoFile | FileSnapshot::Closed => true,
            FileSnapshot::Nothing => false,
        };
        if is_something {
            set_aside(&entry.path(), target, now)?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Takes away what a process left behind that ended while it made such a file of Hob's own.
pub fn sweep(target: &Path) -> io::Result<()> {
    sweep_these(folder(target), &prefix(target))
}

/// The same in a folder in which all files are Hob's own, whatever they were to be called.
pub(crate) fn sweep_all(folder: &Path) -> io::Result<()> {
    sweep_these(folder, ".")
}

fn sweep_these(folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(prefix) && name.ends_with(SUFFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// How the names of files in the making end.
const SUFFIX: &str = ".new";

/// How they begin.
fn prefix(target: &Path) -> String {
    format!(".{}.", name(target))
}

/// The file's name.
pub(crate) fn name(target: &Path) -> String {
    target.file_name().map_or_else(|| "config.toml".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The folder that it lies in.
pub(crate) fn folder(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The bytes in a file beside the target, for this user only.
fn written(target: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(&prefix(target)).suffix(SUFFIX).tempfile_in(folder(target))?;
    file.write_all(bytes)?;
    Ok(file)
}

/// The new file is whose the old one is, and as open.
fn copy_ownership(new: &NamedTempFile, old: &Metadata) -> Result<(), CommitError> {
    let own = new.as_file().metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        let owner = |_denied| CommitError::Owner { uid: old.uid(), gid: old.gid() };
        chown(new.path(), Some(old.uid()), Some(old.gid())).map_err(owner)?;
    }
    new.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    Ok(())
}

/// Takes a place in which nothing stands.
fn begin(new: &Path, target: &Path) -> Result<(), CommitError> {
    match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(CommitError::Changed),
        // A file system that knows no such thing.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match fs::hard_link(new, target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(CommitError::Changed),
                linked => linked?,
            }
            Ok(fs::remove_file(new)?)
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Both change their names, at once.
fn swap(new: &Path, target: &Path) -> Result<(), CommitError> {
    match renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => Err(CommitError::Changed),
        Err(Errno::INVAL | Errno::NOSYS) => {
            // The old one under a second name, then the new one over the first.
            let aside = new.with_extension("old.new");
            fs::hard_link(target, &aside)?;
            fs::rename(new, target)?;
            Ok(fs::rename(&aside, new)?)
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// What came out goes back; what stood in its place meanwhile is ours, or somebody's, and then kept.
fn take_back(new: &Path, target: &Path, text: &str, now: Timestamp) -> Result<(), CommitError> {
    if let Err(error) = swap(new, target) {
        // Whatever became of the place, this is somebody's.
        set_aside(new, target, now)?;
        return Err(error);
    }
    if FileSnapshot::at(new)? == FileSnapshot::File(text.as_bytes().to_vec()) {
        fs::remove_file(new)?;
    } else {
        set_aside(new, target, now)?;
    }
    Ok(File::open(folder(target))?.sync_all()?)
}

/// Gives it a name beside the target under which it stays.
fn set_aside(what: &Path, target: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let stem = format!("{}.rejected-{}", name(target), now.strftime("%Y%m%dT%H%M%SZ"));
    let mut count = 1;
    loop {
        let tail = if count == 1 { String::new() } else { format!("-{count}") };
        let aside = folder(target).join(format!("{stem}{tail}"));
        match renameat_with(CWD, what, CWD, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(aside),
            Err(Errno::EXIST) => count += 1,
            Err(Errno::INVAL | Errno::NOSYS) if aside.exists() => count += 1,
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::rename(what, &aside)?;
                return Ok(aside);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn discard(new: &Path) {
    if let Err(error) = fs::remove_file(new) {
        tracing::debug!(%error, "a file in the making is left: the next writer takes it away");
    }
}

/// The new names are on the disk.
fn sync_folder(target: &Path, witness: StepObserver<'_>) -> io::Result<()> {
    File::open(folder(target))?.sync_all()?;
    witness(CommitStep::Settled);
    Ok(())
}
