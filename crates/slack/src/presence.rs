//! What shows that Hob is at work: a thread's status, and a reaction under the message.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tracing::info;

use crate::call::{CallError, WebApi};
use crate::convert::micros;
use crate::outcome::repeatable_outcome;
use crate::send::PostTarget;
use hob_core::domain::channel::MessageReaction;
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination};

/// Of how many messages it is kept which reaction they have, and of how many threads that they show a status.
const KEPT_MAX: usize = 1_000;
/// What the thread says while Hob works.
const STATUS: &str = "is thinking …";
/// The reactions of a message that is not done with: what a process before this one may have left.
const UNFINISHED: [MessageReaction; 3] = [MessageReaction::Seen, MessageReaction::Working, MessageReaction::Waiting];

/// A message, or the thread below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MessageRef {
    channel: String,
    ts: String,
}

/// The reactions that each message has, the threads that show a status, and what Slack does not let Hob show at all.
#[derive(Debug, Default)]
pub(super) struct ActivityIndicators {
    reactions: Mutex<BTreeMap<MessageRef, Reactions>>,
    thinking: Mutex<BTreeSet<MessageRef>>,
    no_status: AtomicBool,
    no_reactions: AtomicBool,
}

/// What a message may show.
#[derive(Debug)]
struct Reactions {
    moods: Vec<MessageReaction>,
    /// Whether Slack has said yes to all of that: there is one, and it stands.
    is_settled: bool,
}

/// A reaction's name.
fn emoji(mood: MessageReaction) -> Option<&'static str> {
    match mood {
        MessageReaction::Seen => Some("eyes"),
        MessageReaction::Working => Some("hourglass_flowing_sand"),
        MessageReaction::Waiting => Some("question"),
        MessageReaction::Done => Some("white_check_mark"),
        MessageReaction::Failed => Some("x"),
        MessageReaction::Gone => None,
    }
}

/// Is nobody at work any more?
fn is_end(mood: MessageReaction) -> bool {
    match mood {
        MessageReaction::Done | MessageReaction::Failed | MessageReaction::Gone | MessageReaction::Waiting => true,
        MessageReaction::Seen | MessageReaction::Working => false,
    }
}

impl ActivityIndicators {
    /// Shows for a while that Hob works; only threads can. Slack takes it away with the next message there.
    pub(super) async fn typing(&self, web: &WebApi, place: &Destination) -> Result<(), DeliveryError> {
        let Some(thread) = thread(&PostTarget::of(place)?) else {
            return Ok(());
        };
        if self.no_status.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Noted before the call, too: a call without an answer may have taken effect.
        self.note_thread(&thread);
        let shown = set_status(web, &thread, STATUS).await;
        // A message that went out meanwhile may have been there first.
        self.note_thread(&thread);
        tolerate_missing_scope(&self.no_status, shown).map_err(|error| repeatable_outcome(&error))
    }

    /// A message of Hob's stands there: with it Slack took the status away.
    pub(super) fn posted(&self, place: &PostTarget) {
        if let Some(thread) = thread(place) {
            lock(&self.thinking).remove(&thread);
        }
    }

    fn note_thread(&self, thread: &MessageRef) {
        let mut thinking = lock(&self.thinking);
        if thinking.len() >= KEPT_MAX {
            thinking.clear();
        }
        thinking.insert(thread.clone());
    }

    /// Takes the status away where no message did: a draft that became the answer is changed, and who says nothing posts
    /// nothing.
    async fn clear_status(&self, web: &WebApi, place: &PostTarget) -> Result<(), DeliveryError> {
        let Some(thread) = thread(place) else {
            return Ok(());
        };
        if !lock(&self.thinking).remove(&thread) || self.no_status.load(Ordering::Relaxed) {
            return Ok(());
        }
        let gone = tolerate_missing_scope(&self.no_status, set_status(web, &thread, "").await);
        match gone {
            Err(error) if error.code().is_none() || error.retry_after().is_some() => {
                self.note_thread(&thread);
                Err(repeatable_outcome(&error))
            }
            // Slack takes it away itself after two minutes.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Puts a reaction in the place of the one before. At the end of the work the thread's status goes, too.
    pub(super) async fn mood(
        &self,
        web: &WebApi,
        place: &Destination,
        mood: MessageReaction,
    ) -> Result<(), DeliveryError> {
        let at = PostTarget::of(place)?;
        let rested = if is_end(mood) { self.clear_status(web, &at).await } else { Ok(()) };
        // What is not a message (a press, a command) has no reactions.
        if let Some(message) = place.reply_to.clone().filter(|id| micros(id).is_some()) {
            self.exchange(web, &MessageRef { channel: at.channel, ts: message }, mood).await?;
        }
        rested
    }

    /// One reaction for all that may stand there.
    async fn exchange(&self, web: &WebApi, message: &MessageRef, mood: MessageReaction) -> Result<(), DeliveryError> {
        if self.no_reactions.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(others) = self.begin(message, mood) else {
            return Ok(());
        };
        if let Some(name) = emoji(mood) {
            self.react(web, "reactions.add", message, name).await?;
        }
        for name in others.into_iter().filter_map(emoji) {
            self.react(web, "reactions.remove", message, name).await?;
        }
        // Only now: what Slack has not done is asked for again.
        lock(&self.reactions).insert(message.clone(), Reactions { moods: vec![mood], is_settled: true });
        Ok(())
    }

    /// Notes that this reaction may stand there; the others that may. None: it stands there alone.
    fn begin(&self, message: &MessageRef, mood: MessageReaction) -> Option<Vec<MessageReaction>> {
        let mut reactions = lock(&self.reactions);
        if reactions.len() >= KEPT_MAX && !reactions.contains_key(message) {
            reactions.clear();
        }
        let unknown = || Reactions {
            moods: if mood == MessageReaction::Seen { Vec::new() } else { UNFINISHED.to_vec() },
            is_settled: false,
        };
        let shown = reactions.entry(message.clone()).or_insert_with(unknown);
        if shown.is_settled && shown.moods == [mood] {
            return None;
        }
        shown.is_settled = false;
        shown.moods.retain(|other| *other != mood);
        let others = shown.moods.clone();
        shown.moods.push(mood);
        Some(others)
    }

    /// One reaction; what is so already is not an error.
    async fn react(&self, web: &WebApi, method: &str, at: &MessageRef, name: &str) -> Result<(), DeliveryError> {
        let body = json!({"channel": at.channel, "timestamp": at.ts, "name": name});
        match web.post(method, &body).await {
            Err(error) if is_already_done(&error) => Ok(()),
            shown => {
                tolerate_missing_scope(&self.no_reactions, shown.map(drop)).map_err(|error| repeatable_outcome(&error))
            }
        }
    }
}

fn thread(place: &PostTarget) -> Option<MessageRef> {
    Some(MessageRef { channel: place.channel.clone(), ts: place.thread.clone()? })
}

/// Sets a thread's status; an empty one takes it away.
async fn set_status(web: &WebApi, thread: &MessageRef, status: &str) -> Result<(), CallError> {
    let body = json!({"channel_id": thread.channel, "thread_ts": thread.ts, "status": status});
    web.post("assistant.threads.setStatus", &body).await.map(drop)
}

/// What the app may not show is not tried again, and no error.
fn tolerate_missing_scope(never: &AtomicBool, shown: Result<(), CallError>) -> Result<(), CallError> {
    let Err(error) = shown else { return Ok(()) };
    if !matches!(error.code(), Some("missing_scope" | "not_allowed_token_type" | "not_allowed" | "unknown_method")) {
        return Err(error);
    }
    if !never.swap(true, Ordering::Relaxed) {
        info!(channel = "slack", %error, "signs that the app may not show are left out: {error}");
    }
    Ok(())
}

fn is_already_done(error: &CallError) -> bool {
    matches!(error.code(), Some("already_reacted" | "no_reaction" | "message_not_found"))
}
