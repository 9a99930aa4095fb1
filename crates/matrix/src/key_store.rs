//! Where the keys are: a small SQLite file of their own, each entry sealed with a key that lies with the login.
//!
//! A table of kind, scope and name rather than one per type: what an entry is, `crypto` says. Names are hashed, so that the file
//! tells nobody with whom Hob talks.

mod crypto;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Mutex;

use matrix_sdk_crypto::CryptoStoreError;
use matrix_sdk_crypto::olm::StaticAccountData;
use matrix_sdk_store_encryption::StoreCipher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Account,
    Identity,
    Session,
    InboundSession,
    BackedUp,
    OutboundSession,
    TrackedUser,
    Device,
    UserIdentity,
    MessageHash,
    Secret,
    KeyRequest,
    Withheld,
    RoomSettings,
    KeyBundle,
    PendingBundle,
    DownloadedRoom,
    Single,
    Custom,
    /// What Hob itself keeps: how far it has come.
    Own,
    /// A message that cannot be read yet, by room.
    Undecrypted,
    /// A room that was told that a message cannot be read.
    Told,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Identity => "identity",
            Self::Session => "session",
            Self::InboundSession => "inbound_session",
            Self::BackedUp => "backed_up",
            Self::OutboundSession => "outbound_session",
            Self::TrackedUser => "tracked_user",
            Self::Device => "device",
            Self::UserIdentity => "user_identity",
            Self::MessageHash => "message_hash",
            Self::Secret => "secret",
            Self::KeyRequest => "key_request",
            Self::Withheld => "withheld",
            Self::RoomSettings => "room_settings",
            Self::KeyBundle => "key_bundle",
            Self::PendingBundle => "pending_bundle",
            Self::DownloadedRoom => "downloaded_room",
            Self::Single => "single",
            Self::Custom => "custom",
            Self::Own => "own",
            Self::Undecrypted => "undecrypted",
            Self::Told => "told",
        }
    }
}

impl Kind {
    /// An entry of this kind, among others of its scope.
    pub(super) fn at<'a>(self, scope: &'a str, name: &'a str) -> Entry<'a> {
        Entry { kind: self, scope, name }
    }

    /// An entry of a kind that has no scopes.
    pub(super) fn named(self, name: &str) -> Entry<'_> {
        self.at("", name)
    }
}

/// Which entry it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    kind: Kind,
    scope: &'a str,
    name: &'a str,
}

/// The keys cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyStoreError {
    #[error("the file of the keys: {0}")]
    File(#[from] std::io::Error),
    #[error("the database of the keys: {0}")]
    Database(#[from] sqlx::Error),
    /// Two that use the same ratchets would encrypt two messages with one key.
    #[error("another Hob, or this one before its config was changed, still uses the keys")]
    Busy,
    /// Also where the login's key is not the one that the file was sealed with.
    #[error("the keys cannot be unsealed: {0}")]
    Seal(#[from] matrix_sdk_store_encryption::Error),
    #[error("a key is not what it was: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Crypto(#[from] CryptoStoreError),
    #[error("a key cannot be read: {0}")]
    Pickle(#[from] matrix_sdk_crypto::vodozemac::PickleError),
}

impl From<KeyStoreError> for CryptoStoreError {
    fn from(error: KeyStoreError) -> Self {
        Self::backend(error)
    }
}

/// The open file.
pub(super) struct KeyStore {
    pool: SqlitePool,
    cipher: StoreCipher,
    /// Nobody else opens the file while this is held.
    _alone: File,
    /// Whose keys they are, once there are any.
    own: Mutex<Option<StaticAccountData>>,
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyStore")
    }
}

/// Entries that are written together; without a value one goes.
#[derive(Default)]
pub(super) struct Batch(Vec<Row>);

struct Row {
    kind: Kind,
    scope: Vec<u8>,
    name: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl KeyStore {
    /// Opens the file, or makes it, sealed with `key`.
    pub(super) async fn open(path: &Path, key: &[u8; 32]) -> Result<Self, KeyStoreError> {
        let alone = File::create(path.with_extension("lock"))?;
        alone.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => KeyStoreError::Busy,
            TryLockError::Error(error) => error.into(),
        })?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A ratchet that goes back would encrypt two messages with one key.
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS entries (
                 kind TEXT NOT NULL, scope BLOB NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL,
                 PRIMARY KEY (kind, scope, name)
             ) STRICT, WITHOUT ROWID",
        )
        .execute(&pool)
        .await?;
        let sealed: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT value FROM entries WHERE kind = 'cipher'").fetch_optional(&pool).await?;
        let cipher = match sealed {
            Some(sealed) => StoreCipher::import_with_key(key, &sealed)?,
            None => {
                let cipher = StoreCipher::new()?;
                sqlx::query("INSERT INTO entries (kind, scope, name, value) VALUES ('cipher', x'', x'', ?)")
                    .bind(cipher.export_with_key(key)?)
                    .execute(&pool)
                    .await?;
                cipher
            }
        };
        Ok(Self { pool, cipher, _alone: alone, own: Mutex::default() })
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    fn hashed(&self, kind: Kind, name: &str) -> Vec<u8> {
        self.cipher.hash_key(kind.as_str(), name.as_bytes()).to_vec()
    }

    fn row(&self, entry: Entry<'_>, value: Option<Vec<u8>>) -> Row {
        let Entry { kind, scope, name } = entry;
        Row { kind, scope: self.hashed(kind, scope), name: self.hashed(kind, name), value }
    }

    /// What an entry holds; none: it is not there.
    pub(super) async fn get<T: DeserializeOwned>(&self, entry: Entry<'_>) -> Result<Option<T>, KeyStoreError> {
        let Row { kind, scope, name, .. } = self.row(entry, None);
        let found: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT value FROM entries WHERE kind = ? AND scope = ? AND name = ?")
                .bind(kind.as_str())
                .bind(scope)
                .bind(name)
                .fetch_optional(&self.pool)
                .await?;
        Ok(found.map(|sealed| self.cipher.decrypt_value(&sealed)).transpose()?)
    }

    /// All of a kind, or of one scope of it.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        kind: Kind,
        scope: Option<&str>,
    ) -> Result<Vec<T>, KeyStoreError> {
        let rows: Vec<Vec<u8>> =
            sqlx::query_scalar("SELECT value FROM entries WHERE kind = ?1 AND (?2 IS NULL OR scope = ?2)")
                .bind(kind.as_str())
                .bind(scope.map(|scope| self.hashed(kind, scope)))
                .fetch_all(&self.pool)
                .await?;
        rows.iter().map(|sealed| Ok(self.cipher.decrypt_value(sealed)?)).collect()
    }

    /// Adds an entry to what will be written.
    pub(super) fn put(&self, batch: &mut Batch, entry: Entry<'_>, value: &impl Serialize) -> Result<(), KeyStoreError> {
        batch.0.push(self.row(entry, Some(self.cipher.encrypt_value(value)?)));
        Ok(())
    }

    /// Adds to what will be written that an entry goes.
    pub(super) fn drop(&self, batch: &mut Batch, entry: Entry<'_>) {
        batch.0.push(self.row(entry, None));
    }

    /// Writes all of it, or nothing.
    pub(super) async fn write(&self, batch: Batch) -> Result<(), KeyStoreError> {
        let mut tx = self.pool.begin().await?;
        for Row { kind, scope, name, value } in batch.0 {
            let query = match value {
                Some(value) => sqlx::query(
                    "INSERT INTO entries (value, kind, scope, name) VALUES (?, ?, ?, ?)
                     ON CONFLICT (kind, scope, name) DO UPDATE SET value = excluded.value",
                )
                .bind(value),
                None => sqlx::query("DELETE FROM entries WHERE kind = ? AND scope = ? AND name = ?"),
            };
            query.bind(kind.as_str()).bind(scope).bind(name).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Writes one entry.
    pub(super) async fn set(&self, entry: Entry<'_>, value: &impl Serialize) -> Result<(), KeyStoreError> {
        let mut batch = Batch::default();
        self.put(&mut batch, entry, value)?;
        self.write(batch).await
    }

    /// Lets one entry go.
    pub(super) async fn remove(&self, entry: Entry<'_>) -> Result<(), KeyStoreError> {
        let mut batch = Batch::default();
        self.drop(&mut batch, entry);
        self.write(batch).await
    }
}
