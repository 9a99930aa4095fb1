use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::{SchedulingMode, Store, options, snapshot};

/// A database as an earlier Hob left it, with a person in it.
async fn of_schema(path: &Path, schema: i64) {
    let migrations = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.split('_').next().unwrap().parse::<i64>().is_ok_and(|version| version <= schema) {
            std::fs::copy(&path, migrations.path().join(name)).unwrap();
        }
    }
    let mut database = options(path).connect().await.unwrap();
    Migrator::new(migrations.path()).await.unwrap().run(&mut database).await.unwrap();
    let ada = "INSERT INTO users (name, role, created_at) VALUES ('Ada', 'user', 0)";
    sqlx::query(ada).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
}

async fn people(path: &Path) -> i64 {
    let mut database = options(path).read_only(true).immutable(true).connect().await.unwrap();
    let people = sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&mut database).await.unwrap();
    database.close().await.unwrap();
    people
}

async fn open(path: &Path) {
    Store::open(path, SchedulingMode::Threaded).await.unwrap().close().await;
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn n12_before_a_migration_the_database_is_copied() {
    let home = tempfile::tempdir().unwrap();
    let (database, snapshots) = (home.path().join("hob.db"), home.path().join("snapshots"));
    of_schema(&database, 1).await;
    // What a process left that was cut off while it copied.
    std::fs::create_dir(&snapshots).unwrap();
    std::fs::write(snapshots.join("hob.part"), "half").unwrap();
    open(&database).await;
    let copy = snapshots.join("hob-schema-1.db");
    assert_eq!(names(&snapshots), ["hob-schema-1.db"]);
    assert_eq!(snapshot::check(&copy).await.unwrap().schema, 1);
    assert_eq!(people(&copy).await, 1);
    let made = std::fs::metadata(&copy).unwrap().modified().unwrap();
    open(&database).await;
    assert_eq!(std::fs::metadata(&copy).unwrap().modified().unwrap(), made, "nothing is to be migrated any more");
}

#[tokio::test]
async fn n12_a_new_database_needs_no_copy_and_old_copies_go() {
    let home = tempfile::tempdir().unwrap();
    let (database, snapshots) = (home.path().join("hob.db"), home.path().join("snapshots"));
    open(&database).await;
    assert_eq!(names(&snapshots), Vec::<String>::new());
    std::fs::remove_file(&database).unwrap();
    of_schema(&database, 1).await;
    std::fs::create_dir(&snapshots).unwrap();
    for schema in [2, 3, 10] {
        std::fs::write(snapshots.join(format!("hob-schema-{schema}.db")), "from before a way back").unwrap();
    }
    open(&database).await;
    assert_eq!(names(&snapshots), ["hob-schema-1.db", "hob-schema-10.db", "hob-schema-3.db"]);
}

#[tokio::test]
async fn n12_without_room_for_the_copy_nothing_is_migrated() {
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("hob.db");
    of_schema(&database, 1).await;
    std::fs::write(home.path().join("snapshots"), "no folder").unwrap();
    let error = Store::open(&database, SchedulingMode::Threaded).await.err().unwrap().to_string();
    assert!(error.starts_with("the database could not be copied"), "{error}");
    std::fs::remove_file(home.path().join("snapshots")).unwrap();
    assert_eq!(snapshot::check(&database).await.unwrap().schema, 1);
    open(&database).await;
}
