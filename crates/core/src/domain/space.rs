//! Room on a disk, as an argument.

use std::io;
use std::path::Path;

/// Tells how much room is left.
pub trait Space: Send + Sync {
    /// How many bytes can still be written on the disk of this folder.
    fn free(&self, folder: &Path) -> io::Result<u64>;
}
