//! Free pages, full-text indexes and the planner's statistics.

use async_trait::async_trait;

use crate::error::StoreError;
use crate::{Statement, Tx};

/// The full-text indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Of what people said.
    Memories,
    /// Of what is known.
    Facts,
    /// Of what Hob answered.
    Answers,
}

impl Index {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Memories, Self::Facts, Self::Answers];
}

/// Merges an index's parts by about so many pages.
#[derive(Debug, Clone, Copy)]
pub struct Merge {
    /// Which.
    pub index: Index,
    /// How many pages are written.
    pub pages: i64,
}

#[async_trait]
impl Statement for Merge {
    /// Whether there was anything to merge.
    type Output = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, StoreError> {
        let before = changes(tx).await?;
        match self.index {
            Index::Memories => {
                sqlx::query!("INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', $1)", self.pages)
                    .execute(&mut *tx)
                    .await?
            }
            Index::Facts => {
                sqlx::query!("INSERT INTO facts_fts (facts_fts, rank) VALUES ('merge', $1)", self.pages)
                    .execute(&mut *tx)
                    .await?
            }
            Index::Answers => {
                sqlx::query!("INSERT INTO answers_fts (answers_fts, rank) VALUES ('merge', $1)", self.pages)
                    .execute(&mut *tx)
                    .await?
            }
        };
        // SQLite's own sign: the statement itself counts as one change, and what it merged as more.
        Ok(changes(tx).await? - before >= 2)
    }
}

async fn changes(tx: &mut Tx) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar!(r#"SELECT total_changes() AS "count!: i64""#).fetch_one(&mut *tx).await?)
}

/// How large the file is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pages {
    /// All pages.
    pub all: i64,
    /// Those that nothing is in.
    pub free: i64,
}

/// Counts the file's pages.
#[derive(Debug, Clone, Copy)]
pub struct Count;

#[async_trait]
impl Statement for Count {
    type Output = Pages;

    async fn run(&self, tx: &mut Tx) -> Result<Pages, StoreError> {
        let all = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *tx).await?;
        let free = sqlx::query_scalar("PRAGMA freelist_count").fetch_one(&mut *tx).await?;
        Ok(Pages { all, free })
    }
}

/// Gives so many free pages back to the disk. In a file of the old form it does nothing.
#[derive(Debug, Clone, Copy)]
pub struct GiveBack {
    /// How many at most.
    pub pages: i64,
}

#[async_trait]
impl Statement for GiveBack {
    /// How many it were.
    type Output = i64;

    async fn run(&self, tx: &mut Tx) -> Result<i64, StoreError> {
        let before = Count.run(tx).await?;
        let give = format!("PRAGMA incremental_vacuum({})", self.pages);
        sqlx::query(sqlx::AssertSqlSafe(give)).fetch_all(&mut *tx).await?;
        Ok(before.free - Count.run(tx).await?.free)
    }
}

/// The tables whose statistics are outdated, as SQLite sees it; who only reads is not told.
#[derive(Debug, Clone, Copy)]
pub struct Outdated;

#[async_trait]
impl Statement for Outdated {
    type Output = Vec<String>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<String>, StoreError> {
        // It only says what it would do.
        let would: Vec<String> = sqlx::query_scalar("PRAGMA optimize(-1)").fetch_all(&mut *tx).await?;
        let name = |sql: &String| sql.rsplit_once('.').map(|(_, name)| name.trim_matches('"').to_owned());
        Ok(would.iter().filter(|sql| sql.starts_with("ANALYZE ")).filter_map(name).collect())
    }
}

/// How many rows of an index are looked at for the statistics.
const ROWS_MAX: i64 = 200;

/// Makes the statistics of a table anew, from a sample.
#[derive(Debug, Clone)]
pub struct Analyse {
    /// Which; [`Outdated`] names it.
    pub table: String,
}

#[async_trait]
impl Statement for Analyse {
    type Output = ();

    async fn run(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let sql = format!(r#"PRAGMA analysis_limit = {ROWS_MAX}; ANALYZE "{}""#, self.table.replace('"', ""));
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *tx).await?;
        Ok(())
    }
}
