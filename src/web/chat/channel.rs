//! The side of the page that shows: a chunk is delivered once its row is there to be read, and replies grow in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::domain::channel::{Channel, FetchError, Progress};
use crate::domain::clock::Clock;
use crate::domain::health::{ChannelHealth, Liveness};
use crate::domain::ids::RunId;
use crate::domain::inbound::{Attachment, ChannelKind, Conversation, DEFAULT_ACCOUNT};
use crate::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};

/// A reply longer than this grows unseen until it is there whole.
const GROWING_BYTES_MAX: usize = 1 << 20;

/// What happens in one conversation, for whoever watches it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scene {
    /// Something has changed in the database: so many times.
    pub changes: u64,
    /// The reply that is being written.
    pub growing: Option<(RunId, Arc<str>)>,
}

/// The page, as the outbox sees it.
pub struct Page {
    clock: Arc<dyn Clock>,
    scenes: Mutex<BTreeMap<String, watch::Sender<Scene>>>,
    uploads: Mutex<BTreeMap<String, Vec<u8>>>,
    heard_at: Mutex<Option<Timestamp>>,
}

/// The conversation of this id.
#[must_use]
pub fn conversation(chat: &str) -> Conversation {
    Conversation { channel: ChannelKind::Web, account: DEFAULT_ACCOUNT.to_owned(), chat: chat.to_owned(), thread: None }
}

impl Page {
    /// A page that nobody watches yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, scenes: Mutex::default(), uploads: Mutex::default(), heard_at: Mutex::default() }
    }

    fn scenes(&self) -> MutexGuard<'_, BTreeMap<String, watch::Sender<Scene>>> {
        // Each change leaves the map whole.
        self.scenes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn uploads(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of what happens in a conversation from now on.
    #[must_use]
    pub fn watch(&self, chat: &str) -> watch::Receiver<Scene> {
        self.scenes().entry(chat.to_owned()).or_default().subscribe()
    }

    /// Whoever watched is gone: what nobody watches is forgotten, unless a reply grows there.
    pub fn left(&self, chat: &str) {
        let mut scenes = self.scenes();
        if scenes.get(chat).is_some_and(|scene| scene.receiver_count() == 0 && scene.borrow().growing.is_none()) {
            scenes.remove(chat);
        }
    }

    /// Something about this conversation was committed.
    pub fn changed(&self, chat: &str) {
        self.show(chat, |scene| scene.changes += 1);
    }

    /// Somebody wrote here.
    pub fn heard(&self) {
        *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.clock.now());
    }

    fn show(&self, chat: &str, change: impl FnOnce(&mut Scene)) {
        let mut scenes = self.scenes();
        let scene = scenes.entry(chat.to_owned()).or_default();
        scene.send_modify(change);
        if scene.receiver_count() == 0 && scene.borrow().growing.is_none() {
            scenes.remove(chat);
        }
    }

    /// Keeps what was uploaded until it is fetched with its message.
    pub fn keep(&self, id: &str, bytes: Vec<u8>) {
        self.uploads().insert(id.to_owned(), bytes);
    }

    /// What was uploaded is not needed any more.
    pub fn drop_upload(&self, id: &str) {
        self.uploads().remove(id);
    }
}

#[async_trait]
impl Channel for Page {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Web, DEFAULT_ACCOUNT)
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        self.show(&message.destination.conversation.chat, |scene| {
            scene.changes += 1;
            // What it grew into stands there now; words of a tool end no reply.
            if scene.growing.as_ref().is_some_and(|(run, _)| Some(*run) == message.run) {
                scene.growing = None;
            }
        });
        Ok(Receipt { external_id: Some(message.id.0.to_string()) })
    }

    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let bytes = self.uploads().get(&attachment.handle).cloned();
        let bytes = bytes.ok_or_else(|| FetchError("it is not there any more".to_owned()))?;
        if bytes.len() as u64 > bytes_max {
            return Err(FetchError(format!("it is larger than {bytes_max} bytes")));
        }
        Ok(bytes)
    }

    fn progress(&self, destination: &Destination, run: RunId, progress: &Progress) {
        self.show(&destination.conversation.chat, |scene| match progress {
            Progress::Delta(more) => {
                let before = scene.growing.take().filter(|(of, _)| *of == run).map(|(_, text)| text);
                let before = before.as_deref().unwrap_or_default();
                if before.len() + more.len() <= GROWING_BYTES_MAX {
                    scene.growing = Some((run, Arc::from([before, more].concat())));
                }
            }
            Progress::Restart => scene.growing = None,
            // What was written before a call of a tool is no part of the reply either.
            Progress::Working => {
                scene.growing = None;
                scene.changes += 1;
            }
            Progress::Waiting => scene.changes += 1,
            Progress::Idle(_) => {
                scene.growing = None;
                scene.changes += 1;
            }
        });
    }

    fn health(&self) -> ChannelHealth {
        let message_at = *self.heard_at.lock().unwrap_or_else(PoisonError::into_inner);
        ChannelHealth { message_at, ..ChannelHealth::plain(Liveness::Connected, self.clock.now()) }
    }
}
