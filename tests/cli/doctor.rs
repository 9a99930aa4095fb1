//! `hob doctor`, `hob health`, `hob status`, `hob version --check` and what systemd is told: beside a Hob at work, and without one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use hob_store::Store;
use hob_testkit::fake_model::Reply;
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::process::{HobProcess, hob_command, within};
use hob_testkit::test_hob::{ADA, TestHob};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::UnixDatagram;

async fn ran(home: &Path, arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } =
        within("end of the command", hob_command(home, arguments).output()).await.unwrap();
    let said = String::from_utf8([stdout, stderr].concat()).unwrap();
    assert!(!said.contains("sk-test") && !said.contains(FakeTelegram::TOKEN), "a secret: {said}");
    (status.code().unwrap(), said.replace(&home.display().to_string(), "HOME"))
}

async fn asked(home: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, said) = ran(home, arguments).await;
    (code, serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}")))
}

/// What a check found, in the report's own form.
fn found<'a>(report: &'a Value, check: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check).collect()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn n12_the_doctor_beside_a_hob_at_work() {
    let mut hob = TestHob::with("[memory.embedding]\nkind = 'none'\n[backup]\nevery_hours = 24").await;
    hob.model.models(json!([{ "id": "fake" }]));
    chmod(&hob.path("config.toml"), 0o600);
    hob.start().await;
    hob.process().until_log("hob.serving: telegram: connected").await;
    let (code, report) = asked(hob.home.path(), &["doctor", "--json"]).await;
    let all = ["config", "permissions", "data", "disk", "files", "clock", "zone", "database", "daemon", "models"];
    for check in all.into_iter().chain([
        "channels",
        "sandbox",
        "embeddings",
        "mcp",
        "speech",
        "calendars",
        "schedules",
        "service",
        "backup",
    ]) {
        assert!(!found(&report, check).is_empty(), "{check}: {report:#}");
    }
    for check in
        ["config", "permissions", "data", "clock", "zone", "database", "daemon", "models", "channels", "schedules"]
    {
        assert_eq!(found(&report, check)[0]["verdict"], "ok", "{check}: {report:#}");
    }
    let pid = hob.process().pid();
    assert_eq!(found(&report, "daemon")[0]["what"], format!("Hob runs (pid {pid}) and is ready"));
    assert!(found(&report, "channels")[0]["what"].as_str().unwrap().starts_with("telegram (default): signed in as @"));
    assert_eq!(found(&report, "embeddings")[0]["verdict"], "note");
    assert_eq!(code, i32::from(report["worst"] == "fail"), "{report:#}");
    // The Hob at work has noticed nothing.
    assert_eq!(hob.ask(ADA, "Still there?", Reply::text("Yes.")).await, "Yes.");
    // One word of each model, and the whole database.
    hob.model.reply(Reply::text("yes"));
    let (code, said) = ran(hob.home.path(), &["doctor", "--live", "--only", "models", "--only", "database"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("ok   models: openai-compatible/fake (primary) spoke within "), "{said}");
    assert!(said.ends_with("All is well.\n"), "{said}");
}

#[tokio::test]
async fn n12_the_doctor_names_what_is_broken_and_what_to_do() {
    let hob = TestHob::with(
        "[provider]\nbase_url = 'http://127.0.0.1:1/v1'\n[telegram]\nbot_token = '1:other'\n[memory.embedding]\npath = '$HOME/nowhere'\n\
         [terminal]\nenabled = false\n[mcp.gone]\ncommand = ['/nowhere/server']",
    )
    .await;
    fs::create_dir(hob.path("data")).unwrap();
    chmod(&hob.path("data"), 0o755);
    chmod(&hob.path("config.toml"), 0o644);
    let only =
        ["doctor", "--live", "--only", "permissions", "--only", "data", "--only", "models", "--only", "channels"];
    let (code, said) = ran(hob.home.path(), &only).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("fail permissions: config.toml holds keys, and others than its owner can read it (mode 644); chmod 600 config.toml"), "{said}");
    assert!(said.contains("\nwarn data: others can look into HOME/data (mode 755); chmod 700 HOME/data\n"), "{said}");
    assert!(said.contains("\nfail models: openai-compatible/fake (primary): network ("), "{said}");
    assert!(
        said.contains("\nfail channels: telegram (default): Telegram does not know this bot token (Unauthorized); "),
        "{said}"
    );
    assert!(said.ends_with("3 to be mended, 1 to see to.\n"), "{said}");
    let (code, said) = ran(hob.home.path(), &["doctor", "--live", "--only", "mcp", "--only", "embeddings"]).await;
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("fail embeddings: ") && said.contains("\nfail mcp: gone: "), "{said}");
    let (code, said) =
        ran(hob.home.path(), &["doctor", "--only", "daemon", "--only", "database", "--only", "backup"]).await;
    insta::assert_snapshot!(format!("{code}\n{said}"), @r"
    0
    note database: there is none yet at HOME/data/hob.db; the first start makes it
    note daemon: Hob is not running
    note backup: there is nothing to back up yet
    All is well.
    ");
    let (code, _) = ran(hob.home.path(), &["doctor", "--only", "nothing"]).await;
    assert_eq!(code, 2, "clap's");
}

#[tokio::test]
async fn a_config_that_cannot_be_used_keeps_nobody_from_looking() {
    let hob = TestHob::new().await;
    let data = hob.path("data").display().to_string();
    fs::write(hob.path("config.toml"), format!("[state]\ndir = '{data}'\n[telegram]\nbot_tokn = 'x'\n")).unwrap();
    let (code, said) =
        ran(hob.home.path(), &["doctor", "--only", "config", "--only", "disk", "--only", "daemon"]).await;
    assert_eq!(code, 1);
    assert!(said.starts_with("fail config: config.toml:4: telegram.bot_tokn: is not a known key"), "{said}");
    assert!(said.contains(" disk: ") && said.contains("note daemon: Hob is not running"), "{said}");
    // Where the data is, is known without $HOB_HOME too.
    let mut command = hob_command(hob.home.path(), &["health"]);
    let output = within("hob health", command.env_remove("HOB_HOME").output()).await.unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(2), b"Hob is not running: `hob run` starts it\n".as_slice())
    );
    let (code, said) = ran(hob.home.path(), &["run"]).await;
    assert_eq!(code, 78, "{said}");
}

#[tokio::test]
async fn n12_a_newer_database_is_told_by_the_version_and_by_the_doctor() {
    let mut hob = TestHob::new().await;
    let (code, said) = ran(hob.home.path(), &["version", "--check"]).await;
    assert_eq!(code, 0);
    assert!(
        said.contains("database: HOME/data/hob.db: none yet") && said.ends_with("config: all of it is understood\n"),
        "{said}"
    );
    hob.start().await;
    let (code, version) = asked(hob.home.path(), &["version", "--check", "--json"]).await;
    assert_eq!((code, &version["check"]["schema"]), (0, &version["schema"]), "beside a Hob at work");
    assert!(hob.stop().await.success());
    let mut database = Store::raw(&hob.path("data/hob.db")).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (999, 'from the future', 1, x'00', 0)";
    sqlx::query(newer).execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    let (code, said) = ran(hob.home.path(), &["version", "--check"]).await;
    assert_eq!(code, 65);
    assert!(said.contains("made by a newer Hob (schema 999, ") && said.contains("docs/upgrade.md"), "{said}");
    let (code, said) = ran(hob.home.path(), &["doctor", "--only", "database"]).await;
    assert_eq!(code, 1);
    assert!(said.starts_with("fail database: it was made by a newer Hob (schema 999, "), "{said}");
    let (code, said) = ran(hob.home.path(), &["run"]).await;
    assert_eq!(code, 65, "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn n11_health_and_status_over_the_socket() {
    let mut hob = TestHob::new().await;
    let home = hob.home.path().to_owned();
    assert_eq!(ran(&home, &["health"]).await, (2, "Hob is not running: `hob run` starts it\n".to_owned()));
    let (code, said) = ran(&home, &["status"]).await;
    assert!(code == 0 && said.starts_with("Hob is not running"), "{said}");
    hob.start().await;
    hob.process().until_log("hob.serving: telegram: connected").await;
    assert_eq!(ran(&home, &["health"]).await, (0, "ready\n".to_owned()));
    let (code, health) = asked(&home, &["health", "--json"]).await;
    assert!(code == 0 && health["ready"] == true && health["channels"][0]["channel"] == "telegram", "{health}");
    let socket = hob.path("data/hob.sock");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(hob.ask(ADA, "Hello", Reply::text("Hi.")).await, "Hi.");
    let (code, status) = asked(&home, &["status", "--json"]).await;
    assert_eq!(code, 0);
    assert_eq!(status["running"], true);
    assert_eq!(status["channels"][0]["state"], "connected");
    assert_eq!(status["books"]["today"]["calls"], 1, "{status:#}");
    assert_eq!(status["models"][0], json!(["primary", "openai-compatible/fake"]));
    let (_, said) = ran(&home, &["status"]).await;
    assert!(said.contains("\ntelegram: connected as @") && said.contains("\ntoday: 1 model call, "), "{said}");
    // The platform is gone: Hob lives, and is not ready.
    hob.telegram.go_down().await;
    hob.process().until_log("Telegram: ").await;
    let (code, said) = ran(&home, &["health"]).await;
    assert_eq!((code, said.as_str()), (1, "not ready: telegram (default): down; `hob status` shows more\n"));
    hob.telegram.come_back().await;
    assert!(hob.stop().await.success());
    assert!(!socket.exists());
    assert_eq!(ran(&home, &["health"]).await.0, 2);
    let (_, said) = ran(&home, &["status"]).await;
    assert!(said.starts_with("Hob is not running") && said.contains("\ntoday: 1 model call, "), "{said}");
}

#[tokio::test]
async fn n11_a_killed_hob_is_not_running_and_the_next_one_answers() {
    let mut hob = TestHob::new().await;
    let home = hob.home.path().to_owned();
    hob.start().await;
    hob.process().until_log("hob.serving").await;
    hob.crash().await;
    assert!(hob.path("data/hob.sock").exists(), "nobody was left to take it away");
    assert_eq!(ran(&home, &["health"]).await.0, 2);
    hob.start().await;
    hob.process().until_log("hob.serving").await;
    assert_eq!(ran(&home, &["health"]).await.0, 0);
    // Its lock alone tells that somebody is there.
    fs::remove_file(hob.path("data/hob.sock")).unwrap();
    let (code, said) = ran(&home, &["health"]).await;
    assert!(code == 1 && said.starts_with("Hob runs, but its socket is not there"), "{said}");
}

/// What systemd hears.
struct Systemd {
    socket: UnixDatagram,
    heard: Vec<String>,
}

impl Systemd {
    async fn until(&mut self, what: &str) {
        while !self.heard.iter().any(|line| line.starts_with(what)) {
            let mut datagram = [0; 4_096];
            let length = within(what, self.socket.recv(&mut datagram)).await.unwrap();
            let text = String::from_utf8(datagram[..length].to_vec()).unwrap();
            self.heard.extend(text.lines().map(str::to_owned));
        }
    }
}

#[tokio::test]
async fn systemd_hears_that_hob_is_ready_lives_and_stops() {
    let hob = TestHob::new().await;
    let path = hob.path("notify");
    let mut systemd = Systemd { socket: UnixDatagram::bind(&path).unwrap(), heard: Vec::new() };
    let mut command = hob_command(hob.home.path(), &["run"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000");
    let mut process = HobProcess::start(command);
    systemd.until("READY=1").await;
    assert!(hob.telegram.look(|world| world.called("getUpdates")) >= 1, "ready after the first poll");
    assert!(
        systemd.heard.iter().any(|line| line == "STATUS=telegram: connected; terminal: connected; idle"),
        "{:?}",
        systemd.heard
    );
    systemd.until("WATCHDOG=1").await;
    process.signal(Signal::TERM);
    systemd.until("STOPPING=1").await;
    assert!(process.ended().await.success());
}
