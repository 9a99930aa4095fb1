//! Replies that grow in the chat while the model writes them: one message, posted late and changed seldom.
//!
//! The driver never waits for it: the newest text counts, what came before it is not shown. The final form is the outbox's:
//! its first chunk takes the place of the draft, so that what stands in the chat at last is what would have been sent anyway.
//! Before anything else is said in the conversation the draft is taken back, and posted again below it.
//! Never: a draft that nobody takes away. Which message is one is stored, and what a run leaves behind is looked for at its end,
//! at the start and in the rounds.
//! Start at `Streaming::hear`; `Streaming::make_way` is where it meets the outbox.

mod draft_state;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::{Mutex as Turn, Notify, OwnedMutexGuard};
use tokio::time::Instant;
use tracing::Instrument;

use crate::delivery::config::ChannelRegistry;
use crate::streaming::draft_state::{DraftState, GrowingReply, NextDraftAction};
use crate::streaming::records::DraftDisposition;
use hob_core::domain::capabilities::Feature;
use hob_core::domain::channel::{Channel, IdleReason, Progress};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination, DraftMessage, MessageReplacement, Receipt};
use hob_core::domain::redactor::Redactor;
use hob_core::render::RenderedPiece;
use hob_store::drafts::StandingDraft;
use hob_store::error::StoreError;
use hob_store::outbox::PendingChunk;
use hob_store::{Store, drafts};
use hob_telemetry::tasks::{catch_panic, spawn_among};

/// A platform must answer within this: the conversation's next message waits for it.
const DRAFT_MAX: Duration = Duration::from_secs(10);

/// How replies are streamed, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSettings {
    /// Whether they are.
    pub on: bool,
    /// A draft is changed at most this often.
    pub every: Duration,
    /// Where they come whole all the same.
    pub off: BTreeSet<ChannelKind>,
}

/// The drafts of all conversations.
#[derive(Clone)]
pub(super) struct Streaming {
    inner: Arc<Inner>,
}

struct Inner {
    channels: Arc<ChannelRegistry>,
    store: Store,
    redactor: Redactor,
    rooms: Mutex<BTreeMap<Conversation, Arc<ConversationDraft>>>,
}

/// A conversation in which a reply grows. One run is at work in it at a time.
#[derive(Default)]
struct ConversationDraft {
    /// The draft that stands there; held by whoever sends, changes or takes back something there.
    standing: Arc<Turn<Option<StandingDraft>>>,
    context: Mutex<DraftState>,
    changed: Notify,
}

impl Streaming {
    pub(super) fn new(channels: Arc<ChannelRegistry>, store: Store, redactor: Redactor) -> Self {
        Self { inner: Arc::new(Inner { channels, store, redactor, rooms: Mutex::default() }) }
    }

    /// A run tells how it goes on.
    pub(super) fn run_progressed(&self, destination: &Destination, run: RunId, progress: &Progress) {
        match progress {
            Progress::Delta(more) => self.write(destination, run, |sheet, now| sheet.grow(more, now)),
            Progress::Step(words) => self.write(destination, run, |sheet, now| sheet.step(words, now)),
            // What was written before a call of a tool is not part of the reply either.
            Progress::Working | Progress::Restart => self.change(&destination.conversation, |context| {
                if let Some(sheet) = context.sheet.as_mut().filter(|sheet| sheet.run == run) {
                    sheet.begin_again(Instant::now());
                }
            }),
            Progress::Doing(_) => {}
            Progress::Waiting | Progress::Idle(IdleReason::Suspended) => self.close(destination, run, None),
            Progress::Idle(IdleReason::Done | IdleReason::Failed | IdleReason::Quietly) => {
                self.close(destination, run, Some(run))
            }
        }
    }

    fn write(&self, destination: &Destination, run: RunId, how: impl FnOnce(&mut GrowingReply, Instant)) {
        let inner = &self.inner;
        let place = &destination.conversation;
        let config = inner.channels.config();
        let stream = &config.stream;
        if !stream.on || stream.off.contains(&place.channel) || inner.channels.stop.is_cancelled() {
            return;
        }
        let Some(channel) = inner.channels.channel(place) else { return };
        if !channel.capabilities().can(Feature::Edits) {
            return;
        }
        let room = inner.conversation_draft(place);
        let mut context = lock(&room.context);
        let now = Instant::now();
        let own = context.sheet.as_ref().is_some_and(|sheet| sheet.run == run);
        if !own {
            context.sheet = Some(GrowingReply::of(run, destination, now));
        }
        if let Some(sheet) = &mut context.sheet {
            how(sheet, now);
        }
        inner.serve(place, &room, context);
    }

    /// Nothing more is written; `over`: nothing ever will be.
    fn close(&self, destination: &Destination, run: RunId, over: Option<RunId>) {
        self.change(&destination.conversation, |context| {
            if context.sheet.as_ref().is_some_and(|sheet| sheet.run == run) {
                context.sheet = None;
            }
            context.over = over.or(context.over);
        });
    }

    /// Changes what is on the desk of a conversation that has one.
    fn change(&self, place: &Conversation, how: impl FnOnce(&mut DraftState)) {
        let room = lock(&self.inner.rooms).get(place).map(Arc::clone);
        let Some(room) = room else { return };
        let mut context = lock(&room.context);
        how(&mut context);
        self.inner.serve(place, &room, context);
    }

    /// Before a chunk goes out: the run's own last word takes the place of its draft, and anything else takes it away.
    ///
    /// Nothing is drawn in the conversation until what is given is dropped.
    pub(super) async fn settle_draft(&self, waiting: &mut PendingChunk) -> Option<DraftGuard> {
        let message = &mut waiting.message;
        let place = &message.destination.conversation;
        // What changes another message stands where that does.
        if message.replaces.is_some() {
            return None;
        }
        let room = lock(&self.inner.rooms).get(place).map(Arc::clone)?;
        if waiting.takes_draft {
            let mut context = lock(&room.context);
            if context.sheet.as_ref().is_some_and(|sheet| Some(sheet.run) == message.run) {
                context.sheet = None;
            }
        }
        let mut standing = Arc::clone(&room.standing).lock_owned().await;
        let own = standing.as_ref().filter(|draft| waiting.takes_draft && Some(draft.run) == message.run);
        if let Some(draft) = own {
            message.replaces = Some(MessageReplacement { external_id: draft.external_id.clone(), or_send: true });
            return Some(DraftGuard { _standing: standing });
        }
        self.inner.take_back(&room, &mut standing).await;
        Some(DraftGuard { _standing: standing })
    }

    /// It is on record that a chunk took the place of its run's draft: that is none any more.
    pub(super) fn draft_replaced(&self, place: &Conversation, run: RunId) {
        self.change(place, |context| context.over = Some(run));
    }

    /// At the start: what an earlier process left in the chats.
    pub(super) async fn load_standing_drafts(&self) -> Result<(), StoreError> {
        for draft in self.inner.store.read(drafts::list).await? {
            let room = self.inner.conversation_draft(&draft.conversation);
            *room.standing.lock().await = Some(draft);
        }
        Ok(())
    }

    /// Takes away what was left behind by runs that are over.
    pub(super) async fn tidy(&self) -> Result<(), StoreError> {
        for draft in self.inner.store.read(drafts::list).await? {
            self.change(&draft.conversation, |context| context.over = Some(draft.run));
        }
        Ok(())
    }
}

/// Holds the drafts of a conversation back while something is sent there.
pub(super) struct DraftGuard {
    _standing: OwnedMutexGuard<Option<StandingDraft>>,
}

impl Inner {
    fn conversation_draft(&self, place: &Conversation) -> Arc<ConversationDraft> {
        let mut rooms = lock(&self.rooms);
        if !rooms.contains_key(place) {
            // Whoever holds a room, or is to go back to it, keeps it.
            rooms.retain(|_, room| Arc::strong_count(room) > 1 || !room.is_empty());
        }
        Arc::clone(rooms.entry(place.clone()).or_default())
    }

    /// Sees to it that somebody draws, if there is anything to do.
    fn serve(
        self: &Arc<Self>,
        place: &Conversation,
        room: &Arc<ConversationDraft>,
        mut context: MutexGuard<'_, DraftState>,
    ) {
        let idle = context.sheet.is_none() && context.over.is_none();
        if context.at_work || idle || self.channels.stop.is_cancelled() {
            drop(context);
            room.changed.notify_one();
            return;
        }
        context.at_work = true;
        drop(context);
        let (inner, room) = (Arc::clone(self), Arc::clone(room));
        let span = tracing::info_span!(parent: None, "streaming", channel = %place.channel);
        let work = async move {
            if catch_panic("streaming", inner.work(&room)).await.is_none() {
                lock(&room.context).at_work = false;
            }
        };
        spawn_among(&self.channels.tracker, "streaming", work.instrument(span));
    }

    async fn work(&self, room: &ConversationDraft) {
        while !self.channels.stop.is_cancelled() {
            let next = lock(&room.context).next(Instant::now());
            let step = async {
                if matches!(next, NextDraftAction::Draw | NextDraftAction::Clear(_)) {
                    // What another daemon has made an answer of is no draft any more.
                    self.store.until_certain().await;
                }
                match next {
                    NextDraftAction::Draw => self.draw(room).await,
                    NextDraftAction::Clear(run) => self.clear(room, run).await,
                    NextDraftAction::Wait(until) => {
                        tokio::select! {
                            biased;
                            () = room.changed.notified() => {}
                            () = at(until) => {}
                        }
                    }
                    NextDraftAction::Leave => return false,
                }
                true
            };
            tokio::select! {
                biased;
                goes_on = step => if !goes_on { return },
                () = self.channels.stop.cancelled() => return,
            }
        }
    }

    /// Posts the draft, or changes it.
    async fn draw(&self, room: &ConversationDraft) {
        let mut standing = room.standing.lock().await;
        let Some(sheet) = room.written() else { return };
        let run = sheet.run;
        if standing.as_ref().is_some_and(|draft| draft.run != run) {
            self.take_back(room, &mut standing).await;
        }
        if standing.as_ref().is_some_and(|draft| draft.run != run) {
            // It stays for now, and a second one beside it would be left as well.
            room.settle(run, |sheet| sheet.given_up = true);
            return;
        }
        let Some(channel) = self.channels.channel(&sheet.destination.conversation) else { return };
        let piece = sheet.first_piece(channel.capabilities()).map(|piece| self.redacted(piece));
        let GrowingReply { destination, text, drawn, .. } = sheet;
        let every = self.channels.config().stream.every;
        let Some(piece) = piece.filter(|piece| standing.is_none() || drawn.as_ref() != Some(piece)) else {
            // More of a reply whose first message is full changes nothing there: it is not looked at with each word.
            room.settle(run, |sheet| {
                sheet.is_shown(&text);
                sheet.from = Some(Instant::now() + every);
            });
            return;
        };
        let external_id = standing.as_ref().map(|draft| draft.external_id.clone());
        let RenderedPiece { text: plain, markup } = piece.clone();
        let conversation = destination.conversation.clone();
        let said = ask(&*channel, &DraftMessage { destination, external_id, text: plain, markup }).await;
        let posts = standing.is_none();
        let kept = match &said {
            Ok(Receipt { external_id: Some(external_id) }) if posts => {
                let draft = StandingDraft { run, conversation, external_id: external_id.clone() };
                self.keep(&mut standing, &*channel, draft).await
            }
            // What has no name cannot be changed.
            Ok(_) => !posts,
            Err(_) => false,
        };
        let now = Instant::now();
        room.settle(run, |sheet| {
            let wait = match &said {
                Ok(_) => every,
                Err(DeliveryError::Retry { after, .. }) => after.unwrap_or_default().max(every),
                Err(DeliveryError::Refused { .. } | DeliveryError::Unknown { .. }) => every,
            };
            sheet.from = Some(now + wait);
            sheet.given_up = match &said {
                Ok(_) => !kept,
                Err(DeliveryError::Retry { .. }) => false,
                Err(DeliveryError::Refused { .. }) => true,
                // It may stand there: a second one would not be better.
                Err(DeliveryError::Unknown { .. }) => posts,
            };
            if said.is_ok() {
                sheet.is_shown(&text);
                sheet.drawn = Some(piece);
            }
        });
        if let Err(error) = said {
            tracing::debug!(%run, %error, "the draft is not shown: {error}");
        }
    }

    /// Remembers a draft that was posted; one that cannot be remembered is taken back.
    async fn keep(&self, standing: &mut Option<StandingDraft>, channel: &dyn Channel, draft: StandingDraft) -> bool {
        let kept = draft.clone();
        match self.store.write(async move |tx| drafts::put(tx, &kept).await).await {
            Ok(()) => {
                *standing = Some(draft);
                true
            }
            Err(error) => {
                tracing::warn!(run = %draft.run, %error, "a draft could not be recorded; it is taken back");
                retract(channel, &draft).await;
                false
            }
        }
    }

    /// A run is over: its draft goes, unless something is to take its place.
    async fn clear(&self, room: &ConversationDraft, run: RunId) {
        let mut standing = room.standing.lock().await;
        if standing.as_ref().is_none_or(|draft| draft.run != run) {
            return;
        }
        match self.store.read(async |tx| records::look_after(tx, run).await).await {
            Ok(DraftDisposition::Behind) => self.take_back(room, &mut standing).await,
            Ok(DraftDisposition::Gone) => *standing = None,
            Ok(DraftDisposition::InUse) => {}
            Err(error) => tracing::warn!(%run, %error, "a draft may be left in a chat; the next round looks again"),
        }
    }

    /// Takes the draft out of the chat. One that the platform does not let go for now stays in the record, for the next round.
    async fn take_back(&self, room: &ConversationDraft, standing: &mut Option<StandingDraft>) {
        let Some(draft) = standing.as_ref() else { return };
        match self.store.read(async |tx| drafts::is_there(tx, draft.run).await).await {
            Ok(true) => {}
            // It may be the reply by now: that was given up when nobody knew whether it had arrived.
            Ok(false) => {
                *standing = None;
                return;
            }
            Err(error) => {
                tracing::warn!(run = %draft.run, %error, "a draft stays in a chat for now; the next round looks again");
                return;
            }
        }
        if let Some(channel) = self.channels.channel(&draft.conversation)
            && !retract(&*channel, draft).await
        {
            return;
        }
        let run = draft.run;
        if let Err(error) = self.store.write(async move |tx| drafts::remove(tx, run).await).await {
            tracing::warn!(run = %draft.run, %error, "a draft that is gone is still on record");
            return;
        }
        room.settle(draft.run, |sheet| (sheet.shown, sheet.drawn) = (None, None));
        *standing = None;
        room.changed.notify_one();
    }

    fn redacted(&self, mut piece: RenderedPiece) -> RenderedPiece {
        self.redactor.redact_in_place(&mut piece.text);
        piece.markup.iter_mut().for_each(|markup| self.redactor.redact_in_place(markup));
        piece
    }
}

impl ConversationDraft {
    fn is_empty(&self) -> bool {
        let context = lock(&self.context);
        let idle = context.sheet.is_none() && context.over.is_none() && !context.at_work;
        idle && self.standing.try_lock().is_ok_and(|standing| standing.is_none())
    }

    /// What is to be drawn now.
    fn written(&self) -> Option<GrowingReply> {
        lock(&self.context).sheet.clone()
    }

    fn settle(&self, run: RunId, how: impl FnOnce(&mut GrowingReply)) {
        if let Some(sheet) = lock(&self.context).sheet.as_mut().filter(|sheet| sheet.run == run) {
            how(sheet);
        }
    }
}

async fn ask(channel: &dyn Channel, draft: &DraftMessage) -> Result<Receipt, DeliveryError> {
    let asking = AssertUnwindSafe(channel.draft(draft)).catch_unwind();
    let unknown = |why: &str| Err(DeliveryError::Unknown { why: why.to_owned() });
    match tokio::time::timeout(DRAFT_MAX, asking).await {
        Ok(Ok(said)) => said,
        Ok(Err(_panic)) => unknown("the channel's code panicked"),
        Err(_elapsed) => unknown("the platform did not answer"),
    }
}

/// Whether the draft is out of the chat, or will never be.
async fn retract(channel: &dyn Channel, draft: &StandingDraft) -> bool {
    let place = Destination { conversation: draft.conversation.clone(), reply_to: None };
    let asking = AssertUnwindSafe(channel.retract(&place, &draft.external_id)).catch_unwind();
    let error = match tokio::time::timeout(DRAFT_MAX, asking).await {
        Ok(Ok(Ok(()))) => return true,
        Ok(Ok(Err(error))) => error,
        Ok(Err(_panic)) => DeliveryError::Unknown { why: "the channel's code panicked".to_owned() },
        Err(_elapsed) => DeliveryError::Unknown { why: "the platform did not answer".to_owned() },
    };
    tracing::debug!(run = %draft.run, %error, "a draft is not taken back: {error}");
    matches!(error, DeliveryError::Refused { .. })
}

async fn at(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
