//! The daemons that share one database: each start of one has an id, by which others know it. One of them leads.
//!
//! Beside a file there is one daemon, which its data directory's lock names. How it comes to lead is in `postgres::lease`.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;

use rustix::system::uname;

use crate::Tx;
use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres::address;
use crate::tx::Engine;

/// In the data directory: the id of the last start.
const BOOT_FILE: &str = "boot";

/// A start of a daemon, as the others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonIdentity {
    pub(crate) boot: String,
    /// The start before it in the same data directory, which is over.
    pub(crate) former: Option<String>,
    pub(crate) name: String,
    pub(crate) config: String,
}

impl DaemonIdentity {
    /// The start with this id, of a process that has the data directory's lock; so the one before it is over. `config` says
    /// whether two daemons are configured alike.
    ///
    /// # Errors
    /// When the data directory cannot be read or written.
    pub fn of(data_dir: &Path, boot: String, config: String) -> Result<Self, StoreError> {
        let file = data_dir.join(BOOT_FILE);
        let failed = |error: io::Error| StoreError::ReadOnly(format!("{}: {error}", file.display()));
        let former = match fs::read_to_string(&file) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        fs::write(&file, &boot).map_err(failed)?;
        Ok(Self { boot, former, name: name(data_dir), config })
    }
}

/// What the daemon of a data directory is called: by its host, and the directory.
pub fn name(data_dir: &Path) -> String {
    format!("{}:{}", uname().nodename().to_string_lossy(), data_dir.display())
}

/// The daemon that leads, as one that stands by sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadingDaemon {
    /// Its host and its data directory.
    pub name: String,
    /// Its config says the same of people and channels.
    pub is_alike: bool,
    /// Where it serves the page, as it is reached from here; none: it is not.
    pub serves_at: Option<SocketAddr>,
}

/// Is told which daemon leads while this one stands by, and where it serves once it does; may break off.
pub type StandsBy<'a> = dyn Fn(&LeadingDaemon) -> ControlFlow<()> + Sync + 'a;

/// A daemon that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningDaemon {
    /// Its host and its data directory.
    pub name: String,
    pub version: String,
    /// Otherwise it stands by.
    pub leads: bool,
    /// Its config says the same of people and channels as that of the one that leads.
    pub is_alike: bool,
}

#[cfg(feature = "postgres")]
const THERE: &str = "WITH lead AS (SELECT o.boot, o.config FROM daemons o JOIN leases l ON l.boot = o.boot AND l.what = 'house')
    SELECT d.name, d.version, lead.boot IS NOT DISTINCT FROM d.boot AS leads, d.config IS NOT DISTINCT FROM lead.config AS is_alike
    FROM daemons d JOIN daemon_beats b ON b.boot = d.boot AND b.alive_until >= clock_ms() LEFT JOIN lead ON true
    ORDER BY leads DESC, d.name";

/// Those that are there, first the one that leads; nothing beside a file, whose daemon is the only one.
pub async fn list(tx: &mut Tx) -> Result<Vec<RunningDaemon>, StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(Vec::new()),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let rows = sqlx::query_as::<_, (String, String, bool, bool)>(THERE).fetch_all(connection).await?;
            let all = rows.into_iter();
            Ok(all.map(|(name, version, leads, is_alike)| RunningDaemon { name, version, leads, is_alike }).collect())
        }
    }
}

/// Lets those that stand by know where this daemon, which leads, serves the page, and gives what they are told. Beside a file there
/// is nobody to know it.
#[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "there is no other daemon"))]
pub async fn serve_at(tx: &mut Tx, listens: SocketAddr) -> Result<Option<SocketAddr>, StoreError> {
    match tx.engine() {
        Engine::Sqlite(_) => Ok(None),
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => Ok(Some(address::serve_at(connection, listens).await?)),
    }
}
