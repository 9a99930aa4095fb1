//! A migration that is cut off leaves the schema of before, and is begun again at the next start: whoever looks meanwhile
//! finds that schema, or a database in which nothing was ever stored.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sqlx::migrate::Migrator;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use crate::bystander_reader::Reader;
use crate::database::migrate;
use crate::error::StoreError;
use crate::{MIGRATIONS, SchedulingMode, Store, options, snapshot};

/// SQLite asks the test so often whether it may go on.
const EVERY_OPERATIONS: i32 = 20;

/// A database of this schema with somebody in it, as a file that nobody has open.
async fn of_schema(folder: &Path, schema: i64) -> PathBuf {
    let path = folder.join(format!("of-{schema}.db"));
    let migrations = folder.join(format!("to-{schema}"));
    std::fs::create_dir(&migrations).unwrap();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations")).unwrap() {
        let from = entry.unwrap().path();
        let name = from.file_name().unwrap().to_str().unwrap().to_owned();
        if name.split('_').next().unwrap().parse::<i64>().is_ok_and(|version| version <= schema) {
            std::fs::copy(&from, migrations.join(name)).unwrap();
        }
    }
    let mut database = options(&path).connect().await.unwrap();
    if schema > 0 {
        Migrator::new(migrations).await.unwrap().run(&mut database).await.unwrap();
        for row in [
            "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'guest', 0)",
            "INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '7', 'telegram', 0)",
            "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
               disposition, sent_at, received_at) VALUES (1, 1, 1, 'telegram', 'default', '7', 'm', 'hi', 0, 'run', 0, 0)",
            "INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at, ended_at)
               VALUES (1, 1, 1, 1, 'completed', 0, 1)",
            "INSERT INTO run_events (run_id, seq, kind, version, body, at) VALUES (1, 1, 'run.begun', 1, 'no json', 0)",
            "INSERT INTO messages (id, session_id, ordinal, run_id, role, user_id, body, text, at)
               VALUES (1, 1, 1, 1, 'user', 1, '{}', 'hi', 0)",
        ] {
            sqlx::query(row).execute(&mut database).await.unwrap();
        }
    }
    database.close().await.unwrap();
    path
}

/// Migrates until SQLite has asked `asks` times; gives whether it was cut off, and how often it asked.
async fn cut_off(path: &Path, asks: i64) -> (bool, i64) {
    let mut connection: SqliteConnection = options(path).connect().await.unwrap();
    let asked = Arc::new(AtomicI64::new(0));
    let count = Arc::clone(&asked);
    let go_on = move || count.fetch_add(1, Ordering::Relaxed) < asks;
    connection.lock_handle().await.unwrap().set_progress_handler(EVERY_OPERATIONS, go_on);
    let cut = migrate(&mut connection, path).await.is_err();
    // As when a process dies: nobody rolls anything back.
    connection.close_hard().await.unwrap();
    (cut, asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn n12_a_migration_cut_off_anywhere_is_begun_again() {
    let shared = Path::new("/dev/shm");
    let home = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() }.unwrap();
    let versions: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    let newest = *versions.last().unwrap();
    let mut cuts = 0;
    // With nothing, and from each edition before this one.
    for before in [0].into_iter().chain(versions.iter().copied().filter(|version| *version < newest)) {
        let template = of_schema(home.path(), before).await;
        let fresh = |name: &str| {
            let folder = home.path().join(format!("{before}-{name}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::copy(&template, folder.join("hob.db")).unwrap();
            folder.join("hob.db")
        };
        let (cut, asks) = cut_off(&fresh("whole"), i64::MAX).await;
        assert!(!cut && asks > 2, "{before}: {asks}");
        // Evenly over all that is done from here on; the last of it as well.
        let at = (0..20).map(|place| asks * place / 20).chain([asks - 2, asks - 1]);
        for (number, at) in at.enumerate() {
            let path = fresh(&number.to_string());
            let (cut, _) = cut_off(&path, at).await;
            cuts += i32::from(cut);
            let looked = Reader::open(&path).await.map(drop);
            match (looked, before) {
                (Ok(()), _) | (Err(StoreError::Missing(_)), 0) => {}
                (Err(StoreError::Older { found, .. }), 1..) if found == before => {}
                (looked, _) => panic!("{before}, cut off at {at} of {asks}: {looked:?}"),
            }
            Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
            let checked = snapshot::check(&path).await;
            assert_eq!(checked.unwrap().schema, newest, "{before}, cut off at {at} of {asks}");
            let mut database = options(&path).read_only(true).connect().await.unwrap();
            let words: Vec<String> =
                sqlx::query_scalar("SELECT text FROM messages").fetch_all(&mut database).await.unwrap();
            assert_eq!(words.len(), usize::from(before > 0));
            database.close().await.unwrap();
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
    }
    assert!(cuts > 10 * i32::try_from(versions.len()).unwrap(), "{cuts} cuts");
}
