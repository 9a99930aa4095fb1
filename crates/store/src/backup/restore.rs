//! The way back: an archive is checked whole before anything of the present is touched, and the exchange can be cut off anywhere.
//!
//! What is to take the place of the present lies in `restoring/new` of the data directory, complete, before `restoring/ready`
//! is written. From then on the exchange is only ever finished, at the next start too: each piece of the present goes to
//! `restoring/old`, then the new one to its place; at last `restoring` takes the name under which the old is kept.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::backup::archive::unpack;
use crate::backup::seal::Identities;
use crate::backup::{
    BackupError, ByteCount, CONFIG, CONTENTS, CountingReader, DATABASE, FOLDERS, Manifest, at, mounts,
};
use crate::lock::DataLock;
use crate::snapshot;
use crate::work_dir::{self, WorkDir};

/// Where the exchange takes place.
const STAGE: &str = "restoring";
/// The new, complete or not.
const NEW: &str = "new";
/// The old, as far as it was taken away.
const OLD: &str = "old";
/// The new is complete: this says what is to be exchanged.
const READY: &str = "ready";
/// Where the archive's config goes.
const CONFIG_RESTORED: &str = "config.restored.toml";
/// What makes up a data directory.
const PIECES: [&str; 5] = [DATABASE, CONTENTS, FOLDERS[0], FOLDERS[1], FOLDERS[2]];

/// What SQLite keeps beside a database that is open, or was not closed.
const LOGS: [&str; 2] = ["hob.db-wal", "hob.db-shm"];

/// An archive that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub manifest: Manifest,
    /// Where the data of before is now.
    pub before: PathBuf,
    /// Where the archive's config is: to look at, as it has no secrets.
    pub config: Option<PathBuf>,
}

/// An archive, and what opens it.
#[derive(Clone)]
pub struct Archive {
    pub path: PathBuf,
    /// The secret keys; for one that is not encrypted none is needed.
    pub identities: Identities,
    pub read: Arc<ByteCount>,
}

impl Archive {
    /// One that is not encrypted.
    pub fn plain(path: &Path) -> Self {
        Self { path: path.to_path_buf(), identities: Identities::default(), read: Arc::default() }
    }

    /// Its bytes, as they are without encryption.
    pub(super) fn open(&self) -> Result<impl Read + use<>, BackupError> {
        self.read.expect(at(&self.path, fs::metadata(&self.path))?.len());
        Ok(CountingReader { inner: self.identities.open(&self.path)?, count: Arc::clone(&self.read) })
    }
}

/// Checks an archive to its last byte, its database among that. `scratch` is a folder with room for it.
///
/// # Errors
/// When it is not whole.
pub async fn verify(archive: &Archive, scratch: &Path) -> Result<Manifest, BackupError> {
    let work = at(scratch, WorkDir::begin(work_dir::VERIFY, scratch))?;
    unpacked(archive, work.path()).await
}

async fn unpacked(archive: &Archive, into: &Path) -> Result<Manifest, BackupError> {
    let (from, to) = (archive.clone(), into.to_path_buf());
    let unpacking = tokio::task::spawn_blocking(move || unpack(&from, &to));
    let manifest = unpacking.await.map_err(|error| BackupError::Bug(error.to_string()))??;
    let broken = |why: String| BackupError::Broken { archive: archive.path.clone(), why };
    let database = into.join(DATABASE);
    if !database.exists() {
        return Err(broken("there is no database in it".to_owned()));
    }
    let checked = snapshot::check(&database).await?;
    if checked.schema != manifest.schema {
        return Err(broken("its database is not the one that its list names".to_owned()));
    }
    let missing = |hash: &&String| !manifest.gone.contains(hash) && !into.join(CONTENTS).join(hash).exists();
    if let Some(hash) = checked.contents.iter().find(missing) {
        return Err(broken(format!("the content of a file is missing: {hash}")));
    }
    Ok(manifest)
}

/// Puts what an archive holds in the place of a data directory's own; that is kept beside it. No Hob may be at work there.
///
/// # Errors
/// When a Hob is at work there, the archive is not whole, or a file cannot be moved. Then either nothing is changed, or the next
/// start finishes it.
pub async fn restore(archive: &Archive, data_dir: &Path, now: Timestamp) -> Result<RestoreOutcome, BackupError> {
    let _lock = DataLock::take(data_dir)?;
    finish(data_dir)?;
    refuse_mounts(data_dir)?;
    let stage = data_dir.join(STAGE);
    clear(&stage)?;
    let new = stage.join(NEW);
    at(&new, fs::create_dir_all(&new))?;
    let manifest = match unpacked(archive, &new).await {
        Ok(manifest) => manifest,
        Err(error) => {
            // It may be what has filled the disk.
            clear(&stage)?;
            return Err(error);
        }
    };
    let before = format!("before-restore-{}", now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H%M%SZ"));
    let before = at(data_dir, free_name(data_dir, &before))?;
    at(&stage, sync_folders(&new))?;
    let comes = at(&new, pieces(&new))?;
    let config = comes.get(CONFIG).map(|place| data_dir.join(place));
    let exchange = PendingExchange { before: before.clone(), comes };
    let text = serde_json::to_vec(&exchange).map_err(|error| BackupError::Bug(error.to_string()))?;
    let ready = stage.join(READY);
    // Unpacking takes its time: what was mounted meanwhile counts as well.
    refuse_mounts(data_dir)?;
    at(&ready, write_whole(&ready, &text))?;
    finish(data_dir)?;
    Ok(RestoreOutcome { manifest, before: data_dir.join(before), config })
}

/// What would stop the exchange in the middle is found before it begins.
fn refuse_mounts(data_dir: &Path) -> Result<(), BackupError> {
    let moved = PIECES.into_iter().chain(LOGS).chain([STAGE]);
    match at(data_dir, mounts::first(data_dir, moved))? {
        Some(place) => Err(BackupError::Mounted { place }),
        None => Ok(()),
    }
}

/// This name in the data directory, or the first of its kind that is not taken.
fn free_name(data_dir: &Path, name: &str) -> io::Result<String> {
    let mut free = name.to_owned();
    for number in 2_u64.. {
        match fs::symlink_metadata(data_dir.join(&free)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            taken => taken.map(|_| free = format!("{name}-{number}"))?,
        }
    }
    Ok(free)
}

/// What is about to happen, or happens.
#[derive(Debug, Serialize, Deserialize)]
struct PendingExchange {
    /// What the folder of the old is called afterwards.
    before: String,
    /// What comes from the new: its name there, and in the data directory.
    comes: BTreeMap<String, String>,
}

/// Finishes an exchange that was cut off; does nothing where there is none. Called at each start, before the database is opened.
pub fn finish(data_dir: &Path) -> Result<(), BackupError> {
    let stage = data_dir.join(STAGE);
    let ready = stage.join(READY);
    let exchange: PendingExchange = match fs::read(&ready) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // What was never complete is nothing.
            return clear(&stage);
        }
        text => at(&ready, text.and_then(|text| serde_json::from_slice(&text).map_err(io::Error::from)))?,
    };
    let old = stage.join(OLD);
    at(&old, fs::create_dir_all(&old))?;
    // A log beside another database would be taken for its own: it goes first.
    for name in LOGS.into_iter().chain(PIECES) {
        if !exchange.comes.values().any(|place| place == name) {
            take_away(&data_dir.join(name), &old.join(name))?;
        }
    }
    for (name, place) in &exchange.comes {
        let (new, present) = (stage.join(NEW).join(name), data_dir.join(place));
        // Once it is no longer in the new, it is in its place.
        if at(&new, new.try_exists())? {
            take_away(&present, &old.join(place))?;
            at(&present, moved(&new, &present))?;
        }
    }
    at(data_dir, sync(data_dir))?;
    at(&old, sync(&old))?;
    let mut kept = data_dir.join(&exchange.before);
    // Where it has its name already, the folder of the old is empty; if it is not, it is another one's name, and both are kept.
    let is_named = at(&kept, kept.try_exists())?;
    if is_named && at(&old, fs::read_dir(&old))?.next().is_some() {
        kept = data_dir.join(at(data_dir, free_name(data_dir, &exchange.before))?);
    }
    if !at(&kept, kept.try_exists())? {
        at(&kept, moved(&old, &kept))?;
        at(data_dir, sync(data_dir))?;
    }
    tracing::info!(before = %kept.display(), "backup.restored");
    clear(&stage)
}

/// Moves it, unless it is not there or was moved before.
fn take_away(from: &Path, to: &Path) -> Result<(), BackupError> {
    if at(to, to.try_exists())? {
        return Ok(());
    }
    match moved(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => at(from, moved),
    }
}

fn clear(stage: &Path) -> Result<(), BackupError> {
    // First what makes it count: half of a stage that is being cleared is never taken for one.
    for gone in [fs::remove_file(stage.join(READY)), fs::remove_dir_all(stage)] {
        match gone {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            gone => at(stage, gone)?,
        }
    }
    Ok(())
}

/// What comes, and where to: a config is not put in the place of the one in use, as it has no secrets.
fn pieces(new: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut pieces = BTreeMap::new();
    for entry in fs::read_dir(new)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let place = if name == CONFIG { CONFIG_RESTORED } else { name };
        pieces.insert(name.to_owned(), place.to_owned());
    }
    Ok(pieces)
}

/// Either the whole text is there, or nothing.
fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(text)?;
    file.sync_all()?;
    moved(&part, path)?;
    path.parent().map_or(Ok(()), sync)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The folders of the new: their names are on disk as well.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync(folder)
}

fn moved(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    cut()?;
    fs::rename(from, to)
}

#[cfg(test)]
thread_local! {
    static LEFT: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
}

/// For tests: after so many moves the next one fails.
#[cfg(test)]
pub(super) fn cut_after(moves: usize) {
    LEFT.set(moves);
}

#[cfg(test)]
fn cut() -> io::Result<()> {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    if left == 0 { Err(io::Error::other("cut off")) } else { Ok(()) }
}
