//! The disk's last room is not a program's: what it writes, in a draft or a folder of its own, lies on the disk of Hob's own data.
//!
//! Looked at is the disk itself, from within each sandbox: nothing that is hidden, sparse, unlinked or locked is overlooked, and
//! no walk through what a program has made is needed. The less room there is, the more often it is looked at.

use std::path::Path;
use std::time::Duration;

use rustix::fs::StatVfs;

/// Of what is left below the limit, one program may use so much: a sixteenth, at most so many bytes. It can still tidy up.
const PART: u64 = 16;
const PART_BYTES_MAX: u64 = 64 << 20;
/// So many files more can always be made.
const FILES: u64 = 50_000;
/// No disk takes more than so many bytes in a millisecond.
const BYTES_PER_MS: u64 = 4 << 20;
/// How often is looked at least, and at most, in milliseconds.
const EVERY_MS: (u64, u64) = (10, 1_000);

/// What a disk has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    bytes: u64,
    /// None: it does not count them.
    files: Option<u64>,
}

impl Room {
    /// On the disk of this folder; none: the system does not say.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let StatVfs { f_bavail, f_frsize, f_files, f_favail, .. } = rustix::fs::statvfs(folder).ok()?;
        Some(Self { bytes: f_bavail.saturating_mul(f_frsize), files: (f_files > 0).then_some(f_favail) })
    }

    /// What a program that starts here must leave, where so many bytes are to be left by all.
    pub(super) fn floor(self, least: u64) -> Self {
        let below = |now: u64, most: u64| now - (now / PART).min(most);
        let files = self.files.map(|files| FILES.min(below(files, FILES)));
        Self { bytes: least.min(below(self.bytes, PART_BYTES_MAX)), files }
    }

    /// Is there less?
    pub(super) fn is_below(self, floor: Self) -> bool {
        self.bytes < floor.bytes || self.files.zip(floor.files).is_some_and(|(now, least)| now < least)
    }

    /// When it is to be looked at again.
    pub(super) fn again(self, floor: Self) -> Duration {
        let ms = self.bytes.saturating_sub(floor.bytes) / BYTES_PER_MS / 2;
        Duration::from_millis(ms.clamp(EVERY_MS.0, EVERY_MS.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c9_the_last_room_of_a_disk_is_left() {
        const GIB: u64 = 1 << 30;
        let room = |bytes, files| Room { bytes, files };
        assert_eq!(room(100 * GIB, Some(1_000_000)).floor(GIB), room(GIB, Some(50_000)));
        assert_eq!(room(GIB / 2, None).floor(GIB), room(GIB / 2 - GIB / 32, None), "one may still tidy up");
        assert_eq!(room(16, Some(160)).floor(GIB), room(15, Some(150)));
        let floor = room(GIB, Some(50));
        for (now, is_below) in [
            (room(GIB, Some(50)), false),
            (room(GIB - 1, Some(50)), true),
            (room(GIB, Some(49)), true),
            (room(GIB, None), false),
        ] {
            assert_eq!(now.is_below(floor), is_below, "{now:?}");
        }
        assert_eq!(room(GIB, None).again(floor), Duration::from_millis(10));
        assert_eq!(room(3 * GIB, None).again(floor), Duration::from_millis(256));
        assert_eq!(room(300 * GIB, None).again(floor), Duration::from_secs(1));
        assert!(Room::of(Path::new("/")).is_some() && Room::of(Path::new("/nowhere")).is_none());
    }
}
