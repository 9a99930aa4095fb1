//! Whether there is room for a backup, before one is begun.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::backup::folder_contents::FolderContents;
use crate::backup::make::BackupRequest;
use crate::backup::{BackupError, CONTENTS, FOLDERS, at};
use crate::space;

/// So much is left on a disk beside a backup.
const MARGIN_BYTES: u64 = 64 << 20;

/// What a backup is made of, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BackupSizes {
    /// The database, which is copied first.
    database: u64,
    /// All else.
    rest: u64,
}

impl BackupSizes {
    /// How much must be free for the archive, should it not become smaller than what is in it, and for the copy of the database.
    /// On one disk it takes both.
    fn needed(self, is_one_disk: bool) -> (u64, u64) {
        let archive = self.database.saturating_add(self.rest);
        let (archive, copy) = if is_one_disk {
            let both = archive.saturating_add(self.database);
            (both, both)
        } else {
            (archive, self.database)
        };
        (archive.saturating_add(MARGIN_BYTES), copy.saturating_add(MARGIN_BYTES))
    }
}

/// Is there room for the archive, and for the copy of the database, of so many bytes, in `copy`? Gives how many bytes are to be packed.
pub(super) fn look(order: &BackupRequest, database: u64, copy: &Path) -> Result<u64, BackupError> {
    let disk = |folder: &Path| at(folder, fs::metadata(folder).map(|folder| folder.dev()));
    let sizes = BackupSizes { database, rest: size_of_files(order)? };
    let (archive, copied) = sizes.needed(disk(&order.to)? == disk(copy)?);
    // Named is what a person knows, not what is in it for a moment.
    let holds_copy = if order.recipients.is_empty() { &order.to } else { &order.data_dir };
    for (folder, needed) in [(&order.to, archive), (holds_copy, copied)] {
        let free = at(folder, space::free(folder))?;
        if free < needed {
            return Err(BackupError::Room { folder: folder.clone(), needed, free });
        }
    }
    Ok(sizes.database.saturating_add(sizes.rest))
}

fn size_of_files(order: &BackupRequest) -> Result<u64, BackupError> {
    let mut below = FolderContents::default();
    for folder in FOLDERS.into_iter().chain([CONTENTS]) {
        below.look(&order.data_dir, folder)?;
    }
    let lengths = below.files.iter().map(|name| fs::metadata(order.data_dir.join(name)).map_or(0, |file| file.len()));
    Ok(lengths.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_each_disk_needs_what_goes_to_it() {
        let sizes = BackupSizes { database: 100 << 20, rest: 30 << 20 };
        assert_eq!(sizes.needed(true), (294 << 20, 294 << 20));
        assert_eq!(sizes.needed(false), (194 << 20, 164 << 20));
        assert_eq!(BackupSizes { database: u64::MAX, rest: 1 }.needed(true), (u64::MAX, u64::MAX));
    }
}
