//! The database as a bystander reads it, beside the Hob that it belongs to: nothing is ever written.

use std::path::Path;

use sqlx::{ConnectOptions, SqliteConnection};

use crate::error::StoreError;
use crate::unit::UnitOfWork;
use crate::{MIGRATIONS, at_one_moment, options};

/// A connection that only reads. It takes no lock that the running Hob would notice.
pub struct Reader {
    connection: SqliteConnection,
}

impl Reader {
    /// Opens the database file, which must be there and of this Hob's schema.
    ///
    /// # Errors
    /// When there is none, or it was made by another Hob.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing(path.display().to_string()));
        }
        let mut connection = options(path).create_if_missing(false).read_only(true).connect().await?;
        let applied = "SELECT version FROM _sqlx_migrations ORDER BY version DESC LIMIT 1";
        let found: i64 = sqlx::query_scalar(applied).fetch_optional(&mut connection).await?.unwrap_or(0);
        let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
        match found.cmp(&known) {
            std::cmp::Ordering::Less => Err(StoreError::Older { found, known }),
            std::cmp::Ordering::Equal => Ok(Self { connection }),
            std::cmp::Ordering::Greater => Err(StoreError::Newer { found, known }),
        }
    }

    /// Runs `unit` on the database as it is at one moment.
    ///
    /// # Errors
    /// When it fails, or tries to write.
    pub async fn read<T>(&mut self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        Box::pin(at_one_moment(&mut self.connection, unit)).await
    }
}
