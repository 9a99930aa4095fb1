//! A wire between Hob and its PostgreSQL, which tells what goes over it and can be cut.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::HashMap;
use std::io;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// What PostgreSQL's socket is called, in the folder that a URL names as its host.
const SOCKET: &str = ".s.PGSQL.5432";
/// The first message of a connection that asks for TLS or GSS before anything else.
const ASKS_FIRST: [u32; 2] = [80_877_103, 80_877_104];

/// The wire; what goes over it ends with it.
pub struct Wire {
    folder: TempDir,
    state: Arc<State>,
    accepts: JoinHandle<()>,
}

struct State {
    asked: Mutex<Vec<String>>,
    news: Notify,
    cuts: watch::Sender<usize>,
    cuts_at_commit: AtomicBool,
}

impl Wire {
    /// One to the server whose socket is in this folder.
    pub fn to(server: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let state = State {
            asked: Mutex::default(),
            news: Notify::new(),
            cuts: watch::Sender::new(0),
            cuts_at_commit: AtomicBool::default(),
        };
        let state = Arc::new(state);
        let accepts = tokio::spawn(accept(listener, server.join(SOCKET), Arc::clone(&state)));
        Self { folder, state, accepts }
    }

    /// The folder of its own socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What the server was asked since the last look: a text for each time that whoever asked waited for an answer.
    pub fn asked(&self) -> Vec<String> {
        take(&mut *self.state.asked.lock().unwrap())
    }

    /// The next that it is asked, or has been asked since the last look.
    pub async fn next(&self) -> String {
        loop {
            let news = self.state.news.notified();
            {
                let mut asked = self.state.asked.lock().unwrap();
                if !asked.is_empty() {
                    return asked.remove(0);
                }
            }
            news.await;
        }
    }

    /// Cuts all connections that there are, wherever in a message they may be.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Cuts the next connection that commits, once the server has heard it: who waits for the answer never gets it.
    pub fn cut_at_commit(&self) {
        self.state.cuts_at_commit.store(true, Ordering::SeqCst);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepts.abort();
        self.cut();
    }
}

async fn accept(listener: UnixListener, server: PathBuf, state: Arc<State>) {
    loop {
        let (hob, _) = listener.accept().await.unwrap();
        let cut = state.cuts.subscribe();
        tokio::spawn(carry(hob, server.clone(), Arc::clone(&state), cut));
    }
}

/// One connection, until either end closes it or it is cut.
async fn carry(mut hob: UnixStream, server: PathBuf, state: Arc<State>, mut cut: watch::Receiver<usize>) {
    let work = async {
        let mut server = UnixStream::connect(server).await?;
        let (mut questions, mut answers, mut heard) = (Vec::new(), Vec::new(), Conversation::default());
        loop {
            tokio::select! {
                read = hob.read_buf(&mut questions) => {
                    if read? == 0 {
                        return Ok::<(), io::Error>(());
                    }
                    server.write_all(&questions).await?;
                    let asked = heard.listen(&take(&mut questions));
                    let is_cut = asked.iter().any(|asked| asked.contains("COMMIT"))
                        && state.cuts_at_commit.swap(false, Ordering::SeqCst);
                    state.asked.lock().unwrap().extend(asked);
                    state.news.notify_one();
                    if is_cut {
                        // It is done when the server has answered.
                        server.read_buf(&mut answers).await?;
                        return Ok(());
                    }
                }
                read = server.read_buf(&mut answers) => {
                    if read? == 0 {
                        return Ok(());
                    }
                    hob.write_all(&take(&mut answers)).await?;
                }
            }
        }
    };
    tokio::select! {
        _ended = work => {}
        _cut = cut.changed() => {}
    }
}

/// What one connection has said so far.
#[derive(Default)]
struct Conversation {
    /// Bytes of a message that is not whole yet.
    rest: Vec<u8>,
    has_begun: bool,
    prepared: HashMap<String, String>,
    /// Since it last waited for an answer.
    asking: Vec<String>,
}

impl Conversation {
    /// What it asks with these bytes and those before: each is answered before it goes on.
    fn listen(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut asked = Vec::new();
        loop {
            let head = usize::from(self.has_begun);
            let Some(length) = self.rest.get(head..head + 4) else { return asked };
            let whole = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.rest.len() < whole {
                return asked;
            }
            let message: Vec<u8> = self.rest.drain(..whole).collect();
            if self.has_begun {
                asked.extend(self.hear(message[0], &message[5..]));
            } else {
                let code = u32::from_be_bytes(message[4..8].try_into().unwrap());
                self.has_begun = !ASKS_FIRST.contains(&code);
            }
        }
    }

    fn hear(&mut self, kind: u8, body: &[u8]) -> Option<String> {
        let mut words = body.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut word = || words.next().unwrap_or_default();
        match kind {
            b'Q' => return Some(word()),
            b'P' => {
                let (name, text) = (word(), word());
                self.asking.push(format!("PREPARE {text}"));
                self.prepared.insert(name, text);
            }
            b'B' => {
                let (_portal, name) = (word(), word());
                self.asking.push(self.prepared.get(&name).cloned().unwrap_or_default());
            }
            b'S' => return Some(take(&mut self.asking).join("; ")),
            _ => {}
        }
        None
    }
}
