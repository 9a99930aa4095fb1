//! The disk's room: looked at from time to time and whenever a write fails for want of it.
//!
//! While it is low, what is large is refused in words by whoever would do it; they look at [`SystemPart::Disk`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use hob_core::domain::clock::Clock;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};
use hob_core::domain::space::Space;
use hob_core::policy::upkeep::DiskState;
use hob_store::contents::Contents;
use hob_store::{Store, space};

/// How often the disk is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// A write failed: whatever the disk says, it is low for so long.
const FULL_FOR: Duration = Duration::from_secs(60);
/// While it is low, files that come with messages may be so large.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The machine's own disks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSpace;

impl Space for SystemSpace {
    fn free(&self, folder: &Path) -> std::io::Result<u64> {
        space::free(folder)
    }
}

/// Looks after the disk's room.
pub struct DiskMonitor {
    /// Tells of writes that failed.
    pub store: Store,
    /// How much is free.
    pub space: Arc<dyn Space>,
    /// Where it is told.
    pub conditions: Conditions,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Takes smaller files meanwhile.
    pub contents: Contents,
    /// On whose disk.
    pub folder: PathBuf,
    /// With fewer bytes free it is low.
    pub low: u64,
}

impl DiskMonitor {
    /// Until the stop, with what was seen last.
    pub async fn run(self, mut room: DiskState, stop: CancellationToken) {
        loop {
            let full = tokio::select! {
                () = stop.cancelled() => return,
                () = self.store.until_full() => true,
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
            if full {
                room = DiskState::Low;
                let disk =
                    if self.store.is_file() { self.own_disk() } else { "the disk of the database server".to_owned() };
                self.tell(format!("a write failed for want of room on {disk}"));
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(FULL_FOR) => {}
                }
            }
            room = self.look(room);
        }
    }

    /// Looks once, and tells what changed.
    pub fn look(&self, room: DiskState) -> DiskState {
        let free = match self.space.free(&self.folder) {
            Ok(free) => free,
            Err(error) => {
                tracing::debug!(%error, "the disk's room cannot be looked at");
                return room;
            }
        };
        let next = room.judge(free, self.low);
        match next {
            DiskState::Low => {
                self.tell(format!("less than {} MB are free on {}", self.low >> 20, self.own_disk()));
            }
            DiskState::Ample if room == DiskState::Low => self.mend(),
            DiskState::Ample => {}
        }
        next
    }

    fn own_disk(&self) -> String {
        format!("the disk of {}", self.folder.display())
    }

    fn tell(&self, what: String) {
        self.contents.allow(FILE_BYTES_MAX);
        let fix = "free some: until then there are no backups, no new skills, no files over 1 MB and nothing new in the search \
                   by meaning; messages are answered"
            .to_owned();
        if self.conditions.report(SystemPart::Disk, Trouble { since: self.clock.now(), what: what.clone(), fix }) {
            tracing::warn!("upkeep.disk_low: {what}");
        }
    }

    fn mend(&self) {
        self.contents.allow(u64::MAX);
        if self.conditions.clear(&SystemPart::Disk).is_some() {
            tracing::info!(folder = %self.folder.display(), "upkeep.disk_ample: there is room on the disk again");
        }
    }
}
