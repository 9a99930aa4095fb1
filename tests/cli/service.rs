//! `hob service`, between a home and a stand-in for systemctl that writes down what it is told.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;

use hob_config::environment::Environment;
use hob_testkit::process::{hob_command, within};
use tempfile::TempDir;

/// A home with a config, and a systemctl of its own.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config.toml"), "[provider]\nkind = 'offline'\n").unwrap();
    let told = home.path().join("told");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {told}\ncase \"$*\" in *show*) printf 'ActiveState=active\\nNRestarts=0\\n' ;; esac\n\
         test ! -e {}\n",
        home.path().join("refuse").display(),
        told = told.display()
    );
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("systemctl"), script).unwrap();
    std::fs::set_permissions(bin.join("systemctl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}

async fn service(home: &Path, arguments: &[&str]) -> Output {
    let mut command = hob_command(home, &[&["service"], arguments].concat());
    let path = std::env::join_paths(
        std::iter::once(home.join("bin")).chain(std::env::split_paths(&Environment::of_process().get("PATH").unwrap())),
    );
    command.env("PATH", path.unwrap()).env("USER", "nobody-here");
    within("end of the command", command.output()).await.unwrap()
}

fn said(output: &Output, home: &Path) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(text).unwrap().replace(&home.display().to_string(), "HOME")
}

fn told(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_user_installs_looks_and_uninstalls() {
    let home = home();
    let home = home.path();
    let installed = service(home, &["install", "--user"]).await;
    insta::assert_snapshot!(said(&installed, home), @r"
    Hob runs, and starts at each boot (HOME/.config/systemd/user/hob.service).
    It ends when you log out, and starts when you log in: `loginctl enable-linger` lets it go on without you.
    Its log: journalctl --user --unit hob --follow
    ");
    assert_eq!(told(home), ["--user daemon-reload", "--user enable hob.service", "--user restart hob.service"]);
    let unit = std::fs::read_to_string(home.join(".config/systemd/user/hob.service")).unwrap();
    assert!(unit.contains(&format!("run --config {}", home.join("config.toml").display())), "{unit}");
    insta::assert_snapshot!(said(&service(home, &["status", "--user"]).await, home), @r"
    Unit: HOME/.config/systemd/user/hob.service
    ActiveState: active
    NRestarts: 0
    It ends when you log out, and starts when you log in: `loginctl enable-linger` lets it go on without you.
    Log: journalctl --user --unit hob --follow
    ");
    insta::assert_snapshot!(said(&service(home, &["uninstall", "--user"]).await, home), @"Hob is stopped, and starts no more. Its data stays in HOME/data.");
    assert!(!home.join(".config/systemd/user/hob.service").exists());
    assert_eq!(told(home)[4..], ["--user disable --now hob.service", "--user daemon-reload"]);
    insta::assert_snapshot!(said(&service(home, &["uninstall", "--user"]).await, home), @"hob: HOME/.config/systemd/user/hob.service is not there: nothing is installed: `hob service install` does it");
}

#[tokio::test]
async fn the_services_own_environment_counts() {
    let home = home();
    let home = home.path();
    std::fs::write(home.join("config.toml"), "[telegram]\nbot_token = '${BOT}'\nowner_user_ids = [1]\n").unwrap();
    let missing = service(home, &["install", "--user"]).await;
    assert!(said(&missing, home).contains("BOT"), "{}", said(&missing, home));
    std::fs::create_dir_all(home.join(".config/hob")).unwrap();
    std::fs::write(home.join(".config/hob/environment"), "# keys\nBOT=1:abc\n").unwrap();
    let installed = service(home, &["install", "--user"]).await;
    assert_eq!(installed.status.code(), Some(0), "{}", said(&installed, home));
}

#[tokio::test]
async fn what_cannot_run_is_not_installed() {
    let home = home();
    let home = home.path();
    let machine = service(home, &["install", "--system", "--into", "units"]).await;
    assert!(said(&machine, home).contains("where the machine's service cannot see it"), "{}", said(&machine, home));
    std::fs::write(home.join("refuse"), "").unwrap();
    let refused = service(home, &["install", "--user"]).await;
    assert!(said(&refused, home).contains("`systemctl --user daemon-reload` failed"), "{}", said(&refused, home));
    std::fs::write(home.join("config.toml"), "nonsense = 1").unwrap();
    let broken = service(home, &["install", "--user"]).await;
    assert!(said(&broken, home).contains("nonsense"), "{}", said(&broken, home));
    std::fs::write(home.join("config.toml"), "").unwrap();
    let folder = home.join(".config/systemd/user");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("hob.service"), "[Service]\nExecStart=/bin/other\n").unwrap();
    for what in ["install", "uninstall"] {
        let other = service(home, &[what, "--user"]).await;
        assert!(said(&other, home).contains("somebody else's unit"), "{}", said(&other, home));
        assert_eq!(other.status.code(), Some(1));
    }
}
