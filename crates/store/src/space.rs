//! How much room is left where something is to be written.

use std::io;
use std::path::Path;

/// How many bytes this user may still write on the disk of `folder`, which exists.
pub fn free(folder: &Path) -> io::Result<u64> {
    let room = rustix::fs::statvfs(folder)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}
