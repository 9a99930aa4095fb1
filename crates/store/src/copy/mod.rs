//! The whole state from one place to another, of whichever engines: in batches, gone on with after it was cut off, checked at its end.
//!
//! Never: a list of tables, or a place that a Hob works with. What there is, each database's catalog says (`catalog`). While rows
//! come in, what would look at each of them is switched off (`switches`); what is derived from them is not copied. Start at [`copy`].

mod catalog;
mod rows;
mod switches;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use sqlx::Executor as _;

use crate::bystander_reader::Reader;
#[cfg(test)]
pub(crate) use crate::copy::catalog::NOT_STATE;
use crate::copy::catalog::Table;
use crate::copy::rows::Batch;
use crate::error::StoreError;
use crate::lock::{DataLock, LockError};
use crate::place::StatePlace;
use crate::postgres::{self, server};
use crate::tx::{Engine, Snapshot};
use crate::{Tx, close, open_to_write, options, snapshot};

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyReport {
    pub tables: usize,
    pub rows: u64,
}

/// Hears how many rows are copied, and how many there are.
pub type CopyProgress<'p> = &'p (dyn Fn(u64, u64) + Sync);

/// The state could not be copied. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A Hob works with one of the two.
    #[error(transparent)]
    Taken(#[from] LockError),
    /// One of the databases.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It would be written over.
    #[error("there is a state at {0} already, which stays as it is; name a place without one")]
    Occupied(String),
    /// Both are of this Hob's schema, and have other tables all the same.
    #[error("the two databases do not have the same tables; delete what was begun there, and copy anew")]
    OtherTables,
    /// What came of it is not the same.
    #[error(
        "{table} is not the same after it was copied: {rows} rows, and {copied} in the copy; delete the copy, and report it"
    )]
    Differs { table: String, rows: u64, copied: u64 },
    /// A file cannot be made or put in place.
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<CopyError> for StoreError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Store(error) => error,
            other => Self::Snapshot(other.to_string()),
        }
    }
}

impl From<sqlx::Error> for CopyError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Copies all that is at `from` to `to`, where nothing is yet, or what an earlier call has begun.
///
/// # Errors
/// When a Hob works with either, something is at `to` already, either cannot be read or written, or the copy is not the same.
pub async fn copy(from: &StatePlace, to: &StatePlace, told: CopyProgress<'_>) -> Result<CopyReport, CopyError> {
    let _directory = directory_lock(from)?;
    let mut source = Reader::open(from).await?.into_connection();
    if let Engine::Postgres(connection) = source.engine() {
        postgres::use_alone(connection).await?;
    }
    let report = match to {
        StatePlace::Server(url) => {
            let mut target = open_server(url.expose(), to).await?;
            let report = transfer(&mut source, &mut target, told).await?;
            target.close().await?;
            report
        }
        StatePlace::File(path) => {
            if path.exists() {
                return Err(CopyError::Occupied(path.display().to_string()));
            }
            let _directory = directory_lock(to)?;
            let mut begun = path.as_os_str().to_owned();
            begun.push(".copying");
            let begun = Path::new(&begun);
            let report = transfer_to_file(&mut source, begun, told).await?;
            snapshot::check(begun).await?;
            put_in_place(begun, path)?;
            report
        }
    };
    source.close().await?;
    Ok(report)
}

/// Copies a server's state, as it is at one moment, to a new file: the Hobs that it belongs to go on.
///
/// # Errors
/// When the server cannot be read, or the file cannot be written.
pub async fn server_to_file(place: &StatePlace, to: &Path) -> Result<CopyReport, CopyError> {
    let mut source = Reader::open(place).await?.into_connection();
    let report = transfer_to_file(&mut source, to, &|_, _| {}).await?;
    source.close().await?;
    Ok(report)
}

fn directory_lock(place: &StatePlace) -> Result<Option<DataLock>, CopyError> {
    let StatePlace::File(path) = place else { return Ok(None) };
    let folder = folder_of(path);
    Ok(if folder.is_dir() { Some(DataLock::take(folder)?) } else { None })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A database that is empty, or that a copy was begun in, for this process alone.
async fn open_server(url: &str, place: &StatePlace) -> Result<Tx, CopyError> {
    let mut connection = server::connect(&server::options(url)?).await?;
    let traits = server::ServerTraits::of(&mut connection).await?;
    traits.objection()?;
    postgres::use_alone(&mut connection).await?;
    if switches::is_off_server(&mut connection).await? {
        return Ok(connection.into());
    }
    let is_new = postgres::schema(&mut connection).await?.is_none();
    let mut target = Tx::from(connection);
    if !is_new {
        for table in catalog::tables(&mut target).await? {
            if !rows::is_empty(&mut target, &table).await? {
                return Err(CopyError::Occupied(place.to_string()));
            }
        }
    }
    if let Engine::Postgres(connection) = target.engine() {
        postgres::migrate(connection, &traits, &postgres::MIGRATIONS).await?;
    }
    switches::off(&mut target).await?;
    Ok(target)
}

async fn transfer_to_file(source: &mut Tx, to: &Path, told: CopyProgress<'_>) -> Result<CopyReport, CopyError> {
    let io = |source: io::Error| CopyError::Io { path: to.to_owned(), source };
    // SQLite takes an empty file for a new database; made here, nobody else may read it at any time.
    OpenOptions::new().append(true).create(true).mode(0o600).open(to).map_err(io)?;
    let mut target = Tx::from(open_to_write(to, options(to).foreign_keys(false)).await?);
    if !switches::is_off_file(&mut target).await? {
        switches::off(&mut target).await?;
    }
    let report = transfer(source, &mut target, told).await;
    if report.is_ok() {
        (&mut target).execute("PRAGMA wal_checkpoint(TRUNCATE)").await?;
    }
    close(target).await;
    report
}

fn put_in_place(begun: &Path, path: &Path) -> Result<(), CopyError> {
    let io = |source: io::Error| CopyError::Io { path: path.to_owned(), source };
    File::open(begun).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(begun, path).map_err(io)?;
    File::open(folder_of(path)).and_then(|folder| folder.sync_all()).map_err(io)
}

/// From the source as it is at one moment; the target goes on from where it is.
async fn transfer(source: &mut Tx, target: &mut Tx, told: CopyProgress<'_>) -> Result<CopyReport, CopyError> {
    let moment = Snapshot::begin(source).await?;
    let tables = catalog::tables(&mut *moment.0).await?;
    if tables != catalog::tables(target).await? {
        return Err(CopyError::OtherTables);
    }
    let (mut done, mut all) = (0, 0);
    for table in &tables {
        all += rows::count(&mut *moment.0, table).await?;
        done += rows::count(target, table).await?;
    }
    for table in &tables {
        go_on(&mut *moment.0, target, table, &mut |rows| {
            done += rows;
            told(done, all);
        })
        .await?;
    }
    let numbers = switches::numbers(&mut *moment.0).await?;
    let mut report = CopyReport { tables: tables.len(), rows: 0 };
    for table in &tables {
        report.rows += check(&mut *moment.0, target, table).await?;
    }
    moment.end().await?;
    switches::on(target, &numbers).await?;
    Ok(report)
}

/// Copies what is behind the last row that the target has.
async fn go_on(
    source: &mut Tx,
    target: &mut Tx,
    table: &Table,
    copied: &mut (impl FnMut(u64) + Send),
) -> Result<(), CopyError> {
    let last = rows::last_key(target, table).await?;
    let mut rows = rows::behind(source, table, &last)?;
    let mut batch = Batch::default();
    while let Some(row) = rows.try_next().await? {
        batch.add(row);
        if batch.is_full() {
            copied(batch.write(target, table).await?);
        }
    }
    copied(batch.write(target, table).await?);
    Ok(())
}

/// Whether the target has what the source has. What does not is copied once more: it was begun before the source was changed.
async fn check(source: &mut Tx, target: &mut Tx, table: &Table) -> Result<u64, CopyError> {
    let (ours, theirs) = futures::try_join!(rows::digest(source, table), rows::digest(target, table))?;
    if ours == theirs {
        return Ok(ours.rows);
    }
    rows::clear(target, table).await?;
    go_on(source, target, table, &mut |_| {}).await?;
    let theirs = rows::digest(target, table).await?;
    if ours != theirs {
        return Err(CopyError::Differs { table: table.name.clone(), rows: ours.rows, copied: theirs.rows });
    }
    Ok(ours.rows)
}
