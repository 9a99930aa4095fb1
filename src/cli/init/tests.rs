//! The setup as scripts: what somebody types, and everything that they see. `^C` at the end stands for leaving.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;

use crate::cli::init::arguments::{InitArguments, InitOptions};
use crate::cli::init::asker::{Asker, SetupError};
use crate::cli::init::context::SetupContext;
use crate::cli::init::save::{ConfigDraft, SetupProgress};
use crate::cli::init::setup_environment::{OwnerOutcome, Service, SetupEnvironment, SetupTrouble, TrialTurn};
use crate::cli::init::{steps, unattended};
use crate::cli::{Arguments, Command};
use hob_config::environment::Environment;
use hob_core::domain::inbound::ChannelKind;
use hob_core::domain::money::Money;
use hob_core::domain::secret::Secret;
use hob_model::provider::OfferedModel;

/// Somebody who types these lines, and then leaves.
struct ScriptedAsker {
    lines: VecDeque<&'static str>,
    seen: String,
}

impl ScriptedAsker {
    fn next(&mut self, prompt: &str, is_secret: bool) -> Result<String, SetupError> {
        let line = self.lines.pop_front().ok_or(SetupError::Left);
        let shown = match &line {
            Ok(line) if is_secret => "*".repeat(line.len()),
            Ok(line) => (*line).to_owned(),
            Err(_) => "^C".to_owned(),
        };
        self.seen.extend([prompt, &shown, "\n"]);
        line.map(str::to_owned)
    }
}

impl Asker for ScriptedAsker {
    fn tell(&mut self, text: &str) {
        self.seen += text;
        self.seen.push('\n');
    }

    fn line(&mut self, prompt: &str) -> Result<String, SetupError> {
        self.next(prompt, false)
    }

    fn secret(&mut self, prompt: &str) -> Result<Secret, SetupError> {
        self.next(prompt, true).map(Secret::new)
    }
}

/// Keys that are right here, and what comes of the rest.
struct FakeEnvironment {
    ollama: Option<&'static str>,
    key: &'static str,
    models: Vec<&'static str>,
    turns: VecDeque<Result<TrialTurn, SetupTrouble>>,
    token: &'static str,
    heard: VecDeque<OwnerOutcome>,
    connected: Option<ChannelKind>,
    owners: BTreeSet<ChannelKind>,
    served: Vec<Service>,
    /// Whether it is built with Matrix.
    has_matrix: bool,
}

impl Default for FakeEnvironment {
    fn default() -> Self {
        Self {
            ollama: None,
            key: "sk-right",
            models: vec!["gpt-6-luna", "gpt-6-terra", "whisper-9"],
            turns: VecDeque::new(),
            token: "12:right",
            heard: VecDeque::new(),
            connected: None,
            owners: BTreeSet::new(),
            served: Vec::new(),
            has_matrix: false,
        }
    }
}

fn refused(why: &str) -> SetupTrouble {
    SetupTrouble { why: why.to_owned(), of_key: true }
}

fn turn() -> TrialTurn {
    TrialTurn {
        model: "openai/gpt-6-luna".to_owned(),
        asked: "What time is it?".to_owned(),
        said: "It is noon.".to_owned(),
        tools: vec!["current_time".to_owned()],
        took: Duration::from_millis(1234),
        cost: Some(Money::from_nanos(1_230_000)),
    }
}

impl SetupEnvironment for FakeEnvironment {
    fn is_built(&self, section: &str) -> bool {
        section != "matrix" || self.has_matrix
    }

    fn ollama(&mut self) -> Result<Option<String>, SetupError> {
        Ok(self.ollama.map(str::to_owned))
    }

    fn offered(&mut self, draft: &ConfigDraft) -> Result<Result<Option<Vec<OfferedModel>>, SetupTrouble>, SetupError> {
        let key = draft.config.provider.as_ref().unwrap().api_key.as_ref().unwrap();
        if key.expose() != self.key {
            return Ok(Err(refused("The model provider does not accept the API key.")));
        }
        let offered = self.models.iter().map(|name| OfferedModel { name: (*name).to_owned(), context_tokens: None });
        Ok(Ok(Some(offered.collect())))
    }

    fn turn(&mut self, _draft: &ConfigDraft) -> Result<Result<TrialTurn, SetupTrouble>, SetupError> {
        Ok(self.turns.pop_front().unwrap_or_else(|| Ok(turn())))
    }

    fn connect(
        &mut self,
        draft: &ConfigDraft,
        channel: ChannelKind,
    ) -> Result<Result<String, SetupTrouble>, SetupError> {
        let token = draft.config.telegram.as_ref().map(|telegram| telegram.bot_token.expose());
        if channel == ChannelKind::Telegram && token != Some(self.token) {
            return Ok(Err(refused("Telegram does not know this bot token (Unauthorized)")));
        }
        self.connected = Some(channel);
        Ok(Ok("@hob_bot".to_owned()))
    }

    fn code(&mut self) -> Result<String, SetupError> {
        assert!(self.connected.is_some());
        Ok("ABCD-EFGH".to_owned())
    }

    fn hear(&mut self) -> Result<OwnerOutcome, SetupError> {
        let heard = self.heard.pop_front().unwrap_or_else(|| OwnerOutcome::Owner { name: "Ada".to_owned() });
        if matches!(heard, OwnerOutcome::Owner { .. }) {
            self.owners.extend(self.connected);
        }
        Ok(heard)
    }

    fn hang_up(&mut self) -> Result<(), SetupError> {
        self.connected = None;
        Ok(())
    }

    fn paired(&mut self, _draft: &ConfigDraft) -> Result<BTreeSet<ChannelKind>, SetupError> {
        Ok(self.owners.clone())
    }

    fn home_address(&self) -> Option<IpAddr> {
        Some([192, 168, 1, 5].into())
    }

    fn page(&mut self, draft: &ConfigDraft) -> Result<Option<String>, SetupError> {
        let at = draft.config.server.listen.clone().unwrap_or_default();
        Ok(Some(format!("▄▄▄ a code ▄▄▄\nhttp://{at}/login#key")))
    }

    fn serve(&mut self, service: Service, _config: &Path) -> Result<(), SetupTrouble> {
        self.served.push(service);
        Ok(())
    }
}

/// A home, and what is in the world for it.
struct Harness {
    dir: TempDir,
    environment: FakeEnvironment,
    variables: Vec<(&'static str, String)>,
}

impl Harness {
    fn new(environment: FakeEnvironment) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let variables = vec![("HOME", dir.path().display().to_string())];
        Self { dir, environment, variables }
    }

    fn config(&self) -> std::path::PathBuf {
        self.dir.path().join("config.toml")
    }

    fn text(&self) -> String {
        let text = std::fs::read_to_string(self.config()).unwrap_or_default();
        text.replace(&self.dir.path().display().to_string(), "HOME")
    }

    fn draft(&self) -> ConfigDraft {
        let env = Environment::of(self.dir.path(), self.variables.clone());
        let text = std::fs::read_to_string(self.config()).unwrap_or_default();
        ConfigDraft::new(&self.config(), &text, &env).unwrap()
    }

    /// Everything that is seen by somebody who types this.
    fn types(&mut self, lines: &[&'static str]) -> String {
        let is_new = !self.config().exists();
        let draft = self.draft();
        let progress = SetupProgress::read(&draft.data_dir().unwrap());
        let mut script = ScriptedAsker { lines: lines.iter().copied().collect(), seen: String::new() };
        let setup = &mut SetupContext {
            asker: &mut script,
            environment: &mut self.environment,
            draft,
            progress,
            given: InitOptions::default(),
        };
        match steps::run_steps(setup, is_new) {
            Ok(()) => assert_eq!(script.lines.len(), 0, "{}", script.seen),
            Err(SetupError::Left) => {}
            Err(SetupError::Failed(error)) => panic!("{error:#}\n{}", script.seen),
        }
        assert_eq!(self.environment.connected, None, "nothing is left at work");
        script.seen.replace(&self.dir.path().display().to_string(), "HOME")
    }

    /// The same from flags.
    fn runs(&mut self, flags: &[&str]) -> Result<String, String> {
        let arguments = [&["hob", "init", "--non-interactive"], flags].concat();
        let Command::Init(arguments) = Arguments::try_parse_from(arguments).map_err(|error| error.to_string())?.command
        else {
            panic!("another command");
        };
        let InitArguments { given, .. } = *arguments.clone();
        let draft = self.draft();
        let progress = SetupProgress::read(&draft.data_dir().unwrap());
        let mut script = ScriptedAsker { lines: VecDeque::new(), seen: String::new() };
        let setup =
            &mut SetupContext { asker: &mut script, environment: &mut self.environment, draft, progress, given };
        let done = unattended::run(setup, &arguments);
        let home = self.dir.path().display().to_string();
        done.map(|()| script.seen.replace(&home, "HOME")).map_err(|error| format!("{error:#}").replace(&home, "HOME"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }
}

/// The number of the option that keeps a secret in the config itself: the best one comes first where it is offered.
fn in_the_config() -> &'static str {
    if super::secret_place::SecretPlace::offered().len() == 3 { "2" } else { "1" }
}

/// A first setup up to Telegram: OpenAI with a typed key, its second model, a real question.
fn model_lines() -> Vec<&'static str> {
    vec!["", "sk-right", "terra", "1", in_the_config()]
}

#[test]
fn a_household_is_set_up_from_end_to_end() {
    let mut home = Harness::new(FakeEnvironment::default());
    let mut lines = model_lines();
    lines.extend(["1", "12:right", in_the_config(), "2", "2", "2", "1", "1", "1"]);
    let seen = home.types(&lines);
    assert!(!seen.contains("sk-right") && !seen.contains("12:right"), "{seen}");
    insta::assert_snapshot!("end_to_end", plain(&seen));
    insta::assert_snapshot!(home.text(), @r#"
    # Hob's config, begun by `hob init`. `hob config example` shows every key.

    [provider]
    kind = "openai"
    api_key = "sk-right"

    [provider.models]
    primary = "gpt-6-terra"

    [telegram]
    bot_token = "12:right"

    [server]
    listen = "192.168.1.5:8787"

    [backup]
    every_hours = 24
    "#);
    assert_eq!(home.environment.served, [Service::User]);
}

#[test]
fn f11_matrix_is_offered_where_it_is_built_in() {
    let mut home = Harness::new(FakeEnvironment { has_matrix: true, ..FakeEnvironment::default() });
    let mut lines = model_lines();
    lines.extend([
        "2",
        "2",
        "2",
        "1",
        "https://house.test",
        "@hob:house.test",
        "secret",
        in_the_config(),
        "2",
        "2",
        "3",
        "",
    ]);
    let seen = home.types(&lines);
    let asked = seen.split_once("\nMatrix:\n").unwrap().1.split_once("\nE-mail:\n").unwrap().0;
    insta::assert_snapshot!("matrix", plain(asked));
    assert!(
        home.text().contains(
            "[matrix]\nhomeserver = \"https://house.test\"\nuser = \"@hob:house.test\"\npassword = \"secret\""
        ),
        "{}",
        home.text()
    );
}

/// Without the question where a secret is kept: what is offered there depends on what the config can name.
fn plain(seen: &str) -> String {
    let mut is_asked = false;
    let mut lines = Vec::new();
    for line in seen.lines() {
        is_asked |= line.starts_with("Where is ") && line.ends_with(" to be kept?");
        if !is_asked {
            lines.push(line);
        }
        is_asked &= !line.starts_with("Number [");
    }
    lines.join("\n")
}

#[test]
fn who_leaves_in_the_middle_goes_on_there() {
    let mut home = Harness::new(FakeEnvironment::default());
    let left = home.types(&model_lines());
    assert!(left.ends_with("Number [1]: ^C\n"), "{left}");
    assert!(home.text().contains("gpt-6-terra"));
    // Left at the question whether Telegram is wanted: the model and its proof are not asked about again.
    let again = home.types(&["", "2", "2", "2", "2", "3", ""]);
    assert!(again.contains("  Model: openai, gpt-6-terra\n  A real question: answered, with a tool\n"), "{again}");
    assert!(!again.contains("Who is to think"), "{again}");
    insta::assert_snapshot!("taken_up", again);
}

#[test]
fn leaving_before_anything_is_chosen_leaves_nothing_behind() {
    let mut home = Harness::new(FakeEnvironment::default());
    home.types(&["1", "sk-right"]);
    assert!(!home.config().exists());
}

#[test]
fn a_wrong_key_is_entered_again() {
    let mut home = Harness::new(FakeEnvironment::default());
    let seen = home.types(&["1", "sk-wrong", "1", "sk-right", "", in_the_config()]);
    assert!(seen.contains("That does not work: The model provider does not accept the API key."), "{seen}");
    assert!(!seen.contains("sk-wrong") && home.text().contains("api_key = \"sk-right\""));
    assert!(home.text().contains("gpt-6-luna"), "the usual one comes first: {}", home.text());
}

#[test]
fn a_key_in_the_environment_is_offered_and_never_shown() {
    let mut home = Harness::new(FakeEnvironment { ollama: Some("qwen3"), ..FakeEnvironment::default() });
    home.variables.push(("OPENAI_API_KEY", "sk-right".to_owned()));
    let env = (super::secret_place::SecretPlace::offered().len()).to_string();
    let seen = home.types(&["1", "1", "1", Box::leak(env.into_boxed_str())]);
    assert!(
        seen.contains("1. OpenAI (OPENAI_API_KEY is set)\n  2. Ollama, on your own machine (it answers, with qwen3)"),
        "{seen}"
    );
    assert!(!seen.contains("sk-right"));
    assert!(home.text().contains("api_key = \"${OPENAI_API_KEY}\""), "{}", home.text());
}

#[test]
fn a_model_that_fails_can_be_exchanged_or_passed_over() {
    let mut home = Harness::new(FakeEnvironment::default());
    home.environment.turns.push_back(Err(refused("Add money to the account.")));
    home.environment.turns.push_back(Ok(TrialTurn { tools: Vec::new(), ..turn() }));
    let mut lines = model_lines();
    lines.extend(["1", "3"]);
    let seen = home.types(&lines);
    assert!(seen.contains("That did not work: Add money to the account."), "{seen}");
    assert!(seen.contains("it called no tool. Hob works by tools"), "{seen}");
    let again = home.types(&["3"]);
    assert!(again.contains("A real question: not wanted"), "{again}");
}

#[test]
fn a_token_that_is_refused_is_entered_again_or_left() {
    let mut home = Harness::new(FakeEnvironment::default());
    std::fs::write(home.config(), "[provider]\nkind = 'offline'\n").unwrap();
    SetupProgress { answered: Some("offline/usual".to_owned()), ..SetupProgress::default() }
        .write(&home.draft().data_dir().unwrap())
        .unwrap();
    home.environment.heard.push_back(OwnerOutcome::Nobody);
    let seen =
        home.types(&["1", "1", "12:no such token!", "1", "12:wrong", "1", "12:right", in_the_config(), "2", "3"]);
    assert!(seen.contains("telegram.bot_token: has a character that no token has"), "{seen}");
    assert!(seen.contains("Telegram does not know this bot token (Unauthorized)"), "{seen}");
    for secret in ["no such token", "12:wrong", "12:right"] {
        assert!(!seen.contains(secret), "{seen}");
    }
    assert!(seen.contains("/pair ABCD-EFGH") && seen.contains("No message yet."), "{seen}");
    assert!(seen.contains("Telegram: configured, and no owner has written"), "the step stays open: {seen}");
    assert!(home.text().contains("[telegram]\nbot_token = \"12:right\"\n"), "{}", home.text());
}

#[test]
fn a_prompt_for_a_key_or_a_token_has_a_way_back() {
    let mut home = Harness::new(FakeEnvironment::default());
    // Nothing typed: back to who thinks, and later to whether there is to be Telegram.
    let mut lines = vec!["1", "", "1"];
    lines.extend(model_lines().split_off(1));
    lines.extend(["1", "", "2"]);
    let seen = home.types(&lines);
    assert_eq!(seen.matches("Which one?").count(), 2, "{seen}");
    assert_eq!(seen.matches("\nTelegram:\n").count(), 2, "{seen}");
    assert!(home.text().contains("gpt-6-terra") && !home.text().contains("telegram"), "{}", home.text());
}

#[test]
fn a_file_that_is_there_is_taken_up_and_keeps_its_comments() {
    let mut home = Harness::new(FakeEnvironment::default());
    let text = "# Ours.\n[provider] # the one\nkind = \"anthropic\"\napi_key = \"sk-old\"\n\n[provider.models]\nprimary = \
                \"claude\"\nfast = \"claude-small\"\n\n[telegram]\nbot_token = \"12:right\" # from @BotFather\nowner_user_ids = [7]\n";
    std::fs::write(home.config(), text).unwrap();
    let seen = home.types(&["2", "1", "1", "sk-right", "1", in_the_config(), "3"]);
    insta::assert_snapshot!("there_already", plain(&seen));
    insta::assert_snapshot!(home.text(), @r#"
    # Ours.
    [provider] # the one
    kind = "openai"
    api_key = "sk-right"

    [provider.models]
    primary = "gpt-6-luna"

    [telegram]
    bot_token = "12:right" # from @BotFather
    owner_user_ids = [7]

    [backup]
    every_hours = 24
    "#);
}

#[test]
fn what_is_missing_without_questions_is_named_at_once() {
    let mut home = Harness::new(FakeEnvironment::default());
    insta::assert_snapshot!(home.runs(&[]).unwrap_err(), @r"
    nothing was changed, for this is missing:
      --provider KIND, for the model
      --service user, system or none: how Hob is started from now on
    say it as well; `hob init --help` has all flags
    ");
    let some = ["--provider", "openai", "--slack-bot-token-file", "x", "--email-address", "hob@example.org"];
    insta::assert_snapshot!(home.runs(&some).unwrap_err(), @r"
    nothing was changed, for this is missing:
      --api-key-env VARIABLE or --api-key-file FILE, for the provider's key
      --slack-app-token-file FILE, as Slack wants both tokens
      --email-password-file FILE, for the mailbox
      --imap-host HOST, for the mailbox
      --smtp-host HOST, for the mailbox
      --service user, system or none: how Hob is started from now on
    say it as well; `hob init --help` has all flags
    ");
    let env = ["--provider", "vllm", "--api-key-env", "NOT_SET", "--service", "none"];
    insta::assert_snapshot!(home.runs(&env).unwrap_err(), @r"
    nothing was changed, for this is missing:
      --model NAME, as this provider has no usual one
      NOT_SET in the environment, as --api-key-env names it
    say it as well; `hob init --help` has all flags
    ");
    assert!(!home.config().exists());
}

#[test]
fn without_questions_each_step_is_checked_and_saved() {
    let mut home = Harness::new(FakeEnvironment::default());
    let (key, token) = (home.file("key", "sk-right\n"), home.file("token", "12:right\n"));
    let flags = ["--provider", "openai", "--model", "gpt-6-terra", "--api-key-file", &key, "--service", "user"];
    let more = ["--telegram-token-file", &token, "--owner-telegram-id", "7", "--owner-telegram-id", "8"];
    let all = [flags.as_slice(), &more].concat();
    let seen = home.runs(&all).unwrap();
    assert!(seen.contains("Hob: It is noon.") && seen.contains("Telegram: connected as @hob_bot."), "{seen}");
    assert!(home.text().contains("owner_user_ids = [7, 8]") && home.text().contains("primary = \"gpt-6-terra\""));
    assert!(!seen.contains("sk-right") && !seen.contains("12:right"));
    assert_eq!(home.environment.served, [Service::User]);
    let before = home.text();
    let again = home.runs(&all).unwrap_err();
    assert_eq!(again, "nothing was changed: HOME/config.toml has [provider], [telegram] already: --yes replaces that");
    home.environment.token = "13:other";
    let failed = home.runs(&[all.as_slice(), &["--yes"]].concat()).unwrap_err();
    assert!(failed.starts_with("Telegram: Telegram does not know this bot token"), "{failed}");
    assert_eq!(home.text(), before, "what does not work is not saved");
}
