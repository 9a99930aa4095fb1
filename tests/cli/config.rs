//! The config file and what is kept of it, as people and accidents treat them: `hob config …`, bad files, kills, a full disk.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use hob_testkit::fake_model::Reply;
use hob_testkit::process::{binary, hob_command, within};
use hob_testkit::test_hob::{ADA, OWNER, TestHob};
use rustix::process::Signal;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

async fn ran(home: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = hob_command(home, arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    within("end of the command", child.wait_with_output()).await.unwrap()
}

async fn works(home: &Path, arguments: &[&str]) -> String {
    let output = ran(home, arguments, "").await;
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

async fn fails(home: &Path, arguments: &[&str]) -> String {
    let output = ran(home, arguments, "").await;
    // systemd does not start again what ends with EX_CONFIG.
    let code = if arguments == ["run"] { 78 } else { 1 };
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A Hob that a model has answered once, stopped again; the config says `iterations_max = 7`.
async fn proven() -> TestHob {
    let mut hob = TestHob::running("[agent]\niterations_max = 7").await;
    hob.ask(ADA, "hello", Reply::text("hello")).await;
    hob.process().until_log("config.kept").await;
    hob.stop().await;
    hob
}

fn config(hob: &TestHob) -> String {
    std::fs::read_to_string(hob.path("config.toml")).unwrap()
}

#[tokio::test]
async fn a8_what_was_loaded_is_kept_not_what_stands_in_the_file_now() {
    let mut hob = TestHob::with("[agent]\niterations_max = 7").await;
    let loaded = config(&hob);
    hob.start().await;
    assert!(!hob.path("config.toml.lastgood").exists(), "no model has answered yet");
    std::fs::write(hob.path("config.toml"), "[agent\n").unwrap();
    hob.ask(ADA, "hello", Reply::text("hello")).await;
    hob.process().until_log("config.kept").await;
    let kept = std::fs::read_to_string(hob.path("config.toml.lastgood")).unwrap();
    assert!(kept.ends_with(&format!("\n#\n{loaded}")), "{kept}");
    hob.stop().await;
    assert_eq!(config(&hob), "[agent\n");
}

#[tokio::test]
async fn k5_a_start_with_a_bad_file_runs_on_the_last_good_one_and_says_so() {
    let mut hob = proven().await;
    let bad = config(&hob).replace("iterations_max = 7", "iterations_max = \"many\"");
    std::fs::write(hob.path("config.toml"), &bad).unwrap();
    hob.start().await;
    hob.process().until_log("config.degraded").await;
    assert_eq!(hob.ask(ADA, "still there?", Reply::text("yes")).await, "yes");
    let before = hob.heard(OWNER).len();
    hob.say(OWNER, "/status");
    let status = hob.told(OWNER, before + 1).await.pop().unwrap();
    assert!(status.contains("degraded: config") && status.contains("agent.iterations_max: is text"), "{status}");
    assert_eq!(config(&hob), bad, "the file is left as it is");
    let log = hob.process().log();
    assert!(log.contains("expected a whole number from 1 to 1000"), "{log}");
    hob.stop().await;
    // Gone, or a folder: the same.
    std::fs::remove_file(hob.path("config.toml")).unwrap();
    hob.start().await;
    hob.process().until_log("is missing, but Hob has a copy of it").await;
    hob.stop().await;
    std::fs::create_dir(hob.path("config.toml")).unwrap();
    hob.start().await;
    hob.process().until_log("is a directory").await;
    hob.stop().await;
    // The terminal as well.
    let chat = ran(hob.home.path(), &["chat"], "").await;
    assert!(text(&chat.stderr).starts_with("degraded: "), "{}", text(&chat.stderr));
}

/// A command as somebody to whom the config's folder, `etc`, is closed; root may always. The data is not where `$HOB_HOME` says.
fn shut_out(hob: &TestHob, arguments: &[&str]) -> Command {
    let (home, config) = (hob.home.path(), hob.path("etc/config.toml"));
    let mut plain = hob_command(home, arguments);
    plain.env_remove("HOB_HOME").env("HOB_CONFIG", &config);
    if !rustix::process::getuid().is_root() {
        return plain;
    }
    let copy = hob.path("hob");
    if !copy.exists() {
        std::fs::copy(binary(), &copy).unwrap();
    }
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy).args(arguments);
    other.env_clear().envs(plain.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(home).kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    other
}

#[tokio::test]
async fn n7_the_last_good_config_is_found_where_the_file_puts_the_data() {
    let hob = TestHob::with("state = { dir = '$HOME/state' }").await;
    let (etc, file) = (hob.path("etc"), hob.path("etc/config.toml"));
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    std::fs::create_dir(&etc).unwrap();
    std::fs::rename(hob.path("config.toml"), &file).unwrap();
    let good = std::fs::read_to_string(&file).unwrap();
    mode(hob.home.path(), 0o777);
    mode(&file, 0o644);
    mode(&etc, 0o555);
    let answers = async |log: &str| {
        let mut process = hob_testkit::process::HobProcess::start(shut_out(&hob, &["run"]));
        assert_eq!(hob.ask(ADA, "hello", Reply::text("hello")).await, "hello");
        process.until_log(log).await;
        process.signal(Signal::TERM);
        assert!(process.ended().await.success());
    };
    answers("config.kept").await;
    assert!(hob.path("state/config/config.toml.lastgood").exists());
    for bad in [Some(format!("{good}\n[agnet]\n")), Some("[state\n".to_owned()), None] {
        mode(&etc, 0o755);
        match &bad {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        mode(&etc, 0o555);
        answers("config.degraded").await;
        let history = within("the history", shut_out(&hob, &["config", "history"]).output()).await.unwrap();
        assert!(
            text(&history.stdout).starts_with(" 1  "),
            "{bad:?}: {}{}",
            text(&history.stdout),
            text(&history.stderr)
        );
    }
    mode(&etc, 0o755);
    let mut back = hob_command(hob.home.path(), &["config", "rollback", "--yes"]);
    back.env_remove("HOB_HOME").env("HOB_CONFIG", &file);
    let back = within("the way back", back.output()).await.unwrap();
    assert!(back.status.success(), "{}", text(&back.stderr));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), good);
}

#[tokio::test]
async fn n7_a_channel_whose_lists_are_broken_is_off() {
    let mut hob = proven().await;
    let bad = config(&hob).replace("owner_user_ids = [1]", "owner_user_ids = [\"1\"]");
    assert_ne!(bad, config(&hob));
    std::fs::write(hob.path("config.toml"), &bad).unwrap();
    let polls = hob.telegram.look(|world| world.called("getUpdates"));
    let mut process = hob_testkit::process::HobProcess::start(hob_command(hob.home.path(), &["run"]));
    process.until_log("hob.ready").await;
    assert!(
        process.log().contains("closed until then, as it says who may do what there: [telegram]"),
        "{}",
        process.log()
    );
    process.signal(Signal::TERM);
    process.ended().await;
    assert_eq!(hob.telegram.look(|world| world.called("getUpdates")), polls, "nobody was heard");
    hob.process = None;
}

#[tokio::test]
async fn n7_without_any_good_config_a_bad_file_is_the_end() {
    let hob = TestHob::new().await;
    std::fs::write(hob.path("config.toml"), "[agent]\niterations = 3\n").unwrap();
    let said = fails(hob.home.path(), &["run"]).await;
    assert!(said.contains("config.toml:2: agent.iterations: is not a known key"), "{said}");
}

#[tokio::test]
async fn n7_rollback_shows_asks_and_keeps_what_it_replaces() {
    let hob = proven().await;
    let (home, good) = (hob.home.path(), config(&hob));
    let told = works(home, &["config", "set", "agent.iterations_max", "9"]).await;
    assert!(told.ends_with("config.toml: agent.iterations_max: 7 → 9\n"), "{told}");
    assert_eq!(works(home, &["config", "get", "agent.iterations_max"]).await, "agent.iterations_max = 9\n");
    let told = works(home, &["config", "get", "agent.persona"]).await;
    assert!(told.starts_with("agent.persona is not set: the default holds"), "{told}");
    let refused = ran(home, &["config", "get", "agent.tme_zone"], "").await;
    let told = text(&refused.stderr);
    assert!(!refused.status.success() && told.contains("agent.tme_zone is not a known key"), "{told}");
    let history = works(home, &["config", "history"]).await;
    assert!(history.starts_with(" 1  20") && history.lines().count() == 1, "{history}");
    let diff = works(home, &["config", "diff"]).await;
    assert!(diff.contains("- iterations_max = 7\n+ iterations_max = 9\n"), "{diff}");
    let refused = ran(home, &["config", "rollback"], "no\n").await;
    assert_eq!((refused.status.code(), text(&refused.stderr).contains("nothing was changed")), (Some(1), true));
    let edited = config(&hob);
    let done = ran(home, &["config", "rollback"], "yes\n").await;
    let said = text(&done.stdout);
    assert!(said.contains("- iterations_max = 9\n+ iterations_max = 7\n") && !said.contains("sk-test"), "{said}");
    assert_eq!(config(&hob), good);
    let names = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    let rejected = names.filter(|path| path.display().to_string().contains("config.toml.rejected-"));
    let rejected: Vec<String> = rejected.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert_eq!(rejected, [edited]);
    assert!(fails(home, &["config", "rollback", "--yes"]).await.contains("is the only config that is kept"));
    assert!(fails(home, &["config", "rollback", "4"]).await.contains("there is no number 4: 1 are kept"));
}

#[tokio::test]
async fn n7_an_edit_between_the_difference_and_the_yes_is_asked_about_anew() {
    let hob = proven().await;
    works(hob.home.path(), &["config", "set", "agent.iterations_max", "9"]).await;
    let mut command = hob_command(hob.home.path(), &["config", "rollback"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut said = String::new();
    until(&mut stdout, &mut said, "Write \"yes\" to do it: ", 1).await;
    let mine = config(&hob).replace("iterations_max = 9", "iterations_max = 8");
    std::fs::write(hob.path("config.toml"), &mine).unwrap();
    stdin.write_all(b"yes\n").await.unwrap();
    until(&mut stdout, &mut said, "Write \"yes\" to do it: ", 2).await;
    assert!(said.contains("was changed meanwhile") && said.contains("- iterations_max = 8\n"), "{said}");
    assert_eq!(config(&hob), mine);
    stdin.write_all(b"no\n").await.unwrap();
    assert_eq!(within("end of the command", child.wait()).await.unwrap().code(), Some(1));
    assert_eq!(config(&hob), mine);
}

async fn until(stdout: &mut tokio::process::ChildStdout, said: &mut String, what: &str, times: usize) {
    use tokio::io::AsyncReadExt as _;
    while said.matches(what).count() < times {
        let mut bytes = [0; 1024];
        let count = within(what, stdout.read(&mut bytes)).await.unwrap();
        assert_ne!(count, 0, "it ended: {said}");
        said.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
}

#[tokio::test]
async fn n7_a_secret_comes_from_standard_input_alone() {
    let hob = TestHob::new().await;
    let home = hob.home.path();
    let said = fails(home, &["config", "set", "provider.api_key", "sk-typed"]).await;
    assert!(said.contains("hob config set provider.api_key -"), "{said}");
    let done = ran(home, &["config", "set", "provider.api_key", "-"], "sk-piped\n").await;
    assert!(!text(&done.stdout).contains("sk-piped"), "{}", text(&done.stdout));
    assert!(config(&hob).contains("api_key = \"sk-piped\"\n"), "{}", config(&hob));
}

/// `hob` under strace, which does this at a call.
fn traced(home: &Path, inject: &str, arguments: &[&str]) -> Command {
    let plain = hob_command(home, arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2,fsync,write,unlink"]).args(["-e", inject]);
    command.arg(binary()).args(arguments).current_dir(home).env_clear().kill_on_drop(true);
    for (name, value) in plain.as_std().get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn has_strace() -> bool {
    std::process::Command::new("strace").arg("-V").output().is_ok()
}

#[tokio::test]
async fn n7_a_kill_at_any_call_of_a_change_or_a_rollback_leaves_a_whole_file() {
    if !has_strace() {
        eprintln!("skipped: there is no strace here");
        return;
    }
    let hob = proven().await;
    let (home, good) = (hob.home.path(), config(&hob));
    let changed = good.replace("iterations_max = 7", "iterations_max = 9");
    let calls = [
        "fsync:signal=KILL:when=1",
        "fsync:signal=KILL:when=2",
        "renameat2:signal=KILL:when=1",
        "renameat2:signal=KILL:when=2",
        "unlink:signal=KILL:when=1",
    ];
    let set = ["config", "set", "agent.iterations_max", "9"];
    let mut killed = 0;
    for arguments in [&set[..], &["config", "rollback", "--yes"]] {
        let (before, after) = if arguments == set { (&good, &changed) } else { (&changed, &good) };
        for call in calls {
            std::fs::write(hob.path("config.toml"), before).unwrap();
            let output = within("end", traced(home, &format!("inject={call}"), arguments).output()).await.unwrap();
            killed += usize::from(!output.status.success());
            let left = config(&hob);
            assert!(left == *before || left == *after, "{call}: {left}");
            // Whatever was left, the next one goes on.
            std::fs::write(hob.path("config.toml"), before).unwrap();
            works(home, arguments).await;
            assert_eq!(config(&hob), *after, "{call}");
            let names = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            assert!(names.into_iter().all(|name| !name.ends_with(".new")), "{call}");
        }
    }
    assert!(killed >= 6, "it was killed {killed} times");
}

#[tokio::test]
async fn n7_a_full_disk_changes_nothing_and_is_told() {
    if !has_strace() {
        eprintln!("skipped: there is no strace here");
        return;
    }
    let hob = TestHob::with("[agent]\niterations_max = 7").await;
    let before = config(&hob);
    let set = ["config", "set", "agent.iterations_max", "9"];
    for call in ["fsync:error=ENOSPC", "write:error=ENOSPC:when=1"] {
        let output = within("end", traced(hob.home.path(), &format!("inject={call}"), &set).output()).await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{call}: {}", text(&output.stdout));
        assert_eq!(config(&hob), before, "{call}");
    }
    let output = within("end", traced(hob.home.path(), "inject=fsync:error=ENOSPC", &set).output()).await.unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("No space left on device") && said.contains("nothing was changed"), "{said}");
}
