//! The contents of recorded files, in `files/` of the data directory, each under the SHA-256 of its bytes.
//!
//! A content is written and synced before the record that refers to it is committed; what no record refers to is swept. Where daemons
//! share a database, it has the contents as well ([`crate::chunks`]), and what lies here is a copy. A file that such a state was copied to
//! has them from there.
//!
//! Never: a name from outside as a part of a path. Start at [`Contents::keep`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use crate::error::StoreError;
use crate::{Store, Tx, chunks, files, space};
use hob_core::domain::lock::lock;
use hob_core::domain::text::hex;

/// The most bytes of one file.
pub const BYTES_MAX: u64 = 50 << 20;
/// So much room is left on the disk: Hob's own database needs it.
pub const FREE_MIN: u64 = 256 << 20;
/// How many contents are looked up at once.
const SLICE: usize = 500;
/// What a content is called among the database's chunks, before its hash.
const SHARED: &str = "file:";

/// The contents that are kept in one data directory. Clones share it.
#[derive(Debug, Clone)]
pub struct Contents {
    dir: PathBuf,
    pins: Arc<Mutex<PinnedContents>>,
    /// The most bytes of a file at present.
    allowed: Arc<AtomicU64>,
    /// The database that may have them as well.
    shared: Option<Store>,
}

/// What must not be swept, as its record may be on its way.
#[derive(Debug, Default)]
struct PinnedContents {
    held: BTreeMap<String, usize>,
    /// What was held at any time since the last sweep began.
    since: BTreeSet<String>,
}

/// A kept content; until it is dropped no sweep takes it away.
#[derive(Debug)]
pub struct KeptContent {
    /// The SHA-256 of the bytes, in hex.
    pub hash: String,
    /// How many they are.
    pub bytes: u64,
    pins: Arc<Mutex<PinnedContents>>,
}

impl Drop for KeptContent {
    fn drop(&mut self) {
        let mut pins = lock(&self.pins);
        if let Some(count) = pins.held.get_mut(&self.hash) {
            *count -= 1;
            if *count == 0 {
                pins.held.remove(&self.hash);
            }
        }
    }
}

impl Contents {
    /// Those of this data directory.
    pub fn of(data_dir: &Path) -> Self {
        let allowed = Arc::new(AtomicU64::new(BYTES_MAX));
        Self { dir: data_dir.join("files"), pins: Arc::default(), allowed, shared: None }
    }

    /// The same, for all daemons that share this database.
    pub fn shared_in(self, store: &Store) -> Self {
        Self { shared: Some(store.clone()), ..self }
    }

    /// From now on no file of more bytes is kept, nor one of more than [`BYTES_MAX`].
    pub fn allow(&self, bytes: u64) {
        self.allowed.store(bytes.min(BYTES_MAX), Ordering::Relaxed);
    }

    /// The most bytes of a file at present: fewer while the disk is low.
    pub fn bytes_max(&self) -> u64 {
        self.allowed.load(Ordering::Relaxed)
    }

    /// Where a content lies. A hash that is none has no file.
    pub fn path(&self, hash: &str) -> PathBuf {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.dir.join(if is_hash { hash } else { "none" })
    }

    /// Keeps bytes, so that they are there, whole, whatever happens after.
    ///
    /// # Errors
    /// When they are too many, or cannot be written.
    pub async fn keep(&self, bytes: Vec<u8>) -> io::Result<KeptContent> {
        let this = self.clone();
        let kept = tokio::task::spawn_blocking(move || this.keep_now(&bytes).map(|kept| (kept, bytes)));
        let (kept, bytes) = kept.await.map_err(io::Error::other).flatten()?;
        if let Some(store) = &self.shared {
            chunks::put(store, &shared_name(&kept.hash), bytes).await.map_err(io::Error::other)?;
        }
        Ok(kept)
    }

    /// As [`Contents::keep`], within the transaction that records it: for what is small.
    ///
    /// # Errors
    /// When the database cannot be written. What cannot be written here is given as it is.
    pub async fn keep_within(&self, tx: &mut Tx, bytes: &[u8]) -> Result<io::Result<KeptContent>, StoreError> {
        let kept = self.keep_now(bytes);
        if let Ok(kept) = &kept {
            chunks::put_within(tx, &shared_name(&kept.hash), bytes).await?;
        }
        Ok(kept)
    }

    /// As [`Contents::keep`], on the caller's own thread, and here alone.
    ///
    /// # Errors
    /// When they are too many, or cannot be written.
    pub fn keep_now(&self, bytes: &[u8]) -> io::Result<KeptContent> {
        let count = bytes.len() as u64;
        if count > BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large to be kept"));
        }
        if count > self.bytes_max() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is nearly full, and it is large"));
        }
        let hash = hex(&Sha256::digest(bytes));
        let kept = self.pin(hash, count);
        let path = self.path(&kept.hash);
        if path.try_exists()? {
            return Ok(kept);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        if space::free(&self.dir)? < FREE_MIN + count {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is nearly full"));
        }
        // Two who keep the same at once write the same; the name is their own all the same.
        let part = self.dir.join(format!("{}.{:?}.part", kept.hash, std::thread::current().id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        for dir in [Some(self.dir.as_path()), self.dir.parent()].into_iter().flatten() {
            File::open(dir)?.sync_all()?;
        }
        Ok(kept)
    }

    /// The bytes of a content, of which there must be exactly so many: whoever recorded it counted them.
    ///
    /// # Errors
    /// When it is not there, or is not what it was.
    pub async fn read(&self, hash: &str, bytes: u64) -> io::Result<Vec<u8>> {
        let path = self.locate(hash).await;
        let read = move || {
            let mut content = Vec::new();
            File::open(path)?.take(bytes + 1).read_to_end(&mut content)?;
            if content.len() as u64 == bytes {
                return Ok(content);
            }
            Err(io::Error::new(io::ErrorKind::InvalidData, "it is not as long as it was"))
        };
        tokio::task::spawn_blocking(read).await.map_err(io::Error::other).flatten()
    }

    /// Where a content lies, which another daemon may have kept: then it is fetched. What cannot be had is missed by who opens it.
    pub async fn locate(&self, hash: &str) -> PathBuf {
        let path = self.path(hash);
        if let Some(store) = &self.shared
            && !tokio::fs::try_exists(&path).await.unwrap_or(false)
            && let Err(error) = self.fetch(store, hash).await
        {
            tracing::warn!(hash, %error, "a file that another daemon has kept cannot be fetched");
        }
        path
    }

    async fn fetch(&self, store: &Store, hash: &str) -> Result<(), StoreError> {
        let name = shared_name(hash);
        let Some(bytes) = store.read(async |tx| chunks::get(tx, &name).await).await? else { return Ok(()) };
        if hex(&Sha256::digest(&bytes)) != hash {
            return Err(StoreError::inconsistent("chunks", name, "it is not what it was"));
        }
        let this = self.clone();
        let kept = tokio::task::spawn_blocking(move || this.keep_now(&bytes)).await.map_err(io::Error::other);
        kept.flatten().map(drop).map_err(unswept)
    }

    fn pin(&self, hash: String, bytes: u64) -> KeptContent {
        let mut pins = lock(&self.pins);
        *pins.held.entry(hash.clone()).or_default() += 1;
        pins.since.insert(hash.clone());
        KeptContent { hash, bytes, pins: Arc::clone(&self.pins) }
    }

    /// Deletes what no record refers to; gives how much.
    ///
    /// # Errors
    /// When the directory or the database cannot be read.
    pub async fn sweep(&self, store: &Store) -> Result<usize, StoreError> {
        {
            let mut pins = lock(&self.pins);
            pins.since = pins.held.keys().cloned().collect();
        }
        let dir = self.dir.clone();
        let names = tokio::task::spawn_blocking(move || list(&dir)).await.map_err(io::Error::other).flatten();
        let names = names.map_err(unswept)?;
        let mut deleted = 0;
        for slice in names.chunks(SLICE) {
            let hashes: Vec<String> = slice.iter().filter(|name| name.len() == 64).cloned().collect();
            let mut gone = store.read(async |tx| files::orphans(tx, &hashes).await).await?;
            // What was being written when a process died.
            gone.extend(slice.iter().filter(|name| name.len() != 64).cloned());
            let this = self.clone();
            let done = tokio::task::spawn_blocking(move || this.delete(&gone)).await.map_err(io::Error::other);
            deleted += done.flatten().map_err(unswept)?;
        }
        if self.shared.is_some() {
            self.sweep_shared(store, &names).await?;
        }
        Ok(deleted)
    }

    /// The same for what all daemons share; what lies here alone, as it came with a file's state, is shared as well.
    async fn sweep_shared(&self, store: &Store, here: &[String]) -> Result<(), StoreError> {
        let shared = store.read(async |tx| chunks::names(tx, SHARED).await).await?;
        let shared: Vec<String> =
            shared.iter().filter_map(|name| Some(name.strip_prefix(SHARED)?.to_owned())).collect();
        for slice in shared.chunks(SLICE) {
            let mut gone = store.read(async |tx| files::orphans(tx, slice).await).await?;
            gone.retain(|hash| !lock(&self.pins).since.contains(hash));
            let gone: Vec<String> = gone.iter().map(|hash| shared_name(hash)).collect();
            if !gone.is_empty() {
                store.write(async move |tx| chunks::drop_all(tx, &gone).await).await?;
            }
        }
        if store.is_file() {
            return Ok(());
        }
        let shared: BTreeSet<String> = shared.into_iter().collect();
        for hash in here.iter().filter(|name| name.len() == 64 && !shared.contains(*name)) {
            // What was swept just now is here no more.
            let Ok(bytes) = tokio::fs::read(self.path(hash)).await else { continue };
            chunks::put(store, &shared_name(hash), bytes).await?;
        }
        Ok(())
    }

    /// Deletes contents that were not touched since the sweep began; the lock keeps others from finding one just before.
    fn delete(&self, names: &[String]) -> io::Result<usize> {
        let mut deleted = 0;
        for name in names {
            let pins = lock(&self.pins);
            let hash = name.split('.').next().unwrap_or_default();
            if pins.since.contains(hash) {
                continue;
            }
            fs::remove_file(self.dir.join(name))?;
            deleted += 1;
        }
        Ok(deleted)
    }
}

fn shared_name(hash: &str) -> String {
    format!("{SHARED}{hash}")
}

fn unswept(error: io::Error) -> StoreError {
    StoreError::Database(format!("the files in the data directory cannot be used: {error}"))
}

fn list(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchedulingMode;

    #[tokio::test]
    async fn c6_a_content_is_kept_once_and_swept_when_nobody_refers_to_it() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let contents = Contents::of(home.path());
        let kept = contents.keep(b"hello".to_vec()).await.unwrap();
        let path = contents.path(&kept.hash);
        assert_eq!((fs::read(&path).unwrap(), kept.bytes), (b"hello".to_vec(), 5));
        let again = contents.keep(b"hello".to_vec()).await.unwrap();
        assert_eq!(again.hash, kept.hash);
        assert_eq!(contents.read(&kept.hash, 5).await.unwrap(), b"hello");
        for wrong in [4, 6] {
            assert_eq!(contents.read(&kept.hash, wrong).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        drop(again);
        fs::write(contents.dir.join(format!("{}.1.part", "a".repeat(64))), "half").unwrap();
        assert_eq!(contents.sweep(&store).await.unwrap(), 1, "the half one; the other's record may be on its way");
        drop(kept);
        assert_eq!(contents.sweep(&store).await.unwrap(), 1);
        assert!(!path.exists());
    }

    #[test]
    fn c6_what_is_no_hash_leads_nowhere() {
        let contents = Contents::of(Path::new("/d"));
        for wrong in ["", "../hob.db", "x", &"/".repeat(64), &"g".repeat(64)] {
            assert_eq!(contents.path(wrong), Path::new("/d/files/none"), "{wrong}");
        }
    }
}
