//! What lies below the folders of a data directory that are in an archive, and what of it cannot be.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use crate::backup::{BackupError, at};

/// What is below some folders of the data directory, by its names there.
#[derive(Debug, Default)]
pub(super) struct FolderContents {
    pub(super) files: Vec<String>,
    /// Folders without a file or a folder in them.
    pub(super) empty: Vec<String>,
    /// What cannot be in an archive.
    pub(super) skipped: Vec<PathBuf>,
}

impl FolderContents {
    /// Looks through a folder, in the order of names. Links are not followed, and not kept.
    pub(super) fn look(&mut self, data_dir: &Path, folder: &str) -> Result<(), BackupError> {
        let path = data_dir.join(folder);
        let mut entries = match fs::read_dir(&path).and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => at(&path, entries)?,
        };
        entries.sort_by_key(DirEntry::file_name);
        let mut is_empty = true;
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_str().map(|name| format!("{folder}/{name}"));
            let kind = at(&entry.path(), entry.file_type())?;
            match name {
                Some(name) if kind.is_dir() => self.look(data_dir, &name)?,
                Some(name) if kind.is_file() => self.files.push(name),
                _ => {
                    self.skipped.push(Path::new(folder).join(entry.file_name()));
                    continue;
                }
            }
            is_empty = false;
        }
        if is_empty {
            self.empty.push(folder.to_owned());
        }
        Ok(())
    }
}
