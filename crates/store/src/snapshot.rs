//! A copy of the database at one moment, made by SQLite itself and checked: for backups, and before a migration.
//!
//! Never: a copy of the bytes of a live file. Closing such a file would drop the locks of this whole process, and what is in
//! the write-ahead log would be missing.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio_util::sync::CancellationToken;

use crate::error::StoreError;
use crate::place::StatePlace;
use crate::upkeep::page_layout;
use crate::{inspect, schema, space};

/// The folder in the data directory for the copies from before migrations.
const BEFORE_MIGRATIONS: &str = "snapshots";
const KEPT: usize = 3;

/// What a copy is found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SnapshotCheck {
    /// The newest migration in it.
    pub schema: i64,
    /// The SHA-256 of each recorded file's content, sorted.
    pub contents: Vec<String>,
}

/// After so many of its operations SQLite looks whether it is to stop.
const LOOK_EVERY_OPERATIONS: i32 = 10_000;

/// Copies the database as it is now into a new file `to`, and checks the copy. The Hob that it belongs to goes on.
///
/// # Errors
/// When there is no database, the copy cannot be written, it is not whole, or `stop` comes first.
pub(crate) async fn copy(place: &StatePlace, to: &Path, stop: &CancellationToken) -> Result<SnapshotCheck, StoreError> {
    match place {
        StatePlace::File(database) => copy_file(database, to, stop).await?,
        #[cfg(feature = "postgres")]
        StatePlace::Server(_) => copy_server(place.clone(), to.to_owned(), stop.clone()).await?,
        #[cfg(not(feature = "postgres"))]
        StatePlace::Server(_) => return Err(crate::place::unsupported()),
    }
    check_until(to, stop).await
}

/// On a thread of its own: all rows go through it, twice.
#[cfg(feature = "postgres")]
async fn copy_server(place: StatePlace, to: PathBuf, stop: CancellationToken) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Handle::current();
    let copying = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                copied = crate::copy::server_to_file(&place, &to) => copied.map(|_report| ()).map_err(StoreError::from),
                () = stop.cancelled() => Err(StoreError::Closed),
            }
        })
    });
    copying.await.unwrap_or_else(|error| Err(StoreError::Panicked(error.to_string())))
}

async fn copy_file(database: &Path, to: &Path, stop: &CancellationToken) -> Result<(), StoreError> {
    if !database.exists() {
        return Err(StoreError::Missing(database.display().to_string()));
    }
    let mut reading = SqliteConnectOptions::new().filename(database).read_only(true).connect().await?;
    end_at(&mut reading, stop.clone()).await?;
    let copied = write_copy(&mut reading, to).await;
    reading.close().await?;
    copied
}

/// Whatever the connection does from now on ends at the stop.
async fn end_at(connection: &mut SqliteConnection, stop: CancellationToken) -> Result<(), StoreError> {
    connection.lock_handle().await?.set_progress_handler(LOOK_EVERY_OPERATIONS, move || !stop.is_cancelled());
    Ok(())
}

/// Checks a database that nobody uses: that it is one, is whole, and is of a schema that this Hob knows.
pub(crate) async fn check(copy: &Path) -> Result<SnapshotCheck, StoreError> {
    check_until(copy, &CancellationToken::new()).await
}

async fn check_until(copy: &Path, stop: &CancellationToken) -> Result<SnapshotCheck, StoreError> {
    let options = SqliteConnectOptions::new().filename(copy).read_only(true).immutable(true);
    let mut connection = options.connect().await?;
    end_at(&mut connection, stop.clone()).await?;
    let checked = check_snapshot(&mut connection).await;
    connection.close().await?;
    checked
}

/// Before the migrations that a database has not seen: a copy of it in `snapshots/` beside it, if it has anything in it.
///
/// Made again if the migration was cut off: it is named by the schema that it has, and that is what would be lost.
///
/// # Errors
/// When it cannot be made: without it no migration is begun.
pub(super) async fn before_migration(
    connection: &mut SqliteConnection,
    database: &Path,
    schema: i64,
) -> Result<(), StoreError> {
    let known = inspect::known();
    let Some(folder) = database.parent().map(|dir| dir.join(BEFORE_MIGRATIONS)) else { return Ok(()) };
    if schema >= known {
        return Ok(());
    }
    let write = |error: std::io::Error| StoreError::Snapshot(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(write)?;
    let bytes = page_layout::size(connection).await?;
    if let Some(objection) = objection(bytes, space::free(&folder).map_err(write)?) {
        return Err(StoreError::Snapshot(format!("{}: {objection}", folder.display())));
    }
    let (part, path) = (folder.join("hob.part"), folder.join(format!("hob-schema-{schema}.db")));
    if part.exists() {
        fs::remove_file(&part).map_err(write)?;
    }
    write_copy(connection, &part).await?;
    check(&part).await?;
    fs::rename(&part, &path).map_err(write)?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(write)?;
    tracing::info!(path = %path.display(), schema, known, "store.snapshot: the database is copied before it is brought up to date");
    thin_out(&folder, &path).map_err(write)
}

/// So much is left beside the copy: the migration itself writes as well.
const MARGIN_BYTES: u64 = 16 << 20;

/// Why a database of this size is not copied where so much is free.
fn objection(bytes: u64, free: u64) -> Option<String> {
    let needed = bytes.saturating_add(MARGIN_BYTES);
    let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
    (free < needed).then(|| format!("{} MB are needed there and {} are free", megabytes(needed), free >> 20))
}

/// The oldest copies go, but never the one just made: after a way back it may be older than the others.
fn thin_out(folder: &Path, made: &Path) -> std::io::Result<()> {
    let mut copies: Vec<(i64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let schema = name.strip_prefix("hob-schema-").and_then(|rest| rest.strip_suffix(".db"));
        if let Some(schema) = schema.and_then(|schema| schema.parse().ok()).filter(|_| path != made) {
            copies.push((schema, path));
        }
    }
    copies.sort_unstable();
    let surplus = (copies.len() + 1).saturating_sub(KEPT);
    copies.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
}

/// SQLite's own copy: of one moment, without what is free, and on disk when it is done.
async fn write_copy(connection: &mut SqliteConnection, to: &Path) -> Result<(), StoreError> {
    let unwritable = |error: std::io::Error| StoreError::Snapshot(format!("{}: {error}", to.display()));
    // SQLite takes an empty file for a new database; made here, nobody else may read it at any time.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(unwritable)?;
    let name = to.to_str().ok_or_else(|| StoreError::Snapshot(format!("{}: is not text", to.display())))?;
    match sqlx::query("VACUUM INTO $1").bind(name).execute(connection).await.map_err(StoreError::from) {
        Err(StoreError::Full) => return Err(StoreError::Snapshot(format!("{}: the disk is full", to.display()))),
        copied => copied?,
    };
    file.sync_all().map_err(unwritable)
}

async fn check_snapshot(connection: &mut SqliteConnection) -> Result<SnapshotCheck, StoreError> {
    let complaints: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check(3)").fetch_all(&mut *connection).await?;
    if complaints != ["ok"] {
        return Err(StoreError::Damaged(complaints.join("; ")));
    }
    if sqlx::query("PRAGMA foreign_key_check").fetch_optional(&mut *connection).await?.is_some() {
        return Err(StoreError::Damaged("a row refers to one that is not there".to_owned()));
    }
    let (schema, known) = (schema(connection).await?.unwrap_or(0), inspect::known());
    if schema > known {
        return Err(StoreError::Newer { found: schema, known });
    }
    let has_files = "SELECT count(*) FROM sqlite_schema WHERE name = 'files'";
    let contents = match sqlx::query_scalar::<_, i64>(has_files).fetch_one(&mut *connection).await? {
        0 => Vec::new(),
        _ => sqlx::query_scalar("SELECT DISTINCT hash FROM files ORDER BY hash").fetch_all(&mut *connection).await?,
    };
    Ok(SnapshotCheck { schema, contents })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n12_a_copy_is_begun_where_it_fits() {
        assert_eq!(objection(100 << 20, 116 << 20), None);
        insta::assert_snapshot!(objection(100 << 20, (116 << 20) - 1).unwrap(), @"116 MB are needed there and 115 are free");
    }
}
