//! What shows that Hob is at work: a thread's status, and a reaction under the message.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

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

/// The reaction that each message has.
#[derive(Debug, Default)]
pub(super) struct Signs(Mutex<BTreeMap<(String, String), Mood>>);

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
        let body = json!({"channel_id": channel, "thread_ts": thread, "status": STATUS});
        web.post("assistant.threads.setStatus", &body).await.map(drop).map_err(|error| before(&error))
    }

    /// Puts a reaction in the place of the one before.
    pub(super) async fn mood(&self, web: &Web, place: &Destination, mood: Mood) -> Result<(), DeliveryError> {
        let channel = Place::of(place)?.channel;
        // What is no message (a press, a command) has no reactions.
        let Some(message) = place.reply_to.clone().filter(|id| micros(id).is_some()) else {
            return Ok(());
        };
        let place = (channel, message);
        let before_it = self.exchange(&place, mood);
        if before_it == Some(mood) {
            return Ok(());
        }
        if let Some(name) = emoji(mood) {
            react(web, "reactions.add", &place, name).await?;
        }
        let old = match before_it {
            Some(old) => vec![old],
            None if mood == Mood::Seen => Vec::new(),
            None => UNFINISHED.into_iter().filter(|old| *old != mood).collect(),
        };
        for name in old.into_iter().filter_map(emoji) {
            react(web, "reactions.remove", &place, name).await?;
        }
        Ok(())
    }

    /// Notes the new reaction; the old one, if it is known.
    fn exchange(&self, place: &(String, String), mood: Mood) -> Option<Mood> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX && !kept.contains_key(place) {
            kept.clear();
        }
        kept.insert(place.clone(), mood)
    }
}

/// One reaction; what is so already is no error.
async fn react(web: &Web, method: &str, place: &(String, String), name: &str) -> Result<(), DeliveryError> {
    let body = json!({"channel": place.0, "timestamp": place.1, "name": name});
    match web.post(method, &body).await {
        Ok(_) => Ok(()),
        Err(error) if is_so_already(&error) => Ok(()),
        Err(error) => Err(before(&error)),
    }
}

fn is_so_already(error: &CallError) -> bool {
    matches!(error.code(), Some("already_reacted" | "no_reaction" | "message_not_found"))
}
