//! What was said in a room since the last sync, oldest first, and single messages of it.

use ruma::RoomId;
use ruma::api::client::sync::sync_events::v3::Timeline;
use serde_json::Value;
use tracing::{debug, warn};

use crate::call::CallError;
use crate::convert::text;
use crate::machine::{MachineError, Opened};
use crate::session::Session;

/// How many events of a room come with a sync.
pub(super) const EVENTS: usize = 50;
/// How many pages of a room are read back after a long absence.
const PAGES_MAX: usize = 20;

/// The events of a room that belong to this sync. Where it leaves some out, they are asked for.
pub(super) async fn events(
    session: &Session,
    room: &RoomId,
    timeline: &Timeline,
    since: &str,
) -> Result<Vec<Value>, CallError> {
    let parsed = timeline.events.iter().filter_map(|event| match serde_json::from_str(event.json().get()) {
        Ok(event) => Some(event),
        Err(error) => {
            debug!(channel = "matrix", %error, "an event cannot be read: {error}");
            None
        }
    });
    let mut events: Vec<Value> = parsed.collect();
    if timeline.limited
        && let Some(until) = &timeline.prev_batch
    {
        let mut missed = missed(session, room, until, since).await?;
        missed.append(&mut events);
        events = missed;
    }
    let before = events.iter().position(|event| is_entry(event, session.me.as_str())).unwrap_or_default();
    Ok(events.split_off(before))
}

/// Is Hob asked in here, or comes in? What was said before is not said to it.
fn is_entry(event: &Value, me: &str) -> bool {
    let was = text(&event["unsigned"]["prev_content"], "membership");
    let is = text(&event["content"], "membership");
    let is_own = event["type"] == "m.room.member" && event["state_key"] == me;
    is_own && (is == Some("invite") || is == Some("join") && !matches!(was, Some("invite" | "join")))
}

/// What lies between two syncs, oldest first.
async fn missed(session: &Session, room: &RoomId, until: &str, since: &str) -> Result<Vec<Value>, CallError> {
    let (mut from, mut found) = (until.to_owned(), Vec::new());
    for _ in 0..PAGES_MAX {
        let query = url::form_urlencoded::Serializer::new("?".to_owned())
            .extend_pairs([("dir", "b"), ("from", &from), ("to", since), ("limit", "100")])
            .finish();
        let page = match session.api.get(&["client", "v3", "rooms", room.as_str(), "messages", &query]).await {
            Err(error) if error.code() == Some("M_FORBIDDEN") => break,
            page => page?,
        };
        let events = page["chunk"].as_array().cloned().unwrap_or_default();
        let is_last = events.is_empty();
        found.extend(events);
        match text(&page, "end").filter(|_| !is_last) {
            Some(end) => from = end.to_owned(),
            None => {
                found.reverse();
                return Ok(found);
            }
        }
    }
    warn!(channel = "matrix", "more was said in a room while Hob was away than it reads back");
    found.reverse();
    Ok(found)
}

/// One message, opened; none: it is not to be had.
pub(super) async fn event(session: &Session, room: &RoomId, id: &str) -> Result<Option<Value>, MachineError> {
    let event = match session.api.get(&["client", "v3", "rooms", room.as_str(), "event", id]).await {
        Err(CallError::Refused { retry_after: None, .. }) => return Ok(None),
        event => event?,
    };
    if event["type"] != "m.room.encrypted" {
        return Ok(Some(event));
    }
    Ok(match session.unseal(room, &event).await? {
        Opened::Read { event, .. } => Some(event),
        Opened::Unreadable { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn f11_what_was_said_before_hob_came_is_not_said_to_it() {
        let member = |who: &str, is: &str, was: Option<&str>| json!({"type": "m.room.member", "state_key": who, "content": {"membership": is}, "unsigned": {"prev_content": {"membership": was}}});
        let table = [
            (member("@hob:x", "invite", None), true),
            (member("@hob:x", "join", None), true),
            (member("@hob:x", "join", Some("leave")), true),
            // Words may have been said since the invitation.
            (member("@hob:x", "join", Some("invite")), false),
            // A new name.
            (member("@hob:x", "join", Some("join")), false),
            (member("@ada:x", "join", None), false),
        ];
        for (event, expected) in table {
            assert_eq!(is_entry(&event, "@hob:x"), expected, "{event}");
        }
    }
}
