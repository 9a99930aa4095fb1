//! `hob chat` as a person at a terminal meets it, under a pseudo-terminal that `script` makes.

use std::process::Stdio;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::process::{hob_command, within};
use hob_testkit::test_hob::TestHob;

pub(crate) struct Person {
    child: Child,
    seen: String,
}

impl Person {
    pub(crate) fn sit_down(hob: &TestHob) -> Self {
        Self::sit_down_at(hob, "xterm")
    }

    fn sit_down_at(hob: &TestHob, terminal: &str) -> Self {
        let chat = hob_command(hob.home.path(), &["chat"]);
        let line = format!("exec {} chat", chat.as_std().get_program().display());
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]).current_dir(hob.home.path()).env_clear();
        command.envs(chat.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", terminal).env("SHELL", "/bin/sh").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { child: command.spawn().unwrap(), seen: String::new() }
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).await.unwrap();
    }

    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.seen.contains(text)
    }

    /// Reads the screen until `text` is on it, behind what was seen before.
    pub(crate) async fn sees(&mut self, text: &str) {
        let mut news = Vec::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        let look = async {
            while !String::from_utf8_lossy(&news).contains(text) {
                news.push(stdout.read_u8().await.unwrap_or_else(|error| panic!("no {text:?}: {error}")));
            }
        };
        if tokio::time::timeout(hob_testkit::process::PATIENCE, look).await.is_err() {
            panic!("no {text:?} on the screen: {}|{}", self.seen, String::from_utf8_lossy(&news));
        }
        self.seen.push_str(&String::from_utf8_lossy(&news));
    }
}

#[tokio::test]
async fn a_reply_is_streamed_stopped_and_left() {
    let hob = TestHob::new().await;
    let (first, second) = (Gate::default(), Gate::default());
    hob.model.reply(Script::default().text("It is ").gate(&first).text("noon.").finish("stop").into());
    hob.model.reply(Script::default().text("Let me").gate(&second).text(" think.").finish("stop").into());
    hob.model.reply(Reply::text("Gladly."));
    let mut person = Person::sit_down(&hob);
    person.sees("openai-compatible/fake answers").await;
    person.sees("> ").await;
    person.types("What time is it?\r").await;
    person.sees("It is").await;
    first.open();
    person.sees("noon.").await;
    person.types("Think hard\r").await;
    person.sees("Let me").await;
    person.types("\u{3}").await;
    within("dropped stream", hob.model.dropped(1)).await;
    person.sees("Stopped.").await;
    second.open();
    person.types("Say thanks\r").await;
    person.sees("Gladly.").await;
    person.types("\u{4}").await;
    assert!(within("end", person.child.wait()).await.unwrap().success());
    hob.nothing_refused();
}

#[tokio::test]
async fn e13_silence_is_not_shown_while_it_comes() {
    let hob = TestHob::new().await;
    let mut person = Person::sit_down(&hob);
    person.sees("> ").await;
    hob.model.reply(Script::default().text("NO_").text("REPLY").finish("stop").into());
    person.types("Just so you know\r").await;
    hob.asked(1).await;
    hob.model.reply(Script::default().text("NO_").text("REPLY is a word.").finish("stop").into());
    person.types("And?\r").await;
    person.sees("NO_REPLY is a word.").await;
    assert_eq!(person.seen.matches("NO_").count(), 1, "{}", person.seen);
    hob.nothing_refused();
}

#[tokio::test]
async fn e10_a_claim_that_was_taken_back_is_followed_by_what_is_true() {
    let hob = TestHob::new().await;
    let mut person = Person::sit_down(&hob);
    person.sees("> ").await;
    let gate = Gate::default();
    hob.model
        .reply(Script::default().text("I have saved that you like ").gate(&gate).text("tea.").finish("stop").into());
    hob.model.reply(Reply::text("It is not saved yet."));
    person.types("Note that I like tea\r").await;
    person.sees("I have saved that you").await;
    gate.open();
    person.sees("It is not saved yet.").await;
    hob.nothing_refused();
}

#[tokio::test]
async fn k2_a_dumb_terminal_is_shown_each_block_when_it_is_finished() {
    for attached in [false, true] {
        let mut hob = TestHob::new().await;
        if attached {
            hob.start().await;
        }
        let gate = Gate::default();
        hob.model.reply(Script::default().text("One.\n\nTw").gate(&gate).text("o.").finish("stop").into());
        let mut person = Person::sit_down_at(&hob, "dumb");
        person.sees("> ").await;
        person.types("Count\r").await;
        person.sees("One.").await;
        gate.open();
        person.sees("Two.").await;
        person.types("\u{4}").await;
        assert!(within("end", person.child.wait()).await.unwrap().success());
        hob.nothing_refused();
    }
}
