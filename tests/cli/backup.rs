//! `hob backup` and `hob restore`, run as people run them, beside a Hob at work and after it.

use std::path::{Path, PathBuf};
use std::process::Output;

use hob_store::Store;
use hob_testkit::fake_model::Reply;
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::{ADA, BOB, OWNER, TestHob};

async fn ran(home: &Path, arguments: &[&str]) -> Output {
    within("end of the command", hob_command(home, arguments).output()).await.unwrap()
}

async fn works(home: &Path, arguments: &[&str]) -> String {
    let output = ran(home, arguments).await;
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "gz" || extension == "age"));
    found.sort();
    found
}

/// A drill: while people talk, a backup is made; the machine is lost; a new one goes on from it.
#[tokio::test]
async fn n12_a_household_goes_on_from_its_backup() {
    let mut hob = TestHob::new().await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().lines().last().unwrap())));
    hob.start().await;
    hob.say(ADA, "the bins go out on Tuesday");
    hob.told(ADA, 1).await;
    hob.telegram.hand(ADA, "list.txt", b"milk", "keep this");
    hob.told(ADA, 2).await;
    let folder = hob.path("elsewhere");
    let talk = async {
        for number in 0..20 {
            hob.say(ADA, &format!("number {number}"));
        }
    };
    let place = folder.display().to_string();
    let arguments = ["backup", place.as_str()];
    let (made, ()) = tokio::join!(works(hob.home.path(), &arguments), talk);
    assert!(made.contains(" files, ") && made.ends_with(" kB, checked\n"), "{made}");
    hob.acknowledged().await;
    let archive = archives(&folder).pop().unwrap();
    let name = archive.display().to_string();
    let refused = ran(hob.home.path(), &["restore", &name]).await;
    assert!(text(&refused.stderr).contains("another Hob"), "{}", text(&refused.stderr));
    assert!(works(hob.home.path(), &["restore", "--verify", &name]).await.contains(": whole. "));
    hob.crash().await;
    std::fs::rename(hob.path("data"), hob.path("lost")).unwrap();
    let told = works(hob.home.path(), &["restore", &name]).await;
    assert!(told.starts_with("Restored to ") && told.contains("config.restored.toml"), "{told}");
    let config = std::fs::read_to_string(hob.path("data/config.restored.toml")).unwrap();
    assert!(config.contains("[redacted]") && !config.contains("sk-test"), "{config}");
    let before = hob.heard(ADA).len();
    hob.start().await;
    // What was queued at the moment of the backup is answered; what came later is not known any more.
    assert!(works(hob.home.path(), &["memory", "search", "bins"]).await.contains("go out on Tuesday"));
    hob.say(ADA, "are you there?");
    hob.telegram
        .until("an answer", |world| {
            world.chat(ADA).by_bot().skip(before).find(|message| message.text.contains("are you there?")).map(|_| ())
        })
        .await;
    assert!(hob.path("data/files").read_dir().unwrap().next().is_some(), "the file came back");
}

#[tokio::test]
async fn n12_what_cannot_be_a_backup_says_so() {
    let hob = TestHob::new().await;
    let file = hob.path("notes.tar.gz");
    std::fs::write(&file, "notes").unwrap();
    let name = file.display().to_string();
    for arguments in [vec!["restore", &name], vec!["restore", "--verify", &name]] {
        let output = ran(hob.home.path(), &arguments).await;
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains("notes.tar.gz cannot be used: "), "{said}");
    }
    let none = ran(hob.home.path(), &["backup"]).await;
    assert!(text(&none.stderr).contains("there is no database at "), "{}", text(&none.stderr));
}

#[tokio::test]
async fn n12_backups_are_made_by_themselves_and_thinned() {
    let mut hob = TestHob::with("[backup]\nevery_hours = 1\nkeep = 2\ndir = '$HOME/backups'").await;
    let folder = hob.path("backups");
    std::fs::create_dir(&folder).unwrap();
    for hour in ["01", "02", "03"] {
        std::fs::write(folder.join(format!("hob-2026-01-01T{hour}0000Z.tar.gz")), "").unwrap();
    }
    // What one left that was killed in the midst of a backup.
    let killed = folder.join(".hob-backup-killed");
    std::fs::create_dir(&killed).unwrap();
    std::fs::write(killed.join("hob.db"), "everything").unwrap();
    std::fs::write(killed.join(".lock"), "").unwrap();
    hob.start().await;
    hob.process().until_log("backup.thinned").await;
    assert!(!killed.exists());
    let left = archives(&folder);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].ends_with("hob-2026-01-01T030000Z.tar.gz"), "{left:?}");
    assert!(works(hob.home.path(), &["restore", "--verify", &left[1].display().to_string()]).await.contains("whole"));
    // The next one is due in an hour, also after a restart.
    hob.restart().await;
    hob.say(ADA, "/status");
    hob.told(ADA, 1).await;
    assert_eq!(archives(&folder), left);
    // Where another Hob's lie as well, what does not say whose it is may be that one's.
    let other = folder.join("hob-2026-01-01T000000Z-0a1b2c3d.tar.gz");
    std::fs::write(&other, "").unwrap();
    let place = folder.display().to_string();
    assert!(works(hob.home.path(), &["backup", &place, "--keep", "1"]).await.ends_with("\n1 older archives deleted\n"));
    assert!(other.exists() && left[0].exists() && !left[1].exists());
}

/// A key pair, as `age-keygen` writes it: the public half, and the file with the secret one.
fn key(hob: &TestHob) -> (String, String) {
    let identity = age::x25519::Identity::generate();
    let secret = secrecy::ExposeSecret::expose_secret(&identity.to_string()).to_owned();
    std::fs::write(hob.path("key.txt"), format!("# created: today\n{secret}\n")).unwrap();
    (identity.to_public().to_string(), hob.path("key.txt").display().to_string())
}

/// What must be nothing in a database of one moment.
const WRONG: [(&str, &str); 6] = [
    (
        "messages without their runs",
        "SELECT count(*) FROM inbound i WHERE disposition = 'run' AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.inbound_id = i.id)",
    ),
    (
        "runs without a journal",
        "SELECT count(*) FROM runs r WHERE NOT EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.id AND e.seq = 1)",
    ),
    (
        "runs that are over and whose journal is not",
        "SELECT count(*) FROM runs r WHERE state = 'completed' AND NOT EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.id AND e.kind = 'run.ended')",
    ),
    (
        "ends without a reply to be delivered",
        "SELECT count(*) FROM runs r WHERE state = 'completed' AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = r.id)",
    ),
    (
        "replies of runs that are not over",
        "SELECT count(*) FROM outbox o JOIN runs r ON r.id = o.run_id WHERE r.state = 'queued'",
    ),
    ("rows that refer to nothing", "SELECT count(*) FROM pragma_foreign_key_check"),
];

/// A drill under load: while three people talk without a pause, an encrypted backup is made, restored elsewhere, and held to be of
/// one moment that is not before the backup was asked for.
#[tokio::test]
async fn n12_a_backup_under_load_is_of_one_moment() {
    let mut hob = TestHob::new().await;
    hob.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().lines().last().unwrap())));
    let (public, secret) = key(&hob);
    hob.start().await;
    for person in [ADA, BOB, OWNER] {
        hob.say(person, "before the backup");
    }
    for person in [ADA, BOB, OWNER] {
        hob.told(person, 1).await;
    }
    hob.recorded(3).await;
    let place = hob.path("elsewhere").display().to_string();
    let talk = async |person| {
        for number in 2..40 {
            hob.say(person, &format!("{person} says {number}"));
            hob.telegram.until_sent(person, number).await;
        }
    };
    let arguments = ["backup", place.as_str(), "--recipient", public.as_str()];
    let made = async {
        // Not before they are in the midst of it.
        hob.telegram.until_sent(ADA, 5).await;
        works(hob.home.path(), &arguments).await
    };
    let (made, ..) = tokio::join!(made, talk(ADA), talk(BOB), talk(OWNER));
    assert!(made.ends_with(", checked, encrypted\n"), "{made}");
    let archive = archives(Path::new(&place)).pop().unwrap().display().to_string();
    let closed = ran(hob.home.path(), &["restore", "--verify", &archive]).await;
    assert!(text(&closed.stderr).contains("is encrypted: name the file with the secret key by --identity"));
    let whole = works(hob.home.path(), &["restore", "--verify", &archive, "--identity", &secret]).await;
    assert!(whole.contains(": whole. "), "{whole}");
    // Elsewhere: another home with the same config.
    let other = tempfile::tempdir().unwrap();
    std::fs::copy(hob.path("config.toml"), other.path().join("config.toml")).unwrap();
    works(other.path(), &["restore", &archive, "--identity", &secret]).await;
    let mut database = Store::raw(&other.path().join("data/hob.db")).await.unwrap();
    for (what, sql) in WRONG {
        let count: i64 = sqlx::query_scalar(sql).fetch_one(&mut database).await.unwrap();
        assert_eq!(count, 0, "{what}");
    }
    let runs: Vec<(i64, String, String)> =
        sqlx::query_as("SELECT r.id, r.state, i.text FROM runs r JOIN inbound i ON i.id = r.inbound_id ORDER BY r.id")
            .fetch_all(&mut database)
            .await
            .unwrap();
    database.close().await.unwrap();
    // What was answered before the backup was begun is in it, answered.
    let before = |(_, state, text): &&(i64, String, String)| text == "before the backup" && state == "completed";
    assert_eq!(runs.iter().filter(before).count(), 3);
    assert!(runs.iter().any(|(_, _, text)| text == &format!("{ADA} says 5")), "{runs:?}");
    for (run, state, _) in runs.iter().filter(|(_, state, _)| state == "completed") {
        let told = works(other.path(), &["replay", &run.to_string(), "--verify"]).await;
        assert!(!told.is_empty(), "{run} {state}");
    }
    assert!(hob.stop().await.success());
}

#[tokio::test]
async fn n12_a_backup_that_fails_is_told_and_one_that_works_mends_it() {
    let mut hob = TestHob::with("[backup]\nevery_hours = 1\ndir = '$HOME/backups'").await;
    // Nobody can write below a file.
    std::fs::write(hob.path("backups"), "").unwrap();
    hob.start().await;
    hob.process().until_log("backup.failed").await;
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 1).await.remove(0);
    assert!(status.contains("degraded") && status.contains("backup: no backup could be made ("), "{status}");
    assert!(status.contains("there is none at all; see to it; `hob backup` tries it at once"), "{status}");
    std::fs::remove_file(hob.path("backups")).unwrap();
    assert!(hob.stop().await.success());
    hob.start().await;
    hob.process().until_log("backup.made").await;
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, 2).await.remove(1);
    assert!(!status.contains("no backup could be made"), "{status}");
}
