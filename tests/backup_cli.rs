//! `hob backup` and `hob restore`, run as people run them, beside a Hob at work and after it.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use support::fake_model::Reply;
use support::house::{ADA, House};
use support::process::{hob, within};

async fn ran(home: &Path, arguments: &[&str]) -> Output {
    within("end of the command", hob(home, arguments).output()).await.unwrap()
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
    found.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    found.sort();
    found
}

/// A drill: while people talk, a backup is made; the machine is lost; a new one goes on from it.
#[tokio::test]
async fn n12_a_household_goes_on_from_its_backup() {
    let mut house = House::new().await;
    house.model.otherwise(|asked| Reply::text(&format!("You said {}", asked.last_user().lines().last().unwrap())));
    house.start().await;
    house.say(ADA, "the bins go out on Tuesday");
    house.told(ADA, 1).await;
    house.telegram.hand(ADA, ("list.txt", b"milk"), "keep this");
    house.told(ADA, 2).await;
    let folder = house.path("elsewhere");
    let talk = async {
        for number in 0..20 {
            house.say(ADA, &format!("number {number}"));
        }
    };
    let place = folder.display().to_string();
    let arguments = ["backup", place.as_str()];
    let (made, ()) = tokio::join!(works(house.home.path(), &arguments), talk);
    assert!(made.contains(" files, ") && made.ends_with(" bytes, checked\n"), "{made}");
    house.acknowledged().await;
    let archive = archives(&folder).pop().unwrap();
    let name = archive.display().to_string();
    let refused = ran(house.home.path(), &["restore", &name]).await;
    assert!(text(&refused.stderr).contains("another Hob"), "{}", text(&refused.stderr));
    assert!(works(house.home.path(), &["restore", "--verify", &name]).await.contains(": whole. "));
    house.crash().await;
    std::fs::rename(house.path("data"), house.path("lost")).unwrap();
    let told = works(house.home.path(), &["restore", &name]).await;
    assert!(told.starts_with("Restored to ") && told.contains("config.restored.toml"), "{told}");
    let config = std::fs::read_to_string(house.path("data/config.restored.toml")).unwrap();
    assert!(config.contains("[redacted]") && !config.contains("sk-test"), "{config}");
    let before = house.heard(ADA).len();
    house.start().await;
    // What was queued at the moment of the backup is answered; what came later is not known any more.
    assert!(works(house.home.path(), &["memory", "search", "bins"]).await.contains("go out on Tuesday"));
    house.say(ADA, "are you there?");
    house
        .telegram
        .until("an answer", |world| {
            world.chat(ADA).by_bot().skip(before).find(|message| message.text.contains("are you there?")).map(|_| ())
        })
        .await;
    assert!(house.path("data/files").read_dir().unwrap().next().is_some(), "the file came back");
}

#[tokio::test]
async fn n12_what_cannot_be_a_backup_says_so() {
    let house = House::new().await;
    let file = house.path("notes.tar.gz");
    std::fs::write(&file, "notes").unwrap();
    let name = file.display().to_string();
    for arguments in [vec!["restore", &name], vec!["restore", "--verify", &name]] {
        let output = ran(house.home.path(), &arguments).await;
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.contains("notes.tar.gz cannot be used: "), "{said}");
    }
    let none = ran(house.home.path(), &["backup"]).await;
    assert!(text(&none.stderr).contains("there is no database at "), "{}", text(&none.stderr));
}

#[tokio::test]
async fn n12_backups_are_made_by_themselves_and_thinned() {
    let mut house = House::with("[backup]\nevery_hours = 1\nkeep = 2\ndir = '$HOME/backups'").await;
    let folder = house.path("backups");
    std::fs::create_dir(&folder).unwrap();
    for hour in ["01", "02", "03"] {
        std::fs::write(folder.join(format!("hob-2026-01-01T{hour}0000Z.tar.gz")), "").unwrap();
    }
    house.start().await;
    house.hob().until_log("backup.thinned").await;
    let left = archives(&folder);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].ends_with("hob-2026-01-01T030000Z.tar.gz"), "{left:?}");
    assert!(works(house.home.path(), &["restore", "--verify", &left[1].display().to_string()]).await.contains("whole"));
    // The next one is due in an hour, also after a restart.
    house.restart().await;
    house.say(ADA, "/status");
    house.told(ADA, 1).await;
    assert_eq!(archives(&folder), left);
}
