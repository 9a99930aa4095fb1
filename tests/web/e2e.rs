//! The page in a real browser: headless Chromium, led by the scripts in `e2e/`. `HOB_SHOTS=1` makes the pictures in
//! `docs/images` anew.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json as object;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use hob_config::environment::Environment;
use hob_testkit::fake_model::{Gate, ReceivedRequest, Reply, Script};
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::process::hob_command;
use hob_testkit::test_hob::{ADA, TestHob};

/// How long one script may take; two of them may share a core.
const PATIENCE: Duration = Duration::from_secs(170);
/// A tool that is asked about, and prints what it was given.
const PAYS: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", 'printf "%s\n" "$1" >> $HOME/paid; echo paid "$1"', "sh", "{to}"]
parameters = { to = "Whom." }
approval = "ask"
"#;
/// What there is to be seen of a reply with everything in it.
const DINNER: &str = "Here is the plan, **within the budget**:\n\n| Day | Dinner | Minutes |\n|---|---|---|\n\
| Monday | Lentil soup | 35 |\n| Tuesday | Noodles with peanut sauce | 20 |\n| Wednesday | Pumpkin risotto | 45 |\n\n\
* The pumpkin is in the cellar; `pantry.md` says so.\n* On Thursday you eat at Ann's.\n\n\
> I put the missing things on the shopping list.";

/// A table and code that no phone is wide enough for.
fn wide() -> String {
    let row = |word: &str| (0..10).fold("|".to_owned(), |row, number| format!("{row} {word} {number} |"));
    format!(
        "{}\n{}|\n{}\n\n```\n{}\n```",
        row("Column"),
        "|---".repeat(10),
        row("a cell"),
        "let it = run(on);".repeat(20)
    )
}

/// The gates that scripts have opened, by name.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<BTreeMap<String, Gate>>>);

impl Gates {
    fn of(&self, name: &str) -> Gate {
        self.0.lock().unwrap().entry(name.to_owned()).or_default().clone()
    }

    /// What the model says: by what it was told.
    fn answer(&self, asked: &ReceivedRequest) -> Reply {
        let last = asked.last_text();
        if asked.last_role() == "tool" {
            return Reply::text(&format!("Done: {last}"));
        }
        // What the model is told of the moment stands before the words, what it is told of files behind them.
        let words = asked.last_user().lines().rfind(|line| !line.starts_with("[File ")).unwrap_or_default();
        match words.split_once(' ') {
            Some(("hold", "evil")) => self.held("evil", "<img src=x onerror=", "window.pwned=1>"),
            Some(("hold", name)) => self.held(name, "Once ", "upon a time."),
            Some(("blocks", _)) => self.blocks(),
            Some(("wide", _)) => Reply::text(&wide()),
            Some(("pay", whom)) => Reply::call("pay", &object!({ "to": whom }).to_string()),
            Some(("echo", what)) => Reply::text(&format!("Here: {what}")),
            _ if words.starts_with("[Before your reply goes out") => Reply::text("KEEP"),
            _ if words.contains("dinner") => Reply::text(DINNER),
            _ => Reply::text(&format!("You said {words}")),
        }
    }

    /// A reply of many kinds of blocks that comes in three parts.
    fn blocks(&self) -> Reply {
        let (story, end) = (self.of("story"), self.of("end"));
        let script = Script::default().text("## Story\n\nIt *began* so:\n\n- the first").gate(&story);
        let script =
            script.text("\n- the second\n\n```\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe **end**.");
        script.gate(&end).text("\n").finish("stop").into()
    }

    fn held(&self, name: &str, first: &str, rest: &str) -> Reply {
        Script::default().text(first).gate(&self.of(name)).text(rest).finish("stop").into()
    }
}

/// A household whose page stays where it is when it is started again.
struct Stage {
    hob: TestHob,
    gates: Gates,
    port: u16,
}

impl Stage {
    async fn new() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let hob = TestHob::running(&format!("[server]\nlisten = '127.0.0.1:{port}'\n{PAYS}")).await;
        let gates = Gates::default();
        let asked = gates.clone();
        hob.model.otherwise(move |request| asked.answer(request));
        Self { hob, gates, port }
    }

    /// Runs a script to its end, and does what it asks for meanwhile.
    async fn play(&mut self, script: &str) {
        self.play_of(script, "").await;
    }

    /// The same; of the views only those whose names fit.
    async fn play_of(&mut self, script: &str, views: &str) {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tools = own.join("target/test-tools/browser");
        assert!(tools.join("installed").exists(), "run scripts/browser-tools (it needs a network, once)");
        let mut command = Command::new("node");
        command.arg(own.join("tests/web/e2e").join(script)).env_clear().kill_on_drop(true);
        command
            .env("PATH", Environment::of_process().get("PATH").unwrap_or_default())
            .env("HOME", self.hob.home.path());
        command.env("E2E_TOOLS", &tools).env("E2E_CHROMIUM", chromium());
        command.env("E2E_VIEWS", views).env("E2E_ROOT", format!("http://127.0.0.1:{}", self.port));
        // The pictures in the documentation are made anew only when somebody wants them.
        if Environment::of_process().get("HOB_SHOTS").is_some() {
            command.env("E2E_SHOTS", own.join("docs/images"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut told = Vec::new();
        let led = async {
            let mut lines = BufReader::new(stdout).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                match line.strip_prefix("@ ") {
                    Some(wanted) => {
                        let answer = self.act(wanted).await;
                        stdin.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                    }
                    None => told.push(line),
                }
            }
            child.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(PATIENCE, led).await;
        assert!(ended.is_ok_and(|status| status.success()) && !told.is_empty(), "{script}:\n{}", told.join("\n"));
    }

    /// Does what a script asks for; gives what it is told.
    async fn act(&mut self, wanted: &str) -> String {
        match wanted.split_once(' ').unwrap_or((wanted, "")) {
            ("link", _) => {
                let output = hob_command(self.hob.home.path(), &["web"]).output().await.unwrap();
                String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
            }
            ("open", name) => {
                self.gates.of(name).open();
                "open".to_owned()
            }
            ("lines", file) => self.hob.lines(file).join("|"),
            ("kill", _) => {
                self.hob.crash().await;
                "killed".to_owned()
            }
            ("start", _) => {
                // From here on nothing holds the answer back.
                self.gates.of("dies").open();
                self.hob.start().await;
                "started".to_owned()
            }
            ("stranger", words) => self.stranger(&serde_json::from_str::<String>(words).unwrap()).await,
            (other, _) => panic!("{other:?} is nothing that can be done"),
        }
    }

    /// Somebody with such a name writes such words elsewhere.
    async fn stranger(&mut self, words: &str) -> String {
        let from = object!({ "id": ADA, "is_bot": false, "first_name": words });
        let before = self.hob.heard(ADA).len();
        self.hob.telegram.post(Post::new(ADA, ADA, words).with(object!({ "from": from })));
        self.hob.told(ADA, before + 1).await.len().to_string()
    }
}

/// Debian's browser, wherever it is.
fn chromium() -> PathBuf {
    let environment = Environment::of_process();
    let path = environment.get("PATH").unwrap_or_default();
    let found = std::env::split_paths(path).map(|folder| folder.join("chromium")).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("chromium is missing: scripts/test installs it"))
}

#[tokio::test]
async fn a_browser_talks_with_hob() {
    Stage::new().await.play("chat.mjs").await;
}

#[tokio::test]
async fn f8_the_page_is_a_place_to_be() {
    Stage::new().await.play("page.mjs").await;
}

#[tokio::test]
async fn a_browser_goes_on_where_it_was_when_hob_is_back() {
    Stage::new().await.play("restart.mjs").await;
}

#[tokio::test]
async fn no_browser_takes_words_for_anything_else() {
    Stage::new().await.play("corpus.mjs").await;
}

#[tokio::test]
async fn the_chat_is_for_everybody() {
    Stage::new().await.play_of("views.mjs", "^(login|chat)").await;
}

#[tokio::test]
async fn the_runs_are_for_everybody() {
    Stage::new().await.play_of("views.mjs", "^run").await;
}

#[tokio::test]
async fn n8_the_memory_is_for_everybody() {
    Stage::new().await.play_of("views.mjs", "^memory").await;
}

#[tokio::test]
async fn the_operations_are_for_everybody() {
    Stage::new().await.play_of("views.mjs", "^operations").await;
}
