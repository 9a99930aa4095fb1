//! Typing, and the reaction under a message that tells what becomes of it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::Method;
use tracing::debug;

use crate::Discord;
use crate::call::{Api, CallError, Request};
use crate::error_codes::repeatable;
use crate::send::place;
use crate::wire::Id;
use hob_core::domain::channel::{MessageReaction, PresenceSignal};
use hob_core::domain::lock::lock;
use hob_core::domain::outgoing::{DeliveryError, Destination};

/// So many messages' signs are remembered.
const SIGNS_MAX: usize = 1_000;
/// How long a reaction waits for its turn, and how often.
const TURN_MAX: Duration = Duration::from_secs(3);
const TRIES: u32 = 4;
/// Every sign that there is.
const ALL: [&str; 5] = ["👀", "⏳", "❓", "✅", "❌"];

/// The reaction that says so.
fn emoji(mood: MessageReaction) -> Option<&'static str> {
    Some(match mood {
        MessageReaction::Seen => "👀",
        MessageReaction::Working => "⏳",
        MessageReaction::Waiting => "❓",
        MessageReaction::Done => "✅",
        MessageReaction::Failed => "❌",
        MessageReaction::Gone => return None,
    })
}

/// Which sign stands under which message, as far as this process has put it there.
#[derive(Debug, Default)]
pub(super) struct Reactions(Mutex<BTreeMap<Id, Option<&'static str>>>);

impl Reactions {
    /// What has to go before, or after, a sign is shown: the one before; all others, where that is not known.
    fn reactions_to_remove(&self, message: Id, next: Option<&'static str>) -> Vec<&'static str> {
        match lock(&self.0).get(&message) {
            Some(shown) => shown.iter().copied().filter(|sign| Some(*sign) != next).collect(),
            // It is the first one.
            None if next == emoji(MessageReaction::Seen) => Vec::new(),
            None => ALL.into_iter().filter(|sign| Some(*sign) != next).collect(),
        }
    }

    fn remember(&self, message: Id, sign: Option<&'static str>) {
        let mut shown = lock(&self.0);
        shown.insert(message, sign);
        if shown.len() > SIGNS_MAX {
            shown.pop_first();
        }
    }
}

/// Shows a sign.
pub(super) async fn show(
    discord: &Discord,
    destination: &Destination,
    sign: PresenceSignal,
) -> Result<(), DeliveryError> {
    let Discord { api, signs, .. } = discord;
    let channel = place(destination)?.to_string();
    let mood = match sign {
        PresenceSignal::Typing => {
            let typed = api.call(Request::new(Method::POST, ["channels", &channel, "typing"])).await;
            return typed.map(drop).map_err(|error| repeatable(&error));
        }
        PresenceSignal::Mood(mood) => mood,
    };
    let Some(message) = destination.reply_to.as_deref().and_then(Id::parse) else { return Ok(()) };
    let (next, id) = (emoji(mood), message.to_string());
    let before = signs.reactions_to_remove(message, next);
    let changed = change(api, [&channel, &id], next, &before).await;
    match &changed {
        Ok(()) => signs.remember(message, next),
        // What stands there now is not known: the next sign takes all others away.
        Err(_) => {
            lock(&signs.0).remove(&message);
        }
    }
    changed.map_err(|error| repeatable(&error))?;
    debug!(channel = "discord", message.id = %id, ?mood, "a sign is shown");
    Ok(())
}

/// Puts the new one there, then takes the old ones away.
async fn change(
    api: &Api,
    [channel, message]: [&str; 2],
    next: Option<&str>,
    before: &[&str],
) -> Result<(), CallError> {
    if let Some(next) = next {
        react(api, Method::PUT, [channel, message, next]).await?;
    }
    for old in before {
        match react(api, Method::DELETE, [channel, message, old]).await {
            Ok(()) => {}
            // No such reaction, no such message.
            Err(error) if error.code().is_some_and(|code| matches!(code, 10008 | 10014)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// One reaction. Discord takes four a second: the next one waits for its turn.
async fn react(api: &Api, method: Method, [channel, message, emoji]: [&str; 3]) -> Result<(), CallError> {
    let path = ["channels", channel, "messages", message, "reactions", emoji, "@me"];
    let mut tried = 1;
    loop {
        let Err(error) = api.call(Request::new(method.clone(), path)).await else { return Ok(()) };
        match error.after().filter(|after| *after <= TURN_MAX && tried < TRIES) {
            Some(after) => tokio::time::sleep(after).await,
            None => return Err(error),
        }
        tried += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k2_one_sign_takes_the_place_of_another() {
        let (signs, message) = (Reactions::default(), Id::parse("7").unwrap());
        assert_eq!(signs.reactions_to_remove(message, Some("👀")), Vec::<&str>::new());
        // After a restart nobody knows what stands there.
        assert_eq!(signs.reactions_to_remove(message, Some("✅")), ["👀", "⏳", "❓", "❌"]);
        assert_eq!(signs.reactions_to_remove(message, None), ALL);
        signs.remember(message, Some("👀"));
        assert_eq!(signs.reactions_to_remove(message, Some("⏳")), ["👀"]);
        assert_eq!(signs.reactions_to_remove(message, Some("👀")), Vec::<&str>::new());
        signs.remember(message, None);
        assert_eq!(signs.reactions_to_remove(message, Some("✅")), Vec::<&str>::new());
    }
}
