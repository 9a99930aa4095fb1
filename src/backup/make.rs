//! Making a backup, beside a Hob at work.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::backup::archive::Writing;
use crate::backup::seal::Recipients;
use crate::backup::{BackupError, CONFIG, CONTENTS, DATABASE, Entry, FOLDERS, FORMAT, Manifest, at};
use crate::store::snapshot::{self, Checked};
use crate::store::space;

/// What a backup is made of.
#[derive(Debug, Clone)]
pub struct Order {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The config's text, without secrets; none: there is none, or it cannot be cleaned of them.
    pub config: Option<String>,
    /// The folder for the archive.
    pub to: PathBuf,
    /// To whom it is encrypted; to nobody: it is not.
    pub recipients: Recipients,
    /// When.
    pub now: Timestamp,
}

/// A backup that was made and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The archive.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// How many files are in it.
    pub files: usize,
    /// How many contents were forgotten while it was made.
    pub gone: usize,
}

/// Makes a backup. Whatever stops it, no archive is left that looks like one.
///
/// # Errors
/// When something cannot be read or written, or the database is damaged.
pub async fn make(order: Order) -> Result<Made, BackupError> {
    at(&order.to, fs::create_dir_all(&order.to))?;
    let folder = |place: &Path| at(place, tempfile::Builder::new().prefix(".hob-backup-").tempdir_in(place));
    let work = folder(&order.to)?;
    // Beside the archive: where that has room, this has. But nothing lies in the clear where only what is encrypted may.
    let clear = if order.recipients.is_empty() { None } else { Some(folder(&order.data_dir)?) };
    let place = clear.as_ref().map_or(work.path(), tempfile::TempDir::path);
    has_room(&order, place)?;
    let copy = place.join(DATABASE);
    let checked = snapshot::copy(&order.data_dir.join(DATABASE), &copy).await?;
    let packing = move || {
        let made = pack(&order, (&copy, &checked), work.path());
        drop((work, clear));
        made
    };
    tokio::task::spawn_blocking(packing).await.map_err(|error| BackupError::Bug(error.to_string()))?
}

fn pack(order: &Order, (copy, checked): (&Path, &Checked), work: &Path) -> Result<Made, BackupError> {
    let part = work.join("archive");
    let mut writing = Writing::begin(&part, &order.recipients)?;
    writing.add(DATABASE, copy)?;
    let mut gone = Vec::new();
    for hash in &checked.contents {
        let path = order.data_dir.join(CONTENTS).join(hash);
        match path.try_exists() {
            Ok(true) => writing.add(&format!("{CONTENTS}/{hash}"), &path)?,
            _ => gone.push(hash.clone()),
        }
    }
    for folder in FOLDERS {
        for path in files_below(&order.data_dir.join(folder))? {
            let Some(name) = path.strip_prefix(&order.data_dir).ok().and_then(Path::to_str) else { continue };
            add_if_there(&mut writing, name, &path)?;
        }
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
        entries: Vec::<Entry>::new(),
        gone,
    })?;
    let path = order.to.join(name(order.now, !order.recipients.is_empty()));
    at(&path, fs::rename(&part, &path))?;
    at(&order.to, File::open(&order.to).and_then(|folder| folder.sync_all()))?;
    let bytes = at(&path, fs::metadata(&path))?.len();
    Ok(Made { path, bytes, files, gone: gone_count })
}

/// A file of a folder that others write to may be gone by now.
fn add_if_there(writing: &mut Writing, name: &str, path: &Path) -> Result<(), BackupError> {
    match writing.add(name, path) {
        Err(BackupError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The files below a folder, sorted; links are not followed, and not kept.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, BackupError> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => at(&folder, entries)?,
        };
        for entry in entries {
            let entry = at(&folder, entry)?;
            let kind = at(&entry.path(), entry.file_type())?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// So much is left on a disk beside a backup.
const MARGIN_BYTES: u64 = 64 << 20;

/// Is there room for the copy of the database, and for an archive that does not become smaller than what is in it?
fn has_room(order: &Order, copy: &Path) -> Result<(), BackupError> {
    let database = order.data_dir.join(DATABASE);
    let mut bytes = match fs::metadata(&database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        found => at(&database, found)?.len(),
    };
    let copied = bytes;
    for folder in FOLDERS.into_iter().chain([CONTENTS]) {
        for path in files_below(&order.data_dir.join(folder))? {
            bytes = bytes.saturating_add(fs::metadata(&path).map_or(0, |file| file.len()));
        }
    }
    // Both may be on one disk: then it takes both.
    let needed = bytes.saturating_add(copied).saturating_add(MARGIN_BYTES);
    for folder in [order.to.as_path(), copy] {
        let free = at(folder, space::free(folder))?;
        if free < needed {
            return Err(BackupError::Room { folder: order.to.clone(), needed, free });
        }
    }
    Ok(())
}

/// What an archive of this moment is called.
#[must_use]
pub fn name(now: Timestamp, is_sealed: bool) -> String {
    let ending = if is_sealed { ".age" } else { "" };
    format!("hob-{}.tar.gz{ending}", now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H%M%SZ"))
}

/// When an archive was made, by its name.
#[must_use]
pub fn made_at(archive: &Path) -> Option<Timestamp> {
    let name = archive.file_name()?.to_str()?;
    let name = name.strip_suffix(".age").unwrap_or(name);
    let moment = name.strip_prefix("hob-")?.strip_suffix("Z.tar.gz")?;
    let moment = jiff::civil::DateTime::strptime("%Y-%m-%dT%H%M%S", moment).ok()?;
    moment.to_zoned(TimeZone::UTC).ok().map(|moment| moment.timestamp())
}

/// The archives in a folder, newest first.
///
/// # Errors
/// When the folder cannot be read.
pub fn archives(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if made_at(&path).is_some() {
            found.push(path);
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}

/// Deletes all archives in a folder but the newest `keep`.
///
/// # Errors
/// When one cannot be deleted.
pub fn thin_out(folder: &Path, keep: usize) -> io::Result<usize> {
    let surplus: Vec<PathBuf> = archives(folder)?.into_iter().skip(keep.max(1)).collect();
    surplus.iter().try_for_each(fs::remove_file)?;
    Ok(surplus.len())
}
