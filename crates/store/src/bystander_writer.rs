//! The database as a bystander changes it, beside the Hob that it belongs to: a unit of work at a time, under SQLite's lock.

use std::path::Path;

use sqlx::{ConnectOptions, Executor};

use crate::bystander_reader::Reader;
use crate::error::StoreError;
use crate::unit::UnitOfWork;
use crate::{Tx, close, options};

/// A connection that writes. A running Hob waits for it, as for a backup tool.
pub struct BystanderWriter {
    connection: Tx,
}

impl BystanderWriter {
    /// Opens the database file, which must be there and of this Hob's schema.
    ///
    /// # Errors
    /// When there is none, or it was made by another Hob.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Reader::open(path).await?;
        let connection = options(path).create_if_missing(false).connect().await?;
        Ok(Self { connection: connection.into() })
    }

    /// Runs `unit` in a transaction of its own.
    ///
    /// # Errors
    /// When it fails: then nothing of it is in the database.
    pub async fn write<T>(&mut self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        self.connection.execute("BEGIN IMMEDIATE").await?;
        let done = Box::pin(unit.begin(&mut self.connection)).await;
        let ended = self.connection.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
        let output = done?;
        ended?;
        Ok(output)
    }

    /// Closes the file in good order.
    pub async fn close(self) {
        close(self.connection).await;
    }
}
