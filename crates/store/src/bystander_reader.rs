//! The database as a bystander reads it, beside the Hob that it belongs to: nothing of its own is ever written.

use std::path::Path;

use sqlx::ConnectOptions;

use crate::error::StoreError;
use crate::place::StatePlace;
#[cfg(not(feature = "postgres"))]
use crate::place::unsupported;
#[cfg(feature = "postgres")]
use crate::postgres::{self, server};
use crate::unit::UnitOfWork;
use crate::{Tx, close, existing_file_options, in_snapshot, inspect, schema};

/// A connection that only reads. It takes no lock that the running Hob would notice.
pub struct Reader {
    connection: Tx,
}

impl Reader {
    /// Opens the database, which must be there and of this Hob's schema.
    ///
    /// # Errors
    /// When there is none, nothing was ever stored in it, or it was made by another Hob.
    pub async fn open(place: impl Into<StatePlace>) -> Result<Self, StoreError> {
        let place = place.into();
        let (connection, found, known) = match &place {
            StatePlace::File(path) => open_file(path).await?,
            #[cfg(feature = "postgres")]
            StatePlace::Server(url) => open_server(url.expose()).await?,
            #[cfg(not(feature = "postgres"))]
            StatePlace::Server(_) => return Err(unsupported()),
        };
        let Some(found) = found else {
            return Err(StoreError::Missing(place.to_string()));
        };
        match found.cmp(&known) {
            std::cmp::Ordering::Less => Err(StoreError::Older { found, known }),
            std::cmp::Ordering::Equal => Ok(Self { connection }),
            std::cmp::Ordering::Greater => Err(StoreError::Newer { found, known }),
        }
    }

    /// As [`Self::open`]; none where nothing was ever stored.
    ///
    /// # Errors
    /// When the database was made by another Hob, or cannot be read.
    pub async fn find(place: impl Into<StatePlace>) -> Result<Option<Self>, StoreError> {
        match Self::open(place).await {
            Ok(reader) => Ok(Some(reader)),
            Err(StoreError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn into_connection(self) -> Tx {
        self.connection
    }

    /// Runs `unit` on the database as it is at one moment.
    ///
    /// # Errors
    /// When it fails, or tries to write.
    pub async fn read<T>(&mut self, unit: impl UnitOfWork<T>) -> Result<T, StoreError> {
        Box::pin(in_snapshot(&mut self.connection, unit)).await
    }
}

/// A connection, the schema that was found, and the one that this Hob has.
type Opened = (Tx, Option<i64>, i64);

async fn open_file(path: &Path) -> Result<Opened, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.display().to_string()));
    }
    roll_back(path).await?;
    let mut connection = existing_file_options(path).read_only(true).connect().await?;
    let found = schema(&mut connection).await?;
    Ok((connection.into(), found, inspect::known()))
}

#[cfg(feature = "postgres")]
async fn open_server(url: &str) -> Result<Opened, StoreError> {
    let options = server::options(url)?.options([("default_transaction_read_only", "on")]);
    let mut connection = server::connect(&options).await?;
    let found = postgres::schema(&mut connection).await?;
    Ok((connection.into(), found, postgres::known()))
}

/// Takes back what a cut-off write has left half done. A database keeps its log beside it from its first moments on
/// (`journal_mode`); what is cut off before then leaves a rollback journal, which a connection that only reads cannot carry out.
async fn roll_back(path: &Path) -> Result<(), StoreError> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    if !std::fs::metadata(Path::new(&journal)).is_ok_and(|file| file.len() > 0) {
        return Ok(());
    }
    let mut connection = existing_file_options(path).connect().await?;
    let looked = sqlx::query("SELECT count(*) FROM sqlite_schema").fetch_one(&mut connection).await;
    close(connection.into()).await;
    looked?;
    Ok(())
}
