//! The archive's own form: a gzipped tar whose last entry says what is in it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};
use tokio_util::sync::CancellationToken;

use crate::backup::restore::Archive;
use crate::backup::seal::{ArchiveSink, Recipients};
use crate::backup::{
    ArchiveEntry, BackupError, ByteCount, CONFIG, CONTENTS, CountingReader, DATABASE, FOLDERS, FORMAT, MANIFEST,
    Manifest, at,
};
use hob_core::domain::text::hex;

/// More than this is not a list of what is in an archive.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
/// The mode of a file that nobody runs.
const PLAIN: u32 = 0o600;
/// Its owner may run it.
const RUNS: u32 = 0o100;

/// An archive that is being written.
pub(super) struct ArchiveWriter {
    tar: Builder<GzEncoder<ArchiveSink>>,
    path: PathBuf,
    /// Ends it at the next piece that is read.
    stop: CancellationToken,
    packed: Arc<ByteCount>,
    pub(super) entries: Vec<ArchiveEntry>,
}

impl ArchiveWriter {
    /// Begins a new file that nobody else may read.
    pub(super) fn begin(
        path: &Path,
        recipients: &Recipients,
        stop: CancellationToken,
        packed: Arc<ByteCount>,
    ) -> Result<Self, BackupError> {
        let file = at(path, OpenOptions::new().write(true).create_new(true).mode(0o600).open(path))?;
        let tar = Builder::new(GzEncoder::new(at(path, recipients.sink(file))?, Compression::default()));
        Ok(Self { tar, path: path.to_path_buf(), stop, packed, entries: Vec::new() })
    }

    /// Adds a file's content. Its length is taken once: what grows meanwhile is cut, what shrinks is an error.
    pub(super) fn add(&mut self, name: &str, from: &Path) -> Result<(), BackupError> {
        let file = at(from, File::open(from))?;
        let known = at(from, file.metadata())?;
        // Whether its owner may run it: a skill whose files changed in that would be another one.
        let mode = if known.mode() & RUNS == 0 { PLAIN } else { PLAIN | RUNS };
        at(from, self.put(name, known.len(), mode, file.take(known.len())))
    }

    pub(super) fn add_text(&mut self, name: &str, text: &str) -> Result<(), BackupError> {
        at(Path::new(name), self.put(name, text.len() as u64, PLAIN, text.as_bytes()))
    }

    fn put(&mut self, name: &str, bytes: u64, mode: u32, content: impl Read) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(mode);
        header.set_size(bytes);
        let mut counted = HashingReader::new(CountingReader {
            inner: StoppableReader { inner: content, stop: self.stop.clone() },
            count: Arc::clone(&self.packed),
        });
        self.tar.append_data(&mut header, name, &mut counted)?;
        if counted.bytes != bytes {
            return Err(io::Error::other("it became shorter while it was read"));
        }
        self.entries.push(ArchiveEntry { path: name.to_owned(), bytes, sha256: counted.hex() });
        Ok(())
    }

    /// Writes the list, and puts everything on disk.
    pub(super) fn finish(mut self, mut manifest: Manifest) -> Result<(), BackupError> {
        manifest.entries = std::mem::take(&mut self.entries);
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| BackupError::Bug(error.to_string()))?;
        let path = self.path.clone();
        self.add_text(MANIFEST, &text)?;
        let written = self.tar.into_inner().and_then(GzEncoder::finish);
        let file = at(&path, written.and_then(ArchiveSink::finish))?;
        at(&path, file.sync_all())
    }
}

/// Reads an archive to its end into the empty folder `into`, and holds each byte to the list in it.
pub(super) fn unpack(from: &Archive, into: &Path) -> Result<Manifest, BackupError> {
    let archive = from.path.as_path();
    let broken = |why: String| BackupError::Broken { archive: archive.to_path_buf(), why };
    let mut tar = tar::Archive::new(GzDecoder::new(from.open()?));
    let (mut found, mut manifest) = (Vec::new(), None);
    for entry in tar.entries().map_err(|error| broken(error.to_string()))? {
        let mut entry = entry.map_err(|error| broken(error.to_string()))?;
        if manifest.is_some() {
            return Err(broken("something comes after its end".to_owned()));
        }
        if entry.header().entry_type() != EntryType::Regular {
            return Err(broken("it holds something that is not a file".to_owned()));
        }
        let name = entry.path().map_err(|error| broken(error.to_string()))?.into_owned();
        let Some(name) = name.to_str().filter(|name| *name == MANIFEST || belongs(name)).map(str::to_owned) else {
            return Err(broken(format!("{} is no part of a Hob's data", name.display())));
        };
        if name == MANIFEST {
            manifest = Some(list(&mut entry).map_err(broken)?);
            continue;
        }
        let to = into.join(&name);
        let runs = entry.header().mode().map_err(|error| broken(format!("{name}: {error}")))? & RUNS;
        found.push(extract(&name, PLAIN | runs, &mut entry, &to).map_err(|error| match error {
            ArchiveIoError::Read(error) => broken(format!("{name}: {error}")),
            ArchiveIoError::Write(source) => BackupError::Io { path: to.clone(), source },
        })?);
    }
    // To the last byte: what the compression says of the whole stands at its end.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(|error| broken(error.to_string()))?;
    let manifest = manifest.ok_or_else(|| broken("its end is missing".to_owned()))?;
    if manifest.format != FORMAT {
        return Err(broken(format!("it is of form {}, and this Hob knows {FORMAT}", manifest.format)));
    }
    compare(found, &manifest).map_err(broken)?;
    for folder in &manifest.folders {
        if !belongs(&format!("{folder}/file")) {
            return Err(broken(format!("{folder} is no part of a Hob's data")));
        }
        let folder = into.join(folder);
        at(&folder, fs::create_dir_all(&folder))?;
    }
    Ok(manifest)
}

/// Is what was found what should be there?
fn compare(found: Vec<ArchiveEntry>, manifest: &Manifest) -> Result<(), String> {
    let (found, listed): (BTreeSet<_>, BTreeSet<_>) =
        (found.into_iter().collect(), manifest.entries.iter().cloned().collect());
    match found.symmetric_difference(&listed).next() {
        None => Ok(()),
        Some(other) => Err(format!("{} is not what its list says", other.path)),
    }
}

/// Whether a file of this name is one that a backup takes, and stays below where it is unpacked. Whatever else lay in the data
/// directory would count there: logins, configs, a restore.
fn belongs(name: &str) -> bool {
    let is_below = |rest: &str| Path::new(rest).components().all(|part| matches!(part, Component::Normal(_)));
    [DATABASE, CONFIG].contains(&name)
        || name.split_once('/').is_some_and(|(first, rest)| {
            (first == CONTENTS || FOLDERS.contains(&first)) && !rest.is_empty() && is_below(rest)
        })
}

fn list(entry: &mut impl Read) -> Result<Manifest, String> {
    let mut text = String::new();
    entry.take(MANIFEST_BYTES_MAX).read_to_string(&mut text).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("its list cannot be read: {error}"))
}

enum ArchiveIoError {
    Read(io::Error),
    Write(io::Error),
}

fn extract(name: &str, mode: u32, entry: &mut impl Read, to: &Path) -> Result<ArchiveEntry, ArchiveIoError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(ArchiveIoError::Write)?;
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(to).map_err(ArchiveIoError::Write)?;
    let mut content = HashingReader::new(entry);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = content.read(&mut buffer).map_err(ArchiveIoError::Read)?;
        let Some(piece) = buffer.get(..read).filter(|piece| !piece.is_empty()) else { break };
        file.write_all(piece).map_err(ArchiveIoError::Write)?;
    }
    file.sync_all().map_err(ArchiveIoError::Write)?;
    Ok(ArchiveEntry { path: name.to_owned(), bytes: content.bytes, sha256: content.hex() })
}

/// Reads until the stop.
struct StoppableReader<R> {
    inner: R,
    stop: CancellationToken,
}

impl<R: Read> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("it was stopped"));
        }
        self.inner.read(buffer)
    }
}

/// Counts and hashes what is read through it.
struct HashingReader<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> HashingReader<R> {
    fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    fn hex(self) -> String {
        hex(&self.hash.finalize())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..read).unwrap_or_default());
        self.bytes += read as u64;
        Ok(read)
    }
}
