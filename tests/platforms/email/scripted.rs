//! A mail server that refuses where a test wants it, which dovecot does not: one folder over IMAP, without TLS.
//!
//! It is strict: what it does not know it calls BAD, and letters come with exactly what was asked of them.
#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
#![expect(clippy::unwrap_used, reason = "a test's own machinery fails loudly")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hob_email::settings::{Security, Settings};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::email::harness::settings_at;

/// The folder's UIDVALIDITY.
pub(crate) const VALIDITY: u32 = 9;

/// What is done instead of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScriptedFault {
    /// The command ends so.
    Says(&'static str),
    /// The connection ends.
    HangsUp,
}

/// A letter in the folder; its UID is its place there.
#[derive(Debug, Clone)]
struct Letter {
    raw: Vec<u8>,
    came_at: Timestamp,
}

/// What is twisted of a command.
type Twists = dyn Fn(&str) -> Option<ScriptedFault> + Send + Sync;

struct State {
    letters: watch::Sender<Vec<Letter>>,
    asked: watch::Sender<Vec<String>>,
    connections: AtomicUsize,
    twist: Box<Twists>,
}

/// The server; it ends when dropped.
pub(crate) struct ScriptedMailServer {
    port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Drop for ScriptedMailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ScriptedMailServer {
    /// An empty folder; `twist` has a say in each command.
    pub(crate) async fn start(twist: impl Fn(&str) -> Option<ScriptedFault> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            letters: watch::Sender::default(),
            asked: watch::Sender::default(),
            connections: AtomicUsize::new(0),
            twist: Box::new(twist),
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            // Their connections end with it.
            let mut served = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                shared.connections.fetch_add(1, Ordering::Relaxed);
                served.spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { port, state, task }
    }

    /// How Hob gets here.
    pub(crate) fn settings(&self) -> Settings {
        Settings { imap_security: Security::Plain, ca_file: None, ..settings_at(self.port, 1) }
    }

    /// These lie in the folder from now on.
    pub(crate) fn put(&self, letters: &[(Vec<u8>, Timestamp)]) {
        let new = letters.iter().map(|(raw, came_at)| Letter { raw: raw.clone(), came_at: *came_at });
        self.state.letters.send_modify(|letters| letters.extend(new));
    }

    /// How often it was connected to.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// How often something like this was asked.
    pub(crate) fn asked(&self, like: &str) -> usize {
        self.state.asked.borrow().iter().filter(|asked| asked.contains(like)).count()
    }

    /// Waits until something like this was asked so often.
    pub(crate) async fn until_asked(&self, like: &str, count: usize) {
        let mut asked = self.state.asked.subscribe();
        let enough = asked.wait_for(|asked| asked.iter().filter(|asked| asked.contains(like)).count() >= count);
        let there = tokio::time::timeout(Duration::from_secs(120), enough).await.is_ok();
        assert!(there, "{like} was not asked {count} times: {:#?}", self.state.asked.borrow());
    }
}

/// One connection.
async fn serve(stream: TcpStream, state: Arc<State>) {
    let (read, mut write) = stream.into_split();
    let mut connection = Connection {
        lines: BufReader::new(read).lines(),
        letters: state.letters.subscribe(),
        state: Arc::clone(&state),
    };
    write.write_all(b"* OK ready\r\n").await.unwrap();
    while let Ok(Some(line)) = connection.lines.next_line().await {
        let (tag, command) = line.split_once(' ').unwrap();
        state.asked.send_modify(|asked| asked.push(command.to_owned()));
        let said = match (state.twist)(command) {
            Some(ScriptedFault::HangsUp) => return,
            Some(ScriptedFault::Says(end)) => format!("{tag} {end}\r\n").into_bytes(),
            None if command == "IDLE" => connection.idle(&mut write, tag).await,
            None => connection.answer(tag, command),
        };
        // Whoever has gone hears nothing.
        if write.write_all(&said).await.is_err() {
            return;
        }
    }
}

struct Connection {
    lines: Lines<BufReader<OwnedReadHalf>>,
    letters: watch::Receiver<Vec<Letter>>,
    state: Arc<State>,
}

impl Connection {
    /// Tells what comes until the client has enough.
    async fn idle(&mut self, write: &mut OwnedWriteHalf, tag: &str) -> Vec<u8> {
        if write.write_all(b"+ idling\r\n").await.is_err() {
            return Vec::new();
        }
        loop {
            tokio::select! {
                biased;
                line = self.lines.next_line() => match line {
                    Ok(Some(line)) => {
                        assert_eq!(line, "DONE");
                        return format!("{tag} OK done\r\n").into_bytes();
                    }
                    _ => return Vec::new(),
                },
                changed = self.letters.changed() => {
                    changed.unwrap();
                    let exists = format!("* {} EXISTS\r\n", self.letters.borrow_and_update().len());
                    if write.write_all(exists.as_bytes()).await.is_err() {
                        return Vec::new();
                    }
                }
            }
        }
    }

    fn answer(&mut self, tag: &str, command: &str) -> Vec<u8> {
        let letters = self.state.letters.borrow().clone();
        let mut said = Vec::new();
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["LOGIN", ..] | ["NOOP"] | ["UID", "STORE", ..] => {}
            ["CAPABILITY"] => said.extend(b"* CAPABILITY IMAP4rev1 IDLE\r\n"),
            ["SELECT" | "EXAMINE", _] => {
                let next = letters.len() + 1;
                let about = format!(
                    "* {} EXISTS\r\n* OK [UIDVALIDITY {VALIDITY}] valid\r\n* OK [UIDNEXT {next}] next\r\n",
                    letters.len()
                );
                said.extend(about.into_bytes());
            }
            ["UID", "SEARCH", query @ ..] => {
                self.letters.mark_unchanged();
                let found = found(&letters, query).into_iter().map(|uid| format!(" {uid}")).collect::<String>();
                said.extend(format!("* SEARCH{found}\r\n").into_bytes());
            }
            ["UID", "FETCH", uids, items @ ..] => {
                for uid in uids.split(',').map(|uid| uid.parse::<usize>().unwrap()) {
                    if let Some(letter) = letters.get(uid - 1) {
                        said.extend(shown(letter, uid, &items.join(" ")));
                    }
                }
            }
            _ => return format!("{tag} BAD what is {command}\r\n").into_bytes(),
        }
        said.extend(format!("{tag} OK done\r\n").into_bytes());
        said
    }
}

/// `ALL`, or `UID n:*` with or without `SINCE date`; `*` is the last letter, however old.
fn found(letters: &[Letter], query: &[&str]) -> Vec<usize> {
    let since = match query {
        ["ALL"] | ["UID", _] => Date::MIN,
        ["UID", _, "SINCE", date] => Date::strptime("%d-%b-%Y", date).unwrap(),
        other => panic!("{other:?} is not a search"),
    };
    let from = query.get(1).map_or(1, |range| range.strip_suffix(":*").unwrap().parse::<usize>().unwrap());
    let day = |uid: &usize| letters[uid - 1].came_at.to_zoned(TimeZone::UTC).date();
    (from.min(letters.len()).max(1)..=letters.len()).filter(|uid| day(uid) >= since).collect()
}

fn shown(letter: &Letter, uid: usize, items: &str) -> Vec<u8> {
    let mut shown = format!("* {uid} FETCH (UID {uid}").into_bytes();
    if items == "(UID RFC822.SIZE INTERNALDATE)" {
        let date = letter.came_at.to_zoned(TimeZone::UTC).strftime("%d-%b-%Y %H:%M:%S %z").to_string();
        shown.extend(format!(" RFC822.SIZE {} INTERNALDATE \"{date}\"", letter.raw.len()).into_bytes());
    } else {
        let asked = items.strip_prefix("(UID BODY.PEEK[").and_then(|rest| rest.strip_suffix(')')).unwrap();
        let (section, part) = asked.split_once(']').unwrap();
        let most = part.strip_prefix("<0.").map(|part| part.strip_suffix('>').unwrap().parse::<usize>().unwrap());
        let content = &letter.raw[..most.unwrap_or(usize::MAX).min(letter.raw.len())];
        let from = if most.is_some() { "<0>" } else { "" };
        shown.extend(format!(" BODY[{section}]{from} {{{}}}\r\n", content.len()).into_bytes());
        shown.extend(content);
    }
    shown.extend(b")\r\n");
    shown
}
