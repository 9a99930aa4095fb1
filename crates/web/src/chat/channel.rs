//! The side of the page that shows: a chunk is delivered once its row is there to be read, and replies grow in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::push::trigger::{PushKind, PushTrigger};
use hob_core::domain::channel::{Channel, FetchError, Progress};
use hob_core::domain::clock::Clock;
use hob_core::domain::health::{ChannelHealth, Liveness};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{Attachment, ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, Outgoing, Receipt};

/// A reply longer than this grows no further to be seen, until it is there whole.
const GROWING_BYTES_MAX: usize = 1 << 20;

/// What happens in one conversation, for whoever watches it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChatActivity {
    /// Something has changed in the database: so many times.
    pub(crate) changes: u64,
    /// The reply that is being written.
    pub(crate) growing: Option<(RunId, Arc<str>)>,
    /// How far a call is that is at work.
    pub(crate) step: Option<Arc<str>>,
}

/// The page, as the outbox sees it.
pub struct PageChannel {
    clock: Arc<dyn Clock>,
    scenes: Mutex<BTreeMap<String, watch::Sender<ChatActivity>>>,
    uploads: Mutex<BTreeMap<String, Vec<u8>>>,
    heard_at: Mutex<Option<Timestamp>>,
    windows: AtomicUsize,
    bell: OnceLock<PushTrigger>,
}

/// An owner's window that is open; it closes when this goes.
pub struct OpenWindow(Arc<PageChannel>);

impl Drop for OpenWindow {
    fn drop(&mut self) {
        self.0.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Hears of what happens in a conversation, for as long as it is there.
pub struct ChatWatcher {
    page: Arc<PageChannel>,
    chat: String,
    /// There until the end.
    scene: Option<watch::Receiver<ChatActivity>>,
}

impl ChatWatcher {
    /// What is to be seen now; what changes after this is news.
    pub(crate) fn current_activity(&mut self) -> ChatActivity {
        self.scene.as_mut().map(|scene| scene.borrow_and_update().clone()).unwrap_or_default()
    }

    /// Until something has changed since the last look.
    pub async fn changed(&mut self) {
        // The page keeps a scene for as long as somebody watches it: there is always one, and it does not end.
        if let Some(scene) = &mut self.scene
            && scene.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}

impl Drop for ChatWatcher {
    fn drop(&mut self) {
        // First it watches no more, then the page looks whether anybody still does.
        self.scene = None;
        self.page.watcher_left(&self.chat);
    }
}

/// The conversation of this id.
pub fn conversation(chat: &str) -> Conversation {
    Conversation { channel: ChannelKind::Web, account: DEFAULT_ACCOUNT.to_owned(), chat: chat.to_owned(), thread: None }
}

impl PageChannel {
    /// A page that nobody watches yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            scenes: Mutex::default(),
            uploads: Mutex::default(),
            heard_at: Mutex::default(),
            windows: AtomicUsize::new(0),
            bell: OnceLock::new(),
        }
    }

    /// Hears of what happens in a conversation from now on.
    pub fn watch(self: &Arc<Self>, chat: &str) -> ChatWatcher {
        let scene = lock(&self.scenes).entry(chat.to_owned()).or_default().subscribe();
        ChatWatcher { page: Arc::clone(self), chat: chat.to_owned(), scene: Some(scene) }
    }

    /// An owner looks at the page from now on.
    pub fn window(self: &Arc<Self>) -> OpenWindow {
        self.windows.fetch_add(1, Ordering::Relaxed);
        OpenWindow(Arc::clone(self))
    }

    /// Whether an owner looks at the page.
    pub(crate) fn has_open_window(&self) -> bool {
        self.windows.load(Ordering::Relaxed) > 0
    }

    /// What rings where no window is open. The first that is hung up stays.
    pub fn set_push_trigger(&self, bell: PushTrigger) {
        if self.bell.set(bell).is_err() {
            tracing::error!("a second bell was hung up, and is not rung");
        }
    }

    /// Tells the owner elsewhere that something waits; done at once, whatever comes of it.
    fn trigger_push(&self, message: &Outgoing) {
        // What takes the place of a message was told of before.
        if let Some(bell) = self.bell.get().filter(|_| message.replaces.is_none() && !self.has_open_window()) {
            bell.ring(&message.destination.conversation.chat, PushKind::of(message));
        }
    }

    /// Whoever watched is gone: what nobody watches is forgotten, unless a reply grows there.
    fn watcher_left(&self, chat: &str) {
        let mut scenes = lock(&self.scenes);
        if scenes.get(chat).is_some_and(|scene| scene.receiver_count() == 0 && scene.borrow().growing.is_none()) {
            scenes.remove(chat);
        }
    }

    /// Something about this conversation was committed.
    pub fn changed(&self, chat: &str) {
        self.show(chat, |scene| scene.changes += 1);
    }

    /// Somebody wrote here.
    pub(crate) fn note_input(&self) {
        *lock(&self.heard_at) = Some(self.clock.now());
    }

    fn show(&self, chat: &str, change: impl FnOnce(&mut ChatActivity)) {
        let mut scenes = lock(&self.scenes);
        let scene = scenes.entry(chat.to_owned()).or_default();
        scene.send_modify(change);
        if scene.receiver_count() == 0 && scene.borrow().growing.is_none() {
            scenes.remove(chat);
        }
    }

    /// Keeps what was uploaded until it is fetched with its message.
    pub fn keep(&self, id: &str, bytes: Vec<u8>) {
        lock(&self.uploads).insert(id.to_owned(), bytes);
    }

    /// What was uploaded is not needed any more.
    pub(crate) fn drop_upload(&self, id: &str) {
        lock(&self.uploads).remove(id);
    }
}

#[async_trait]
impl Channel for PageChannel {
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
        self.trigger_push(message);
        Ok(Receipt { external_id: Some(message.id.0.to_string()) })
    }

    async fn fetch(&self, attachment: &Attachment, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
        let bytes = lock(&self.uploads).get(&attachment.handle).cloned();
        let bytes = bytes.ok_or_else(|| FetchError("it is not there any more".to_owned()))?;
        if bytes.len() as u64 > bytes_max {
            return Err(FetchError(format!("it is larger than {bytes_max} bytes")));
        }
        Ok(bytes)
    }

    fn progress(&self, destination: &Destination, run: RunId, progress: &Progress) {
        let chat = &destination.conversation.chat;
        let has_step = || lock(&self.scenes).get(chat).is_some_and(|scene| scene.borrow().step.is_some());
        if matches!(progress, Progress::Doing(_)) && !has_step() {
            // The page shows a run's own record.
            return;
        }
        self.show(chat, |scene| match progress {
            Progress::Step(words) => scene.step = Some(words.as_str().into()),
            Progress::Doing(_) => scene.step = None,
            Progress::Delta(more) => {
                let before = scene.growing.take().filter(|(of, _)| *of == run).map(|(_, text)| text);
                let before = before.unwrap_or_default();
                let fits = before.len() + more.len() <= GROWING_BYTES_MAX;
                // What does not fit any more leaves it as it is: it must not begin anew from its middle.
                let text = if fits { Arc::from([&*before, more].concat()) } else { before };
                scene.growing = Some((run, text));
            }
            Progress::Restart => scene.growing = None,
            // What was written before a call of a tool is not part of the reply either.
            Progress::Working | Progress::Idle(_) => {
                (scene.growing, scene.step) = (None, None);
                scene.changes += 1;
            }
            Progress::Waiting => {
                scene.step = None;
                scene.changes += 1;
            }
        });
    }

    fn health(&self) -> ChannelHealth {
        let message_at = *lock(&self.heard_at);
        ChannelHealth { message_at, ..ChannelHealth::plain(Liveness::Connected, self.clock.now()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::clock::SystemClock;

    fn grown(watch: &mut ChatWatcher) -> usize {
        watch.current_activity().growing.map_or(0, |(_, text)| text.len())
    }

    #[test]
    fn what_nobody_watches_is_forgotten() {
        let page = Arc::new(PageChannel::new(Arc::new(SystemClock)));
        let (one, other) = (page.watch("k"), page.watch("k"));
        drop(one);
        assert_eq!(lock(&page.scenes).len(), 1);
        drop(other);
        assert!(lock(&page.scenes).is_empty());
    }

    #[test]
    fn a_reply_that_is_too_long_stays_as_far_as_it_was_seen() {
        let page = Arc::new(PageChannel::new(Arc::new(SystemClock)));
        let mut watch = page.watch("k");
        let place = Destination { conversation: conversation("k"), reply_to: None };
        let say = |more: &str| page.progress(&place, RunId(1), &Progress::Delta(more.to_owned()));
        say(&"a".repeat(GROWING_BYTES_MAX));
        say("b");
        say("c");
        assert_eq!(grown(&mut watch), GROWING_BYTES_MAX, "it does not begin anew from its middle");
        page.progress(&place, RunId(2), &Progress::Delta("d".to_owned()));
        assert_eq!(grown(&mut watch), 1);
    }
}
