//! What a command that fails says: what is wrong, and what to do about it.

use std::path::Path;

use hob_testkit::process::{hob, within};

/// What it says, and its exit code.
async fn fails(home: &Path, arguments: &[&str]) -> String {
    let output = within("end of the command", hob(home, arguments).output()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap().replace(&home.display().to_string(), "HOME");
    format!("{said}exit code {}", output.status.code().unwrap())
}

#[tokio::test]
async fn a_command_that_fails_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "[provider]\nkind = 'offline'\n").unwrap();
    std::fs::write(home.join("file"), "").unwrap();
    insta::assert_snapshot!(fails(home, &["run", "--config", "/nonexist"]).await, @"");
    insta::assert_snapshot!(fails(home, &["run", "--config", "file/x"]).await, @"");
    insta::assert_snapshot!(fails(home, &["mcp", "test", "nope"]).await, @"");
    insta::assert_snapshot!(fails(home, &["mail", "login", "nope"]).await, @"");
    insta::assert_snapshot!(fails(home, &["runs"]).await, @"");
    insta::assert_snapshot!(fails(home, &["replay", "7"]).await, @"");
    insta::assert_snapshot!(fails(home, &["memory", "list"]).await, @"");
    insta::assert_snapshot!(fails(home, &["memory", "import", "nothing.jsonl"]).await, @"");
    insta::assert_snapshot!(fails(home, &["backup"]).await, @"");
    insta::assert_snapshot!(fails(home, &["restore", "nothing.tar.gz"]).await, @"");
    insta::assert_snapshot!(fails(home, &["restore", "file"]).await, @"");
    insta::assert_snapshot!(fails(home, &["web"]).await, @"");
    insta::assert_snapshot!(fails(home, &["undo"]).await, @"");
    insta::assert_snapshot!(fails(home, &["health"]).await, @"");
    insta::assert_snapshot!(fails(home, &["skill", "add", "nothing"]).await, @"");
    insta::assert_snapshot!(fails(home, &["skill", "enable", "nope"]).await, @"");
    insta::assert_snapshot!(fails(home, &["import", "hermes"]).await, @"");
    insta::assert_snapshot!(fails(home, &["help", "nope"]).await, @"");
    insta::assert_snapshot!(fails(home, &["config", "set", "agent.nope", "1"]).await, @"");
    insta::assert_snapshot!(fails(home, &["config", "rollback", "3"]).await, @"");
    insta::assert_snapshot!(fails(home, &["eval", "nothing.toml"]).await, @"");
    insta::assert_snapshot!(fails(home, &["models", "test", "nope"]).await, @"");
    insta::assert_snapshot!(fails(home, &["schedule", "next", "every blue moon"]).await, @"");
    insta::assert_snapshot!(fails(home, &["init"]).await, @"");
}
