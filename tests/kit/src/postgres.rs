//! Databases of a PostgreSQL server for tests: `scripts/test-postgres` starts it, and ends it when nobody uses it any more.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::FlockOperation;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");

/// The server that tests share. It goes on as long as this process is there.
pub struct Cluster {
    folder: PathBuf,
    /// Locked, which the system undoes however this process ends.
    _users: File,
}

impl Cluster {
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| {
            let place = std::env::temp_dir().join(format!("hob-postgres-{}", rustix::process::getuid().as_raw()));
            let users = File::create(format!("{}.users", place.display())).unwrap();
            rustix::fs::flock(&users, FlockOperation::LockShared).unwrap();
            let started = Command::new(SCRIPT).output().unwrap();
            Self { folder: PathBuf::from(text(started)), _users: users }
        })
    }

    /// The URL of a new database with nothing in it.
    pub fn database(&self) -> String {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("house_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let url = self.url(&name);
        self.sql(&self.url("postgres"), &format!("CREATE DATABASE {name}"));
        url
    }

    /// The URL of a database of this name, whether there is one or not.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://hob@localhost/{database}?host={}", self.folder.display())
    }

    /// What a statement gives in the database at this URL, a line for each row.
    pub fn sql(&self, url: &str, sql: &str) -> String {
        text(Command::new(psql()).args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url]).output().unwrap())
    }
}

/// A connection beside Hob's own, whose transactions take their time.
pub struct Session {
    psql: Child,
    said: BufReader<ChildStdout>,
}

impl Session {
    pub fn begin(url: &str) -> Self {
        let mut psql = Command::new(psql());
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

fn psql() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").unwrap();
    let psql = versions.map(|version| version.unwrap().path().join("bin/psql")).filter(|tool| tool.exists()).max();
    psql.unwrap_or_else(|| PathBuf::from("psql"))
}

fn text(done: Output) -> String {
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}
