//! What a process does about its database and its disk beside everything else (rows N9, N12).

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::Path;

use hob_store::Store;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{binary, hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};

/// More than any machine has: every disk is low.
const LOW: &str = "[upkeep]\ndisk_low_mb = 1000000\n";

#[tokio::test]
async fn n9_with_a_low_disk_messages_are_answered_and_big_work_is_refused() {
    let mut hob = TestHob::with(&format!("{LOW}[backup]\nevery_hours = 1\ndir = '$HOME/backups'")).await;
    hob.model.otherwise(|_| Reply::text("Here you are."));
    hob.start().await;
    hob.process().until_log("upkeep.disk_low").await;
    hob.process().until_log("backup.failed: the disk is nearly full: backups wait until there is space").await;
    hob.say(ADA, "Hello");
    assert_eq!(hob.told(ADA, 1).await, ["Here you are."]);
    hob.telegram.hand(ADA, "large.txt", &vec![b'x'; (1 << 20) + 1], "keep this");
    hob.telegram.hand(ADA, "small.txt", b"milk", "and this");
    hob.told(ADA, 3).await;
    let asked: Vec<String> = hob.model.requests().iter().map(|asked| asked.last_user().to_owned()).collect();
    let refused = asked.iter().find(|text| text.contains("large.txt")).unwrap();
    assert!(refused.contains("did not come along") && refused.contains("the disk is nearly full"), "{refused}");
    assert!(!asked.iter().any(|text| text.contains("small.txt") && text.contains("did not come along")), "{asked:#?}");
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.remove(0);
    assert!(status.contains("disk: less than 1000000 MB are free on the disk of "), "{status}");
    // What told of it is over with the cause.
    hob.configure("");
    assert!(hob.stop().await.success());
    hob.start().await;
    hob.say(OWNER, "/status");
    assert!(!hob.told(OWNER, 2).await[1].contains("disk: "));
    hob.nothing_refused();
}

/// The disk is really full: every write of the process fails with ENOSPC until it is not.
#[tokio::test]
async fn n9_a_full_disk_is_told_and_what_came_is_answered_when_there_is_room() {
    let mut hob = TestHob::new().await;
    hob.model.otherwise(|_| Reply::text("Here you are."));
    hob.start().await;
    hob.say(ADA, "Hello");
    hob.told(ADA, 1).await;
    let pid = hob.process().pid().to_string();
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC", "-p", &pid]);
    let mut tracer = command.stderr(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut said = BufReader::new(tracer.stderr.take().unwrap()).lines();
    let line = within("word from strace", said.next_line()).await.unwrap().unwrap();
    assert!(line.contains("attached"), "strace: {line}");
    tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
    hob.say(ADA, "Are you there?");
    hob.process().until_log("upkeep.disk_low: a write failed for want of room").await;
    assert!(hob.telegram.look(|world| !world.updates.is_empty()), "acknowledged, and not stored");
    kill_process(Pid::from_raw(i32::try_from(tracer.id().unwrap()).unwrap()).unwrap(), Signal::TERM).unwrap();
    within("end of strace", tracer.wait()).await.unwrap();
    assert_eq!(hob.told(ADA, 2).await[1], "Here you are.");
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.remove(0);
    assert!(status.contains("disk: a write failed for want of room on the disk of "), "{status}");
}

/// A database as an older Hob left it, with somebody's words in it.
async fn of_then(path: &Path) {
    let migrations = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir("migrations").unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if name.to_str().unwrap()[..4] <= *"0001" {
            std::fs::copy(path, migrations.path().join(name)).unwrap();
        }
    }
    let mut database = SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    Migrator::new(migrations.path()).await.unwrap().run(&mut database).await.unwrap();
    let user = format!(
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0);
         INSERT INTO identities (channel, account, external_id, user_id) VALUES ('telegram', 'default', '{ADA}', 1);"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(user)).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
}

/// SIGKILL at the n-th write to any file while the database is copied, migrated and brought into shape.
#[tokio::test]
async fn n12_a_start_that_is_killed_while_it_migrates_is_made_good_by_the_next() {
    let mut hob = TestHob::new().await;
    hob.model.otherwise(|_| Reply::text("Here you are."));
    let mut heard = 0;
    for write in [1, 40, 120, 250, 400] {
        let data = hob.path("data");
        if data.exists() {
            std::fs::remove_dir_all(&data).unwrap();
        }
        std::fs::create_dir(&data).unwrap();
        of_then(&data.join("hob.db")).await;
        let plain = hob_command(hob.home.path(), &["run"]);
        let mut command = Command::new("strace");
        let kill = format!("inject=pwrite64:signal=KILL:when={write}");
        command.args(["-f", "-o", "/dev/null", "-e", "trace=pwrite64", "-e", &kill]).arg(binary()).arg("run");
        command.env_clear().envs(plain.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(hob.home.path()).kill_on_drop(true);
        let ended = within("its death", command.spawn().unwrap().wait()).await.unwrap();
        assert!(!ended.success(), "it was not killed at write {write}");
        hob.start().await;
        hob.say(ADA, "Hello");
        heard += 1;
        assert_eq!(hob.told(ADA, heard).await.pop().unwrap(), "Here you are.");
        assert!(hob.stop().await.success());
        let mut database = Store::raw(&data.join("hob.db")).await.unwrap();
        let whole: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut database).await.unwrap();
        let form: i64 = sqlx::query_scalar("PRAGMA auto_vacuum").fetch_one(&mut database).await.unwrap();
        let people: i64 =
            sqlx::query_scalar("SELECT count(*) FROM identities JOIN users ON users.id = user_id WHERE user_id = 1")
                .fetch_one(&mut database)
                .await
                .unwrap();
        assert_eq!((whole.as_str(), form, people), ("ok", 2, 1), "killed at write {write}");
        database.close().await.unwrap();
    }
}
