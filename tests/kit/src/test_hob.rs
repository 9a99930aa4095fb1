//! A household: a Telegram, a model, a home with a config, and Hob running in it as a process.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use hob_config::environment::Environment;
use hob_core::domain::secret::Secret;
use hob_store::Store;
use hob_store::copy::server_to_file;
use hob_store::place::StatePlace;
use rustix::process::Signal;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, SqlSafeStr};
use tempfile::TempDir;
use tokio::process::Command;
use toml::{Table, Value};

use super::fake_model::{FakeModel, Reply};
use super::fake_telegram::FakeTelegram;
use super::fake_telegram::world::Post;
use super::postgres::Cluster;
use super::process::{HobProcess, hob_command, within};

/// Who is let in.
pub const ADA: i64 = 7;
/// Who is let in as well.
pub const BOB: i64 = 8;
pub const OWNER: i64 = 1;
/// Nobody.
pub const STRANGER: i64 = 99;
/// A group.
pub const HALL: i64 = -100_123;

/// Set, each household has its state on PostgreSQL.
const ON_POSTGRES: &str = "HOB_TEST_POSTGRES";
/// The file in a home that says where its state is.
const STATE: &str = "state-url";

/// A command that asks before it pays somebody.
pub const PAYS: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/paid; echo paid "$1"', "sh", "{to}"]
parameters = { to = "Whom." }
approval = "ask"
"#;
/// A command that has an effect, says that it is up, and waits for a word; it is not safe to run twice.
pub const EFFECT: &str = r#"[tools.effect]
sandbox = false
trusted_output = true
description = "Has an effect."
command = ["/bin/sh", "-c", "echo effect >> $HOME/effects; echo up > $HOME/up; read line < $HOME/go; echo did it"]
"#;

/// The household. Everything ends when it is dropped.
pub struct TestHob {
    pub process: Option<HobProcess>,
    pub telegram: FakeTelegram,
    pub model: FakeModel,
    pub home: TempDir,
}

/// The buttons of a message: what each says, and what it carries.
pub struct Buttons {
    pub message: i64,
    pub all: Vec<(String, String)>,
}

/// A tool that is a line of shell, outside of the sandbox, and is trusted; it takes these parameters, as `$1` and so on. Further
/// keys of it may follow.
pub fn command(name: &str, line: &str, parameters: &[&str]) -> String {
    let vector = ["/bin/sh", "-c", line, "sh"].map(str::to_owned).into_iter();
    let vector: Vec<_> = vector.chain(parameters.iter().map(|parameter| format!("{{{parameter}}}"))).collect();
    let described: Vec<_> = parameters.iter().map(|parameter| format!("{parameter} = 'It.'")).collect();
    let parameters = described.join(", ");
    format!(
        "[tools.{name}]\nsandbox = false\ntrusted_output = true\ndescription = 'It.'\ncommand = {vector:?}\n\
         parameters = {{ {parameters} }}\n"
    )
}

impl TestHob {
    /// With the usual config; Hob is not started.
    pub async fn new() -> Self {
        Self::with("").await
    }

    /// With these settings over the usual ones.
    pub async fn with(settings: &str) -> Self {
        let (telegram, model) = (FakeTelegram::start().await, FakeModel::start().await);
        for person in [ADA, BOB, OWNER, STRANGER] {
            telegram.person(person);
        }
        let hob = Self { process: None, telegram, model, home: tempfile::tempdir().unwrap() };
        if Environment::of_process().get(ON_POSTGRES).is_some() {
            std::fs::write(hob.path(STATE), Cluster::shared().database().url()).unwrap();
        }
        hob.configure(settings);
        hob
    }

    /// Keeps its state in the database at this URL from the next start on.
    pub fn keep_state_at(&self, url: &str) {
        std::fs::write(self.path(STATE), url).unwrap();
    }

    /// The same, and Hob is started.
    pub async fn running(settings: &str) -> Self {
        let mut hob = Self::with(settings).await;
        hob.start().await;
        hob
    }

    /// Writes the config anew: these settings over the usual ones.
    pub fn configure(&self, settings: &str) {
        let settings = settings.replace("$HOME", &self.home.path().display().to_string());
        let mut config = usual(&self.telegram.api_url(), &self.model.base_url());
        if let Some(url) = self.state_url() {
            merge(&mut config, format!("[state]\nurl = '{url}'").parse().unwrap());
        }
        merge(&mut config, settings.parse().unwrap());
        std::fs::write(self.path("config.toml"), config.to_string()).unwrap();
    }

    /// A path in the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The lines of a file in the home; none if it is not there.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts `hob run`, and waits for its first poll.
    pub async fn start(&mut self) {
        self.start_as(hob_command(self.home.path(), &["run"])).await;
    }

    /// The same with a program that is Hob.
    pub async fn start_as(&mut self, command: Command) {
        assert!(self.process.is_none(), "it runs already");
        let polls = self.telegram.look(|world| world.called("getUpdates"));
        self.process = Some(HobProcess::start(command));
        self.telegram.until_true("poll of a started Hob", |world| world.called("getUpdates") > polls).await;
    }

    /// The running Hob.
    pub fn process(&mut self) -> &mut HobProcess {
        self.process.as_mut().unwrap()
    }

    /// `kill -9`.
    pub async fn crash(&mut self) {
        self.process.take().unwrap().kill().await;
    }

    /// `kill -9`, and a new start.
    pub async fn restart(&mut self) {
        self.crash().await;
        self.start().await;
    }

    /// Waits until this Hob has recorded so many deliveries: from then on a crash repeats none of them.
    pub async fn recorded(&mut self, deliveries: usize) {
        self.process().until_logged("outbox.delivered", deliveries).await;
    }

    /// Waits until so many runs are over.
    pub async fn ended(&mut self, runs: usize) {
        self.process().until_ended(runs).await;
    }

    /// SIGTERM; returns how it ended.
    pub async fn stop(&mut self) -> ExitStatus {
        let mut process = self.process.take().unwrap();
        process.signal(Signal::TERM);
        process.ended().await
    }

    /// Somebody writes to the bot; returns the message's id.
    pub fn say(&self, person: i64, text: &str) -> i64 {
        self.telegram.say(person, text)
    }

    /// Waits until the bot has written so often to this person, and returns its words.
    pub async fn told(&self, person: i64, count: usize) -> Vec<String> {
        let texts = self.telegram.until_sent(person, count).await;
        assert_eq!(texts.len(), count, "{texts:#?}");
        texts
    }

    /// What the bot has written to this person so far.
    pub fn heard(&self, person: i64) -> Vec<String> {
        self.telegram.look(|world| world.chat(person).by_bot().map(|message| message.text.clone()).collect())
    }

    /// Waits until the model was asked so often.
    pub async fn asked(&self, count: usize) {
        within(&format!("{count} requests to the model"), self.model.asked(count)).await;
    }

    /// Says something that the model answers with `reply`, and waits for the bot's next words.
    pub async fn ask(&self, person: i64, text: &str, reply: Reply) -> String {
        let before = self.heard(person).len();
        self.model.reply(reply);
        self.say(person, text);
        self.told(person, before + 1).await.pop().unwrap()
    }

    /// Waits until everything that was said to Hob has been taken and acknowledged: nothing is in line at Telegram.
    pub async fn acknowledged(&self) {
        self.telegram.until_true("empty line of updates", |world| world.updates.is_empty()).await;
    }

    /// Presses the button with this label under the bot's last message to this person.
    pub fn press(&self, person: i64, label: &str) {
        let (message, token) = self.telegram.look(|world| {
            let last = world.chat(person).by_bot().last().unwrap();
            let buttons = last.keyboard.concat();
            let button = buttons.iter().find(|(shown, _)| shown == label);
            (last.id, button.unwrap_or_else(|| panic!("no button {label:?}: {last:#?}")).1.clone())
        });
        self.telegram.press(person, person, message, &token);
    }

    /// The first buttons in a chat as somebody remembers them.
    pub fn remembered(&self, chat: i64) -> Buttons {
        self.telegram.look(|world| {
            let asked = world.chat(chat).by_bot().find(|message| !message.keyboard.is_empty()).unwrap();
            Buttons { message: asked.id, all: asked.keyboard.concat() }
        })
    }

    /// Presses such a button, which may be gone by now.
    pub fn press_remembered(&self, person: i64, buttons: &Buttons, label: &str) {
        let (_, token) = buttons.all.iter().find(|(shown, _)| shown == label).unwrap();
        self.telegram.press(person, person, buttons.message, token);
    }

    /// The model must have found nothing wrong with any request.
    pub fn nothing_refused(&self) {
        assert_eq!(self.model.refused(), Vec::<String>::new());
    }

    /// The labels under the last message that a person got.
    pub fn buttons(&self, person: i64) -> Vec<String> {
        self.telegram.look(|world| {
            let last = world.chat(person).by_bot().last().unwrap();
            last.keyboard.concat().into_iter().map(|(label, _)| label).collect()
        })
    }

    /// Somebody says this to Hob in the group.
    pub fn in_hall(&self, person: i64, text: &str) {
        self.telegram.post(Post::new(HALL, person, &format!("@{} {text}", FakeTelegram::BOT_NAME)));
    }

    /// The last result that the model was told.
    pub fn last_result(&self) -> String {
        self.model.requests().last().unwrap().last_text().to_owned()
    }

    /// Presses a button under the bot's last message in the group.
    pub fn press_in_hall(&self, person: i64, label: &str) {
        let (message, token) = self.telegram.look(|world| {
            let last = world.chat(HALL).by_bot().last().unwrap();
            let button = last.keyboard.concat().into_iter().find(|(shown, _)| shown == label);
            (last.id, button.unwrap().1)
        });
        self.telegram.press(HALL, person, message, &token);
    }

    /// What a file of the workspace holds, if it is there.
    pub fn in_workspace(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path("data/workspace").join(name)).ok()
    }

    /// The upper layers of all drafts that there are.
    pub fn uppers(&self) -> Vec<PathBuf> {
        let drafts = std::fs::read_dir(self.path("data/drafts")).into_iter().flatten().flatten();
        drafts.map(|entry| entry.path().join("0/upper")).filter(|upper| upper.is_dir()).collect()
    }

    pub fn is_drafted(&self, name: &str) -> bool {
        self.uppers().iter().any(|upper| upper.join(name).exists())
    }

    /// What a query finds in its database; one on a server is looked at in a copy of this moment.
    pub async fn rows<T>(&self, query: impl SqlSafeStr) -> Vec<T>
    where
        T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        let (mut path, copies) = (self.path("data/hob.db"), tempfile::tempdir().unwrap());
        if let Some(url) = self.state_url() {
            path = copies.path().join("hob.db");
            server_to_file(&StatePlace::Server(Secret::new(url)), &path).await.unwrap();
        }
        let mut database = Store::raw(&path).await.unwrap();
        let rows = sqlx::query_as(query).fetch_all(&mut database).await.unwrap();
        database.close().await.unwrap();
        rows
    }

    /// The first row.
    pub async fn row<T>(&self, query: impl SqlSafeStr) -> T
    where
        T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        self.rows(query).await.remove(0)
    }

    /// The only column.
    pub async fn values<T>(&self, query: impl SqlSafeStr) -> Vec<T>
    where
        (T,): for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        self.rows::<(T,)>(query).await.into_iter().map(|(value,)| value).collect()
    }

    /// The only value.
    pub async fn value<T>(&self, query: impl SqlSafeStr) -> T
    where
        (T,): for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        self.values(query).await.remove(0)
    }

    /// Changes its database, as another process could.
    pub async fn execute(&self, sql: impl SqlSafeStr) {
        let sql = sql.into_sql_str();
        if let Some(url) = self.state_url() {
            Cluster::shared().sql(&url, sql.as_str());
            return;
        }
        let mut database = Store::raw(&self.path("data/hob.db")).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// Where its state is, if that is a server.
    fn state_url(&self) -> Option<String> {
        std::fs::read_to_string(self.path(STATE)).ok()
    }

    /// Waits until it holds.
    pub async fn until(&self, what: impl Fn(&Self) -> bool) {
        let waits = async {
            while !what(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap();
    }
}

fn usual(api_url: &str, base_url: &str) -> Table {
    let text = format!(
        "[provider]
        kind = 'openai_compatible'
        base_url = '{base_url}'
        api_key = 'sk-test'
        [provider.models]
        primary = 'fake'
        [telegram]
        bot_token = '{token}'
        allowed_user_ids = [{ADA}, {BOB}]
        owner_user_ids = [{OWNER}]
        api_url = '{api_url}'
        poll_timeout_secs = 20
        [delivery]
        backoff_base_ms = 10
        [daemon]
        log = 'info,hob=debug'
        [agent]
        time_zone = 'UTC'",
        token = FakeTelegram::TOKEN,
    );
    text.parse().unwrap()
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
