//! A folder for what is being made, checked or taken away. One may hold the whole database in the clear, so it goes in any case:
//! with whoever made it, or, when that one was killed, by the next who looks.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::TempDir;

/// For a backup.
pub(crate) const BACKUP: &str = ".hob-backup-";
/// For a look at an archive.
pub(crate) const VERIFY: &str = ".hob-verify-";
/// For what is about to take its place.
pub const NEW: &str = ".new-";
/// For what has lost its place.
pub const OLD: &str = ".old-";
/// For the question that a setup tries.
pub const SETUP: &str = ".setup-";
/// For the trial of the sandbox.
pub const TRIAL: &str = ".trial-";
/// What may lie among backups, in a folder that is not Hob's alone.
pub const IN_BACKUPS: [&str; 2] = [BACKUP, VERIFY];
/// What may lie in the data directory.
pub const IN_DATA: [&str; 4] = [BACKUP, VERIFY, SETUP, TRIAL];
/// What may lie among the installed skills.
pub const IN_SKILLS: [&str; 2] = [NEW, OLD];
/// In the folder: held by its owner, and let go of by the kernel however that one ends.
const LOCK: &str = ".lock";
/// One of which nobody can say whether it is in use is left alone for so long.
const LEFT_ALONE: SignedDuration = SignedDuration::from_hours(24);

/// Such a folder; it goes when this is dropped.
pub struct WorkDir {
    folder: TempDir,
    _lock: Option<File>,
}

impl WorkDir {
    /// A new one in `place`.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn begin(prefix: &str, place: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(place)?;
        let lock = match lock(folder.path()) {
            Ok(lock) => Some(lock),
            Err(error) => {
                // Some disks in the network know no locks: there its age decides.
                tracing::debug!(place = %place.display(), %error, "a folder of work cannot be locked");
                None
            }
        };
        Ok(Self { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Takes it away now.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn close(self) -> io::Result<()> {
        self.folder.close()
    }
}

fn lock(folder: &Path) -> io::Result<File> {
    // It takes its name when it is held: at no moment does it lie there free.
    let (part, path) = (folder.join(".lock.part"), folder.join(LOCK));
    let file = File::create_new(&part)?;
    let held = flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
    held.and_then(|()| fs::rename(&part, &path)).inspect_err(|_why| {
        if let Err(error) = fs::remove_file(&part) {
            tracing::debug!(%error, "a lock that cannot be held stays");
        }
    })?;
    Ok(file)
}

/// Whether somebody is at work in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkDirOwner {
    AtWork,
    Gone,
    Unknown,
}

/// Takes away what those left who were killed; gives how many folders. Their names begin with one of these. What cannot be looked
/// at is left.
pub fn sweep(place: &Path, prefixes: &[&str], now: Timestamp) -> usize {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::debug!(place = %place.display(), %error, "what was left there cannot be looked for");
            return 0;
        }
    };
    let mut gone = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = prefixes.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = entry.path();
        if !is_abandoned(owner(&folder), age(&folder, now)) {
            continue;
        }
        match fs::remove_dir_all(&folder) {
            Ok(()) => {
                gone += 1;
                tracing::info!(folder = %folder.display(), "work_dir.swept: it was left by a Hob that was killed");
            }
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "it was left by a Hob that was killed, and cannot be deleted");
            }
        }
    }
    gone
}

/// Is it nobody's any more?
fn is_abandoned(owner: WorkDirOwner, age: Option<SignedDuration>) -> bool {
    match owner {
        WorkDirOwner::AtWork => false,
        WorkDirOwner::Gone => true,
        WorkDirOwner::Unknown => age.is_some_and(|age| age > LEFT_ALONE),
    }
}

fn owner(folder: &Path) -> WorkDirOwner {
    let Ok(file) = File::open(folder.join(LOCK)) else { return WorkDirOwner::Unknown };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => WorkDirOwner::Gone,
        Err(Errno::WOULDBLOCK) => WorkDirOwner::AtWork,
        Err(_) => WorkDirOwner::Unknown,
    }
}

/// Since something was last written there.
fn age(folder: &Path, now: Timestamp) -> Option<SignedDuration> {
    let within = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let written =
        within.chain([folder.to_path_buf()]).filter_map(|path| fs::metadata(path).ok()?.modified().ok()).max();
    Some(now.duration_since(Timestamp::try_from(written?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_what_no_backup_needs_any_more_is_taken_away() {
        let hours = |hours| Some(SignedDuration::from_hours(hours));
        for (owner, age, expected) in [
            (WorkDirOwner::AtWork, hours(900), false),
            (WorkDirOwner::Gone, hours(0), true),
            (WorkDirOwner::Gone, None, true),
            (WorkDirOwner::Unknown, hours(24), false),
            (WorkDirOwner::Unknown, hours(25), true),
            (WorkDirOwner::Unknown, hours(-900), false),
            (WorkDirOwner::Unknown, None, false),
        ] {
            assert_eq!(is_abandoned(owner, age), expected, "{owner:?} {age:?}");
        }
    }

    #[test]
    fn n12_a_killed_hobs_copy_goes_and_that_of_one_at_work_stays() {
        let place = tempfile::tempdir().unwrap();
        let at_work = WorkDir::begin(BACKUP, place.path()).unwrap();
        for name in [".hob-backup-killed", ".hob-verify-killed", ".hob-backup-unlocked", "photos"] {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::write(place.path().join(name).join("hob.db"), "everything").unwrap();
        }
        for name in [".hob-backup-killed", ".hob-verify-killed", "photos"] {
            File::create(place.path().join(name).join(LOCK)).unwrap();
        }
        let written = fs::metadata(place.path().join("photos")).unwrap().modified().unwrap();
        let now = Timestamp::try_from(written).unwrap();
        assert_eq!(sweep(place.path(), &IN_BACKUPS, now), 2);
        assert!(at_work.path().exists() && place.path().join("photos/hob.db").exists());
        assert!(place.path().join(".hob-backup-unlocked").exists(), "another Hob may be at work there");
        assert_eq!(sweep(place.path(), &IN_BACKUPS, now + SignedDuration::from_hours(25)), 1);
        let path = at_work.path().to_path_buf();
        drop(at_work);
        assert!(!path.exists());
        assert_eq!(sweep(&place.path().join("none"), &IN_BACKUPS, now), 0);
    }
}
