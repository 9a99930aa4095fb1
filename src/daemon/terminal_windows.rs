//! Terminals, as a channel: those beside a running Hob, and the one that runs it.
//!
//! Each window is a connection to the socket in the data directory, and is shown what is said and done in its conversation. What
//! nobody is there to read waits.
//!
//! Never: conversation logic; what a command or a number means is the router's business.
//! Start at [`TerminalWindows`]; `cli::attach` is the other end.

mod asker;
mod routes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::daemon::idle::IdleWatcher;
pub(super) use crate::daemon::terminal_windows::routes::routes;
use hob_console::place;
use hob_core::domain::channel::{Channel, FetchError, IdleReason, Intake as _, IntakeError, Progress, UpdateOutcome};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::ids::{OutboxId, RunId};
use hob_core::domain::inbound::{
    Attachment, ChannelKind, DEFAULT_ACCOUNT, Inbound, InboundEvent, MessageMetadata, Sender,
};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};
use hob_router::intake::Router;
use hob_router::operations::outbox::OutboxChangeOutcome;

/// How much may be on its way to a window. One that takes none of it is given up.
const FRAMES_MAX: usize = 4_096;
/// When it is looked again whether somebody is there, if nobody came.
const AWAY: Duration = Duration::from_secs(3_600);
/// How often, and how many times, it is looked whether what found nobody is back in the outbox.
const RETURN_LOOK_EVERY: Duration = Duration::from_millis(10);
const RETURN_LOOKS_MAX: usize = 200;

/// What a window is told; a line of JSON each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowFrame {
    Open,
    /// It is still open.
    Alive,
    /// A person said something, in one of the windows.
    Asked {
        window: u64,
        text: String,
    },
    /// Something was said.
    Said {
        /// Whose answer it is.
        run: Option<i64>,
        text: String,
        /// The words as Markdown, if they are.
        markup: Option<String>,
        /// They may have been shown before.
        may_repeat: bool,
        #[serde(skip)]
        shown: ShownSignal,
    },
    /// How a run goes on.
    Progress {
        run: i64,
        progress: Progress,
    },
    /// The conversation has come to rest since this was asked; none: whatever was asked, as Hob ends.
    Rested {
        asked: Option<u64>,
    },
}

/// Whom to tell that words stand at a terminal; nobody, where a window takes them and is believed.
#[derive(Debug, Clone, Default)]
pub struct ShownSignal(Option<mpsc::Sender<()>>);

impl ShownSignal {
    /// Tells it.
    pub fn tell(&self) {
        if let Some(waits) = &self.0
            && waits.try_send(()).is_err()
        {
            tracing::trace!("another window showed it first");
        }
    }
}

impl Eq for ShownSignal {}

/// Words are the same, whoever waits for them.
impl PartialEq for ShownSignal {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// When words count as shown in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownWhen {
    /// Once they wait for it: it is another process, and has them when this one dies.
    Queued,
    /// Once it says so: it dies with this process.
    Told,
}

/// A window's end here.
struct Window {
    frames: mpsc::Sender<WindowFrame>,
    shown: ShownWhen,
}

/// A message that is handed in through a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowMessage {
    /// Its id: sent twice, it counts once.
    pub id: String,
    /// The window that it was typed in.
    pub window: u64,
    pub text: String,
    /// How the person is called.
    pub name: String,
    /// A file that comes with it: its name, and its content in base64.
    pub file: Option<(String, String)>,
}

/// A conversation, as windows look at it.
#[derive(Default)]
struct WindowChat {
    windows: Vec<Window>,
    /// What each run that is at work did last.
    at_work: BTreeMap<RunId, Progress>,
    /// What found nobody.
    waiting: Vec<OutboxId>,
}

pub struct TerminalWindows {
    rest: IdleWatcher,
    clock: Arc<dyn Clock>,
    chats: Mutex<BTreeMap<String, WindowChat>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl TerminalWindows {
    /// No window is open yet.
    pub(super) fn new(rest: IdleWatcher, clock: Arc<dyn Clock>) -> Self {
        Self { rest, clock, chats: Mutex::default(), files: Mutex::default() }
    }

    /// Tells the windows of each conversation that is at rest: Hob ends, and more will not be said.
    pub(super) async fn tell_end(&self) {
        let chats: Vec<String> = lock(&self.chats).keys().cloned().collect();
        for chat in chats {
            if self.rest.is_at_rest(&place(&chat)).await && !self.show(&chat, &WindowFrame::Rested { asked: None }) {
                tracing::trace!(chat, "nobody watches");
            }
        }
    }

    /// Shows a frame in each window of a conversation; tells whether there is one.
    fn show(&self, chat: &str, frame: &WindowFrame) -> bool {
        let mut chats = lock(&self.chats);
        let Some(windows) = chats.get_mut(chat).map(|chat| &mut chat.windows) else { return false };
        windows.retain(|window| window.frames.try_send(frame.clone()).is_ok());
        !windows.is_empty()
    }

    /// Says something in each window of a conversation; tells whether it is shown in one.
    async fn said(&self, chat: &str, frame: impl Fn(ShownSignal) -> WindowFrame) -> bool {
        let (signal, mut told) = mpsc::channel(1);
        let mut is_queued = false;
        if let Some(chat) = lock(&self.chats).get_mut(chat) {
            chat.windows.retain(|window| {
                let waits = (window.shown == ShownWhen::Told).then(|| signal.clone());
                let is_open = window.frames.try_send(frame(ShownSignal(waits))).is_ok();
                is_queued |= is_open && window.shown == ShownWhen::Queued;
                is_open
            });
        }
        drop(signal);
        is_queued || told.recv().await.is_some()
    }

    /// Keeps where a run stands, for windows that are opened later.
    fn note(&self, chat: &str, run: RunId, progress: &Progress) {
        let mut chats = lock(&self.chats);
        let at_work = &mut chats.entry(chat.to_owned()).or_default().at_work;
        match progress {
            Progress::Idle(IdleReason::Suspended) => drop(at_work.insert(run, progress.clone())),
            Progress::Waiting => drop(at_work.remove(&run)),
            // With it, its agents are over.
            Progress::Idle(_) => {
                at_work.retain(|of, stand| *of != run && *stand != Progress::Idle(IdleReason::Suspended));
            }
            Progress::Working | Progress::Doing(_) | Progress::Step(_) => drop(at_work.insert(run, progress.clone())),
            Progress::Delta(_) | Progress::Restart => drop(at_work.insert(run, Progress::Working)),
        }
    }

    /// Another window, which is told what is at work; what waited for one.
    fn open(&self, chat: &str, shown: ShownWhen) -> (mpsc::Receiver<WindowFrame>, Vec<OutboxId>) {
        let (window, frames) = mpsc::channel(FRAMES_MAX);
        let mut chats = lock(&self.chats);
        let chat = chats.entry(chat.to_owned()).or_default();
        let at_work = chat.at_work.iter();
        let stand = at_work.map(|(run, progress)| WindowFrame::Progress { run: run.0, progress: progress.clone() });
        for frame in [WindowFrame::Open].into_iter().chain(stand) {
            // A channel that was just made has room.
            let told = window.try_send(frame);
            debug_assert!(told.is_ok());
        }
        chat.windows.push(Window { frames: window, shown });
        (frames, std::mem::take(&mut chat.waiting))
    }
}

#[async_trait]
impl Channel for TerminalWindows {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Terminal, DEFAULT_ACCOUNT)
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        let chat = &message.destination.conversation.chat;
        let file = message.file.as_ref().map(|file| hob_console::shown(file) + "\n");
        let frame = |shown| WindowFrame::Said {
            run: message.run.filter(|_| file.is_none()).map(|run| run.0),
            text: file.clone().unwrap_or_default() + &message.text,
            markup: message.markup.clone().filter(|_| file.is_none()),
            may_repeat: message.may_repeat,
            shown,
        };
        if self.said(chat, frame).await {
            return Ok(Receipt { external_id: None });
        }
        let mut chats = lock(&self.chats);
        let chat = chats.entry(chat.clone()).or_default();
        let why = "nobody is at this terminal".to_owned();
        // Somebody who came just now was told of nothing that waits.
        if !chat.windows.is_empty() {
            return Err(DeliveryError::Retry { after: None, why });
        }
        if !chat.waiting.contains(&message.id) {
            chat.waiting.push(message.id);
        }
        Err(DeliveryError::Retry { after: Some(AWAY), why })
    }

    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let bytes = lock(&self.files).get(&attachment.handle).cloned();
        let bytes = bytes.ok_or_else(|| FetchError("it is not there any more".to_owned()))?;
        if bytes.len() as u64 > bytes_max {
            return Err(FetchError(format!("it is larger than {} MB", bytes_max >> 20)));
        }
        Ok(bytes)
    }

    fn progress(&self, destination: &Destination, run: RunId, progress: &Progress) {
        let frame = WindowFrame::Progress { run: run.0, progress: progress.clone() };
        self.note(&destination.conversation.chat, run, progress);
        if !self.show(&destination.conversation.chat, &frame) {
            tracing::trace!(%run, "nobody watches");
        }
    }

    fn health(&self) -> ChannelHealth {
        ChannelHealth::plain(Liveness::Connected, self.clock.now())
    }
}

/// Where windows are opened, and what is said in them is handed in: over the socket, or in this process.
#[derive(Clone)]
pub struct WindowService {
    pub(super) windows: Arc<TerminalWindows>,
    pub(super) router: Arc<Router>,
    /// Nothing more is taken in.
    pub(super) intake: CancellationToken,
    /// Nothing more is said.
    pub(super) stop: CancellationToken,
}

impl WindowService {
    /// Opens a window in this process. What it is told ends when it is given up, or with Hob.
    pub async fn open(&self, chat: &str) -> mpsc::Receiver<WindowFrame> {
        // Words that were only queued would die with this process.
        self.opened(chat, ShownWhen::Told).await
    }

    async fn opened(&self, chat: &str, shown: ShownWhen) -> mpsc::Receiver<WindowFrame> {
        let (frames, waiting) = self.windows.open(chat, shown);
        for id in waiting {
            self.say_now(id).await;
        }
        frames
    }

    async fn say_now(&self, id: OutboxId) {
        for _look in 0..RETURN_LOOKS_MAX {
            match self.router.retry_delivery(id).await {
                // It has found nobody, and is on its way back into the outbox.
                Ok(OutboxChangeOutcome::Sending) => tokio::time::sleep(RETURN_LOOK_EVERY).await,
                Ok(_) => return,
                Err(error) => return tracing::warn!(outbox = %id, %error, "what waited for a terminal waits on"),
            }
        }
    }

    /// Hands a message in.
    ///
    /// # Errors
    /// When its file has no form, it cannot be stored, or Hob stops.
    pub async fn say(&self, chat: &str, said: WindowMessage) -> Result<UpdateOutcome, NotTaken> {
        self.take_in(chat, said, MessageMetadata::default()).await
    }

    async fn take_in(
        &self,
        chat: &str,
        said: WindowMessage,
        metadata: MessageMetadata,
    ) -> Result<UpdateOutcome, NotTaken> {
        // Whoever waits for the answer would not see it.
        if self.intake.is_cancelled() {
            return Err(NotTaken::Stopping);
        }
        let handle = format!("{chat}/{}", said.id);
        let mut attachments = Vec::new();
        let named = said.file.as_ref().map(|(name, _)| format!("[{name}] ")).unwrap_or_default();
        let asked = WindowFrame::Asked { window: said.window, text: named + &said.text };
        if let Some((name, content)) = said.file {
            let bytes = STANDARD.decode(content)?;
            attachments.push(Attachment { handle: handle.clone(), name, bytes: Some(bytes.len() as u64) });
            lock(&self.windows.files).insert(handle.clone(), bytes);
        }
        let inbound = Inbound {
            conversation: place(chat),
            external_id: said.id,
            sender: Sender { external_id: hob_console::LOCAL.to_owned(), name: said.name },
            happening: InboundEvent::Posted { text: said.text },
            sent_at: self.windows.clock.now(),
            attachments,
            metadata,
        };
        // Before it is taken in: no answer may be shown ahead of it.
        self.windows.show(chat, &asked);
        let taken = self.router.accept(inbound).await;
        lock(&self.windows.files).remove(&handle);
        Ok(taken?)
    }

    /// Waits until the conversation has come to rest, and says so behind all that was said in it.
    ///
    /// # Errors
    /// When Hob stops, or no window is open.
    pub async fn rest(&self, chat: &str, asked: u64) -> Result<(), NoRest> {
        let here = place(chat);
        tokio::select! {
            () = self.windows.rest.at_rest(&here) => {}
            () = self.stop.cancelled() => return Err(NoRest::Stopping),
        }
        if self.windows.show(chat, &WindowFrame::Rested { asked: Some(asked) }) { Ok(()) } else { Err(NoRest::Unseen) }
    }
}

/// It was not said that a conversation is at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRest {
    #[error("Hob stops")]
    Stopping,
    #[error("no window is open")]
    Unseen,
}

/// What was said was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    #[error("the file cannot be read: {0}")]
    File(#[from] base64::DecodeError),
    #[error("{0}")]
    Intake(#[from] IntakeError),
    #[error("Hob stops")]
    Stopping,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use hob_core::domain::clock::SystemClock;
    use hob_store::{SchedulingMode, Store};
    use tokio::sync::Notify;

    #[tokio::test]
    async fn n1_words_are_shown_once_a_window_of_this_process_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let rest = IdleWatcher::new(store.clone(), Arc::<Notify>::default());
        let windows = TerminalWindows::new(rest, Arc::new(SystemClock));
        let words =
            |shown| WindowFrame::Said { run: None, text: "Soup.".to_owned(), markup: None, may_repeat: false, shown };
        assert!(!windows.said("home", words).await, "nobody is there");
        let (mut frames, _) = windows.open("home", ShownWhen::Told);
        let mut said = Box::pin(windows.said("home", words));
        assert!(futures::poll!(&mut said).is_pending(), "they only wait to be shown");
        while let Some(frame) = frames.recv().await {
            if let WindowFrame::Said { shown, .. } = frame {
                shown.tell();
                break;
            }
        }
        assert!(said.await);
        let mut said = Box::pin(windows.said("home", words));
        assert!(futures::poll!(&mut said).is_pending());
        drop(frames);
        assert!(!said.await, "it was closed before they were shown");
        let (_frames, _) = windows.open("home", ShownWhen::Queued);
        assert!(windows.said("home", words).await);
        store.close().await;
    }
}
