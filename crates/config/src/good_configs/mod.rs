//! The configs with which a model answered: the last one, and nine before it. Hob starts from them when the user's file
//! cannot be used, and puts one back when asked.
//!
//! They lie beside the config file: `config.toml.lastgood`, and all ten in `config.toml.good/`. Where that folder is not
//! Hob's to write to, they lie in a folder of the data directory, which `places` finds without the file. Each is the source text as it was loaded, behind a
//! header; they may hold keys, so they are for this user only.
//! Never: a write to the user's file.
//! Start at [`GoodConfigHistory`].

pub(crate) mod closed_sections;
pub(crate) mod data_dir_notes;
pub mod entry;
pub mod fallback;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::good_configs::entry::{BrokenEntry, GoodConfig};
use crate::load::{self, FILE_BYTES_MAX};
use crate::writer::commit::{self, StepObserver};
use crate::writer::snapshot::FileSnapshot;

/// So many good ones are kept.
pub const KEPT: usize = 10;
/// The folder in the data directory, for a config whose own folder is not Hob's.
const SPARE: &str = "config";

#[derive(Debug, Clone, PartialEq)]
pub struct KeptConfig {
    /// The file.
    pub path: PathBuf,
    pub good: GoodConfig,
}

#[derive(Debug, Clone, Default)]
pub struct KeptConfigs {
    /// The newest first, each text once.
    pub good: Vec<KeptConfig>,
    /// Files that cannot be used, and why.
    pub broken: Vec<(PathBuf, BrokenEntry)>,
}

/// Where the good ones of a config file are.
#[derive(Debug, Clone)]
pub struct GoodConfigHistory {
    /// The config file, as an absolute path.
    file: PathBuf,
    /// The folders, in the order in which they are tried.
    folders: Vec<PathBuf>,
}

impl GoodConfigHistory {
    /// Of this file; `data_dir` is Hob's, if it is known.
    pub fn of(file: &Path, data_dir: Option<&Path>) -> Self {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let beside = commit::folder(&file).to_owned();
        let folders = std::iter::once(beside).chain(data_dir.map(|dir| dir.join(SPARE))).collect();
        Self { file, folders }
    }

    /// Of this file, for whoever may not be able to read it: wherever its data may be.
    pub fn found(file: &Path, env: &Environment) -> Self {
        let mut history = Self::of(file, None);
        history.folders.extend(data_dir_notes::all(&history.file, env).into_iter().map(|dir| dir.join(SPARE)));
        history
    }

    /// Sees to it that what lies in the data directory is found when the file no longer says where that is.
    pub fn note(&self, env: &Environment) -> io::Result<()> {
        let spare = self.folders.iter().skip(1).find(|folder| self.last_in(folder).exists());
        spare
            .and_then(|folder| folder.parent())
            .map_or(Ok(()), |dir| data_dir_notes::note_data_dir(&self.file, dir, env))
    }

    /// The config file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Everything that is kept.
    pub fn shelf(&self) -> KeptConfigs {
        let mut shelf = KeptConfigs::default();
        let (mut last, mut older) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            last.extend(self.taken(&self.last_in(folder), &mut shelf.broken));
            for path in files_in(&self.all_in(folder)) {
                older.extend(self.taken(&path, &mut shelf.broken));
            }
        }
        let newest_first = |kept: &mut Vec<KeptConfig>| kept.sort_by_key(|kept| std::cmp::Reverse(kept.good.when));
        newest_first(&mut last);
        newest_first(&mut older);
        for kept in last.into_iter().chain(older) {
            if shelf.good.iter().all(|known| known.good.text_print() != kept.good.text_print()) {
                shelf.good.push(kept);
            }
        }
        shelf.good.truncate(KEPT);
        shelf
    }

    /// Keeps a good one, if it is not the last already; gives where, if it is new.
    ///
    /// # Errors
    /// When none of the folders takes it. What was kept before is whole.
    pub fn keep(&self, good: &GoodConfig, witness: StepObserver<'_>) -> io::Result<Option<PathBuf>> {
        if self
            .shelf()
            .good
            .first()
            .is_some_and(|last| self.is_whole(last) && last.good.text_print() == good.text_print())
        {
            return Ok(None);
        }
        let mut refused = None;
        for folder in &self.folders {
            match self.keep_in(folder, good, &mut *witness) {
                Ok(path) => return Ok(Some(path)),
                // The folder is the administrator's: the next one is Hob's.
                Err(error) if is_closed(&error) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotFound)))
    }

    fn keep_in(&self, folder: &Path, good: &GoodConfig, witness: StepObserver<'_>) -> io::Result<PathBuf> {
        let (all, last, text) = (self.all_in(folder), self.last_in(folder), good.written());
        DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
        commit::put(&all.join(good.file_name()), text.as_bytes(), &mut *witness)?;
        commit::put(&last, text.as_bytes(), witness)?;
        self.thin_out(&all)?;
        commit::sweep(&last)?;
        Ok(last)
    }

    /// Takes away what is more than is kept, an older one with the same text, and what was left in the making.
    fn thin_out(&self, all: &Path) -> io::Result<()> {
        let mut kept: Vec<KeptConfig> =
            files_in(all).into_iter().filter_map(|path| self.taken(&path, &mut Vec::new())).collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.good.when));
        let mut prints: Vec<String> = Vec::new();
        for KeptConfig { path, good } in kept {
            if prints.len() < KEPT && !prints.iter().any(|known| known == good.text_print()) {
                prints.push(good.text_print().to_owned());
            } else {
                fs::remove_file(path)?;
            }
        }
        commit::sweep_all(all)
    }

    /// Whether the last one stands where it should.
    fn is_whole(&self, kept: &KeptConfig) -> bool {
        self.folders.iter().any(|folder| self.last_in(folder) == kept.path)
    }

    fn name(&self) -> String {
        commit::name(&self.file)
    }

    fn last_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.lastgood", self.name()))
    }

    fn all_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.good", self.name()))
    }

    fn taken(&self, path: &Path, broken: &mut Vec<(PathBuf, BrokenEntry)>) -> Option<KeptConfig> {
        let read = match FileSnapshot::at(path) {
            Ok(FileSnapshot::Nothing) => return None,
            Ok(FileSnapshot::File(bytes)) if bytes.len() as u64 <= FILE_BYTES_MAX => GoodConfig::read(&bytes),
            Ok(other) => Err(BrokenEntry::NoFile(other.told())),
            Err(error) => Err(BrokenEntry::Unreadable(error.to_string())),
        };
        match read {
            // In the data directory may lie those of another file.
            Ok(good) if good.file != self.file && self.is_spare(path) => None,
            Ok(good) => Some(KeptConfig { path: path.to_owned(), good }),
            Err(why) => {
                broken.push((path.to_owned(), why));
                None
            }
        }
    }

    /// Whether it lies in the data directory.
    fn is_spare(&self, path: &Path) -> bool {
        self.folders.iter().skip(1).any(|folder| path.starts_with(folder))
    }
}

/// The config file that is meant: the one that is named, else the first that is there or was, else where one belongs.
pub fn place(named: Option<&Path>, env: &Environment) -> Option<PathBuf> {
    if let Some(named) = named.map(|path| env.seen_from_here(path)).or_else(|| env.path("HOB_CONFIG")) {
        return Some(named);
    }
    let usual = load::usual_places(env);
    let is_there = |path: &&PathBuf| fs::symlink_metadata(path).is_ok();
    let was_there = |path: &&PathBuf| !GoodConfigHistory::found(path, env).shelf().good.is_empty();
    let found = usual.iter().find(is_there).or_else(|| usual.iter().find(was_there)).cloned();
    found.or_else(|| load::usual_place(env))
}

/// Whether the folder is not this user's to write to.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

/// The files of a folder; none if it is not there.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

#[cfg(test)]
mod tests;
