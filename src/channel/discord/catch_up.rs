//! What was said while no session stood: each channel's history after its cursor, oldest first.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tracing::{info, warn};

use crate::channel::discord::call::Request;
use crate::channel::discord::convert::{Kind, cursor, list};
use crate::channel::discord::hand::{Hand, Trouble};
use crate::channel::discord::wire::{Guild, Id, Message, Place};
use crate::domain::inbound::{ChannelKind, Cursor, DISCORD_PRIVATE};

/// How many messages one request brings: Discord's own maximum.
const PAGE: usize = 100;
/// The kinds of channel in which messages stand: text, voice, news, their threads, stages.
const TALKED_IN: [u8; 7] = [0, 2, 5, 10, 11, 12, 13];

/// Private chats, as far as they are known: Discord does not list them.
pub(super) async fn private(hand: &mut Hand<'_>) -> Result<(), Trouble> {
    let cursors = cursors(hand).await?;
    let chats =
        cursors.iter().filter_map(|(list, from)| Some((Id::parse(list.strip_prefix(DISCORD_PRIVATE)?)?, *from)));
    for (chat, from) in chats {
        fetch(hand, (chat, Kind::Private), from).await?;
    }
    Ok(())
}

/// A server's channels and threads.
pub(super) async fn guild(hand: &mut Hand<'_>, guild: &Guild) -> Result<(), Trouble> {
    let cursors = cursors(hand).await?;
    let places: Vec<(&Place, Kind)> = guild
        .channels
        .iter()
        .chain(&guild.threads)
        .filter(|place| TALKED_IN.contains(&place.kind))
        .filter_map(|place| Some((place, Kind::of(place.kind, place.parent_id)?)))
        .collect();
    let newest = places.iter().filter_map(|(place, kind)| cursors.get(&list(place.id, *kind))).max().copied();
    for (place, kind) in places {
        match missed(place, cursors.get(&list(place.id, kind)).copied(), newest) {
            Missed::Nothing => {}
            Missed::After(from) => fetch(hand, (place.id, kind), from).await?,
            Missed::Unknown(position) => hand.advance(Cursor { list: list(place.id, kind), position }).await?,
        }
    }
    Ok(())
}

/// What may have been missed of a channel.
#[derive(Debug, PartialEq, Eq)]
enum Missed {
    Nothing,
    /// What came after this one.
    After(i64),
    /// It is seen for the first time: what is there already was said before Hob came, up to here.
    Unknown(i64),
}

/// What was missed of a place with this cursor, in a server of which the newest message that Hob knows is that.
fn missed(place: &Place, cursor: Option<i64>, newest: Option<i64>) -> Missed {
    let (own, last) = (place.id.position(), place.last_message_id.map(Id::position));
    match (cursor, newest) {
        (Some(cursor), _) if last.is_none_or(|last| last <= cursor) => Missed::Nothing,
        (Some(cursor), _) => Missed::After(cursor),
        // Ids grow with time: it was made while Hob was away. A thread's first message may have the thread's own id.
        (None, Some(newest)) if own > newest => Missed::After(own - 1),
        (None, _) => Missed::Unknown(last.unwrap_or(own)),
    }
}

async fn cursors(hand: &Hand<'_>) -> Result<BTreeMap<String, i64>, Trouble> {
    Ok(hand.intake.cursors(ChannelKind::Discord, &hand.discord.settings.account).await?)
}

/// Hands in a channel's history after a message.
async fn fetch(hand: &mut Hand<'_>, (place, kind): (Id, Kind), mut from: i64) -> Result<(), Trouble> {
    loop {
        let channel = place.to_string();
        let request = Request::get(["channels", &channel, "messages"]).query("after", from).query("limit", PAGE);
        let answer = match hand.api.call(request).await {
            Ok(answer) => answer,
            Err(error) if error.passes() => return Err(error.into()),
            Err(error) => {
                warn!(channel = "discord", place = %place, %error, "what was missed there cannot be read: {error}");
                return Ok(());
            }
        };
        let page: Vec<Box<RawValue>> = match answer.parse() {
            Ok(page) => page,
            Err(error) => {
                warn!(channel = "discord", place = %place, %error, "a history that cannot be read; passed over");
                return Ok(());
            }
        };
        let is_last = page.len() < PAGE;
        let mut messages: Vec<Message> =
            page.iter().filter_map(|message| serde_json::from_str(message.get()).ok()).collect();
        messages.sort_by_key(|message| message.id);
        let Some(newest) = messages.last().map(|message| message.id) else { return Ok(()) };
        let mut handed_in = None;
        for message in &messages {
            if hand.say(message, kind, true).await? {
                handed_in = Some(message.id);
            }
        }
        if handed_in != Some(newest) {
            hand.advance(cursor(place, kind, newest)).await?;
        }
        info!(channel = "discord", place = %place, messages = messages.len(), "fetched what was missed");
        if is_last || newest.position() <= from {
            return Ok(());
        }
        from = newest.position();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_what_was_missed_follows_from_cursor_and_age() {
        let place = |last: Option<&str>| Place {
            id: Id::parse("50").unwrap(),
            kind: 0,
            parent_id: None,
            last_message_id: last.and_then(Id::parse),
        };
        let table = [
            (place(Some("60")), Some(60), Some(60), Missed::Nothing),
            (place(Some("61")), Some(60), Some(60), Missed::After(60)),
            (place(None), Some(60), Some(60), Missed::Nothing),
            // Made while Hob was away.
            (place(Some("51")), None, Some(40), Missed::After(49)),
            (place(None), None, Some(40), Missed::After(49)),
            // There before, but never seen; a server that Hob is new to.
            (place(Some("61")), None, Some(70), Missed::Unknown(61)),
            (place(Some("61")), None, None, Missed::Unknown(61)),
            (place(None), None, None, Missed::Unknown(50)),
        ];
        for (place, cursor, newest, expected) in table {
            assert_eq!(missed(&place, cursor, newest), expected, "{place:?} {cursor:?} {newest:?}");
        }
    }
}
