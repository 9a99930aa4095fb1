//! A Synapse with people, and a house that is on it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use hob_testkit::process::within;
use hob_testkit::test_hob::TestHob;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, mpsc};

use crate::proxy::Proxy;

pub(super) const HOB: &str = "@hob:house.test";
pub(super) const ADA: &str = "@ada:house.test";
pub(super) const BOB: &str = "@bob:house.test";

/// A program of the tests' Python.
fn python(script: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("target/synapse/bin/python");
    assert!(python.exists(), "Synapse is missing: scripts/synapse installs it");
    let mut command = Command::new(python);
    command.arg(root.join("scripts/synapse.d").join(script));
    // It ends with its input, and takes along what it started.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The homeserver, with Hob's way to it, and the house.
pub(super) struct World {
    pub(super) proxy: Proxy,
    pub(super) hob: TestHob,
    address: String,
    folder: TempDir,
    _server: (Child, ChildStdin),
}

impl World {
    /// A house whose Hob is on a new homeserver, with these settings besides; it is not started.
    pub(super) async fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut server = python("serve.py").arg(folder.path()).args(["hob", "ada", "bob"]).spawn().unwrap();
        let (stdin, stdout) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let line = within("homeserver", BufReader::new(stdout).lines().next_line()).await.unwrap().unwrap();
        let address = serde_json::from_str::<Value>(&line).unwrap()["address"].as_str().unwrap().to_owned();
        let proxy = Proxy::before(&address).await;
        let hob = TestHob::with(&format!(
            "[matrix]\nhomeserver = '{}'\nuser = '{HOB}'\npassword = 'hob'\nowner_user_ids = ['{ADA}']\n{settings}",
            proxy.address
        ))
        .await;
        Self { proxy, hob, address, folder, _server: (server, stdin) }
    }

    /// Starts Hob, and waits until it hears.
    pub(super) async fn start(&mut self) {
        let before = self.proxy.syncs();
        self.hob.start().await;
        self.hob.until(|_| self.proxy.syncs() > before + 1).await;
    }

    /// Somebody comes, with a client of their own.
    pub(super) async fn person(&self, name: &str) -> Person {
        let mut command = python("person.py");
        command.arg(&self.address).arg(name).arg(self.folder.path().join(name));
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (write, dones) = mpsc::unbounded_channel();
        let seen = Arc::<Seen>::default();
        tokio::spawn(read(stdout, Arc::clone(&seen), write));
        let mut person = Person { stdin, dones, seen, device: String::new(), _child: child };
        person.device = within("login", person.dones.recv()).await.unwrap()["did"].as_str().unwrap().to_owned();
        person
    }

    /// The file of Hob's keys.
    pub(super) fn keys(&self) -> PathBuf {
        self.hob.path("data/matrix/default.db")
    }

    /// Hob's login, as it is kept.
    pub(super) fn login(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.hob.path("data/logins/matrix-default.json")).unwrap()).unwrap()
    }
}

#[derive(Default)]
struct Seen {
    all: Mutex<Vec<Value>>,
    more: Notify,
}

async fn read(stdout: ChildStdout, seen: Arc<Seen>, dones: mpsc::UnboundedSender<Value>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        match line.get_mut("saw") {
            Some(saw) => {
                seen.all.lock().unwrap_or_else(PoisonError::into_inner).push(saw.take());
                seen.more.notify_waiters();
            }
            None => drop(dones.send(line)),
        }
    }
}

/// Somebody with a client.
pub(super) struct Person {
    stdin: ChildStdin,
    dones: mpsc::UnboundedReceiver<Value>,
    seen: Arc<Seen>,
    pub(super) device: String,
    _child: Child,
}

impl Person {
    /// Does something, and gives what came of it.
    pub(super) async fn does(&mut self, what: Value) -> Value {
        self.stdin.write_all(format!("{what}\n").as_bytes()).await.unwrap();
        let done = within(&format!("end of {what}"), self.dones.recv()).await.unwrap();
        assert!(done.get("failed").is_none(), "{what}: {done}");
        done["did"].clone()
    }

    /// The same, where an id comes of it.
    pub(super) async fn makes(&mut self, what: Value) -> String {
        self.does(what).await.as_str().unwrap().to_owned()
    }

    /// A room of two with Hob, who comes.
    pub(super) async fn dm(&mut self) -> String {
        let room = self.makes(json!({"do": "room", "invite": [HOB], "direct": true})).await;
        self.until_joined(&room, HOB).await;
        room
    }

    pub(super) async fn until_joined(&self, room: &str, who: &str) {
        self.until("somebody who joins", |event| {
            event["room"] == room
                && event["type"] == "m.room.member"
                && event["sender"] == who
                && event["content"]["membership"] == "join"
        })
        .await;
    }

    pub(super) async fn says(&mut self, room: &str, text: &str) -> String {
        self.makes(json!({"do": "say", "room": room, "text": text})).await
    }

    /// What they have seen so far.
    pub(super) fn seen(&self) -> Vec<Value> {
        self.seen.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the first event of this kind.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let waits = async {
            loop {
                let more = self.seen.more.notified();
                if let Some(found) = self.seen().into_iter().find(&holds) {
                    return found;
                }
                more.await;
            }
        };
        let found = tokio::time::timeout(hob_testkit::process::PATIENCE, waits).await;
        found.unwrap_or_else(|_| panic!("no {what}: {:#?}", self.seen().iter().rev().take(8).collect::<Vec<_>>()))
    }

    /// Waits until Hob has said this there; an edit says what stands in the message from then on.
    pub(super) async fn hears(&self, room: &str, text: &str) -> Value {
        self.until(text, |event| event["room"] == room && event["sender"] == HOB && said(event) == Some(text)).await
    }

    /// Hob's messages there that are no edits, and were not taken back, as they came.
    pub(super) fn standing(&self, room: &str) -> Vec<Value> {
        let all = self.seen();
        let own = |event: &&Value| event["room"] == room && event["sender"] == HOB && event["type"] == "m.room.message";
        let first = |event: &&Value| event["content"]["m.relates_to"]["rel_type"] != "m.replace";
        let is_gone = |event: &&Value| all.iter().any(|other| other["redacts"] == event["id"]);
        all.iter().filter(own).filter(first).filter(|event| !is_gone(event)).cloned().collect()
    }

    /// What they say.
    pub(super) fn by_hob(&self, room: &str) -> Vec<String> {
        self.standing(room).iter().filter_map(|event| said(event).map(str::to_owned)).collect()
    }
}

/// What an event says; of a change, the new words.
pub(super) fn said(event: &Value) -> Option<&str> {
    let content = &event["content"];
    content["m.new_content"]["body"].as_str().or_else(|| content["body"].as_str())
}
