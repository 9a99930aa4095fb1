//! A window onto the Hob that runs on this data directory: `hob chat` and `hob ask` beside it, through its socket, and the one
//! of them that runs it.

use std::io::{BufRead as _, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::{mpsc, watch};

use crate::cli::next_step::refuse;
use crate::daemon::terminal_windows::{WindowFrame, WindowMessage, WindowService};
use hob_console::screen::Console;
use hob_console::{SessionIdle, place, read_attachment};
use hob_core::domain::channel::{Channel as _, Intake, IntakeError, UpdateOutcome};
use hob_core::domain::ids::{OutboxId, RunId};
use hob_core::domain::inbound::{ChannelKind, Cursor, Inbound, InboundEvent};
use hob_core::domain::outgoing::{Destination, Outgoing};
use hob_core::domain::rng::{Rng, SystemRng};
use hob_store::lock::holder;
use hob_web::local_client::{AskError, post, stream};

/// How long a running Hob may take to take a message in, its file among that.
const WITHIN: Duration = Duration::from_secs(120);
/// How often, and how many times, a Hob is looked for that has the data directory and no socket: it starts, or ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS_MAX: usize = 200;
/// The largest file that is handed in.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// When Hob is asked again, if it did not say that a conversation is at rest.
const REST_AGAIN: Duration = Duration::from_secs(1);
/// How much may wait to be shown.
const FRAMES_MAX: usize = 1_024;

/// The way from a window to its Hob.
#[derive(Clone)]
enum WindowLink {
    /// The socket in its data directory.
    Socket(PathBuf),
    /// It is in this process.
    Here(WindowService),
}

/// A window that is open.
pub(super) struct AttachedWindow {
    link: WindowLink,
    /// Which of the windows this is.
    id: u64,
    chat: String,
    frames: Option<mpsc::Receiver<WindowFrame>>,
    /// Whose questions were answered, of all windows on the conversation; none: everybody's.
    rested: watch::Sender<BTreeSet<Option<u64>>>,
}

/// Opens a window onto a conversation of the Hob that runs here; none: none runs. One that is about to start or to end is
/// waited for.
///
/// # Errors
/// When one runs that cannot be asked.
pub(super) fn open(data_dir: &Path, chat: &str) -> anyhow::Result<Option<AttachedWindow>> {
    let path = format!("/terminal/{chat}");
    let mut looks = 0;
    let opened = loop {
        match stream(data_dir, &path) {
            Err(AskError::NotRunning) if looks < LOOKS_MAX && holder(data_dir)?.is_some() => {
                looks += 1;
                std::thread::sleep(LOOK_EVERY);
            }
            opened => break opened,
        }
    };
    let stream = match opened {
        Ok(stream) => stream,
        Err(AskError::NotRunning | AskError::Place(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut lines = BufReader::new(stream);
    match next(&mut lines) {
        Some(WindowFrame::Open) => {}
        _ => refuse!("the Hob that runs here is another version, or is stopping"; "restart it, or try again"),
    }
    let (told, frames) = mpsc::channel(FRAMES_MAX);
    std::thread::Builder::new()
        .name("window".to_owned())
        .spawn(move || while next(&mut lines).is_some_and(|frame| told.blocking_send(frame).is_ok()) {})
        .context("no thread for the window")?;
    Ok(Some(AttachedWindow::new(WindowLink::Socket(data_dir.to_owned()), chat, frames)))
}

/// Opens a window onto a conversation of the Hob in this process.
pub(super) async fn open_here(window_service: WindowService, chat: &str) -> AttachedWindow {
    let frames = window_service.open(chat).await;
    AttachedWindow::new(WindowLink::Here(window_service), chat, frames)
}

/// The next frame; none: Hob is gone.
fn next(lines: &mut BufReader<UnixStream>) -> Option<WindowFrame> {
    let mut line = String::new();
    let read = lines.read_line(&mut line).ok()?;
    if read == 0 {
        return None;
    }
    serde_json::from_str(&line).inspect_err(|error| tracing::warn!(%error, "Hob said something strange")).ok()
}

impl AttachedWindow {
    fn new(link: WindowLink, chat: &str, frames: mpsc::Receiver<WindowFrame>) -> Self {
        Self {
            link,
            id: SystemRng.next_u64(),
            chat: chat.to_owned(),
            frames: Some(frames),
            rested: watch::Sender::new(BTreeSet::new()),
        }
    }

    /// What is to be shown, once.
    pub(super) fn frames(&mut self) -> anyhow::Result<mpsc::Receiver<WindowFrame>> {
        self.frames.take().context("the window is shown already")
    }

    /// Shows all that is said and done until Hob is gone.
    pub(super) async fn show<W>(&self, mut frames: mpsc::Receiver<WindowFrame>, console: &Console<W>)
    where
        W: Write + Send + 'static,
    {
        let destination = Destination { conversation: place(&self.chat), reply_to: None };
        while let Some(frame) = frames.recv().await {
            match frame {
                WindowFrame::Open | WindowFrame::Alive => {}
                WindowFrame::Asked { window, .. } if window == self.id => {}
                WindowFrame::Asked { text, .. } => console.said_elsewhere(&text),
                WindowFrame::Rested { asked } => self.rested.send_modify(|all| all.extend([asked])),
                WindowFrame::Progress { run, progress } => console.progress(&destination, RunId(run), &progress),
                WindowFrame::Said { run, text, markup, may_repeat, shown } => {
                    let said = Outgoing {
                        id: OutboxId(0),
                        destination: destination.clone(),
                        run: run.map(RunId),
                        text,
                        markup,
                        replaces: None,
                        envelope: None,
                        choices: Vec::new(),
                        file: None,
                        may_repeat,
                    };
                    match console.deliver(&said).await {
                        Ok(_) => shown.tell(),
                        Err(error) => tracing::debug!(%error, "the terminal did not take all of it"),
                    }
                }
            }
        }
    }

    async fn say(&self, said: WindowMessage) -> Result<UpdateOutcome, String> {
        let data_dir = match &self.link {
            WindowLink::Here(window_service) => {
                return window_service.say(&self.chat, said).await.map_err(|error| error.to_string());
            }
            WindowLink::Socket(data_dir) => data_dir,
        };
        let said = serde_json::to_string(&said).map_err(|error| error.to_string())?;
        let taken = self.post(data_dir, "say", said).await?;
        serde_json::from_str(&taken).map_err(|error| error.to_string())
    }

    /// Has it said behind all that was said when the conversation is at rest.
    async fn request_rest(&self, asked: u64) -> Result<(), String> {
        match &self.link {
            WindowLink::Here(window_service) => {
                window_service.rest(&self.chat, asked).await.map_err(|error| error.to_string())
            }
            WindowLink::Socket(data_dir) => {
                self.post(data_dir, &format!("rest/{asked}"), String::new()).await.map(|_empty| ())
            }
        }
    }

    async fn post(&self, data_dir: &Path, path: &str, body: String) -> Result<String, String> {
        let data_dir = data_dir.to_owned();
        let path = format!("/terminal/{}/{path}", self.chat);
        let asked = tokio::task::spawn_blocking(move || post(&data_dir, &path, &body, WITHIN)).await;
        match asked {
            Ok(Ok(answer)) if answer.status < 300 => Ok(answer.body),
            Ok(Ok(answer)) => Err(answer.body),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[async_trait]
impl Intake for AttachedWindow {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        let InboundEvent::Posted { text } = inbound.happening else { return Ok(UpdateOutcome::Ignored) };
        let read = |handle: &str| read_attachment(handle, FILE_BYTES_MAX).map_err(|error| IntakeError(error.0));
        let file = match inbound.attachments.first() {
            Some(file) => Some((file.name.clone(), STANDARD.encode(read(&file.handle)?))),
            None => None,
        };
        let said = WindowMessage { id: inbound.external_id, window: self.id, text, name: inbound.sender.name, file };
        self.say(said).await.map_err(IntakeError)
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(BTreeMap::new())
    }

    async fn advance(&self, _channel: ChannelKind, _account: &str, _cursor: Cursor) -> Result<(), IntakeError> {
        Ok(())
    }
}

#[async_trait]
impl SessionIdle for AttachedWindow {
    async fn quiet(&self) {
        let asked = SystemRng.next_u64();
        let mut rested = self.rested.subscribe();
        let request = async {
            while let Err(why) = self.request_rest(asked).await {
                tracing::debug!(why, "Hob does not say when it is at rest: it is asked again");
                tokio::time::sleep(REST_AGAIN).await;
            }
            std::future::pending::<()>().await;
        };
        // Behind it stands nothing that was said before. Where Hob is gone, whoever shows the window goes on.
        tokio::select! {
            told = rested.wait_for(|all| all.contains(&Some(asked)) || all.contains(&None)) => {
                if told.is_err() {
                    tracing::debug!("nobody shows this window");
                }
            }
            () = request => {}
        }
    }
}

/// A conversation of its own.
pub(super) fn new_chat() -> String {
    format!("{}-{}", hob_console::LOCAL, SystemRng.id())
}
