//! PostgreSQL for tests: `scripts/test-postgres` starts a server, and ends it when nobody uses it any more.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::FlockOperation;

use crate::postgres_wire::Wire;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");

/// A running server. It goes on as long as one of these is there.
pub struct Cluster {
    folder: PathBuf,
    /// Locked, which the system undoes however this process ends.
    _users: File,
}

impl Cluster {
    /// The one that tests share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// One of this test's own, which it may stop.
    pub fn own(name: &str) -> Self {
        Self::start(&[name])
    }

    fn start(name: &[&str]) -> Self {
        let place = std::env::temp_dir().join(format!("hob-postgres-{}", rustix::process::getuid().as_raw()));
        let suffix: String = name.iter().map(|name| format!("-{name}")).collect();
        let users = File::create(format!("{}{suffix}.users", place.display())).unwrap();
        rustix::fs::flock(&users, FlockOperation::LockShared).unwrap();
        let started = Command::new(SCRIPT).args(name).output().unwrap();
        Self { folder: PathBuf::from(text(started)), _users: users }
    }

    /// A new database with nothing in it.
    pub fn database(&self) -> Database<'_> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("house_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        self.sql(&self.url("postgres"), &format!("CREATE DATABASE {name}"));
        Database { cluster: self, url: self.url(&name) }
    }

    /// The URL of a database of this name, whether there is one or not.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://hob@localhost/{database}?host={}", self.folder.display())
    }

    /// What a statement gives in the database at this URL, a line for each row.
    pub fn sql(&self, url: &str, sql: &str) -> String {
        text(Command::new(tool("psql")).args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url]).output().unwrap())
    }

    /// Stops and starts the server as after a power cut.
    pub fn cut_off(&self) {
        let data = self.folder.join("data");
        let owner = std::fs::metadata(&data).unwrap().uid();
        let mut restart = Command::new(tool("pg_ctl"));
        restart.uid(owner).current_dir("/").args(["restart", "--mode=immediate", "--wait", "--pgdata"]).arg(data);
        assert!(restart.stdout(Stdio::null()).status().unwrap().success());
    }
}

/// A database on it.
pub struct Database<'c> {
    cluster: &'c Cluster,
    url: String,
}

impl Database<'_> {
    /// Where a Hob finds it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where a Hob finds it through this wire.
    pub fn url_through(&self, wire: &Wire) -> String {
        self.url.replace(&self.cluster.folder.display().to_string(), &wire.folder().display().to_string())
    }

    /// A wire to its server.
    pub fn wire(&self) -> Wire {
        Wire::to(&self.cluster.folder)
    }

    /// What a query gives: a line for each row.
    pub fn ask(&self, sql: &str) -> String {
        self.cluster.sql(&self.url, sql)
    }
}

/// A connection beside Hob's own, whose transactions take their time.
pub struct Session {
    psql: Child,
    said: BufReader<ChildStdout>,
}

impl Session {
    pub fn begin(url: &str) -> Self {
        let mut psql = Command::new(tool("psql"));
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", url]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut psql = psql.spawn().unwrap();
        let said = BufReader::new(psql.stdout.take().unwrap());
        Self { psql, said }
    }

    /// What these statements give, a line for each row.
    pub fn run(&mut self, sql: &str) -> Vec<String> {
        writeln!(self.psql.stdin.as_mut().unwrap(), "{sql}\n\\echo {OVER}").unwrap();
        let lines = self.said.by_ref().lines().map(Result::unwrap);
        lines.take_while(|line| line != OVER).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.psql.stdin.take());
        self.psql.wait().unwrap();
    }
}

const OVER: &str = "that is all";

/// One of PostgreSQL's own, of its newest version here.
fn tool(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap();
    let tools = versions.map(|version| version.unwrap().path().join("bin").join(name));
    tools.filter(|tool| tool.exists()).max().unwrap_or_else(|| PathBuf::from(name))
}

fn text(done: Output) -> String {
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}
