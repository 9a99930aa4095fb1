//! What Hob keeps to itself: its memory, and the files of its data.
//!
//! Start at [`begin`].

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask};

/// What others than the owner may do with what is made.
const NOTHING: Mode = Mode::RWXG.union(Mode::RWXO);

/// From now on new files are the owner's alone, here and in whatever is started, and nothing leaves its memory in a file. It
/// cannot fail on Linux, and where it did, Hob would work all the same.
pub fn begin() {
    umask(NOTHING);
    if setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).is_err() {
        // A limit can always be lowered.
    }
}

/// From now on no other process of the same user looks into this one's memory, where the keys are.
pub fn hide() {
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        // Only an unknown value would be refused.
    }
}

/// Takes the rights of others away from Hob's data, which an earlier Hob or somebody else may have left: from the folder, and
/// from what lies in it.
pub fn restrict_data_dir(data_dir: &Path) -> io::Result<()> {
    restrict_path(data_dir)?;
    for entry in fs::read_dir(data_dir)? {
        let path = entry?.path();
        // What lies within a folder that nobody may enter is out of reach.
        if let Err(error) = restrict_path(&path) {
            tracing::debug!(%error, path = %path.display(), "its rights stay as they are");
        }
    }
    Ok(())
}

/// Of a file or a folder; what a link leads to is somebody else's.
fn restrict_path(path: &Path) -> io::Result<()> {
    // A handle that is no opening: closing one lets go of all locks that this process has on the file, hob.lock's among them.
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let meta = fs::File::from(handle.try_clone()?).metadata()?;
    let mode = meta.permissions().mode();
    if !(meta.is_dir() || meta.is_file()) || mode & NOTHING.bits() == 0 {
        return Ok(());
    }
    let place = format!("/proc/self/fd/{}", handle.as_raw_fd());
    fs::set_permissions(place, fs::Permissions::from_mode(mode & 0o7777 & !NOTHING.bits()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_store::lock::DataLock;

    #[test]
    fn a5_what_others_may_do_with_the_data_is_taken_away() {
        let dir = tempfile::tempdir().unwrap();
        let (data, other) = (dir.path().join("data"), dir.path().join("other"));
        fs::create_dir_all(data.join("contents")).unwrap();
        fs::write(data.join("hob.db"), "x").unwrap();
        fs::write(&other, "x").unwrap();
        std::os::unix::fs::symlink(&other, data.join("link")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let open = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, rights) in
            [(&data, 0o755), (&data.join("contents"), 0o777), (&data.join("hob.db"), 0o644), (&other, 0o644)]
        {
            open(path, rights);
        }
        restrict_data_dir(&data).unwrap();
        assert_eq!((mode(&data), mode(&data.join("contents")), mode(&data.join("hob.db"))), (0o700, 0o700, 0o600));
        assert_eq!(mode(&other), 0o644);
    }

    #[test]
    fn a5_the_lock_on_the_data_outlives_the_look_at_its_rights() {
        let data = tempfile::tempdir().unwrap();
        let _lock = DataLock::take(data.path()).unwrap();
        fs::set_permissions(data.path().join("hob.lock"), fs::Permissions::from_mode(0o644)).unwrap();
        restrict_data_dir(data.path()).unwrap();
        // A process does not see its own locks: another one is asked.
        let held = std::process::Command::new("python3")
            .args(["-c", "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"])
            .arg(data.path().join("hob.lock"))
            .output()
            .unwrap();
        assert!(!held.status.success(), "somebody else could take it");
    }
}
