//! What can go wrong with the database, by what one does about it.
//!
//! Every function that gives a [`StoreError`] fails when the database does. One that fails otherwise too says so.

use std::any::Any;
use std::fmt::Display;

/// How much of a panic's message is kept.
const PANIC_CHARS_MAX: usize = 200;

/// A failed unit of work, commit or start.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full: nothing was stored; it goes on when there is room.
    #[error("the disk is full: free some space, Hob goes on by itself")]
    Full,
    /// Somebody else holds a lock on the file: try again.
    #[error("another program holds a lock on the database: {0}")]
    Busy(String),
    /// Another transaction came between, again and again (PostgreSQL only): try again.
    #[error("other transactions came between: {0}")]
    Conflict(String),
    /// The server does not answer, or has ended the connection: it goes on when it is back.
    #[error("the database server cannot be reached: {0}")]
    Disconnected(String),
    /// The server, or the database on it, will not do.
    #[error("the database server cannot be used: {what}; {fix}")]
    Server {
        what: String,
        /// What to do about it.
        fix: String,
    },
    /// Another daemon leads on this database.
    #[error("another Hob leads on this database ({0}): talk with that one, or stop it")]
    Led(String),
    /// Another daemon has taken over: nothing was stored, and nothing will be.
    #[error("another Hob has taken over the database, as this one was not heard of for too long: start this one again")]
    Fenced,
    /// The connection broke while a transaction was committed, and the server no longer says whether it was.
    #[error("the connection broke while something was stored, and the server does not say whether it was")]
    Unknown,
    /// The file or its folder cannot be written.
    #[error("the database cannot be written: {0}; check the owner and the permissions of the data directory")]
    ReadOnly(String),
    /// The file is damaged, or no database at all.
    #[error("the database cannot be read: {0}; restore a backup, or move the file away to begin afresh")]
    Damaged(String),
    /// A newer Hob made the file.
    #[error(
        "the database was made by a newer Hob (schema {found}, this one knows {known}): start that one, or restore a backup"
    )]
    Newer {
        /// The newest migration in the file.
        found: i64,
        /// The newest that this Hob knows.
        known: i64,
    },
    /// An older Hob made the file, and this one only wants to look at it.
    #[error(
        "the database was made by an older Hob (schema {found}, this one knows {known}): start this one once (`hob run` or `hob chat`), which brings it up to date"
    )]
    Older {
        /// The newest migration in the file.
        found: i64,
        /// The newest that this Hob knows.
        known: i64,
    },
    /// There is no file to look at.
    #[error(
        "there is no database at {0}: nothing has run with this data directory yet (see `dir` in [state] of config.toml, and $HOB_HOME)"
    )]
    Missing(String),
    /// A row holds what no Hob writes.
    #[error("the database is inconsistent: {table} {id}: {what}")]
    Inconsistent {
        table: &'static str,
        id: String,
        /// What is wrong with it.
        what: String,
    },
    /// A step of upkeep took longer than it may: nothing of it was done.
    #[error("it took longer than upkeep may keep others waiting")]
    Overlong,
    /// Another process drives the run now: nothing was stored.
    #[error("another process drives the run now")]
    LeaseLost,
    /// The writer has stopped.
    #[error("the database is closed")]
    Closed,
    /// The unit's own code panicked: nothing of it was stored.
    #[error("a fault in Hob itself: {0}")]
    Panicked(String),
    /// A copy of the database could not be written; nothing was changed.
    #[error("the database could not be copied: {0}; check free space and permissions")]
    Snapshot(String),
    /// A migration failed.
    #[error("the database could not be migrated to this version's schema: {0}")]
    Migration(String),
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(String),
}

impl StoreError {
    /// May the same work succeed later, by itself?
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Full | Self::Busy(_) | Self::Overlong | Self::Conflict(_) | Self::Disconnected(_) => true,
            // An I/O error (SQLITE_IOERR) may be a disk that comes back; giving up would lose work.
            Self::Database(_) => true,
            // To do it again might be to do it twice.
            Self::Unknown
            | Self::Led(_)
            | Self::Fenced
            | Self::Server { .. }
            | Self::ReadOnly(_)
            | Self::Damaged(_)
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Missing(_)
            | Self::Inconsistent { .. }
            | Self::LeaseLost
            | Self::Closed
            | Self::Panicked(_)
            | Self::Snapshot(_)
            | Self::Migration(_) => false,
        }
    }

    /// A row of this table holds what no Hob writes.
    pub fn inconsistent(table: &'static str, id: impl Display, what: impl Display) -> Self {
        Self::Inconsistent { table, id: id.to_string(), what: what.to_string() }
    }

    pub(crate) fn from_migrate(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(error) => Self::from(error),
            other => Self::Migration(other.to_string()),
        }
    }

    /// What a caught panic said, cut: it may hold what a person wrote.
    pub(super) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(text.unwrap_or("a panic without words").chars().take(PANIC_CHARS_MAX).collect())
    }

    /// The same error for another of those who waited for one commit.
    pub fn share(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Busy(what) => Self::Busy(what.clone()),
            Self::Conflict(what) => Self::Conflict(what.clone()),
            Self::Disconnected(what) => Self::Disconnected(what.clone()),
            Self::Server { what, fix } => Self::Server { what: what.clone(), fix: fix.clone() },
            Self::Led(leader) => Self::Led(leader.clone()),
            Self::Fenced => Self::Fenced,
            Self::Unknown => Self::Unknown,
            Self::ReadOnly(what) => Self::ReadOnly(what.clone()),
            Self::Damaged(what) => Self::Damaged(what.clone()),
            Self::Newer { found, known } => Self::Newer { found: *found, known: *known },
            Self::Older { found, known } => Self::Older { found: *found, known: *known },
            Self::Missing(what) => Self::Missing(what.clone()),
            Self::Inconsistent { table, id, what } => Self::Inconsistent { table, id: id.clone(), what: what.clone() },
            Self::Overlong => Self::Overlong,
            Self::LeaseLost => Self::LeaseLost,
            Self::Closed => Self::Closed,
            Self::Panicked(what) => Self::Panicked(what.clone()),
            Self::Snapshot(what) => Self::Snapshot(what.clone()),
            Self::Migration(what) => Self::Migration(what.clone()),
            Self::Database(what) => Self::Database(what.clone()),
        }
    }
}

/// SQLite's primary result codes.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const INTERRUPT: i32 = 9;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        #[cfg(feature = "postgres")]
        if let Some(known) = crate::postgres::classify(&error) {
            return known;
        }
        let primary = error
            .as_database_error()
            .and_then(|error| error.code())
            .and_then(|code| code.parse::<i32>().ok())
            .map(|code| code & 0xff);
        match primary {
            Some(code::BUSY | code::LOCKED) => Self::Busy(error.to_string()),
            Some(code::INTERRUPT) => Self::Overlong,
            Some(code::FULL) => Self::Full,
            Some(code::READONLY | code::CANTOPEN) => Self::ReadOnly(error.to_string()),
            Some(code::CORRUPT | code::NOTADB) => Self::Damaged(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}
