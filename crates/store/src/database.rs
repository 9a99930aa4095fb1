//! The database: opened, migrated, read, and written through one writer.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::Mutex;

#[cfg(feature = "postgres")]
use crate::daemons::{DaemonIdentity, StandsBy};
use crate::error::StoreError;
use crate::footprint::Footprint;
#[cfg(feature = "postgres")]
use crate::postgres::{self, Server, lease::Lease};
use crate::readers::Readers;
use crate::tx::{Snapshot, Tx};
use crate::unit::{Attempt, Tried, UnitOfWork};
use crate::writer::{Boundary, StepMode, StepOutcome, Writer, WriterMetrics, WritingEnd};
use crate::{inspect, snapshot, upkeep};

/// How long a statement waits for somebody else's lock on the file, e.g. a backup tool's.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The write-ahead log's pages after which a commit itself folds it into the file: upkeep does so long before, beside the
/// commits, so that none of them has to wait for it. 16 MB.
const CHECKPOINT_PAGES: &str = "16000";
/// The size of a page, in bytes. A turn touches some fifty pages, mostly for a row or an index entry each, and all of each goes
/// through the log: with SQLite's 4,096 three times as many bytes were written. Full-text search takes a tenth longer than
/// with those, and the file is a seventh larger.
pub(crate) const PAGE_BYTES: u32 = 1_024;
/// The page cache of one connection, in KiB (negative: SQLite's own convention). Each commit of another empties it.
const CACHE_KIB: &str = "-2048";
/// That of the writer, which nobody empties and which is full after some hundred turns: some times what a turn touches.
const WRITER_CACHE_KIB: &str = "-512";
/// Rows that SQLite's thread is ahead of who reads them: a whole list in one go, as threads that wait for each other by turns
/// cost more than the list.
const ROWS_AHEAD: usize = 1_024;

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// How units of work and the rest of the program share time.
#[derive(Clone, Default)]
pub enum SchedulingMode {
    /// SQLite works on its own threads.
    #[default]
    Threaded,
    /// The caller's thread stands still until a unit of work is done, and `Boundary` sees every commit: for simulations.
    Lockstep(Arc<dyn Boundary>),
}

impl SchedulingMode {
    /// Does what only SQLite's threads work on; in lockstep no time passes meanwhile.
    pub(crate) async fn run<F: Future>(&self, work: F) -> F::Output {
        match self {
            Self::Threaded => work.await,
            Self::Lockstep(_) => futures::executor::block_on(work),
        }
    }
}

/// The database.
#[derive(Clone)]
pub struct Store {
    writer: Writer,
    place: Place,
    pace: SchedulingMode,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// Where the rows are.
#[derive(Clone)]
enum Place {
    File(Box<DatabaseFile>),
    #[cfg(feature = "postgres")]
    Server(Server),
}

/// A file of SQLite's.
#[derive(Clone)]
struct DatabaseFile {
    readers: Readers,
    /// Folds the log into the file beside the writer; opened when it is needed.
    folder: Arc<Mutex<Option<SqliteConnection>>>,
    path: Arc<Path>,
}

impl Store {
    /// Opens the database file, makes it if there is none, and brings it to this Hob's schema.
    ///
    /// # Errors
    /// When the file cannot be opened or written, is damaged, or was made by a newer Hob.
    pub async fn open(path: &Path, pace: SchedulingMode) -> Result<Self, StoreError> {
        let options = options(path);
        let writing = options.clone().pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
        let writing = pace.run(open_to_write(path, writing.pragma("cache_size", WRITER_CACHE_KIB))).await?;
        let readers = Readers::of(options.read_only(true), &pace);
        let writer = Writer::start(WritingEnd::File(writing.into()), pace.clone());
        let file = DatabaseFile { readers, folder: Arc::default(), path: Arc::from(path) };
        Ok(Self { writer, place: Place::File(Box::new(file)), pace })
    }

    /// Opens the database at this URL (`postgres://…`), and brings it to this Hob's schema.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the database was made by a newer Hob.
    #[cfg(feature = "postgres")]
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        let server = Server::open(url).await?;
        let writer = Writer::start(WritingEnd::Server(server.clone()), SchedulingMode::Threaded);
        Ok(Self { writer, place: Place::Server(server), pace: SchedulingMode::Threaded })
    }

    /// Whether it is a file, which one daemon has for itself and keeps in shape. A server merges, analyses and vacuums by itself, and other
    /// daemons may come to use it.
    pub fn is_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// As [`Store::open_url`] for a daemon, once it leads. While another does, `stands_by` is told which, and may break off.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, the database was made by a newer Hob, or it was broken off.
    #[cfg(feature = "postgres")]
    pub async fn lead_url(url: &str, who: &DaemonIdentity, stands_by: &StandsBy<'_>) -> Result<Self, StoreError> {
        Self::lead_url_knowing(url, who, stands_by, &postgres::MIGRATIONS).await
    }

    #[cfg(feature = "postgres")]
    pub(crate) async fn lead_url_knowing(
        url: &str,
        who: &DaemonIdentity,
        stands_by: &StandsBy<'_>,
        migrations: &Migrator,
    ) -> Result<Self, StoreError> {
        let server = Server::lead(url, who, stands_by, migrations).await?;
        let writer = Writer::start(WritingEnd::Server(server.clone()), SchedulingMode::Threaded);
        Ok(Self { writer, place: Place::Server(server), pace: SchedulingMode::Threaded })
    }

    #[cfg(feature = "postgres")]
    fn lease(&self) -> Option<&Lease> {
        match &self.place {
            Place::File(_) => None,
            Place::Server(server) => server.lease.as_deref(),
        }
    }

    /// Waits as long as another daemon may have taken over without this one knowing: before what has an effect outside.
    pub async fn until_certain(&self) {
        #[cfg(feature = "postgres")]
        if let Some(lease) = self.lease() {
            lease.until_certain().await;
        }
    }

    /// Completes when another daemon has taken over: nothing is committed any more.
    pub async fn until_fenced(&self) {
        #[cfg(feature = "postgres")]
        if let Some(lease) = self.lease() {
            return lease.until_lost().await;
        }
        std::future::pending().await
    }

    /// How many groups of writes there were: two looks tell whether it is quiet.
    pub fn write_groups(&self) -> u64 {
        self.writer.watch().groups.load(Ordering::Relaxed)
    }

    /// Waits until a write fails because the disk is full.
    pub async fn until_full(&self) {
        self.writer.watch().full.notified().await;
    }

    /// Folds as much of the write-ahead log into the file as nobody needs: beside the writer, which need not wait for it.
    pub async fn checkpoint_wal(&self) -> Result<upkeep::log::CheckpointOutcome, StoreError> {
        let DatabaseFile { folder, path, .. } = match &self.place {
            Place::File(file) => &**file,
            #[cfg(feature = "postgres")]
            Place::Server(_) => return Err(StoreError::Database("a server looks after its log itself".to_owned())),
        };
        let mut folder = folder.lock().await;
        let work = async {
            if folder.is_none() {
                *folder = Some(options(path).create_if_missing(false).connect().await?);
            }
            match folder.as_mut() {
                Some(connection) => upkeep::log::checkpoint_passive(connection).await,
                None => Err(StoreError::Closed),
            }
        };
        self.pace.run(work).await
    }

    /// Does a step of upkeep once nobody waits for a commit: it ends within so long, or has done nothing
    /// ([`StoreError::Overlong`]).
    pub async fn step<T: Send + 'static>(
        &self,
        unit: impl UnitOfWork<T> + 'static,
        manner: StepMode,
        within: Duration,
    ) -> Result<StepOutcome<T>, StoreError> {
        self.writer.step(unit, manner, within).await
    }

    /// Commits `unit`, perhaps together with others that are waiting, and gives its output once it is durable.
    ///
    /// # Errors
    /// When it fails, panics or cannot be committed: then nothing of it is in the database.
    pub async fn write<T: Send + 'static>(&self, unit: impl UnitOfWork<T> + 'static) -> Result<T, StoreError> {
        self.writer.submit(unit).await
    }

    /// Runs `unit` on a reading connection.
    ///
    /// # Errors
    /// When it fails, panics, or tries to write.
    pub async fn read<T: Send>(&self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        let mut reading = Tried::new(unit);
        self.attempt_read(&mut reading).await?;
        reading.output.ok_or(StoreError::Closed)
    }

    /// The same of a unit of any type: all that is to be done around it is compiled once.
    fn attempt_read<'r>(&'r self, unit: &'r mut dyn Attempt) -> BoxFuture<'r, Result<(), StoreError>> {
        Box::pin(async move {
            let work = async {
                match &self.place {
                    Place::File(file) => file.readers.run(unit).await,
                    #[cfg(feature = "postgres")]
                    Place::Server(server) => server.read(unit).await,
                }
            };
            let caught = self.pace.run(AssertUnwindSafe(work).catch_unwind()).await;
            caught.unwrap_or_else(|panic| Err(StoreError::from_panic(&*panic)))
        })
    }

    /// As [`Store::read`], but on the database as it is at one moment, however many queries `unit` makes.
    ///
    /// # Errors
    /// When it fails, panics, or tries to write.
    pub async fn look<T: Send>(&self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        self.read(async move |tx| in_snapshot(tx, unit).await).await
    }

    /// What the writer has done since the start.
    pub fn work(&self) -> &Arc<WriterMetrics> {
        self.writer.metrics()
    }

    /// How many units of work wait for the writer.
    pub fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    /// How much room the database takes, as the file system says or the server.
    ///
    /// # Errors
    /// When the server cannot be asked.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "only a server is asked"))]
    pub async fn footprint(&self) -> Result<Footprint, StoreError> {
        match &self.place {
            Place::File(file) => Ok(Footprint::of(&file.path)),
            #[cfg(feature = "postgres")]
            Place::Server(server) => Ok(Footprint { file_bytes: server.bytes().await?, ..Footprint::default() }),
        }
    }

    /// Waits for what was submitted, folds the write-ahead log into the file, and closes it.
    pub async fn close(&self) {
        match &self.place {
            Place::File(file) => {
                // The last one to close folds the log into the file, and only the writer may.
                self.pace.run(file.readers.close()).await;
                if let Some(folder) = file.folder.lock().await.take() {
                    self.pace.run(close(folder.into())).await;
                }
                self.writer.close().await;
            }
            #[cfg(feature = "postgres")]
            Place::Server(server) => {
                self.writer.close().await;
                server.close().await;
            }
        }
    }
}

/// Opens the file at `path`, makes it if there is none, and brings it to this Hob's schema.
pub(crate) async fn open_to_write(
    path: &Path,
    mut options: SqliteConnectOptions,
) -> Result<SqliteConnection, StoreError> {
    // A new file gives pages back by and by; one that is there is made so by `upkeep::shape`. To ask for it would be to
    // write to it, and it may be another Hob's.
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        options = options.auto_vacuum(SqliteAutoVacuum::Incremental);
    }
    let mut writing = options.connect().await?;
    migrate(&mut writing, path).await?;
    upkeep::page_layout::apply_page_layout(&mut writing, path).await?;
    enable_secure_delete(&mut writing).await?;
    Ok(writing)
}

pub(crate) fn options(path: &Path) -> SqliteConnectOptions {
    existing_file_options(path).create_if_missing(true).page_size(PAGE_BYTES).journal_mode(SqliteJournalMode::Wal)
}

/// For a file that has to be there, and keeps its kind of journal: to change that is to write.
pub(crate) fn existing_file_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("cache_size", CACHE_KIB)
        .pragma("secure_delete", "ON")
        // What is sorted or set aside meanwhile leaves no trace in /var/tmp, and a container need not have a place for it.
        .pragma("temp_store", "MEMORY")
        .row_buffer_size(ROWS_AHEAD)
        .statement_cache_capacity(128)
}

/// Applies the migrations that this file has not seen, after making sure that it is not from a newer Hob.
pub(crate) async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let known = inspect::known();
    let found = schema(connection).await?;
    if let Some(found) = found {
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        snapshot::before_migration(connection, path, found).await?;
    }
    // All of them or none: whoever looks at a file that was cut off finds the schema of before.
    let mut whole = connection.begin().await?;
    MIGRATIONS.run(&mut *whole).await.map_err(StoreError::from_migrate)?;
    Ok(whole.commit().await?)
}

/// The schema of a database; none: nothing was ever stored in it.
pub(crate) async fn schema(connection: &mut SqliteConnection) -> Result<Option<i64>, StoreError> {
    let begun = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')";
    if !sqlx::query_scalar::<_, bool>(begun).fetch_one(&mut *connection).await? {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(connection).await?)
}

/// The full-text indexes.
const INDEXES: [&str; 3] = ["memories_fts", "facts_fts", "answers_fts"];

/// What is deleted is overwritten, in the file and in the full-text indexes, which keep deleted words otherwise.
async fn enable_secure_delete(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    for index in INDEXES {
        let is_so = format!("SELECT EXISTS (SELECT 1 FROM {index}_config WHERE k = 'secure-delete' AND v = 1)");
        // Once for a file: to say it again would be to write.
        if sqlx::query_scalar(sqlx::AssertSqlSafe(is_so)).fetch_one(&mut *connection).await? {
            continue;
        }
        let secure = format!("INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', 1)");
        sqlx::query(sqlx::AssertSqlSafe(secure)).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Runs `unit` so that all of its queries see the same.
pub(crate) async fn in_snapshot<T>(tx: &mut Tx, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
    let moment = Snapshot::begin(tx).await?;
    let output = unit.begin(&mut *moment.0).await?;
    moment.end().await?;
    Ok(output)
}

/// The stored form of a time.
pub fn millis(at: Timestamp) -> i64 {
    at.as_millisecond()
}

impl Store {
    /// Closes a connection that only a test opened.
    #[doc(hidden)]
    pub async fn raw(path: &Path) -> Result<Tx, StoreError> {
        let connection = options(path).connect().await?;
        Ok(connection.into())
    }
}

/// Closes `connection` in good order.
pub(crate) async fn close(connection: Tx) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "the database did not close in good order; its log is replayed at the next start");
    }
}
