//! Databases of other programs, for whoever moves in with Hob. They are opened for reading only.
//!
//! Their schemas are not ours, so these statements are checked against the programs' own files by a test, not by the compiler.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::error::StoreError;

/// The jobs in openclaw's database, each as the JSON that it keeps; an older one has no such table.
pub async fn openclaw_jobs(file: &Path) -> Result<Vec<String>, StoreError> {
    let mut connection = SqliteConnectOptions::new().filename(file).read_only(true).connect().await?;
    let has: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'cron_jobs'")
        .fetch_one(&mut connection)
        .await?;
    let jobs = if has == 0 {
        Vec::new()
    } else {
        sqlx::query_scalar(
            "SELECT job_json FROM cron_jobs WHERE length(job_json) <= 65536 ORDER BY sort_order, job_id LIMIT 1000",
        )
        .fetch_all(&mut connection)
        .await?
    };
    connection.close().await?;
    Ok(jobs)
}
