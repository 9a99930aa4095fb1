//! The town: twenty people, Telegram, a model that does as it is told, and the house that Hob lives in.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::torture::person::{PersonLog, talk};
use hob_testkit::fake_model::{FakeModel, ReceivedRequest, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;

const PEOPLE: i64 = 20;
/// How long all may take to be answered in the end.
const LAST_ANSWERS_WITHIN: Duration = Duration::from_secs(90);

pub(crate) struct Harness {
    pub(crate) telegram: Arc<FakeTelegram>,
    pub(crate) model: FakeModel,
    pub(crate) home: TempDir,
    hush: watch::Sender<bool>,
    people: Vec<JoinHandle<PersonLog>>,
}

impl Harness {
    /// Everybody begins to talk.
    pub(crate) async fn found(seed: u64) -> Self {
        let (telegram, model) = (Arc::new(FakeTelegram::start().await), FakeModel::start().await);
        let home = tempfile::tempdir().unwrap();
        model.forget().otherwise(answer);
        let ids = (1..=PEOPLE).map(|person| person.to_string()).collect::<Vec<_>>().join(", ");
        let (api_url, base_url, place) = (telegram.api_url(), model.base_url(), home.path().display());
        let config = format!(
            r#"
            provider = {{ kind = "openai_compatible", base_url = "{base_url}", api_key = "sk", models.primary = "fake" }}
            telegram = {{ bot_token = "{}", allowed_user_ids = [{ids}], api_url = "{api_url}" }}
            [delivery]
            backoff_base_ms = 10
            [tools.effect]
            sandbox = false
            trusted_output = true
            description = "Appends a line."
            command = ["/bin/sh", "-c", 'sleep "$2"; echo "$1" >> {place}/effects; sleep "$2"', "sh", "{{what}}", "{{time}}"]
            parameters = {{ what = "The line.", time = "How long it takes." }}
            [tools.safe]
            sandbox = false
            trusted_output = true
            description = "Appends a line, and it does not matter how often."
            command = ["/bin/sh", "-c", 'sleep "$2"; echo "$1" >> {place}/safe; sleep "$2"', "sh", "{{what}}", "{{time}}"]
            parameters = {{ what = "The line.", time = "How long it takes." }}
            idempotent = true
            "#,
            FakeTelegram::TOKEN,
        );
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let (hush, quiet) = watch::channel(false);
        let people = (1..=PEOPLE)
            .map(|person| {
                telegram.person(person);
                tokio::spawn(talk(Arc::clone(&telegram), person, seed, quiet.clone()))
            })
            .collect();
        Self { telegram, model, home, hush, people }
    }

    /// Nobody begins anything new; returns when everybody has been answered.
    pub(crate) async fn hush(&mut self) -> Vec<PersonLog> {
        self.hush.send_replace(true);
        let all = async {
            let mut talks = Vec::new();
            for person in self.people.drain(..) {
                talks.push(person.await.unwrap());
            }
            talks
        };
        tokio::time::timeout(LAST_ANSWERS_WITHIN, all).await.expect("not everybody was answered in the end")
    }

    /// The next poll is the first.
    pub(crate) fn forget_polls(&self) {
        self.telegram.look(|world| world.calls.remove("getupdates"));
    }

    /// Waits for a poll.
    pub(crate) async fn polled(&self) {
        self.telegram.called("getUpdates", 1).await;
    }

    /// The lines of a file that a tool writes.
    pub(crate) fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Does what the last message wants: `NAME effect TIME`, `NAME safe TIME` or `NAME plain TIME`.
fn answer(asked: &ReceivedRequest) -> Reply {
    let wanted = asked.last_user().lines().last().unwrap_or_default();
    let mut words = wanted.split(' ');
    let (name, how, time) = (words.next().unwrap(), words.next().unwrap_or_default(), words.next().unwrap_or("0"));
    if asked.last_role() == "user" && matches!(how, "effect" | "safe") {
        return Reply::call(how, &format!(r#"{{"what": "{name}", "time": "{time}"}}"#));
    }
    let pause = Duration::from_secs_f64(time.parse().unwrap_or_default());
    Script::default().text("answer ").pause(pause).text(name).finish("stop").into()
}
