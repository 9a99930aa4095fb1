//! The database as a bystander changes it, beside the Hob that it belongs to: a unit of work at a time, under SQLite's lock.

use sqlx::{ConnectOptions, Executor};

use crate::bystander_reader::Reader;
use crate::error::StoreError;
use crate::place::StatePlace;
#[cfg(feature = "postgres")]
use crate::postgres::Server;
use crate::unit::UnitOfWork;
use crate::writer::WritingEnd;
use crate::{close, options};

/// A connection that writes. A running Hob waits for it, as for a backup tool.
pub struct BystanderWriter(WritingEnd);

impl BystanderWriter {
    /// Opens the database, which must be there and of this Hob's schema.
    ///
    /// # Errors
    /// When there is none, or it was made by another Hob.
    pub async fn open(place: impl Into<StatePlace>) -> Result<Self, StoreError> {
        let place = place.into();
        drop(Reader::open(&place).await?);
        Ok(Self(match &place {
            StatePlace::File(path) => WritingEnd::File(options(path).create_if_missing(false).connect().await?.into()),
            #[cfg(feature = "postgres")]
            StatePlace::Server(url) => WritingEnd::Server(Server::open(url.expose()).await?),
            #[cfg(not(feature = "postgres"))]
            StatePlace::Server(_) => return Err(crate::place::unsupported()),
        }))
    }

    /// Runs `unit` in a transaction of its own.
    ///
    /// # Errors
    /// When it fails: then nothing of it is in the database.
    pub async fn write<T: Send>(&mut self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        match &mut self.0 {
            WritingEnd::File(connection) => {
                connection.execute("BEGIN IMMEDIATE").await?;
                let done = Box::pin(unit.begin(connection)).await;
                let ended = connection.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await;
                let output = done?;
                ended?;
                Ok(output)
            }
            #[cfg(feature = "postgres")]
            WritingEnd::Server(server) => crate::writer::write_alone(server, unit).await,
        }
    }

    /// Closes it in good order.
    pub async fn close(self) {
        match self.0 {
            WritingEnd::File(connection) => close(connection).await,
            #[cfg(feature = "postgres")]
            WritingEnd::Server(server) => server.close().await,
        }
    }
}
