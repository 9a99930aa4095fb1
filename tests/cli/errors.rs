//! What a command that fails says: what is wrong, and what to do about it.

use std::path::Path;

use hob_testkit::process::{hob_command, within};

/// What it says, and its exit code.
async fn fails(home: &Path, arguments: &[&str]) -> String {
    let output = within("end of the command", hob_command(home, arguments).output()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap().replace(&home.display().to_string(), "HOME");
    format!("{said}exit code {}", output.status.code().unwrap())
}

#[tokio::test]
async fn a_command_that_fails_says_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "[provider]\nkind = 'offline'\n").unwrap();
    let table: [(&[&str], &str); 8] = [
        (&["run", "--config", "/nonexist"], "--config names it\nnext: name a file that is there; `hob init` makes one"),
        (
            &["mcp", "test", "nope"],
            "there is no [mcp.nope] in the config, and no other: add one, `hob help mcp` says how",
        ),
        (
            &["mail", "login", "nope"],
            "there is no [mail.nope] in the config, and no other: add one, `hob help mail` says",
        ),
        (&["replay", "7"], "\nnext: `hob run` starts Hob"),
        (&["restore", "nothing.tar.gz"], "there is no nothing.tar.gz: backups lie in `backups`"),
        (&["import", "hermes"], "hermes has no folder at its usual place: `hob import hermes FOLDER`"),
        (&["help", "nope"], "there is no topic and no command \"nope\": `hob help` lists them"),
        (&["status"], "database: none yet; `hob init` sets Hob up"),
    ];
    for (arguments, expected) in table {
        let said = fails(home, arguments).await;
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
