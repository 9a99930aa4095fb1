//! A model of a platform for the tests of delivery: what its chat shows, and what was asked of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::MutexGuard;

use async_trait::async_trait;

use super::*;
use crate::delivery::config::DeliveryLimits;
use crate::streaming::StreamSettings;
use hob_core::domain::capabilities::Capabilities;
use hob_core::domain::channel::PresenceSignal;
use hob_core::domain::health::Liveness;
use hob_core::domain::outgoing::DraftMessage;

/// What was asked of the platform besides messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlatformCall {
    Sign(PresenceSignal),
    /// A draft was posted, or changed; how far its words were.
    Draft {
        posts: bool,
        text: String,
    },
    Retract,
}

#[derive(Default)]
struct Chat {
    serial: u64,
    /// What is shown, by the order in which it was posted.
    shown: BTreeMap<u64, (String, Option<String>)>,
    calls: Vec<PlatformCall>,
    signs: VecDeque<Result<(), DeliveryError>>,
    drafts: VecDeque<Result<(), DeliveryError>>,
    /// Messages wait for it.
    held: Option<Arc<Notify>>,
    /// So often somebody asked what can be shown, as everybody does who renders something.
    asked: usize,
}

pub(crate) struct FakePlatform(Mutex<Chat>);

impl FakePlatform {
    fn chat(&self) -> MutexGuard<'_, Chat> {
        self.0.lock().unwrap()
    }
}

impl Chat {
    fn post(&mut self, text: &str, markup: Option<&String>) -> String {
        self.serial += 1;
        self.shown.insert(self.serial, (text.to_owned(), markup.cloned()));
        self.serial.to_string()
    }

    fn edit(&mut self, id: &str, text: &str, markup: Option<&String>) -> bool {
        let shown = self.shown.get_mut(&id.parse::<u64>().unwrap());
        shown.map(|shown| *shown = (text.to_owned(), markup.cloned())).is_some()
    }
}

#[async_trait]
impl Channel for FakePlatform {
    fn address(&self) -> (ChannelKind, &str) {
        (ChannelKind::Telegram, "default")
    }

    fn capabilities(&self) -> &'static Capabilities {
        self.chat().asked += 1;
        Capabilities::of(ChannelKind::Telegram)
    }

    async fn deliver(&self, message: &Outgoing) -> Result<Receipt, DeliveryError> {
        let held = self.chat().held.clone();
        if let Some(held) = held {
            held.notified().await;
        }
        let mut chat = self.chat();
        let (text, markup) = (&message.text, message.markup.as_ref());
        if let Some(replaces) = &message.replaces {
            let there = chat.edit(&replaces.external_id, text, markup);
            if there || !replaces.or_send {
                return Ok(Receipt { external_id: Some(replaces.external_id.clone()) });
            }
        }
        let external_id = chat.post(text, markup);
        Ok(Receipt { external_id: Some(external_id) })
    }

    async fn draft(&self, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
        let mut chat = self.chat();
        chat.calls.push(PlatformCall::Draft { posts: draft.external_id.is_none(), text: draft.text.clone() });
        if let Some(Err(error)) = chat.drafts.pop_front() {
            return Err(error);
        }
        if let Some(id) = &draft.external_id {
            assert!(chat.edit(id, &draft.text, draft.markup.as_ref()), "a draft that is not there was changed");
            return Ok(Receipt { external_id: Some(id.clone()) });
        }
        let external_id = chat.post(&draft.text, draft.markup.as_ref());
        Ok(Receipt { external_id: Some(external_id) })
    }

    async fn retract(&self, _place: &Destination, external_id: &str) -> Result<(), DeliveryError> {
        let mut chat = self.chat();
        chat.calls.push(PlatformCall::Retract);
        chat.shown.remove(&external_id.parse::<u64>().unwrap());
        Ok(())
    }

    async fn sign(&self, _place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
        let mut chat = self.chat();
        chat.calls.push(PlatformCall::Sign(sign));
        chat.signs.pop_front().unwrap_or(Ok(()))
    }

    fn health(&self) -> ChannelHealth {
        ChannelHealth::plain(Liveness::Connected, Timestamp::UNIX_EPOCH)
    }
}

/// A platform, and the way to it.
pub(crate) struct PlatformHarness {
    pub(crate) channels: Arc<ChannelRegistry>,
    pub(crate) platform: Arc<FakePlatform>,
}

impl PlatformHarness {
    pub(crate) fn new() -> Self {
        Self::with(true)
    }

    /// With or without signs under messages.
    pub(crate) fn with(reactions: bool) -> Self {
        let platform = Arc::new(FakePlatform(Mutex::default()));
        let channels: Vec<Arc<dyn Channel>> = vec![Arc::clone(&platform) as _];
        let limits = DeliveryLimits {
            attempts_max: 12,
            age_max: Duration::from_secs(60),
            backoff_base: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
        };
        let stream = StreamSettings { on: true, every: Duration::from_secs(1), off: BTreeSet::new() };
        let config = DeliveryConfig { channels, limits, stream, reactions, speaks: false, letters: Arc::default() };
        let channels = ChannelRegistry::new(config, TaskTracker::new(), CancellationToken::new());
        Self { channels: Arc::new(channels), platform }
    }

    pub(crate) fn calls(&self) -> Vec<PlatformCall> {
        self.platform.chat().calls.clone()
    }

    /// How often somebody asked what can be shown.
    pub(crate) fn asked(&self) -> usize {
        self.platform.chat().asked
    }

    /// What a person sees, from top to bottom.
    pub(crate) fn shown(&self) -> Vec<(String, Option<String>)> {
        self.platform.chat().shown.values().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        let mut chat = self.platform.chat();
        (chat.shown, chat.calls) = (BTreeMap::new(), Vec::new());
    }

    pub(crate) fn answer_signs(&self, answers: Vec<Result<(), DeliveryError>>) {
        self.platform.chat().signs = answers.into();
    }

    pub(crate) fn answer_drafts(&self, answers: Vec<Result<(), DeliveryError>>) {
        self.platform.chat().drafts = answers.into();
    }

    /// From now on what is delivered does not arrive.
    pub(crate) fn hold_deliveries(&self) {
        self.platform.chat().held = Some(Arc::default());
    }

    /// It arrives.
    pub(crate) fn release_deliveries(&self) {
        let held = self.platform.chat().held.take();
        held.iter().for_each(|held| held.notify_one());
    }

    /// Until nobody is at work.
    pub(crate) async fn rest(&self) {
        self.channels.tracker.close();
        self.channels.tracker.wait().await;
        self.channels.tracker.reopen();
    }
}

pub(crate) fn conversation() -> Conversation {
    Conversation { channel: ChannelKind::Telegram, account: "default".to_owned(), chat: "5".to_owned(), thread: None }
}
