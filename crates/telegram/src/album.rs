//! Pictures that were sent together: several updates, one message. Pure.

use teloxide::types::{Message, Update, UpdateKind};

use hob_core::domain::inbound::{Audience, Inbound, InboundEvent};

/// The most that Telegram sends together.
const PARTS_MAX: usize = 10;

/// An update with its id; none: there is nothing in it that Hob could read.
pub(super) type NumberedUpdate = (i32, Option<Update>);

/// What is handed in at once: an update of its own, or the parts of an album.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UpdateBatch {
    /// The updates, by their place in the batch.
    pub(super) places: Vec<usize>,
    /// Of an album to which parts may still come: what it is known by.
    pub(super) open: Option<Album>,
}

/// What Telegram knows an album by: the chat, and the group within it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Album {
    chat: i64,
    group: String,
}

/// The album that an update is a part of.
fn album_of(update: &Update) -> Option<Album> {
    let message = update_message(update)?;
    Some(Album { chat: message.chat.id.0, group: message.media_group_id()?.0.clone() })
}

fn update_message(update: &Update) -> Option<&Message> {
    match &update.kind {
        UpdateKind::Message(message) => Some(message),
        _ => None,
    }
}

/// What a batch holds, in the order in which it is complete: an album stands where its last part does. One with something
/// newer from its chat behind it, or with all the parts there can be, gets no more.
pub(super) fn batch_units(batch: &[NumberedUpdate]) -> Vec<UpdateBatch> {
    let mut units: Vec<(Option<Album>, Vec<usize>)> = Vec::new();
    for (place, (_, update)) in batch.iter().enumerate() {
        let album = update.as_ref().and_then(album_of);
        let begun = album.as_ref().and_then(|album| units.iter_mut().find(|(known, _)| known.as_ref() == Some(album)));
        match begun {
            Some((_, places)) => places.push(place),
            None => units.push((album, vec![place])),
        }
    }
    units.sort_by_key(|(_, places)| places.last().copied());
    let closed = |album: &Album, places: &[usize]| {
        let behind = places.last().map_or(0, |last| last + 1);
        let newer = batch.iter().skip(behind).filter_map(|(_, update)| update_message(update.as_ref()?));
        places.len() >= PARTS_MAX || newer.into_iter().any(|message| message.chat.id.0 == album.chat)
    };
    let unit = |(album, places): (Option<Album>, Vec<usize>)| {
        let open = album.filter(|album| !closed(album, &places));
        UpdateBatch { places, open }
    };
    units.into_iter().map(unit).collect()
}

/// The parts as one message, which is known by the first of them; none if one of them is not for Hob.
pub(super) fn merge_parts(parts: Vec<Option<Inbound>>) -> Option<Inbound> {
    let mut parts: Vec<Inbound> = parts.into_iter().collect::<Option<_>>()?;
    parts.sort_by_key(|part| part.external_id.parse::<i64>().unwrap_or(i64::MAX));
    let mut parts = parts.into_iter();
    let mut whole = parts.next()?;
    for part in parts {
        if let (InboundEvent::Posted { text }, InboundEvent::Posted { text: more }) =
            (&mut whole.happening, part.happening)
            && !more.is_empty()
        {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&more);
        }
        whole.attachments.extend(part.attachments);
        if part.metadata.audience == Audience::Hob {
            whole.metadata.audience = Audience::Hob;
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An update from a chat, perhaps a part of an album.
    fn update(id: i32, chat: i64, group: Option<&str>) -> NumberedUpdate {
        let photo = json!([{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1, "file_size": 1}]);
        let mut message = json!({"message_id": id, "date": 1, "from": {"id": 7, "is_bot": false, "first_name": "Ada"},
            "chat": {"id": chat, "type": "supergroup", "title": "Home"}, "photo": photo});
        if let Some(group) = group {
            message["media_group_id"] = json!(group);
        }
        let text = json!({"update_id": id, "message": message}).to_string();
        (id, Some(serde_json::from_str(&text).unwrap()))
    }

    /// The units as the ids of their updates, with a plus where more may come.
    fn told(batch: &[NumberedUpdate]) -> Vec<String> {
        let unit = |unit: UpdateBatch| {
            let ids: Vec<String> = unit.places.iter().map(|place| batch[*place].0.to_string()).collect();
            ids.join(",") + if unit.open.is_some() { "+" } else { "" }
        };
        batch_units(batch).into_iter().map(unit).collect()
    }

    #[test]
    fn k2_parts_are_one_unit_where_the_last_of_them_stands() {
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(told(&[update(1, -5, None), update(2, -5, a), update(3, -5, a)]), ["1", "2,3+"]);
        assert_eq!(told(&[update(1, -5, a), update(2, -6, None), update(3, -5, a)]), ["2", "1,3+"]);
        assert_eq!(told(&[update(1, -5, a), update(2, -5, a), update(3, -5, None)]), ["1,2", "3"]);
        assert_eq!(told(&[update(1, -5, a), update(2, -6, a)]), ["1+", "2+"], "two chats");
        assert_eq!(told(&[update(1, -5, a), update(2, -5, b), update(3, -5, a)]), ["2", "1,3+"]);
        let many: Vec<NumberedUpdate> = (1..=10).map(|id| update(id, -5, a)).collect();
        assert_eq!(told(&many), ["1,2,3,4,5,6,7,8,9,10"], "there are no more parts than that");
        assert_eq!(told(&[(1, None), update(2, -5, a)]), ["1", "2+"]);
    }
}
