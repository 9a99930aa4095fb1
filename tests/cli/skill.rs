//! `hob skill`, run as people run it: what it shows, installs, refuses, and that a running Hob goes by it.

use std::path::Path;
use std::process::Output;

use hob_testkit::process::{hob_command, within};
use hob_testkit::served::Served;
use tempfile::TempDir;

async fn ran(home: &Path, arguments: &[&str]) -> Output {
    let mut command = hob_command(home, &[&["skill"], arguments].concat());
    within("end of the command", command.output()).await.unwrap()
}

fn text(home: &TempDir, bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().replace(&home.path().display().to_string(), "HOME")
}

async fn skill(home: &TempDir, arguments: &[&str]) -> String {
    let output = ran(home.path(), arguments).await;
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(home, &output.stderr));
    text(home, &output.stdout)
}

async fn fails(home: &TempDir, arguments: &[&str]) -> String {
    let output = ran(home.path(), arguments).await;
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(home, &output.stdout));
    text(home, &output.stderr).trim_end().to_owned()
}

/// A home with a folder `tea`, which is a skill.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let tea = home.path().join("from/tea");
    std::fs::create_dir_all(tea.join("scripts")).unwrap();
    let text =
        "---\nname: tea\ndescription: Makes tea at five.\nallowed-tools: terminal\n---\n# Tea\n\nBoil\u{200b} water.\n";
    std::fs::write(tea.join("SKILL.md"), text).unwrap();
    std::fs::write(tea.join("scripts/boil.sh"), "#!/bin/sh\necho\n").unwrap();
    home
}

#[tokio::test]
async fn k4_a_skill_is_shown_installed_inert_enabled_trusted_and_removed() {
    let home = home();
    let added = skill(&home, &["add", "from/tea"]).await;
    insta::assert_snapshot!(added, @"
    tea: Makes tea at five.
    tools that it wants: terminal (that allows it nothing)
    files:
    - SKILL.md (96 bytes)
    - scripts/boil.sh (15 bytes, a program)
    WARNING, hidden in it:
    - SKILL.md:8: U+200B
    it begins:
      # Tea

      Boil� water.

    Installed, and inert: nothing of it is used yet. Read it, then
    hob skill enable tea   has Hob use it; a task that has read it asks before it changes anything
    hob skill trust tea    vouches for its words: then it need not ask
    hob skill remove tea   takes it away
    ");
    let state = async || {
        let list = skill(&home, &["list"]).await;
        list.lines().find(|line| line.starts_with("tea")).unwrap().to_owned()
    };
    assert_eq!(state().await, "tea (inert, not trusted): Makes tea at five.");
    skill(&home, &["enable", "tea"]).await;
    assert_eq!(state().await, "tea (enabled, not trusted): Makes tea at five.");
    assert_eq!(skill(&home, &["trust", "tea"]).await, "tea is trusted as it is now.\n");
    assert_eq!(state().await, "tea (enabled): Makes tea at five.");
    std::fs::write(home.path().join("data/skills/tea/scripts/boil.sh"), "rm -rf ~\n").unwrap();
    assert_eq!(state().await, "tea (inert: its files have changed, not trusted): Makes tea at five.");
    assert!(fails(&home, &["add", "from/tea"]).await.starts_with("hob: there is a skill tea already"));
    assert_eq!(skill(&home, &["remove", "tea"]).await, "tea is gone, with its files.\n");
    assert!(!home.path().join("data/skills/tea").exists());
    assert!(
        fails(&home, &["enable", "tea"]).await.starts_with("hob: there is no skill \"tea\"; there are: debug-command")
    );
    assert!(fails(&home, &["remove", "research"]).await.contains("comes with Hob"));
}

#[tokio::test]
async fn k4_what_is_no_skill_is_not_installed() {
    let home = home();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write("bad.md", "---\nname: Bad\ndescription: d\n---\nx\n");
    assert!(
        fails(&home, &["add", "bad.md"]).await.starts_with("hob: SKILL.md:2: the name \"Bad\" may have small letters")
    );
    write("taken.md", "---\nname: research\ndescription: d\n---\nx\n");
    assert!(fails(&home, &["add", "taken.md"]).await.starts_with("hob: there is a skill research already"));
    std::os::unix::fs::symlink("/etc/passwd", home.path().join("from/tea/out")).unwrap();
    assert!(fails(&home, &["add", "from/tea"]).await.starts_with("hob: out is a link"));
    assert!(fails(&home, &["add", "nowhere"]).await.starts_with("hob: nowhere cannot be read"));
    assert!(fails(&home, &["add", "http://a.example/x"]).await.contains("is not https"));
    assert!(fails(&home, &["draft"]).await.starts_with("hob: there is nothing to make a skill of"));
    let left: Vec<_> =
        std::fs::read_dir(home.path().join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.contains(&"skills".into()), "{left:?}");
}

#[tokio::test]
async fn k4_a_skill_comes_over_the_network_within_bounds() {
    use axum::Router;
    use axum::response::Redirect;
    use axum::routing::get;

    const SKILL: &str = "---\nname: coffee\ndescription: Makes coffee.\n---\nGrind.\n";
    let app = Router::new()
        .route("/SKILL.md", get(async || SKILL))
        .route("/moved", get(async || Redirect::temporary("/SKILL.md")))
        .route("/round", get(async || Redirect::temporary("/round")))
        .route("/page", get(async || "  <!DOCTYPE html><html></html>"))
        .route("/large", get(async || vec![b'x'; 17 << 20]));
    let server = Served::start(app).await;
    let at = server.root();
    let home = home();
    for (path, why) in [
        ("page", "is a web page"),
        ("large", "is longer than 16 MiB"),
        ("round", "redirects too often"),
        ("nowhere", "answers 404"),
    ] {
        let told = fails(&home, &["add", &format!("{at}/{path}")]).await;
        assert!(told.contains(why), "{path}: {told}");
    }
    let added = skill(&home, &["add", &format!("{at}/moved")]).await;
    assert!(added.starts_with("coffee: Makes coffee.\n") && added.contains("Installed, and inert"), "{added}");
}
