//! Making a backup, beside a Hob at work.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempPath;
use tokio_util::sync::CancellationToken;

use crate::backup::archive::ArchiveWriter;
use crate::backup::folder_contents::FolderContents;
use crate::backup::seal::Recipients;
use crate::backup::{
    ArchiveEntry, BackupError, ByteCount, CONFIG, CONTENTS, DATABASE, FOLDERS, FORMAT, Manifest, archives, at, owner,
    space_check,
};
use crate::footprint::Footprint;
use crate::place::StatePlace;
use crate::snapshot::{self, SnapshotCheck};
use crate::work_dir::{self, WorkDir};

/// What a backup is made of.
#[derive(Debug, Clone)]
pub struct BackupRequest {
    pub data_dir: PathBuf,
    /// Where the database is.
    pub state: StatePlace,
    /// The config's text, without secrets; none: there is none, or it cannot be cleaned of them.
    pub config: Option<String>,
    /// The folder for the archive.
    pub to: PathBuf,
    /// To whom it is encrypted; to nobody: it is not.
    pub recipients: Recipients,
    pub now: Timestamp,
    /// Random hexadecimal digits, for the id of a Hob that has none yet.
    pub random: String,
    pub packed: Arc<ByteCount>,
}

/// A backup that was made and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedBackup {
    /// The archive.
    pub path: PathBuf,
    pub bytes: u64,
    pub files: usize,
    /// How many contents were forgotten while it was made.
    pub gone: usize,
    /// What is not in it, within the data directory: links, what is not a file, and names that are not UTF-8.
    pub skipped: Vec<PathBuf>,
}

/// Makes a backup. Whatever stops it, no archive is left that looks like one.
///
/// # Errors
/// When something cannot be read or written, the database is damaged, or `stop` comes first.
pub async fn make(order: BackupRequest, stop: &CancellationToken) -> Result<CreatedBackup, BackupError> {
    match made(order, stop).await {
        // However it was cut off: it was meant to be.
        Err(_cut_off) if stop.is_cancelled() => Err(BackupError::Stopped),
        made => made,
    }
}

async fn made(order: BackupRequest, stop: &CancellationToken) -> Result<CreatedBackup, BackupError> {
    at(&order.to, fs::create_dir_all(&order.to))?;
    for place in [&order.to, &order.data_dir] {
        work_dir::sweep(place, &work_dir::IN_BACKUPS, order.now);
    }
    let folder = |place: &Path| at(place, WorkDir::begin(work_dir::BACKUP, place));
    let work = folder(&order.to)?;
    // Beside the archive: where that has room, this has. But nothing lies in the clear where only what is encrypted may.
    let clear = if order.recipients.is_empty() { None } else { Some(folder(&order.data_dir)?) };
    let place = clear.as_ref().map_or(work.path(), WorkDir::path);
    let database = Footprint::at(&order.state).await?.file_bytes;
    order.packed.expect(space_check::look(&order, database, place)?);
    let copy = place.join(DATABASE);
    let checked = snapshot::copy(&order.state, &copy, stop).await?;
    let stop = stop.clone();
    let packing = move || {
        let made = pack(&order, &copy, &checked, work.path(), stop);
        drop((work, clear));
        made
    };
    tokio::task::spawn_blocking(packing).await.map_err(|error| BackupError::Bug(error.to_string()))?
}

fn pack(
    order: &BackupRequest,
    copy: &Path,
    checked: &SnapshotCheck,
    work: &Path,
    stop: CancellationToken,
) -> Result<CreatedBackup, BackupError> {
    let part = work.join("archive");
    let mut writing = ArchiveWriter::begin(&part, &order.recipients, stop, Arc::clone(&order.packed))?;
    writing.add(DATABASE, copy)?;
    let mut gone = Vec::new();
    for hash in &checked.contents {
        let path = order.data_dir.join(CONTENTS).join(hash);
        if !add_if_there(&mut writing, &format!("{CONTENTS}/{hash}"), &path)? {
            gone.push(hash.clone());
        }
    }
    let mut below = FolderContents::default();
    for folder in FOLDERS {
        below.look(&order.data_dir, folder)?;
    }
    for name in &below.files {
        add_if_there(&mut writing, name, &order.data_dir.join(name))?;
    }
    if let Some(config) = &order.config {
        writing.add_text(CONFIG, config)?;
    }
    let (files, gone_count) = (writing.entries.len(), gone.len());
    writing.finish(Manifest {
        format: FORMAT,
        hob: env!("CARGO_PKG_VERSION").to_owned(),
        schema: checked.schema,
        made_at: order.now,
        entries: Vec::<ArchiveEntry>::new(),
        gone,
        folders: below.empty,
    })?;
    let path = named(order, part)?;
    at(&order.to, File::open(&order.to).and_then(|folder| folder.sync_all()))?;
    let bytes = at(&path, fs::metadata(&path))?.len();
    Ok(CreatedBackup { path, bytes, files, gone: gone_count, skipped: below.skipped })
}

/// An archive takes the name of the next second where its own is taken: so many are tried.
const SECONDS_MAX: i64 = 10;

/// Gives a finished archive its name. One that is there already stays as it is.
fn named(order: &BackupRequest, part: PathBuf) -> Result<PathBuf, BackupError> {
    let owner = at(&order.data_dir, owner::settle(&order.data_dir, &order.random))?;
    let mut part = at(&part, TempPath::try_from_path(&part))?;
    for second in 0..SECONDS_MAX {
        let moment = order.now.saturating_add(SignedDuration::from_secs(second)).unwrap_or(order.now);
        let path = order.to.join(archives::name(moment, &owner, !order.recipients.is_empty()));
        match part.persist_noclobber(&path) {
            Ok(()) => return Ok(path),
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => part = taken.path,
            // A disk that knows neither of the two ways to do it at once, as some in the network.
            Err(other) if !at(&path, path.try_exists())? => {
                at(&path, fs::rename(&other.path, &path).map_err(|_renamed_no_better| other.error))?;
                return Ok(path);
            }
            Err(other) => part = other.path,
        }
    }
    let taken = io::Error::new(io::ErrorKind::AlreadyExists, "archives of this moment are there already");
    at(&order.to, Err(taken))
}

/// A file that others can delete may be gone by now: false.
fn add_if_there(writing: &mut ArchiveWriter, name: &str, path: &Path) -> Result<bool, BackupError> {
    match writing.add(name, path) {
        Err(BackupError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}
