//! Where tools may read and write files.

use std::path::{Path, PathBuf};

/// The folders that tools may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder that they work in; relative paths begin there. It exists.
    pub root: PathBuf,
    /// More that may be read.
    pub read: Vec<PathBuf>,
    /// More that may be read and written.
    pub write: Vec<PathBuf>,
}

impl Workspace {
    /// The folder that a household has which configures nothing.
    pub fn of(data_dir: &Path) -> Self {
        Self { root: data_dir.join("workspace"), read: Vec::new(), write: Vec::new() }
    }
}
