//! No statement looks through a table that only grows: every plan of every checked query goes by an index.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

use std::path::Path;

use hob_store::{SchedulingMode, Store};
use serde_json::Value;
use sqlx::Row;

/// The tables that grow as long as Hob lives.
const GROWING: &[&str] = &[
    "runs",
    "run_events",
    "messages",
    "inbound",
    "outbox",
    "signals",
    "tool_calls",
    "calendar_calls",
    "model_calls",
    "blobs",
    "facts",
    "facts_changed",
    "episodes",
    "memories",
    "vectors",
    "token_signs",
    "recalled",
    "memory_calls",
    "spend",
    "summaries",
    "grants",
    "files",
    "occurrences",
    "procedures",
    "procedure_offers",
    "overheard",
    "pairing_guesses",
    "private_chats",
    "held_letters",
    "correspondents",
    "letters_sent",
    "letters_to",
];

/// The scans in the plan of a query: lines such as `SCAN runs` or `SCAN r`. One along an index counts, too, unless the index
/// holds but a part of the table or the query stops early.
async fn scans(database: &mut hob_store::Tx, query: &str) -> Vec<String> {
    let plan = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}")))
        .fetch_all(&mut *database)
        .await
        .unwrap();
    let partial = sqlx::query("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'");
    let partial = partial.fetch_all(&mut *database).await.unwrap();
    let partial: Vec<String> = partial.iter().map(|row| row.get("name")).collect();
    let stops = query.to_uppercase().contains("LIMIT");
    let is_short = |line: &str| {
        line.split_once(" INDEX ").is_some_and(|(_, index)| {
            stops || partial.iter().any(|name| index.split_whitespace().next() == Some(name.as_str()))
        })
    };
    let lines = plan.iter().map(|row| row.get::<String, _>("detail"));
    lines.filter(|line| line.starts_with("SCAN ") && !is_short(line)).collect()
}

/// The table behind the name that a plan uses: the name itself, or what it is an alias of in the query.
fn is_growing(line: &str, query: &str) -> bool {
    let name = line.trim_start_matches("SCAN ").split(' ').next().unwrap();
    let words: Vec<&str> = query.split_whitespace().collect();
    let aliased = |table: &&&str| {
        words.windows(2).any(|pair| pair == [**table, name])
            || words.windows(3).any(|three| three == [**table, "AS", name])
    };
    // A table that the query does not name is looked at for deferred foreign keys only, of which there are none.
    (GROWING.contains(&name) && words.contains(&name)) || GROWING.iter().any(|table| aliased(&table))
}

#[tokio::test]
async fn no_query_scans_what_only_grows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hob.db");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    let mut database = Store::raw(&path).await.unwrap();
    let mut looked_at = 0;
    for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let query: Value = serde_json::from_str(&text).unwrap();
        let query = query["query"].as_str().unwrap();
        looked_at += 1;
        for line in scans(&mut database, query).await {
            assert!(!is_growing(&line, query), "{line} in:\n{query}");
        }
    }
    assert!(looked_at > 40, "only {looked_at} queries in .sqlx");
    database.close().await.unwrap();
}

#[tokio::test]
async fn a_scan_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hob.db");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    let mut database = Store::raw(&path).await.unwrap();
    for query in [
        "SELECT id FROM runs WHERE state = 'running'",
        "SELECT r.created_at FROM runs r",
        "SELECT DISTINCT scope FROM memories",
        "UPDATE outbox SET attempts = 0",
    ] {
        let found = scans(&mut database, query).await;
        assert!(found.iter().any(|line| is_growing(line, query)), "{query}: {found:?}");
    }
    database.close().await.unwrap();
}

/// So that what is checked here, where nothing is bound, is how Hob's statements go, and a plan is made once: a setting of the
/// build, in `.cargo/config.toml`. What is sorted meanwhile stays out of files beside the database.
#[tokio::test]
async fn a_plan_depends_on_no_value_and_sorting_on_no_folder() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hob.db");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    let mut database = Store::raw(&path).await.unwrap();
    let with: Vec<String> = sqlx::query_scalar("PRAGMA compile_options").fetch_all(&mut database).await.unwrap();
    assert!(with.iter().any(|option| option == "ENABLE_QPSG"), "{with:?}");
    let (memory, place): (i64, _) = (2, "PRAGMA temp_store");
    assert_eq!(sqlx::query_scalar::<_, i64>(place).fetch_one(&mut database).await.unwrap(), memory);
    database.close().await.unwrap();
}
