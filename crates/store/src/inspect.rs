//! A look at a database that may be in use, of another schema, or damaged: nothing is written, nothing must be right.

use std::fs;
use std::path::Path;
use std::time::Duration;

use sqlx::{ConnectOptions, Connection, SqliteConnection};

use hob_core::domain::clock::Clock;

use crate::error::StoreError;
use crate::place::StatePlace;
#[cfg(not(feature = "postgres"))]
use crate::place::unsupported;
#[cfg(feature = "postgres")]
use crate::postgres::{self, server};
use crate::{MIGRATIONS, options};

/// So many rows that refer to none are counted.
const LOOSE_MAX: usize = 1_000;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionReport {
    /// The newest migration in it.
    pub schema: i64,
    /// The newest that this Hob knows.
    pub known: i64,
    /// What SQLite finds wrong with the file.
    pub complaints: Vec<String>,
    /// Rows that refer to others that are not there.
    pub loose: usize,
    /// The file's size.
    pub bytes: u64,
    /// The size of its write-ahead log.
    pub log_bytes: u64,
}

/// The newest migration that this Hob knows.
pub fn known() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// The newest that it knows of the kind of database at this place.
pub fn known_at(place: &StatePlace) -> i64 {
    match place {
        #[cfg(feature = "postgres")]
        StatePlace::Server(_) => postgres::known(),
        #[cfg(not(feature = "postgres"))]
        StatePlace::Server(_) => 0,
        StatePlace::File(_) => known(),
    }
}

/// The newest migration in the database.
///
/// # Errors
/// When there is no database, or it cannot be read.
pub async fn schema(place: impl Into<StatePlace>) -> Result<i64, StoreError> {
    let place = place.into();
    let path = match &place {
        StatePlace::File(path) => path,
        #[cfg(feature = "postgres")]
        StatePlace::Server(url) => {
            let mut connection = server::connect(&server::options(url.expose())?).await?;
            let schema = postgres::schema(&mut connection).await?;
            connection.close().await?;
            return schema.ok_or_else(|| StoreError::Missing(place.to_string()));
        }
        #[cfg(not(feature = "postgres"))]
        StatePlace::Server(_) => return Err(unsupported()),
    };
    let mut connection = open(path).await?;
    let schema = crate::schema(&mut connection).await.map(Option::unwrap_or_default);
    connection.close().await?;
    schema
}

/// A server that will do, and how it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// Where, without a password.
    pub place: String,
    /// PostgreSQL's own.
    pub version: String,
    /// The newest migration in the database; none: nothing was ever stored in it.
    pub schema: Option<i64>,
    /// The newest that this Hob knows.
    pub known: i64,
    /// The database's size.
    pub bytes: u64,
    /// How long the smallest question takes, in the middle of some.
    pub round_trip: Duration,
    /// How much its clock is ahead of this machine's, in milliseconds.
    pub ahead_ms: i64,
    /// How many connections all its users have, this look among them.
    pub connections: i64,
    /// How many they may have.
    pub connections_max: i64,
}

/// Looks at the server.
///
/// # Errors
/// When it cannot be reached, or will not do.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "no server can be asked"))]
pub async fn inspect_server(place: &StatePlace, clock: &dyn Clock) -> Result<ServerReport, StoreError> {
    match place {
        #[cfg(feature = "postgres")]
        StatePlace::Server(url) => server::inspect(url.expose(), clock).await,
        #[cfg(not(feature = "postgres"))]
        StatePlace::Server(_) => Err(unsupported()),
        StatePlace::File(path) => Err(StoreError::Database(format!("{} is a file", path.display()))),
    }
}

/// Looks at all of it; `thorough`: also whether each index has what its table has.
///
/// # Errors
/// When there is no database, or it cannot be read at all.
pub async fn inspect(path: &Path, thorough: bool) -> Result<InspectionReport, StoreError> {
    let mut connection = open(path).await?;
    let looked = look(&mut connection, thorough).await;
    connection.close().await?;
    let (schema, complaints, loose) = looked?;
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Ok(InspectionReport {
        schema,
        known: known(),
        complaints,
        loose,
        bytes: size(path),
        log_bytes: size(Path::new(&log)),
    })
}

async fn open(path: &Path) -> Result<SqliteConnection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.display().to_string()));
    }
    Ok(options(path).create_if_missing(false).read_only(true).connect().await?)
}

async fn look(connection: &mut SqliteConnection, thorough: bool) -> Result<(i64, Vec<String>, usize), StoreError> {
    let schema = crate::schema(&mut *connection).await?.unwrap_or(0);
    let check = if thorough { "PRAGMA integrity_check(5)" } else { "PRAGMA quick_check(5)" };
    let mut complaints: Vec<String> = sqlx::query_scalar(check).fetch_all(&mut *connection).await?;
    complaints.retain(|complaint| complaint != "ok");
    let loose = format!("SELECT count(*) FROM (SELECT 1 FROM pragma_foreign_key_check LIMIT {LOOSE_MAX})");
    let loose: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(loose)).fetch_one(&mut *connection).await?;
    Ok((schema, complaints, usize::try_from(loose).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SchedulingMode, Store};

    #[tokio::test]
    async fn n12_a_database_is_looked_at_whatever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hob.db");
        assert!(matches!(inspect(&path, false).await, Err(StoreError::Missing(_))));
        // In use.
        let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
        let seen = inspect(&path, true).await.unwrap();
        assert_eq!((seen.schema, seen.complaints.len(), seen.loose), (known(), 0, 0));
        assert!(seen.bytes > 0 && seen.log_bytes > 0, "{seen:?}");
        assert_eq!(schema(&path).await.unwrap(), known());
        store.close().await;
        // A row whose other is gone, and a schema from elsewhere.
        let mut raw = Store::raw(&path).await.unwrap();
        sqlx::query("PRAGMA foreign_keys = OFF").execute(&mut raw).await.unwrap();
        let loose =
            "INSERT INTO overheard (session_id, channel, account, chat, external_id, sender, name, text, member, at)
                     VALUES (4711, 'x', 'x', 'x', 'x', 'x', 'x', 'x', 0, 0)";
        sqlx::query(loose).execute(&mut raw).await.unwrap();
        sqlx::query(
            "UPDATE _sqlx_migrations SET version = 999 WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
        )
        .execute(&mut raw)
        .await
        .unwrap();
        raw.close().await.unwrap();
        let seen = inspect(&path, false).await.unwrap();
        assert_eq!((seen.schema, seen.loose), (999, 1));
        // Cut off, and no database at all.
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let cut = inspect(&path, false).await;
        assert!(
            cut.as_ref().is_err_and(|error| matches!(error, StoreError::Damaged(_)))
                || cut.is_ok_and(|seen| !seen.complaints.is_empty())
        );
        fs::write(&path, "not a database, whatever its name says".repeat(99)).unwrap();
        assert!(matches!(inspect(&path, false).await, Err(StoreError::Damaged(_))));
    }
}
