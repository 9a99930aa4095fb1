//! The disk's last room is not a program's: what it writes, in a draft or a folder of its own, lies on the disk of Hob's own data.
//!
//! Looked at is the disk itself, from within each sandbox: nothing that is hidden, sparse, unlinked or locked is overlooked, and
//! no walk through what a program has made is needed. The less room there is, the more often it is looked at.
//!
//! Whoever has written much is ended first, and may no more when little is left: so others stay, and many that come one after the
//! other share the same room. Of the last part nobody gets any.
//!
//! Never: a room that depends on when somebody began.
//! Start at [`ReserveGuard::is_short`].

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::StatVfs;
use rustix::io::Errno;

/// Who has written so many bytes must leave all of the reserve, who has written none its last part.
const MUCH: u64 = 64 << 20;
/// The last part of the reserve is one in so many; of a disk's files the reserve itself is no more.
const PART: u64 = 4;
/// So many files more can always be made.
const FILES: u64 = 50_000;
/// No disk takes more than so many bytes in a millisecond.
const BYTES_PER_MS: u64 = 4 << 20;
/// How often is looked at least, and at most, in milliseconds.
const EVERY_MS: (u64, u64) = (10, 1_000);

/// So much must be left by who has written so many bytes, where so much is the reserve.
fn floor(reserve: u64, written: u64) -> u64 {
    let last = reserve / PART;
    let share = u128::from(reserve - last) * u128::from(written.min(MUCH)) / u128::from(MUCH);
    last + u64::try_from(share).unwrap_or(reserve)
}

/// What a disk has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FreeSpace {
    bytes: u64,
    /// Of how many in all; none: it does not count them.
    files: Option<(u64, u64)>,
}

impl FreeSpace {
    /// On the disk of this folder; none: the system does not say.
    fn of(folder: &Path) -> Option<Self> {
        let StatVfs { f_bavail, f_frsize, f_files, f_favail, .. } = rustix::fs::statvfs(folder).ok()?;
        Some(Self { bytes: f_bavail.saturating_mul(f_frsize), files: (f_files > 0).then_some((f_favail, f_files)) })
    }

    /// Is there less than must be left by who has written so many bytes, where so many are the reserve?
    fn is_below(self, reserve: u64, written: u64) -> bool {
        let files = |(now, all): (u64, u64)| now < floor(FILES.min(all / PART), written);
        self.bytes < floor(reserve, written) || self.files.is_some_and(files)
    }

    /// When it is to be looked at again.
    fn next_check(self, reserve: u64) -> Duration {
        let ms = self.bytes.saturating_sub(reserve) / BYTES_PER_MS / 2;
        Duration::from_millis(ms.clamp(EVERY_MS.0, EVERY_MS.1))
    }
}

/// Looks after the reserve, within one sandbox.
#[derive(Debug)]
pub(super) struct ReserveGuard {
    folder: PathBuf,
    reserve: u64,
    /// What this process has written, and all whose end it has waited for; none: nobody can say who has written what.
    own: Option<File>,
}

impl ReserveGuard {
    /// Of so many bytes on the disk of this folder. `alone`: nobody else's processes are in `/proc`. It must come before this
    /// process hides its memory, and with it what it has written.
    pub(super) fn new(folder: &Path, reserve: u64, alone: bool) -> Self {
        let own = alone.then(|| File::open("/proc/self/io").ok()).flatten();
        Self { folder: folder.to_owned(), reserve, own }
    }

    /// Is there too little room for what runs here?
    pub(super) fn is_short(&self) -> bool {
        FreeSpace::of(&self.folder).is_some_and(|room| {
            room.is_below(self.reserve, u64::MAX)
                && room.is_below(self.reserve, self.bytes_written().unwrap_or(u64::MAX))
        })
    }

    /// Waits until it is to be looked at again.
    pub(super) fn wait(&self) {
        let again = FreeSpace::of(&self.folder).map(|room| room.next_check(self.reserve));
        std::thread::sleep(again.unwrap_or(Duration::from_millis(EVERY_MS.1)));
    }

    /// So many bytes have been written here: by those who live, and by those whose end somebody has waited for. None: somebody
    /// hides that. A program can have what it wrote forgotten, but what must be left by all, it must leave.
    fn bytes_written(&self) -> Option<u64> {
        let mut text = [0; 1_024];
        let count = self.own.as_ref()?.read_at(&mut text, 0).ok()?;
        let own = parse_bytes(std::str::from_utf8(&text[..count]).ok()?)?;
        let this = std::process::id().to_string();
        let names = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut others = names.filter(|name| *name != this && name.bytes().all(|byte| byte.is_ascii_digit()));
        others.try_fold(own, |all, process| Some(all.saturating_add(written_by(&process)?)))
    }
}

fn written_by(process: &str) -> Option<u64> {
    match fs::read_to_string(format!("/proc/{process}/io")) {
        Ok(text) => parse_bytes(&text),
        // It has ended meanwhile.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::SRCH)) => Some(0),
        Err(_) => None,
    }
}

fn parse_bytes(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn room(bytes: u64, files: Option<u64>) -> FreeSpace {
        FreeSpace { bytes, files: files.map(|now| (now, 1_000_000)) }
    }

    #[test]
    fn the_last_room_of_a_disk_is_left() {
        for (now, written, is_below) in [
            (room(GIB, None), u64::MAX, false),
            (room(GIB - 1, None), u64::MAX, true),
            (room(GIB - 1, None), MUCH / 2, false),
            (room(GIB / 2, None), MUCH / 2, true),
            (room(GIB / 4, None), 0, false),
            (room(GIB / 4 - 1, None), 0, true),
            (room(GIB, Some(49_999)), MUCH, true),
            (room(GIB, Some(49_999)), 0, false),
            (room(GIB, Some(12_499)), 0, true),
            (FreeSpace { bytes: GIB, files: Some((30, 100)) }, MUCH, false),
        ] {
            assert_eq!(now.is_below(GIB, written), is_below, "{now:?}, {written} written");
        }
        assert_eq!(room(GIB, None).next_check(GIB), Duration::from_millis(10));
        assert_eq!(room(3 * GIB, None).next_check(GIB), Duration::from_millis(256));
        assert_eq!(room(300 * GIB, None).next_check(GIB), Duration::from_secs(1));
        assert!(FreeSpace::of(Path::new("/")).is_some() && FreeSpace::of(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn many_programs_one_after_the_other_do_not_eat_the_last_part() {
        let mut left = GIB;
        for _ in 0..10_000 {
            // Each writes until it is ended.
            let mut written = 0;
            while !room(left, None).is_below(GIB, written) {
                (written, left) = (written + (1 << 20), left - (1 << 20));
            }
        }
        assert!(left > GIB / 4 - (2 << 20), "{left}");
    }

    #[test]
    fn what_was_written_is_counted() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let before = written_by("self").unwrap();
        fs::write(dir.path().join("a"), vec![1; 3 << 20]).unwrap();
        assert!(written_by("self").unwrap() >= before + (3 << 20));
        assert_eq!(written_by("0"), Some(0), "who is gone writes no more");
        assert!(
            !ReserveGuard::new(dir.path(), 0, true).is_short()
                && ReserveGuard::new(dir.path(), u64::MAX, true).is_short()
        );
    }
}
