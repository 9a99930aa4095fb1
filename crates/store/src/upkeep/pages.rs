//! Free pages, full-text indexes and the planner's statistics.

use crate::Tx;
use crate::error::StoreError;
use crate::tx::Engine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullTextIndex {
    /// Of what people said.
    Memories,
    /// Of what is known.
    Facts,
    /// Of what Hob answered.
    Answers,
}

impl FullTextIndex {
    pub const ALL: [Self; 3] = [Self::Memories, Self::Facts, Self::Answers];
}

/// Merges an index's parts, writing about so many pages. Gives whether there was anything to merge.
pub async fn merge(tx: &mut Tx, index: FullTextIndex, pages: i64) -> Result<bool, StoreError> {
    let before = changes(tx).await?;
    match index {
        FullTextIndex::Memories => {
            sqlx::query!("INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', $1)", pages)
                .execute(&mut *tx)
                .await?
        }
        FullTextIndex::Facts => {
            sqlx::query!("INSERT INTO facts_fts (facts_fts, rank) VALUES ('merge', $1)", pages)
                .execute(&mut *tx)
                .await?
        }
        FullTextIndex::Answers => {
            sqlx::query!("INSERT INTO answers_fts (answers_fts, rank) VALUES ('merge', $1)", pages)
                .execute(&mut *tx)
                .await?
        }
    };
    // SQLite's own sign: the statement itself counts as one change, and what it merged as more.
    Ok(changes(tx).await? - before >= 2)
}

async fn changes(tx: &mut Tx) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar!(r#"SELECT total_changes() AS "count!: i64""#).fetch_one(&mut *tx).await?)
}

/// How large the file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// All pages.
    pub all: i64,
    /// Those that nothing is in.
    pub free: i64,
}

/// Counts the file's pages. A server does not say which of its own are free.
pub async fn count(tx: &mut Tx) -> Result<PageCounts, StoreError> {
    match tx.engine() {
        Engine::Sqlite(connection) => {
            let all = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *connection).await?;
            let free = sqlx::query_scalar("PRAGMA freelist_count").fetch_one(connection).await?;
            Ok(PageCounts { all, free })
        }
        #[cfg(feature = "postgres")]
        Engine::Postgres(connection) => {
            let all = "SELECT pg_database_size(current_database()) / current_setting('block_size')::bigint";
            Ok(PageCounts { all: sqlx::query_scalar(all).fetch_one(connection).await?, free: 0 })
        }
    }
}

/// Gives at most so many free pages back to the disk, and tells how many it were. In a file of the old form it does nothing.
pub async fn free_pages(tx: &mut Tx, pages: i64) -> Result<i64, StoreError> {
    let before = count(tx).await?;
    let give = format!("PRAGMA incremental_vacuum({})", pages);
    sqlx::query(sqlx::AssertSqlSafe(give)).fetch_all(&mut *tx).await?;
    Ok(before.free - count(tx).await?.free)
}

/// The tables whose statistics are outdated, as SQLite sees it; who only reads is not told.
pub async fn outdated(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    // It only says what it would do.
    let would: Vec<String> = sqlx::query_scalar("PRAGMA optimize(-1)").fetch_all(&mut *tx).await?;
    let name = |sql: &String| sql.rsplit_once('.').map(|(_, name)| name.trim_matches('"').to_owned());
    Ok(would.iter().filter(|sql| sql.starts_with("ANALYZE ")).filter_map(name).collect())
}

/// How many rows of an index are looked at for the statistics.
const ROWS_MAX: i64 = 200;

/// Makes the statistics of a table, as [`outdated`] names it, anew, from a sample.
pub async fn analyse(tx: &mut Tx, table: &str) -> Result<(), StoreError> {
    let sql = format!(r#"PRAGMA analysis_limit = {ROWS_MAX}; ANALYZE "{}""#, table.replace('"', ""));
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *tx).await?;
    Ok(())
}
