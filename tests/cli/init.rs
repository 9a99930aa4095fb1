//! `hob init` as a person at a terminal meets it, and as a script does, against the fakes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::process::{HobProcess, PATIENCE, hob_command, within};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// Who sets Hob up.
const ADA: i64 = 7;
/// The key that the model's server takes.
const KEY: &str = "sk-the-right-one";

/// A home without a config, a model's server, a Telegram.
struct Harness {
    home: TempDir,
    model: FakeModel,
    telegram: FakeTelegram,
}

impl Harness {
    async fn new() -> Self {
        let (model, telegram) = (FakeModel::start().await, FakeTelegram::start().await);
        telegram.person(ADA);
        model.require_key(KEY).models(json!([{"id": "fake", "max_model_len": 32_768}, {"id": "org/other"}]));
        Self { home: tempfile::tempdir().unwrap(), model, telegram }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.path("hob/config.toml")).unwrap_or_default()
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        self.path(name).display().to_string()
    }

    /// The question that the setup asks is answered with the time.
    fn tells_the_time(&self) {
        self.model.reply(Reply::call("current_time", "{}")).reply(Reply::text("It is noon."));
    }

    fn arguments(&self) -> Vec<String> {
        let config = self.path("hob/config.toml").display().to_string();
        let (model, telegram) = (self.model.base_url(), self.telegram.api_url());
        ["--config", &config, "init", "--base-url", &model, "--telegram-api-url", &telegram].map(str::to_owned).to_vec()
    }

    async fn runs(&self, flags: &[&str]) -> Output {
        let mut arguments = self.arguments();
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        within("end of the command", hob_command(self.home.path(), &arguments).output()).await.unwrap()
    }
}

/// Somebody at a terminal of this house.
struct Person {
    child: Child,
    seen: String,
}

impl Person {
    fn sit_down(harness: &Harness, columns: u16) -> Self {
        let arguments = harness.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let init = hob_command(harness.home.path(), &arguments);
        let binary = init.as_std().get_program().display().to_string();
        let line = format!("stty cols {columns} rows 24; exec {binary} {}", arguments.join(" "));
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]).current_dir(harness.home.path()).env_clear();
        command.envs(init.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm").env("SHELL", "/bin/sh").env("NO_COLOR", "1").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), seen: String::new() }
    }

    async fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).await.unwrap();
    }

    /// Reads the screen until `text` is on it, behind what was seen before; gives what came.
    async fn sees(&mut self, text: &str) -> String {
        let mut news = Vec::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        let look = async {
            while !String::from_utf8_lossy(&news).contains(text) {
                match stdout.read_u8().await {
                    Ok(byte) => news.push(byte),
                    Err(_) => break,
                }
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, look).await.is_ok();
        let news = String::from_utf8_lossy(&news).into_owned();
        assert!(in_time && news.contains(text), "no {text:?} on the screen: {}|{news}", self.seen);
        self.seen.push_str(&news);
        news
    }

    /// Takes the option that has these words, and gives what was shown up to the prompt.
    async fn takes(&mut self, option: &str) {
        let before = self.sees(option).await;
        let line = before.rsplit('\n').find(|line| line.contains(". ")).unwrap();
        let number = line.trim().split('.').next().unwrap().to_owned();
        self.sees("Number [").await;
        self.sees("]: ").await;
        self.types(&format!("{number}\r")).await;
    }

    async fn answers(&mut self, question: &str, words: &str) {
        self.sees(question).await;
        self.sees(": ").await;
        self.types(&format!("{words}\r")).await;
    }

    /// Chooses the model, up to where it is saved.
    async fn connects_the_model(&mut self) {
        self.takes("another server that speaks").await;
        self.takes("yes").await;
        self.answers("The key", KEY).await;
        self.sees("fake").await;
        self.answers("Model [1]", "").await;
        self.takes("in the config itself").await;
        self.sees("Saved in").await;
    }

    /// Waits for the end, and gives all that was seen.
    async fn leaves(mut self) -> String {
        let mut rest = Vec::new();
        within("end of the screen", self.child.stdout.as_mut().unwrap().read_to_end(&mut rest)).await.unwrap();
        assert!(within("end", self.child.wait()).await.unwrap().success(), "{}", self.seen);
        self.seen + &String::from_utf8_lossy(&rest)
    }
}

/// What a person sees, without what moves the cursor.
fn rows(seen: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut signs = seen.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => {
                if signs.next() == Some('[') {
                    signs.by_ref().find(|sign| sign.is_ascii_alphabetic());
                }
            }
            // A line that is edited is drawn anew.
            '\r' => plain.push('\n'),
            sign => plain.push(sign),
        }
    }
    plain.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_person_sets_hob_up_and_hob_answers_on_telegram() {
    let harness = Harness::new().await;
    let mut person = Person::sit_down(&harness, 60);
    harness.tells_the_time();
    person.connects_the_model().await;
    person.sees("Hob: It is noon.").await;
    person.sees("current_time").await;
    person.takes("set it up now").await;
    person.answers("The bot's token", FakeTelegram::TOKEN).await;
    person.sees(&format!("Connected as @{}", FakeTelegram::BOT_NAME)).await;
    person.takes("in the config itself").await;
    person.sees("/pair ").await;
    let code = person.sees("\n").await;
    harness.telegram.say(ADA, &format!("/pair {}", code.trim()));
    person.sees("is an owner, and has Hob's answer there").await;
    let told = harness.telegram.until_sent(ADA, 1).await;
    assert!(told[0].starts_with("You are my owner now."), "{told:?}");
    let matrix = cfg!(feature = "matrix").then_some("Matrix:");
    for channel in ["Slack:", "Discord:"].into_iter().chain(matrix).chain(["E-mail:"]) {
        person.sees(channel).await;
        person.takes("not now").await;
    }
    person.sees("on your phone:").await;
    person.takes("not now").await;
    // Up from the first of three is the last.
    person.sees("How is Hob to be started?").await;
    person.sees("Number [").await;
    person.sees("]: ").await;
    person.types("\u{1b}[A").await;
    person.sees("3  by hand").await;
    person.types("\r").await;
    person.sees("  3. by hand").await;
    person.takes("finish").await;
    let seen = person.leaves().await;
    let matrix = if cfg!(feature = "matrix") { "Matrix, " } else { "" };
    let off = format!("Still off: Slack, Discord, {matrix}E-mail, ");
    assert!(seen.contains(&off), "{seen}");
    assert!(!seen.contains(KEY) && !seen.contains(FakeTelegram::TOKEN), "{seen}");
    let long: Vec<String> = rows(&seen).into_iter().filter(|row| row.chars().count() > 60).collect();
    let is_address = |row: &String| row.contains('/') || row.contains("***");
    assert!(long.iter().all(is_address), "{long:#?}");
    assert!(harness.config().contains("[telegram]") && harness.config().contains("primary = \"fake\""));
    assert_eq!(mode(&harness.path("hob/config.toml")), 0o600);
    let left: Vec<_> =
        std::fs::read_dir(harness.path("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !left.iter().any(|name| name.to_string_lossy().starts_with("setup-")),
        "the trial is thrown away: {left:?}"
    );
    assert!(harness.model.refused().is_empty(), "{:?}", harness.model.refused());
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn who_presses_ctrl_c_goes_on_there_and_a_wrong_key_is_entered_again() {
    let harness = Harness::new().await;
    let mut person = Person::sit_down(&harness, 100);
    person.takes("another server that speaks").await;
    person.takes("yes").await;
    person.answers("The key", "sk-a-wrong-one").await;
    person.sees("That does not work").await;
    person.takes("enter the key again").await;
    person.answers("The key", KEY).await;
    person.answers("Model [1]", "").await;
    harness.tells_the_time();
    person.takes("in the config itself").await;
    person.sees("Hob: It is noon.").await;
    person.sees("Telegram:").await;
    person.sees("Number [").await;
    person.types("\u{3}").await;
    let seen = person.leaves().await;
    assert!(seen.contains("Left. What was done is kept"), "{seen}");
    assert!(!seen.contains("sk-a-wrong-one") && !seen.contains(KEY), "{seen}");

    let mut again = Person::sit_down(&harness, 100);
    again.sees("A real question: answered, with a tool").await;
    again.takes("go on: Telegram").await;
    again.takes("set it up now").await;
    again.answers("The bot's token", "110201543:not-this-one").await;
    again.sees("Telegram does not know this bot token").await;
    again.takes("enter it again").await;
    again.answers("The bot's token", FakeTelegram::TOKEN).await;
    again.takes("in the config itself").await;
    again.sees("Ctrl-C stops waiting").await;
    again.types("\u{3}").await;
    again.takes("later").await;
    again.sees("Telegram: configured, and no owner has written").await;
    again.takes("finish").await;
    let seen = again.leaves().await;
    assert!(!seen.contains("not-this-one") && !seen.contains(FakeTelegram::TOKEN), "{seen}");
    assert!(harness.config().contains("[telegram]"));
}

#[tokio::test]
async fn a_script_sets_hob_up_and_is_told_what_is_missing() {
    let harness = Harness::new().await;
    let nothing = harness.runs(&["--non-interactive"]).await;
    let told = String::from_utf8(nothing.stderr).unwrap();
    assert!(told.contains("--provider KIND") && told.contains("--service user, system or none"), "{told}");
    assert_eq!((nothing.status.code(), harness.config().as_str()), (Some(1), ""));
    harness.tells_the_time();
    let (key, token) = (harness.file("key", KEY), harness.file("token", FakeTelegram::TOKEN));
    let flags = ["--non-interactive", "--provider", "openai_compatible", "--model", "fake", "--service", "none"];
    let more = ["--api-key-file", &key, "--telegram-token-file", &token, "--owner-telegram-id", "7"];
    let done = harness.runs(&[flags.as_slice(), &more].concat()).await;
    let told = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    assert!(done.status.success(), "{told}");
    assert!(told.contains("Hob: It is noon.") && told.contains("called current_time"), "{told}");
    assert!(told.contains(&format!("Telegram: connected as @{}", FakeTelegram::BOT_NAME)), "{told}");
    assert!(!told.contains(KEY) && !told.contains(FakeTelegram::TOKEN), "{told}");
    assert!(harness.config().contains("owner_user_ids = [7]"), "{}", harness.config());
    assert!(harness.config().contains("[backup]\nevery_hours = 24"), "{}", harness.config());
    let check =
        within("check", hob_command(harness.home.path(), &["--config", "hob/config.toml", "config", "check"]).output());
    assert!(check.await.unwrap().status.success());
}

#[tokio::test]
async fn n12_a_house_that_was_set_up_is_backed_up_unless_its_config_says_otherwise() {
    let harness = Harness::new().await;
    harness.tells_the_time();
    let key = harness.file("key", KEY);
    std::fs::create_dir(harness.path("hob")).unwrap();
    std::fs::write(harness.path("hob/config.toml"), "[backup]\nevery_hours = 0\n").unwrap();
    let flags = ["--non-interactive", "--provider", "openai_compatible", "--model", "fake", "--service", "none"];
    let done = harness.runs(&[flags.as_slice(), &["--api-key-file", &key]].concat()).await;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(harness.config().contains("every_hours = 0"), "{}", harness.config());

    let harness = Harness::new().await;
    harness.tells_the_time();
    let (key, token) = (harness.file("key", KEY), harness.file("token", FakeTelegram::TOKEN));
    let more = ["--api-key-file", &key, "--telegram-token-file", &token, "--owner-telegram-id", "7"];
    let done = harness.runs(&[flags.as_slice(), &more].concat()).await;
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(told.contains("a backup is made each day, and seven are kept"), "{told}");
    let mut process = HobProcess::start(hob_command(harness.home.path(), &["--config", "hob/config.toml", "run"]));
    process.until_log("backup.made").await;
}

#[tokio::test]
async fn a_refused_token_ends_a_script_and_what_came_before_stays() {
    let harness = Harness::new().await;
    harness.tells_the_time();
    let (key, token) = (harness.file("key", KEY), harness.file("token", "110201543:not-this-one"));
    let flags = ["--non-interactive", "--provider", "openai_compatible", "--model", "fake", "--service", "none"];
    let more = ["--api-key-file", &key, "--telegram-token-file", &token];
    let failed = harness.runs(&[flags.as_slice(), &more].concat()).await;
    let told = String::from_utf8(failed.stderr).unwrap();
    assert!(told.contains("Telegram: Telegram does not know this bot token"), "{told}");
    assert!(told.contains("What came before it is saved.") && !told.contains("not-this-one"), "{told}");
    assert!(harness.config().contains("[provider]") && !harness.config().contains("[telegram]"));
    assert_eq!(failed.status.code(), Some(1));
}

#[tokio::test]
async fn without_a_terminal_or_a_channel_it_is_said_what_to_do() {
    let harness = Harness::new().await;
    let output = harness.runs(&[]).await;
    assert!(String::from_utf8(output.stderr).unwrap().contains("`hob init --non-interactive`"));
    let run = within("end", hob_command(harness.home.path(), &["run"]).output()).await.unwrap();
    assert!(String::from_utf8(run.stderr).unwrap().contains("`hob init` sets one up"));
}
