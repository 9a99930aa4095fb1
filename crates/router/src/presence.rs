//! What a chat shows beside messages while a run is at work: that somebody types, and what becomes of a message.
//!
//! Best effort, and on no path for ever: typing ends with the run, at its cap, and with the process, which alone renews it.
//! Never: a sign that somebody waits for, or one that holds up a message.
//! Start at [`Presence::hear`]; each conversation has one small worker while there is something to show.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::Instrument;

use crate::delivery::config::ChannelRegistry;
use hob_core::domain::capabilities::Feature;
use hob_core::domain::channel::{Channel, IdleReason, MessageReaction, PresenceSignal, Progress};
use hob_core::domain::ids::RunId;
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination};
use hob_telemetry::tasks::{catch_panic, spawn_among};

/// How often typing is shown again: Telegram and Slack show it for five seconds, Discord for ten.
const TYPING_EVERY: Duration = Duration::from_secs(4);
/// The same on Discord.
const TYPING_EVERY_DISCORD: Duration = Duration::from_secs(8);
/// How long typing is shown for a run that never says that it is over.
const TYPING_MAX: Duration = Duration::from_secs(25 * 60);
/// Between two signs of one conversation; of those that come in between, the last one counts.
const MOOD_EVERY: Duration = Duration::from_millis(1_200);
/// A platform must answer within this.
const SIGN_MAX: Duration = Duration::from_secs(10);
/// So many messages of a conversation carry a sign that is not the last one.
const FACES_MAX: usize = 64;
/// So many messages that wait are remembered.
const SEEN_MAX: usize = 1_024;
/// So many conversations are remembered once nothing is shown there.
const BOARDS_MAX: usize = 256;

/// The signs of all conversations.
pub(super) struct Presence {
    channels: Arc<ChannelRegistry>,
    boards: Mutex<BTreeMap<Conversation, Arc<ConversationPresence>>>,
    /// Messages that wait behind a run.
    seen: Mutex<BTreeMap<RunId, Destination>>,
}

/// What is to be shown in a conversation, and what is.
#[derive(Default)]
struct ConversationPresence {
    state: Mutex<PresenceState>,
    changed: Notify,
}

#[derive(Default)]
struct PresenceState {
    typing: Option<TypingState>,
    /// By the message that carries it.
    faces: BTreeMap<String, ShownReaction>,
    /// Typing is not shown again before.
    type_from: Option<Instant>,
    /// No other sign is shown before.
    mood_from: Option<Instant>,
    /// Somebody shows it.
    at_work: bool,
}

struct TypingState {
    run: RunId,
    place: Destination,
    until: Instant,
}

struct ShownReaction {
    place: Destination,
    wanted: MessageReaction,
    shown: Option<MessageReaction>,
}

/// What the worker of a conversation does next.
#[derive(Debug, PartialEq)]
enum NextPresenceAction {
    Show(Destination, PresenceSignal),
    Wait(Option<Instant>),
    Leave,
}

impl PresenceState {
    /// What is due; the worker that is told to leave is at work no more.
    fn next(&mut self, now: Instant) -> NextPresenceAction {
        if self.typing.as_ref().is_some_and(|typing| typing.until <= now) {
            self.typing = None;
        }
        self.faces.retain(|_, face| face.shown != Some(face.wanted) || !is_last(face.wanted));
        let mood = self.faces.values().find(|face| face.shown != Some(face.wanted));
        let free = |from: Option<Instant>| from.is_none_or(|from| from <= now);
        if let Some(face) = mood.filter(|_| free(self.mood_from)) {
            return NextPresenceAction::Show(face.place.clone(), PresenceSignal::Mood(face.wanted));
        }
        if let Some(typing) = self.typing.as_ref().filter(|_| free(self.type_from)) {
            return NextPresenceAction::Show(typing.place.clone(), PresenceSignal::Typing);
        }
        let mood_at = mood.and(self.mood_from);
        let type_at = self.typing.as_ref().and(self.type_from);
        match mood_at.into_iter().chain(type_at).min() {
            Some(at) => NextPresenceAction::Wait(Some(at)),
            None => {
                self.at_work = false;
                NextPresenceAction::Leave
            }
        }
    }

    /// A sign was shown, or was not.
    fn settle(&mut self, place: &Destination, sign: PresenceSignal, said: &Result<(), DeliveryError>, now: Instant) {
        let spacing = match sign {
            PresenceSignal::Typing => typing_every(place.conversation.channel),
            PresenceSignal::Mood(_) => MOOD_EVERY,
        };
        let (after, again) = match said {
            Ok(()) => (spacing, false),
            Err(DeliveryError::Retry { after, .. }) => (after.unwrap_or_default().max(spacing), true),
            Err(DeliveryError::Refused { .. } | DeliveryError::Unknown { .. }) => (spacing, false),
        };
        match sign {
            PresenceSignal::Typing => {
                self.type_from = Some(now + after);
                // Whoever may not show it now may not in four seconds either.
                if matches!(said, Err(DeliveryError::Refused { .. })) {
                    self.typing = None;
                }
            }
            PresenceSignal::Mood(mood) => {
                self.mood_from = Some(now + after);
                let Some(message) = &place.reply_to else { return };
                if matches!(said, Err(DeliveryError::Refused { .. })) {
                    self.faces.remove(message);
                } else if let Some(face) = self.faces.get_mut(message).filter(|_| !again) {
                    face.shown = Some(mood);
                }
            }
        }
    }

    fn want(&mut self, place: &Destination, mood: MessageReaction) {
        let Some(message) = &place.reply_to else { return };
        if self.faces.len() >= FACES_MAX && !self.faces.contains_key(message) {
            self.faces.pop_first();
        }
        let face = ShownReaction { place: place.clone(), wanted: mood, shown: None };
        self.faces.entry(message.clone()).or_insert(face).wanted = mood;
    }

    fn is_idle(&self, now: Instant) -> bool {
        let past = |at: Option<Instant>| at.is_none_or(|at| at <= now);
        !self.at_work && self.typing.is_none() && self.faces.is_empty() && past(self.type_from) && past(self.mood_from)
    }
}

/// Nothing follows after it.
fn is_last(mood: MessageReaction) -> bool {
    match mood {
        MessageReaction::Done | MessageReaction::Failed | MessageReaction::Gone => true,
        MessageReaction::Seen | MessageReaction::Working | MessageReaction::Waiting => false,
    }
}

fn typing_every(channel: ChannelKind) -> Duration {
    if channel == ChannelKind::Discord { TYPING_EVERY_DISCORD } else { TYPING_EVERY }
}

/// What the message shows that a run answers; none: it stays as it is.
fn mood_of(progress: &Progress) -> Option<MessageReaction> {
    match progress {
        Progress::Working | Progress::Delta(_) | Progress::Restart => Some(MessageReaction::Working),
        Progress::Waiting => Some(MessageReaction::Waiting),
        Progress::Idle(IdleReason::Done) => Some(MessageReaction::Done),
        Progress::Idle(IdleReason::Failed) => Some(MessageReaction::Failed),
        Progress::Idle(IdleReason::Quietly) => Some(MessageReaction::Gone),
        Progress::Doing(_) | Progress::Step(_) | Progress::Idle(IdleReason::Suspended) => None,
    }
}

impl Presence {
    pub(super) fn new(channels: Arc<ChannelRegistry>) -> Self {
        Self { channels, boards: Mutex::default(), seen: Mutex::default() }
    }

    /// A run tells how it goes on.
    pub(super) fn run_progressed(&self, destination: &Destination, run: RunId, progress: &Progress) {
        if matches!(progress, Progress::Doing(_) | Progress::Step(_)) {
            // It works already, and is shown to.
            return;
        }
        let Some(channel) = self.channels.channel(&destination.conversation) else { return };
        let can = channel.capabilities();
        let mood = mood_of(progress).filter(|_| self.shows_moods(&*channel));
        let works = matches!(progress, Progress::Working | Progress::Delta(_) | Progress::Restart);
        if !can.can(Feature::Typing) && !self.shows_moods(&*channel) {
            return;
        }
        lock(&self.seen).remove(&run);
        let now = Instant::now();
        self.change(&destination.conversation, |shown| {
            let own = shown.typing.as_ref().is_some_and(|typing| typing.run == run);
            if works && !own && can.can(Feature::Typing) {
                shown.typing = Some(TypingState { run, place: destination.clone(), until: now + TYPING_MAX });
            }
            if !works && own {
                shown.typing = None;
            }
            if let Some(mood) = mood {
                shown.want(destination, mood);
            }
        });
    }

    /// A message was taken in and waits behind a run.
    pub(super) fn message_queued(&self, destination: &Destination, run: RunId) {
        let Some(channel) = self.channels.channel(&destination.conversation) else { return };
        if destination.reply_to.is_none() || !self.shows_moods(&*channel) {
            return;
        }
        let mut seen = lock(&self.seen);
        if seen.len() >= SEEN_MAX {
            seen.pop_first();
        }
        seen.insert(run, destination.clone());
        drop(seen);
        self.change(&destination.conversation, |shown| shown.want(destination, MessageReaction::Seen));
    }

    /// The runs of messages that wait, of one conversation or of all.
    pub(super) fn waiting(&self, place: Option<&Conversation>) -> Vec<RunId> {
        let here = |destination: &Destination| place.is_none_or(|place| destination.conversation == *place);
        lock(&self.seen).iter().filter(|(_, destination)| here(destination)).map(|(run, _)| *run).collect()
    }

    /// A message that waited waits no more, and has no run of its own: another took it along, or it was taken back.
    pub(super) fn no_longer_waiting(&self, run: RunId) {
        let destination = lock(&self.seen).remove(&run);
        if let Some(destination) = destination {
            self.change(&destination.conversation, |shown| shown.want(&destination, MessageReaction::Gone));
        }
    }

    fn shows_moods(&self, channel: &dyn Channel) -> bool {
        self.channels.config().reactions && channel.capabilities().can(Feature::Reactions)
    }

    /// Changes what is to be shown; somebody shows it, if there is anything to show.
    fn change(&self, place: &Conversation, how: impl FnOnce(&mut PresenceState)) {
        if self.channels.stop.is_cancelled() {
            return;
        }
        let now = Instant::now();
        let mut boards = lock(&self.boards);
        if boards.len() >= BOARDS_MAX && !boards.contains_key(place) {
            boards.retain(|_, board| !lock(&board.state).is_idle(now));
        }
        let board = Arc::clone(boards.entry(place.clone()).or_default());
        drop(boards);
        let mut shown = lock(&board.state);
        how(&mut shown);
        let idle = shown.typing.is_none() && shown.faces.values().all(|face| face.shown == Some(face.wanted));
        if shown.at_work || idle {
            drop(shown);
            board.changed.notify_one();
            return;
        }
        shown.at_work = true;
        drop(shown);
        let channels = Arc::clone(&self.channels);
        let span = tracing::info_span!(parent: None, "signs", channel = %place.channel);
        let place = place.clone();
        let work = async move {
            if catch_panic("signs", show(&channels, &place, &board)).await.is_none() {
                lock(&board.state).at_work = false;
            }
        };
        spawn_among(&self.channels.tracker, "signs", work.instrument(span));
    }
}

/// Shows what there is to show in a conversation, until there is nothing more or the daemon is silent.
async fn show(channels: &ChannelRegistry, place: &Conversation, board: &ConversationPresence) {
    while !channels.stop.is_cancelled() {
        let next = lock(&board.state).next(Instant::now());
        match next {
            NextPresenceAction::Leave => return,
            NextPresenceAction::Wait(until) => {
                tokio::select! {
                    biased;
                    () = channels.stop.cancelled() => {}
                    () = board.changed.notified() => {}
                    () = at(until) => {}
                }
            }
            NextPresenceAction::Show(destination, sign) => {
                let Some(channel) = channels.channel(place) else { return };
                let said = tokio::select! {
                    biased;
                    said = ask(&*channel, &destination, sign) => said,
                    () = channels.stop.cancelled() => return,
                };
                if let Err(error) = &said {
                    tracing::debug!(%error, ?sign, "a sign is not shown: {error}");
                }
                lock(&board.state).settle(&destination, sign, &said, Instant::now());
            }
        }
    }
}

async fn at(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Asks for the sign; nothing that goes wrong there is more than a sign that is missing.
async fn ask(channel: &dyn Channel, place: &Destination, sign: PresenceSignal) -> Result<(), DeliveryError> {
    let asking = AssertUnwindSafe(channel.sign(place, sign)).catch_unwind();
    match tokio::time::timeout(SIGN_MAX, asking).await {
        Ok(Ok(said)) => said,
        Ok(Err(_panic)) => Err(DeliveryError::Refused { why: "the channel's code panicked".to_owned() }),
        Err(_elapsed) => Err(DeliveryError::Unknown { why: "the platform did not answer".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::{PlatformCall, PlatformHarness, conversation};

    fn place() -> Destination {
        Destination { conversation: conversation(), reply_to: Some("7".to_owned()) }
    }

    const RUN: RunId = RunId(1);

    fn moods(context: &PlatformHarness) -> Vec<MessageReaction> {
        let calls = context.calls();
        let mood = |call: &PlatformCall| match call {
            PlatformCall::Sign(PresenceSignal::Mood(mood)) => Some(*mood),
            _ => None,
        };
        calls.iter().filter_map(mood).collect()
    }

    fn typed(context: &PlatformHarness) -> usize {
        context.calls().iter().filter(|call| **call == PlatformCall::Sign(PresenceSignal::Typing)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_shows_that_it_works_and_how_it_ended() {
        for (ended, last) in [
            (IdleReason::Done, MessageReaction::Done),
            (IdleReason::Failed, MessageReaction::Failed),
            (IdleReason::Quietly, MessageReaction::Gone),
            (IdleReason::Suspended, MessageReaction::Working),
        ] {
            let context = PlatformHarness::new();
            let signs = Presence::new(Arc::clone(&context.channels));
            signs.run_progressed(&place(), RUN, &Progress::Working);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(typed(&context), 15, "every four seconds");
            signs.run_progressed(&place(), RUN, &Progress::Idle(ended));
            context.rest().await;
            assert_eq!(moods(&context).last(), Some(&last));
            assert_eq!(typed(&context), 15);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn typing_has_an_end_of_its_own_and_the_last_mood_counts() {
        let context = PlatformHarness::new();
        let signs = Presence::new(Arc::clone(&context.channels));
        for progress in [Progress::Working, Progress::Waiting, Progress::Delta(String::new())] {
            signs.run_progressed(&place(), RUN, &progress);
        }
        // The run is never heard of again.
        context.rest().await;
        assert_eq!(moods(&context), [MessageReaction::Working]);
        let most = usize::try_from(TYPING_MAX.as_secs() / TYPING_EVERY.as_secs()).unwrap();
        assert!((1..=most).contains(&typed(&context)), "{}", typed(&context));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_waits_is_seen_until_its_turn() {
        let context = PlatformHarness::new();
        let signs = Presence::new(Arc::clone(&context.channels));
        signs.message_queued(&place(), RUN);
        context.rest().await;
        assert_eq!((moods(&context), signs.waiting(Some(&conversation()))), (vec![MessageReaction::Seen], vec![RUN]));
        signs.no_longer_waiting(RUN);
        context.rest().await;
        assert_eq!(
            (moods(&context), signs.waiting(None)),
            (vec![MessageReaction::Seen, MessageReaction::Gone], vec![])
        );
    }

    #[tokio::test(start_paused = true)]
    async fn flood_limits_are_obeyed_and_what_is_refused_is_given_up() {
        let context = PlatformHarness::new();
        let signs = Presence::new(Arc::clone(&context.channels));
        let retry = DeliveryError::Retry { after: Some(Duration::from_secs(30)), why: String::new() };
        context.answer_signs(vec![Err(retry)]);
        let began = Instant::now();
        signs.run_progressed(&place(), RUN, &Progress::Idle(IdleReason::Done));
        context.rest().await;
        assert_eq!(
            (moods(&context), began.elapsed().as_secs()),
            (vec![MessageReaction::Done, MessageReaction::Done], 30)
        );
        context.answer_signs(vec![Err(DeliveryError::Refused { why: String::new() })]);
        signs.run_progressed(&place(), RUN, &Progress::Idle(IdleReason::Failed));
        context.rest().await;
        assert_eq!(moods(&context), [MessageReaction::Done, MessageReaction::Done, MessageReaction::Failed]);
    }

    #[tokio::test(start_paused = true)]
    async fn without_reactions_only_typing_is_shown() {
        let context = PlatformHarness::with(false);
        let signs = Presence::new(Arc::clone(&context.channels));
        signs.message_queued(&place(), RUN);
        signs.run_progressed(&place(), RUN, &Progress::Working);
        signs.run_progressed(&place(), RUN, &Progress::Idle(IdleReason::Done));
        context.rest().await;
        assert_eq!(moods(&context), []);
    }
}
