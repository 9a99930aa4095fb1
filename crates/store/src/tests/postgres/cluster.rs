//! A PostgreSQL server for tests: `scripts/test-postgres` starts it, and ends it when nobody uses it any more.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use sqlx_postgres::{PgConnectOptions, PgConnection};

use crate::{Store, postgres};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");

/// A running server. It goes on as long as one of these is there.
pub(crate) struct Cluster {
    folder: PathBuf,
    /// Locked, which the system undoes however this process ends.
    _users: File,
}

impl Cluster {
    /// The one that tests share.
    pub(crate) fn shared() -> Self {
        Self::start(&[])
    }

    /// One of this test's own, which it may stop.
    pub(crate) fn own(name: &str) -> Self {
        Self::start(&[name])
    }

    fn start(name: &[&str]) -> Self {
        let place = std::env::temp_dir().join(format!("hob-postgres-{}", rustix::process::getuid().as_raw()));
        let suffix: String = name.iter().map(|name| format!("-{name}")).collect();
        let users = File::create(format!("{}{suffix}.users", place.display())).unwrap();
        rustix::fs::flock(&users, FlockOperation::LockShared).unwrap();
        let started = Command::new(SCRIPT).args(name).output().unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let folder = String::from_utf8(started.stdout).unwrap();
        Self { folder: PathBuf::from(folder.trim()), _users: users }
    }

    /// Where its data is.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The URL of a new database with the schema in it.
    pub(crate) async fn database(&self) -> String {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut root = self.connect("postgres").await;
        let template = self.template(&mut root).await;
        root.execute(AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE {template}"))).await.unwrap();
        root.close().await.unwrap();
        self.url(&name)
    }

    /// A database that has the schema and is only copied. Whoever needs it first makes it.
    async fn template(&self, root: &mut PgConnection) -> String {
        let mut digest = Sha256::new();
        postgres::MIGRATIONS.iter().for_each(|migration| digest.update(&migration.checksum));
        let digest = digest.finalize();
        let name = format!("schema_{}", digest[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        root.execute("SELECT pg_advisory_lock(1)").await.unwrap();
        let is_there = "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)";
        if !sqlx::query_scalar::<_, bool>(is_there).bind(&name).fetch_one(&mut *root).await.unwrap() {
            let unfinished = format!("{name}_of_{}", std::process::id());
            root.execute(AssertSqlSafe(format!("CREATE DATABASE {unfinished}"))).await.unwrap();
            Store::open_url(&self.url(&unfinished)).await.unwrap().close().await;
            root.execute(AssertSqlSafe(format!("ALTER DATABASE {unfinished} RENAME TO {name}"))).await.unwrap();
        }
        root.execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        name
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://hob@localhost/{database}?host={}", self.folder.display())
    }

    pub(crate) async fn connect(&self, database: &str) -> PgConnection {
        connect(&self.url(database)).await
    }
}

/// A connection beside the store's own.
pub(crate) async fn connect(url: &str) -> PgConnection {
    url.parse::<PgConnectOptions>().unwrap().connect().await.unwrap()
}

/// Stops and starts the server as after a power cut.
pub(crate) fn cut_off(data: &Path) {
    let pg_ctl =
        std::fs::read_dir("/usr/lib/postgresql").unwrap().map(|version| version.unwrap().path().join("bin/pg_ctl"));
    let pg_ctl = pg_ctl.filter(|tool| tool.exists()).max().unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(data).unwrap());
    let mut restart = Command::new(pg_ctl);
    std::os::unix::process::CommandExt::uid(&mut restart, owner);
    restart.current_dir("/").args(["restart", "--mode=immediate", "--wait", "--pgdata"]).arg(data);
    let done = restart.stdout(std::process::Stdio::null()).status().unwrap();
    assert!(done.success());
}
