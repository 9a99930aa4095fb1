//! What keeps Hob from starting is said in words, on standard error, with an exit code that tells systemd whether to try again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hob_store::Store;
use tokio::process::Command;

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{HobProcess, hob_command};
use hob_testkit::test_hob::{ADA, TestHob};

/// The exit code and the last words of a Hob that does not start.
async fn refused(command: Command) -> (Option<i32>, String) {
    let mut process = HobProcess::start(command);
    let status = process.ended().await;
    let log = process.log();
    let last = log.lines().skip_while(|line| !line.starts_with("hob: ")).collect::<Vec<_>>().join("\n");
    (status.code(), last)
}

#[tokio::test]
async fn a_second_hob_is_told_the_pid_of_the_first() {
    let mut hob = TestHob::running("").await;
    let pid = hob.process().pid();
    let (code, said) = refused(hob_command(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(75));
    assert!(said.contains(&format!("another Hob (pid {pid}) is using ")), "{said}");
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
}

#[tokio::test]
async fn k3_a_database_from_a_newer_hob() {
    let mut hob = TestHob::running("").await;
    assert!(hob.stop().await.success());
    let mut database = Store::raw(&hob.path("data/hob.db")).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (999, 'from the future', 1, x'00', 0)";
    sqlx::query(newer).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let before = std::fs::read(hob.path("data/hob.db")).unwrap();
    let (code, said) = refused(hob_command(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(65));
    insta::assert_snapshot!(said, @"hob: the database was made by a newer Hob (schema 999, this one knows 47): start that one, or restore a backup");
    assert!(std::fs::read(hob.path("data/hob.db")).unwrap() == before, "it was left alone");
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let hob = TestHob::new().await;
    std::fs::create_dir(hob.path("data")).unwrap();
    std::fs::write(hob.path("data/hob.db"), "this is not a database, whatever its name says\n".repeat(40)).unwrap();
    let (code, said) = refused(hob_command(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(65));
    insta::assert_snapshot!(said, @"hob: the database cannot be read: error returned from database: (code: 26) file is not a database; restore a backup, or move the file away to begin afresh");
}

#[tokio::test]
async fn a_broken_config() {
    let hob = TestHob::new().await;
    let config = "[telegram]\nbot_tokn = 'x'\n[provider]\nkind = 'openai_compatible'\n";
    std::fs::write(hob.path("config.toml"), config).unwrap();
    let (code, said) = refused(hob_command(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(78));
    insta::assert_snapshot!(said, @r#"
    hob: config.toml:2: telegram.bot_tokn: is not a known key; did you mean `bot_token`?
    config.toml:4: provider.base_url: is missing, expected the server's URL, because kind is openai_compatible; for example `base_url = "http://127.0.0.1:8080/v1"`
    "#);
    assert_eq!(std::fs::read_to_string(hob.path("config.toml")).unwrap(), config);
}

#[tokio::test]
async fn no_channel() {
    let hob = TestHob::new().await;
    std::fs::write(hob.path("config.toml"), "").unwrap();
    let (code, said) = refused(hob_command(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(78));
    // Matrix is named where it is built in.
    insta::assert_snapshot!(said.replace("[discord], [matrix] or", "[discord] or"), @r#"hob: no channel is configured: `hob init` sets one up, or add [telegram], [slack], [discord] or [email] to config.toml (README.md, "Connect"), or let Hob serve its page ([server] listen); `hob chat` talks with Hob at the terminal"#);
}

#[tokio::test]
async fn a_page_whose_port_is_taken_refuses_nothing_of_the_file() {
    let hob = TestHob::new().await;
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!("[server]\nlisten = '{}'\n[daemon]\nlog = 'debug'", other.local_addr().unwrap());
    std::fs::write(hob.path("config.toml"), config).unwrap();
    let mut running = HobProcess::start(hob_command(hob.home.path(), &["run"]));
    running.until_log("server.failed: the page is not served until the next start").await;
    running.until_log("config.unchanged").await;
    assert!(!running.log().contains("config.refused"), "{}", running.log());
}

#[tokio::test]
async fn a_config_that_is_not_there() {
    let hob = TestHob::new().await;
    let (code, said) = refused(hob_command(hob.home.path(), &["--config", "nowhere.toml", "run"])).await;
    assert_eq!(code, Some(78));
    insta::assert_snapshot!(said, @r"
    hob: nowhere.toml: there is no such file, but --config names it
    next: name a file that is there; `hob init` makes one, and without any Hob uses its defaults
    ");
}

/// The same command as a user who may not write; root may always.
fn as_nobody(home: &Path, arguments: &[&str]) -> Command {
    let command = hob_command(home, arguments);
    if !rustix::process::getuid().is_root() {
        return command;
    }
    let binary = home.join("hob");
    std::fs::copy(command.as_std().get_program(), &binary).unwrap();
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).args(arguments);
    other.env_clear().envs(command.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(home).kill_on_drop(true).stderr(std::process::Stdio::piped());
    other
}

#[tokio::test]
async fn a_data_directory_that_is_read_only() {
    let hob = TestHob::new().await;
    std::fs::create_dir(hob.path("data")).unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(&hob.path("data"), 0o555);
    mode(hob.home.path(), 0o755);
    let (code, said) = refused(as_nobody(hob.home.path(), &["run"])).await;
    assert_eq!(code, Some(78));
    let said = said.replace(&hob.home.path().display().to_string(), "HOME");
    insta::assert_snapshot!(said, @"hob: HOME/data: this user may not write there; give it to the user Hob runs as or set $HOB_HOME");
}

/// What the sandbox holds is found out beside the first messages, or when the first command has to know.
#[tokio::test]
async fn a_start_waits_for_no_trial_of_the_sandbox() {
    let mut hob = TestHob::running("").await;
    hob.process().until_log("sandbox.").await;
    let log = hob.process().log();
    assert!(log.find("hob.ready").unwrap() < log.find("sandbox.").unwrap(), "{log}");
}
