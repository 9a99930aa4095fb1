//! A person at a terminal: this test's own binary runs under a pseudo-terminal that `script` makes.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use hob_console::Ports;
use hob_console::interact::interact;
use hob_console::screen::Console;
use hob_console::terminal::{Terminal, TerminalTraits};
use hob_core::domain::channel::IdleReason;
use hob_core::domain::channel::{Channel, Intake, IntakeError, Progress, UpdateOutcome};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Cursor};
use hob_core::domain::inbound::{Inbound, InboundEvent};
use std::collections::BTreeMap;
use tokio::signal::unix::{SignalKind, signal};

use crate::{Echo, destination, reply};
use hob_config::environment::Environment;

const LOOK: TerminalTraits = TerminalTraits { styles: true, is_dumb: false, reflows: Some(true) };
const DATA: &str = "HOB_CONSOLE_TEST_DATA";

/// Answers by streaming; `work` stays busy until `/stop`; `fail` is not stored the first time.
struct Harness<W>(Arc<Echo<W>>);

#[async_trait]
impl<W: Write + Send + 'static> Intake for Harness<W> {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        let InboundEvent::Posted { text } = inbound.happening.clone() else { panic!("{inbound:?}") };
        let first = self.0.taken.lock().unwrap().iter().all(|known| known.happening != inbound.happening);
        self.0.taken.lock().unwrap().push(inbound);
        let show = |progress| self.0.console.progress(&destination(), RunId(1), &progress);
        match text.as_str() {
            "fail" if first => return Err(IntakeError("the disk is full".to_owned())),
            "work" => {
                show(Progress::Working);
                show(Progress::Delta("Working on".to_owned()));
                show(Progress::Delta(" it".to_owned()));
            }
            "pid" => {
                let pid = std::process::id();
                self.0.console.deliver(&reply(None, &format!("pid {pid} here"))).await.unwrap();
            }
            "/stop" => {
                show(Progress::Idle(IdleReason::Done));
                self.0.console.deliver(&reply(None, "Stopped.")).await.unwrap();
            }
            other => {
                self.0.console.deliver(&reply(None, &format!("You said: {other}"))).await.unwrap();
            }
        }
        Ok(UpdateOutcome::Committed)
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(BTreeMap::new())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, _cursor: Cursor) -> Result<(), IntakeError> {
        Ok(())
    }
}

fn stty() -> String {
    let done = Command::new("stty").arg("-g").stdin(Stdio::inherit()).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

/// The inner side; does nothing unless the outer one started it.
#[tokio::test(flavor = "multi_thread")]
async fn inner() {
    let Some(data) = Environment::of_process().path(DATA) else { return };
    let before = stty();
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let (terminal, page) = Terminal::open(Path::new(&data), Vec::new(), LOOK).unwrap();
    let console = Arc::new(Console::terminal(page));
    let harness = Harness(Echo::new(&console));
    let ports = Ports { intake: Arc::new(harness), ..Echo::new(&console).ports() };
    tokio::select! {
        left = interact(terminal, &console, &ports) => {
            left.unwrap();
            console.deliver(&reply(None, "Left.")).await.unwrap();
        }
        _ = terminate.recv() => {}
    }
    println!("{}", if stty() == before { "As it was." } else { "Not as it was!" });
}

struct Person {
    child: Child,
    seen: String,
}

impl Person {
    fn sit_down(data: &Path) -> Self {
        let binary = std::env::current_exe().unwrap();
        let command = format!("exec {} --exact typed::inner --nocapture", binary.display());
        // What is waited for and never comes ends the test as well.
        let child = Command::new("timeout")
            .args(["60", "script", "-qfec", &command, "/dev/null"])
            .env(DATA, data)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, seen: String::new() }
    }

    fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Reads the screen until `text` is on it, behind what was seen before.
    fn sees(&mut self, text: &str) {
        let mut news = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&news).contains(text) {
            let read = self.child.stdout.as_mut().unwrap().read(&mut byte).unwrap();
            let news_text = String::from_utf8_lossy(&news);
            assert_ne!(read, 0, "no {text:?} on the screen: {}{news_text}", self.seen);
            news.push(byte[0]);
        }
        self.seen.push_str(&String::from_utf8_lossy(&news));
    }
}

#[test]
fn a_person_types_stops_and_leaves() {
    let data = tempfile::tempdir().unwrap();
    let mut person = Person::sit_down(data.path());
    person.sees("> ");
    person.types("hello\r");
    person.sees("You said: hello");
    person.sees("> ");
    person.types("half a li\u{3}");
    person.sees("(Ctrl-D leaves;");
    person.sees("> ");
    person.types("work\r");
    person.sees("Working on it");
    person.types("\u{3}");
    person.sees("Stopped.");
    person.types("fail\r");
    person.sees("Not sent: the message could not be stored: the disk is full.");
    person.sees("> fail");
    person.types("\r");
    person.sees("You said: fail");
    person.sees("> ");
    person.types("\u{4}");
    person.sees("Left.");
    person.sees("As it was.");
    assert!(person.child.wait().unwrap().success());

    let history = data.path().join("history");
    let kept = std::fs::read_to_string(&history).unwrap();
    insta::assert_snapshot!(kept, @"
    #V2
    hello
    work
    fail
    ");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_conversation_cut_short_puts_the_terminal_back() {
    let data = tempfile::tempdir().unwrap();
    let mut person = Person::sit_down(data.path());
    person.sees("> ");
    person.types("pid\r");
    person.sees(" here");
    let pid = person.seen.rsplit("pid ").next().and_then(|rest| rest.strip_suffix(" here")).unwrap().to_owned();
    person.sees("> ");
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    person.sees("As it was.");
    // The editor's thread still waits for a key, which must not keep the process.
    assert!(person.child.wait().unwrap().success());
}
