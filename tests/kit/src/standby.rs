//! Another daemon on a household's PostgreSQL, which stands by.

use tempfile::TempDir;

use crate::process::{HobProcess, hob_command};
use crate::test_hob::TestHob;

/// A process with the household's config, and a home of its own.
pub struct Standby {
    pub home: TempDir,
    pub process: HobProcess,
}

impl Standby {
    /// One that has begun to stand by.
    pub async fn of(hob: &TestHob) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::copy(hob.path("config.toml"), home.path().join("config.toml")).unwrap();
        let mut process = HobProcess::start(hob_command(home.path(), &["run"]));
        process.until_log("daemon.stands_by").await;
        Self { home, process }
    }
}
