//! What shows that Hob is at work: a thread's status, and a reaction under the message.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tracing::info;

use crate::channel::slack::call::{CallError, Web};
use crate::channel::slack::convert::micros;
use crate::channel::slack::outcome::before;
use crate::channel::slack::send::Place;
use crate::domain::channel::Mood;
use crate::domain::outgoing::{DeliveryError, Destination};

/// Of how many messages it is kept which reaction they have.
const KEPT_MAX: usize = 1_000;
/// What the thread says while Hob works.
const STATUS: &str = "is thinking …";
/// The reactions of a message that is not done with: what a process before this one may have left.
const UNFINISHED: [Mood; 3] = [Mood::Seen, Mood::Working, Mood::Waiting];

/// The reaction that each message has, and what Slack does not let Hob show at all.
#[derive(Debug, Default)]
pub(super) struct Signs {
    moods: Mutex<BTreeMap<(String, String), Mood>>,
    no_status: AtomicBool,
    no_reactions: AtomicBool,
}

/// A reaction's name.
fn emoji(mood: Mood) -> Option<&'static str> {
    match mood {
        Mood::Seen => Some("eyes"),
        Mood::Working => Some("hourglass_flowing_sand"),
        Mood::Waiting => Some("question"),
        Mood::Done => Some("white_check_mark"),
        Mood::Failed => Some("x"),
        Mood::Gone => None,
    }
}

impl Signs {
    /// Shows for a while that Hob works; only threads can. Slack takes it away with the answer.
    pub(super) async fn typing(&self, web: &Web, place: &Destination) -> Result<(), DeliveryError> {
        let Place { channel, thread: Some(thread) } = Place::of(place)? else {
            return Ok(());
        };
        if self.no_status.load(Ordering::Relaxed) {
            return Ok(());
        }
        let body = json!({"channel_id": channel, "thread_ts": thread, "status": STATUS});
        let shown = web.post("assistant.threads.setStatus", &body).await;
        done_without(&self.no_status, shown.map(drop)).map_err(|error| before(&error))
    }

    /// Puts a reaction in the place of the one before.
    pub(super) async fn mood(&self, web: &Web, place: &Destination, mood: Mood) -> Result<(), DeliveryError> {
        let channel = Place::of(place)?.channel;
        // What is no message (a press, a command) has no reactions.
        let message = place.reply_to.clone().filter(|id| micros(id).is_some());
        let Some(message) = message.filter(|_| !self.no_reactions.load(Ordering::Relaxed)) else {
            return Ok(());
        };
        let place = (channel, message);
        let before_it = self.exchange(&place, mood);
        if before_it == Some(mood) {
            return Ok(());
        }
        if let Some(name) = emoji(mood) {
            self.react(web, "reactions.add", (&place, name)).await?;
        }
        let old = match before_it {
            Some(old) => vec![old],
            None if mood == Mood::Seen => Vec::new(),
            None => UNFINISHED.into_iter().filter(|old| *old != mood).collect(),
        };
        for name in old.into_iter().filter_map(emoji) {
            self.react(web, "reactions.remove", (&place, name)).await?;
        }
        Ok(())
    }

    /// Notes the new reaction; the old one, if it is known.
    fn exchange(&self, place: &(String, String), mood: Mood) -> Option<Mood> {
        let mut kept = self.moods.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX && !kept.contains_key(place) {
            kept.clear();
        }
        kept.insert(place.clone(), mood)
    }

    /// One reaction; what is so already is no error.
    async fn react(&self, web: &Web, method: &str, at: (&(String, String), &str)) -> Result<(), DeliveryError> {
        let ((channel, message), name) = at;
        let body = json!({"channel": channel, "timestamp": message, "name": name});
        match web.post(method, &body).await {
            Err(error) if is_so_already(&error) => Ok(()),
            shown => done_without(&self.no_reactions, shown.map(drop)).map_err(|error| before(&error)),
        }
    }
}

/// What the app may not show is not tried again, and no error.
fn done_without(never: &AtomicBool, shown: Result<(), CallError>) -> Result<(), CallError> {
    let Err(error) = shown else { return Ok(()) };
    if !matches!(error.code(), Some("missing_scope" | "not_allowed_token_type" | "not_allowed" | "unknown_method")) {
        return Err(error);
    }
    if !never.swap(true, Ordering::Relaxed) {
        info!(channel = "slack", %error, "signs that the app may not show are left out: {error}");
    }
    Ok(())
}

fn is_so_already(error: &CallError) -> bool {
    matches!(error.code(), Some("already_reacted" | "no_reaction" | "message_not_found"))
}
