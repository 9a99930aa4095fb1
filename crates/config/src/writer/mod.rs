//! The one way on which Hob writes the user's config file: chat, command line and setup go through here.
//!
//! A change is made to what stands in the file, checked as at the start, and put in its place whole, if that is still what
//! it was made to. A lock beside the file keeps Hob's own writers apart; editors know nothing of it, and what they wrote in
//! between is never written over. Owner, mode and links stay; a new file is for its user alone.
//! Start at [`Writer`].

pub mod commit;
pub mod snapshot;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::Config;
use crate::change::{self, Edit, Secrets};
use crate::edit::EditError;
use crate::environment::Environment;
use crate::key_destinations;
use crate::load;
use crate::problem::{Finding, Problems};
use crate::writer::commit::{CommitError, CommitRequest, StepObserver};
use crate::writer::snapshot::FileSnapshot;
use hob_core::domain::secret::Secret;

/// How often a change is made anew that somebody else came before.
const TRIES: usize = 3;
/// How often the lock is asked for.
const LOCK_TRIES: u32 = 200;
/// How long between.
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// Why the file was not changed. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is nothing that a key can be set in.
    #[error("{} {why}, so it cannot be changed key by key; nothing was changed", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// It cannot be read.
    #[error("{} cannot be read: {source}; nothing was changed", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("{} cannot be written: {source}; nothing was changed", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CommitError,
    },
    /// Another process of Hob's has been writing for too long.
    #[error("{} is being changed by another Hob; nothing was changed, try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The change is none.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl WriteError {
    /// Whether the file is no longer what the change was made from.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Unwritable { source: CommitError::Changed, .. })
    }
}

/// A change that can be made, and what it was made from.
#[derive(Debug, Clone)]
pub struct PlannedChange {
    seen: FileSnapshot,
    text: Secret,
    told: Vec<String>,
}

impl PlannedChange {
    /// The whole file after it. It may hold keys.
    pub fn text(&self) -> &str {
        self.text.expose()
    }

    /// In words, a line for each edit: the key, what was there, what will be. Without secrets.
    pub fn told(&self) -> String {
        self.told.join("\n")
    }
}

/// What is looked at beyond the config's own checks, by rooms that it knows nothing of.
pub type ExtraCheck = fn(&Config) -> Vec<Finding>;

/// Writes one config file.
#[derive(Debug, Clone)]
pub struct Writer {
    file: PathBuf,
    environment: Environment,
    extra_check: ExtraCheck,
}

impl Writer {
    /// For this file, which need not be there yet. `environment` is what its `${NAME}` stand for.
    pub fn new(file: PathBuf, environment: Environment, extra_check: ExtraCheck) -> Self {
        Self { file, environment, extra_check }
    }

    /// The file, as it was named.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What stands there now.
    pub fn look(&self) -> Result<FileSnapshot, WriteError> {
        let at = |source| WriteError::Unreadable { path: self.file.clone(), source };
        FileSnapshot::at(&snapshot::resolve_link(&self.file).map_err(at)?).map_err(at)
    }

    /// Its text; none where there is no file.
    pub fn text(&self) -> Result<Option<String>, WriteError> {
        self.text_of(&self.look()?)
    }

    /// What the edits would make of the file: nothing is written.
    ///
    /// # Errors
    /// When one cannot be made, or the check would refuse what comes of it.
    pub fn plan(&self, edits: &[Edit], secrets: Secrets) -> Result<PlannedChange, WriteError> {
        let seen = self.look()?;
        let before = self.text_of(&seen)?.unwrap_or_default();
        let (text, told) = change::apply(&before, edits, secrets)?;
        self.check(&text).map_err(EditError::Refused)?;
        // Who enters keys by hand says where they go.
        if secrets == Secrets::Refused
            && let Some(key) = key_destinations::find_strayed_key(&before, &text, edits, &self.environment)
        {
            return Err(EditError::Strays { key }.into());
        }
        Ok(PlannedChange { seen, text: Secret::new(text), told })
    }

    /// Writes what was planned, if the file is still what it was planned from.
    ///
    /// # Errors
    /// When it is not, or cannot be written. Nothing was changed then.
    pub fn commit(&self, plan: &PlannedChange, now: Timestamp) -> Result<(), WriteError> {
        let (target, _lock) = self.locked(&plan.seen, now)?;
        let order = CommitRequest { target: &target, seen: &plan.seen, text: plan.text(), keep: None };
        self.exchange(&order, &mut |_| {}).map(|_| ())
    }

    /// Plans and writes, all edits at once; anew where somebody else came first.
    ///
    /// # Errors
    /// When an edit cannot be made, the check refuses what comes of it, or it cannot be written.
    pub fn change(&self, edits: &[Edit], secrets: Secrets, now: Timestamp) -> Result<PlannedChange, WriteError> {
        let mut tries = 1;
        loop {
            let plan = self.plan(edits, secrets)?;
            match self.commit(&plan, now) {
                Err(error) if error.is_change() && tries < TRIES => tries += 1,
                done => return done.map(|()| plan),
            }
        }
    }

    /// Puts a whole text in the place of what was seen there, which is kept beside as `….rejected-TIME`; gives its name.
    ///
    /// # Errors
    /// When the check refuses it, something else stands there by now, or it cannot be written. Nothing was changed then.
    pub fn replace(&self, seen: &FileSnapshot, text: &str, now: Timestamp) -> Result<Option<PathBuf>, WriteError> {
        self.replace_before(seen, text, now, &mut |_| {})
    }

    /// The same, with somebody who looks on.
    fn replace_before(
        &self,
        seen: &FileSnapshot,
        text: &str,
        now: Timestamp,
        witness: StepObserver<'_>,
    ) -> Result<Option<PathBuf>, WriteError> {
        self.check(text).map_err(EditError::Refused)?;
        let (target, _lock) = self.locked(seen, now)?;
        self.exchange(&CommitRequest { target: &target, seen, text, keep: Some(now) }, witness)
    }

    /// Whether Hob would start with this text.
    ///
    /// # Errors
    /// With every problem there is.
    pub fn check(&self, text: &str) -> Result<(), Problems> {
        let loaded = load::load_text(&self.file, text, &self.environment)?;
        loaded.problems((self.extra_check)(&loaded.config)).map_or(Ok(()), Err)
    }

    fn text_of(&self, seen: &FileSnapshot) -> Result<Option<String>, WriteError> {
        match (seen, seen.text()) {
            (FileSnapshot::Nothing, _) => Ok(None),
            (_, Some(text)) if text.len() as u64 <= load::FILE_BYTES_MAX => Ok(Some(text.to_owned())),
            _ => Err(WriteError::Unusable { path: self.file.clone(), why: seen.told() }),
        }
    }

    fn exchange(&self, order: &CommitRequest<'_>, witness: StepObserver<'_>) -> Result<Option<PathBuf>, WriteError> {
        commit::exchange(order, witness).map_err(|source| WriteError::Unwritable { path: self.file.clone(), source })
    }

    /// The file to be written, in a tidy folder, and its lock.
    fn locked(&self, seen: &FileSnapshot, now: Timestamp) -> Result<(PathBuf, File), WriteError> {
        let io = |source: io::Error| WriteError::Unwritable { path: self.file.clone(), source: source.into() };
        let target = snapshot::resolve_link(&self.file).map_err(io)?;
        if *seen == FileSnapshot::Nothing {
            // A folder that has to be made is for this user only.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(commit::folder(&target)).map_err(io)?;
        }
        let lock = self.lock(&target)?;
        commit::remove_leftovers(&target, now).map_err(io)?;
        Ok((target, lock))
    }

    fn lock(&self, target: &Path) -> Result<File, WriteError> {
        lock(target)
            .map_err(|source| WriteError::Unwritable { path: self.file.clone(), source: source.into() })?
            .ok_or_else(|| WriteError::Busy { path: self.file.clone() })
    }
}

/// The lock of Hob's writers of this file, held as long as it lives; none: another holds it for too long.
pub(super) fn lock(target: &Path) -> io::Result<Option<File>> {
    let name = format!(".{}.lock", commit::name(target));
    let mut open = OpenOptions::new();
    let file = open.create(true).truncate(false).write(true).mode(0o600).open(commit::folder(target).join(name))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}
