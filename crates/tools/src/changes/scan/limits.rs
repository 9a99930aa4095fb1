//! How much of a layer is looked at, and what there is too much of.

use std::fmt;

use crate::changes::ChangesError;

/// How many files and folders are looked at.
pub(crate) const ENTRIES_MAX: u64 = 400_000;
/// How long all their paths may be together, in bytes.
pub(crate) const PATHS_BYTES_MAX: u64 = 64 << 20;
/// How long one path may be, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 4_000;
/// How deep folders may be nested.
pub(crate) const DEPTH_MAX: usize = 128;
pub(crate) const READ_BYTES_MAX: u64 = 4 << 30;
/// How many files and folders a folder may hold that is deleted as a whole; they are only counted.
pub(crate) const COUNTED_MAX: u64 = 4_000_000;
/// How many folders may have to be opened up that nobody may read.
pub(super) const LOCKED_MAX: usize = 512;

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanLimit {
    /// Files and folders.
    Entries,
    /// Bytes of paths, all together or of one.
    Paths,
    /// Folders within folders.
    Depth,
    /// Bytes to be read.
    Bytes,
    /// Files and folders that would be deleted.
    Counted,
    /// Folders that nobody may read.
    Locked,
}

impl fmt::Display for ScanLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries => write!(f, "more than {ENTRIES_MAX} files and folders were changed"),
            Self::Paths => {
                write!(f, "a path is longer than {PATH_BYTES_MAX} bytes, or all are longer than {PATHS_BYTES_MAX}")
            }
            Self::Depth => write!(f, "folders are nested more than {DEPTH_MAX} deep"),
            Self::Bytes => write!(f, "more than {} GiB would have to be read", READ_BYTES_MAX >> 30),
            Self::Counted => write!(f, "a folder with more than {COUNTED_MAX} files and folders would be deleted"),
            Self::Locked => write!(f, "more than {LOCKED_MAX} files and folders cannot be read"),
        }
    }
}

impl From<ScanLimit> for ChangesError {
    fn from(bound: ScanLimit) -> Self {
        Self::TooMuch(bound)
    }
}
