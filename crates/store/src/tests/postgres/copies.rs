//! The whole state from a file to a server and back: nothing is missing, nothing is made twice, and no Hob works with a half of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, SqliteConnection};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::answers::{Dice, fill_sqlite};
use super::cluster::{Cluster, connect};
use crate::backup::make::{self, BackupRequest};
use crate::backup::restore::{Archive, restore, verify};
use crate::backup::seal::{Identities, Recipients};
use crate::copy::{CopyError, copy};
use crate::error::StoreError;
use crate::place::StatePlace;
use crate::tests::sql;
use crate::{MIGRATIONS, SchedulingMode, Store};
use hob_core::domain::secret::Secret;

/// A file with rows in every table, all of whose references lead somewhere.
async fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("hob.db");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    let mut file = open(&path).await;
    fill_sqlite(&mut file, &mut Dice(0x2545_f491_4f6c_dd1d)).await;
    while sqlx::query("PRAGMA foreign_key_check").fetch_optional(&mut file).await.unwrap().is_some() {
        mend_references(&mut file).await;
    }
    // What PostgreSQL cannot keep, and a number that is not to be given again.
    file.execute("UPDATE users SET name = 'A' || char(0) || 'da' WHERE id = 1").await.unwrap();
    file.execute("UPDATE sqlite_sequence SET seq = 4711 WHERE name = 'facts'").await.unwrap();
    file.close().await.unwrap();
    path
}

async fn mend_references(file: &mut SqliteConnection) {
    let references = "SELECT t.name, k.\"from\", k.\"table\", coalesce(k.\"to\", 'id')
        FROM pragma_table_list t, pragma_foreign_key_list(t.name) k WHERE t.schema = 'main' AND t.type = 'table'";
    let references: Vec<(String, String, String, String)> =
        sqlx::query_as(references).fetch_all(&mut *file).await.unwrap();
    for (table, column, other, key) in references {
        let loose =
            format!("{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {other} o WHERE o.{key} = {table}.{column})");
        let lead = format!("UPDATE OR IGNORE {table} SET {column} = (SELECT min({key}) FROM {other}) WHERE {loose}");
        file.execute(AssertSqlSafe(lead)).await.unwrap();
        file.execute(AssertSqlSafe(format!("DELETE FROM {table} WHERE {loose}"))).await.unwrap();
    }
}

async fn open(path: &Path) -> SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).foreign_keys(false);
    options.connect().await.unwrap()
}

/// All that stands in a file: of each value the type and the bytes.
async fn dump(path: &Path) -> Vec<String> {
    let mut file = open(path).await;
    let columns = "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            AND t.name <> '_sqlx_migrations'
        ORDER BY t.name, c.name";
    let columns: Vec<(String, String)> = sqlx::query_as(columns).fetch_all(&mut file).await.unwrap();
    let mut lines = Vec::new();
    for table in columns.chunk_by(|(one, _), (other, _)| one == other) {
        let values = table.iter().map(|(_, column)| format!("typeof(\"{column}\") || ' ' || hex(\"{column}\")"));
        let values = values.collect::<Vec<_>>().join(" || ', ' || ");
        let rows = format!("SELECT '{0}: ' || {values} FROM \"{0}\"", table[0].0);
        lines.extend(sqlx::query_scalar::<_, String>(AssertSqlSafe(rows)).fetch_all(&mut file).await.unwrap());
    }
    file.close().await.unwrap();
    lines.sort();
    lines
}

fn server(url: &str) -> StatePlace {
    StatePlace::Server(Secret::new(url.to_owned()))
}

fn there(folder: &TempDir, name: &str) -> StatePlace {
    StatePlace::File(folder.path().join(name))
}

/// What looks at rows that come in.
async fn guards(url: &str) -> String {
    let guards = "SELECT count(*) FILTER (WHERE contype = 'f') || ' references, ' ||
            (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O') || ' triggers' FROM pg_constraint";
    let mut connection = connect(url).await;
    let told = sqlx::query_scalar(guards).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn n15_a_state_goes_to_one_postgresql_and_back_whole() {
    let (cluster, folder) = (Cluster::shared(), tempfile::tempdir().unwrap());
    let url = cluster.database().await;
    let original = filled(folder.path()).await;
    let before = guards(&url).await;
    let report = copy(&(&original).into(), &server(&url), &|_, _| {}).await.unwrap();
    let mut all = dump(&original).await;
    assert_eq!(report.rows, all.len() as u64);
    assert_eq!(guards(&url).await, before, "all is on again");
    // It is a state like any other: a Hob opens it, and its next fact has the next number.
    let store = Store::open_url(&url).await.unwrap();
    let next = "INSERT INTO facts (scope, category, key, value, speaker, source, confidence, importance, created_at)
        VALUES ('h', 'c', 'k', 'v', 's', 'told', 1, 1, 1) RETURNING id::text";
    let number = store.write(async |tx| sql(tx, next).await).await.unwrap();
    assert_eq!(number, ["4712"]);
    store.write(async |tx| sql(tx, "DELETE FROM facts WHERE id = 4712").await).await.unwrap();
    store.close().await;
    let back = folder.path().join("back.db");
    assert_eq!(copy(&server(&url), &(&back).into(), &|_, _| {}).await.unwrap(), report);
    // A text's NUL became SUBSTITUTE on the way, and nothing else did.
    assert!(all.iter().any(|line| line.contains("41006461")));
    all.iter_mut().for_each(|line| *line = line.replace("41006461", "411A6461"));
    all.sort();
    assert_eq!(dump(&back).await, all);
    let mut files = [open(&original).await, open(&back).await];
    for index in ["facts_fts", "memories_fts"] {
        let indexed = format!("SELECT count(*) FROM {index} WHERE {index} MATCH 'dogs OR anna OR tea'");
        let mut found = Vec::new();
        for file in &mut files {
            found.push(sqlx::query_scalar::<_, i64>(AssertSqlSafe(indexed.clone())).fetch_one(file).await.unwrap());
        }
        assert!(found[0] > 0 && found[0] == found[1], "{index}: {found:?}");
    }
    let next = "SELECT seq FROM sqlite_sequence WHERE name = 'facts'";
    assert_eq!(sqlx::query_scalar::<_, i64>(next).fetch_one(&mut files[1]).await.unwrap(), 4_712);
}

#[tokio::test(flavor = "multi_thread")]
async fn n15_a_copy_to_one_postgresql_goes_on_where_it_was_cut_off() {
    let (cluster, folder) = (Cluster::shared(), tempfile::tempdir().unwrap());
    let (url, original) = (cluster.database().await, filled(folder.path()).await);
    let (from, to) = (StatePlace::from(&original), server(&url));
    let begun = Arc::new(Notify::new());
    let cut = Arc::clone(&begun);
    let told = move |done: u64, all: u64| {
        if done > all / 2 {
            cut.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = begun.notified() => {}
        done = copy(&from, &to, &told) => panic!("{done:?}"),
    }
    // Nobody takes the half of it for a state.
    let refused = until_let_go(&url).await;
    assert!(refused.contains("a copy of a state into it is not finished; `hob state copy` as before"), "{refused}");
    // The source goes on for a while, and changes what was copied.
    let mut file = open(&original).await;
    file.execute("UPDATE blobs SET text = 'changed'").await.unwrap();
    file.close().await.unwrap();
    let report = loop {
        match copy(&from, &to, &|_, _| {}).await {
            // The connection of who was cut off is not gone yet.
            Err(CopyError::Store(StoreError::Server { what, .. })) if what.contains("another copy") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            done => break done.unwrap(),
        }
    };
    assert_eq!(report.rows, dump(&original).await.len() as u64);
    let back = there(&folder, "back.db");
    assert_eq!(copy(&to, &back, &|_, _| {}).await.unwrap(), report);
    let texts = dump(&folder.path().join("back.db")).await.into_iter().filter(|line| line.starts_with("blobs: "));
    assert!(texts.clone().count() > 5 && texts.clone().all(|line| line.ends_with("text 6368616E676564")));
}

/// Why a Hob does not start there, once the connection of who was cut off is gone.
async fn until_let_go(url: &str) -> String {
    loop {
        match Store::open_url(url).await {
            Err(StoreError::Server { what, .. }) if what.contains("is being copied") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return error.to_string(),
            Ok(_) => panic!("it was opened"),
        }
    }
}

#[tokio::test]
async fn n15_nobody_works_with_one_postgresql_that_is_copied_and_none_is_copied_over() {
    let (cluster, folder) = (Cluster::shared(), tempfile::tempdir().unwrap());
    let (url, original) = (cluster.database().await, filled(folder.path()).await);
    let store = Store::open_url(&url).await.unwrap();
    for (from, to) in [((&original).into(), server(&url)), (server(&url), there(&folder, "back.db"))] {
        let error = copy(&from, &to, &|_, _| {}).await.unwrap_err().to_string();
        assert!(error.contains("a Hob works with it, or another copy is made; stop every Hob"), "{error}");
    }
    let user = "INSERT INTO users (name, role, created_at) VALUES ('Ada', 'owner', 1)";
    store.write(async |tx| sql(tx, user).await).await.unwrap();
    store.close().await;
    let occupied = copy(&(&original).into(), &server(&url), &|_, _| {}).await;
    assert!(matches!(occupied, Err(CopyError::Occupied(_))), "{occupied:?}");
    let occupied = copy(&server(&url), &(&original).into(), &|_, _| {}).await;
    assert!(matches!(occupied, Err(CopyError::Occupied(_))), "{occupied:?}");
    // As one that copies has it.
    let mut other = connect(&url).await;
    assert!(crate::postgres::use_alone(&mut other).await.is_ok());
    let error = Store::open_url(&url).await.err().unwrap().to_string();
    assert!(error.contains("its state is being copied"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn n15_a_backup_of_one_postgresql_is_a_file_like_any_other() {
    let (cluster, folder) = (Cluster::shared(), tempfile::tempdir().unwrap());
    let url = cluster.database().await;
    copy(&(&filled(folder.path()).await).into(), &server(&url), &|_, _| {}).await.unwrap();
    // A Hob works with it meanwhile.
    let store = Store::open_url(&url).await.unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let request = BackupRequest {
        data_dir: data.clone(),
        state: server(&url),
        config: None,
        to: folder.path().join("backups"),
        recipients: Recipients::default(),
        now: jiff::Timestamp::from_second(1).unwrap(),
        random: "0a1b2c3d".to_owned(),
        packed: Arc::default(),
    };
    let made = make::make(request, &CancellationToken::new()).await.unwrap();
    let archive = Archive { path: made.path, identities: Identities::default(), read: Arc::default() };
    let manifest = verify(&archive, folder.path()).await.unwrap();
    assert_eq!(manifest.schema, MIGRATIONS.iter().map(|migration| migration.version).max().unwrap());
    restore(&archive, &data, jiff::Timestamp::from_second(2).unwrap()).await.unwrap();
    store.close().await;
    let copied = folder.path().join("copied.db");
    copy(&server(&url), &(&copied).into(), &|_, _| {}).await.unwrap();
    assert_eq!(dump(&data.join("hob.db")).await, dump(&copied).await);
}
