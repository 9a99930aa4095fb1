//! What was said while no session stood: each channel's history after its cursor, oldest first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tracing::{debug, info, warn};

use crate::call::Request;
use crate::convert::{PlaceKind, cursor, list};
use crate::submitter::{SubmitError, Submitter};
use crate::wire::{ChannelInfo, Guild, Id, Message};
use hob_core::domain::inbound::{ChannelKind, Cursor, DISCORD_PRIVATE};

/// How many messages one request brings: Discord's own maximum.
const PAGE: usize = 100;
/// For so long a thread is looked for that is not listed: in milliseconds, before the last message that Hob knows. Later
/// nobody speaks on in one.
const SOUGHT_FOR: i64 = 7 * 86_400_000;
/// So many of them are looked for at most.
const SOUGHT_MAX: usize = 50;
/// Where the time stands in a snowflake.
const TIME_BITS: u32 = 22;
/// The kinds of channel in which messages stand: text, voice, news, their threads, stages.
const TALKED_IN: [u8; 7] = [0, 2, 5, 10, 11, 12, 13];

/// Private chats, as far as they are known: Discord does not list them.
pub(super) async fn private(submitter: &mut Submitter<'_>) -> Result<(), SubmitError> {
    let cursors = cursors(submitter).await?;
    let chats =
        cursors.iter().filter_map(|(list, from)| Some((Id::parse(list.strip_prefix(DISCORD_PRIVATE)?)?, *from)));
    for (chat, from) in chats {
        fetch(submitter, chat, PlaceKind::Private, None, from).await?;
    }
    Ok(())
}

/// A server's channels and threads.
pub(super) async fn guild(submitter: &mut Submitter<'_>, guild: &Guild) -> Result<(), SubmitError> {
    let mut cursors = cursors(submitter).await?;
    let places = message_places(guild.channels.iter().chain(&guild.threads));
    // Before anything is fetched, which moves cursors: what is interrupted here could not tell old from new when it is tried
    // again.
    for cursor in initial_cursors(&places, &cursors) {
        submitter.advance(cursor.clone()).await?;
        cursors.insert(cursor.list, cursor.position);
    }
    for (place, kind) in places {
        if let Some(from) = cursors.get(&list(place.id, kind)).filter(|from| may_have_missed(place, **from)) {
            fetch(submitter, place.id, kind, Some(guild.id), *from).await?;
        }
    }
    Ok(())
}

/// Threads that were put away meanwhile: no server lists them. What was said there before is fetched as well.
pub(super) async fn catch_up_archived_threads(submitter: &mut Submitter<'_>) -> Result<(), SubmitError> {
    for (thread, from) in archived_thread_cursors(&cursors(submitter).await?, |place| submitter.is_listed(place)) {
        let channel = thread.to_string();
        let place = match submitter.api.call(Request::get(["channels", &channel])).await {
            Ok(answer) => answer.parse::<ChannelInfo>().ok(),
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                debug!(channel = "discord", place = %thread, %error, "a place that is not listed: {error}");
                None
            }
        };
        let place = place.filter(|place| may_have_missed(place, from));
        let found = place.and_then(|place| Some((PlaceKind::of(place.kind, place.parent_id)?, place.guild_id)));
        if let Some((kind @ PlaceKind::Thread(_), guild)) = found {
            fetch(submitter, thread, kind, guild, from).await?;
        }
    }
    Ok(())
}

/// Gives places cursors that Discord told of while Hob was there, and that have none: what is said there during an outage
/// would else count as said before Hob came.
pub(super) async fn begin(submitter: &Submitter<'_>, places: &[ChannelInfo], is_new: bool) -> Result<(), SubmitError> {
    let cursors = cursors(submitter).await?;
    for (place, kind) in message_places(places) {
        if !cursors.contains_key(&list(place.id, kind)) {
            submitter.advance(Cursor { list: list(place.id, kind), position: first(place, is_new) }).await?;
        }
    }
    Ok(())
}

/// The places in which messages stand.
fn message_places<'p>(places: impl IntoIterator<Item = &'p ChannelInfo>) -> Vec<(&'p ChannelInfo, PlaceKind)> {
    let talked_in = places.into_iter().filter(|place| TALKED_IN.contains(&place.kind));
    talked_in.filter_map(|place| Some((place, PlaceKind::of(place.kind, place.parent_id)?))).collect()
}

/// Where a place is begun to be read: at its beginning, or behind what was said there before Hob came.
fn first(place: &ChannelInfo, is_new: bool) -> i64 {
    let own = place.id.position();
    match is_new {
        // A thread's first message may have the thread's own id.
        true => own - 1,
        false => place.last_message_id.map_or(own, Id::position),
    }
}

/// The cursors of the places of a server that have none, in the order in which they have to be written: whenever that is
/// interrupted, the rest is judged as before.
fn initial_cursors(places: &[(&ChannelInfo, PlaceKind)], cursors: &BTreeMap<String, i64>) -> Vec<Cursor> {
    let newest = places.iter().filter_map(|(place, kind)| cursors.get(&list(place.id, *kind))).max().copied();
    let without = places.iter().filter(|(place, kind)| !cursors.contains_key(&list(place.id, *kind)));
    // Ids grow with time: what is newer than all that Hob knows was made while it was away.
    let is_new = |place: &ChannelInfo| newest.is_some_and(|newest| place.id.position() > newest);
    let (mut new, mut old): (Vec<Cursor>, Vec<Cursor>) = (Vec::new(), Vec::new());
    for (place, kind) in without {
        let list = list(place.id, *kind);
        match is_new(place) {
            true => new.push(Cursor { list, position: first(place, true) }),
            false => old.push(Cursor { list, position: first(place, false) }),
        }
    }
    // The rest of the new ones stays newer than those before; all old ones are older than the newest of them.
    new.sort_by_key(|cursor| cursor.position);
    old.sort_by_key(|cursor| Reverse(cursor.position));
    new.append(&mut old);
    new
}

/// Whether there may be something after that message. Of a place that was never read nobody knows.
fn may_have_missed(place: &ChannelInfo, from: i64) -> bool {
    from < place.id.position() || place.last_message_id.is_some_and(|last| last.position() > from)
}

/// The places that are not listed and may be threads which were put away, the last ones first.
fn archived_thread_cursors(cursors: &BTreeMap<String, i64>, is_listed: impl Fn(Id) -> bool) -> Vec<(Id, i64)> {
    let places = cursors.iter().filter_map(|(list, from)| Some((Id::parse(list)?, *from)));
    let newest = cursors.values().max().copied().unwrap_or_default();
    let is_late = |from: i64| (newest >> TIME_BITS) - (from >> TIME_BITS) <= SOUGHT_FOR;
    let mut sought: Vec<(Id, i64)> = places.filter(|(place, from)| is_late(*from) && !is_listed(*place)).collect();
    sought.sort_by_key(|(_, from)| Reverse(*from));
    sought.truncate(SOUGHT_MAX);
    sought
}

async fn cursors(submitter: &Submitter<'_>) -> Result<BTreeMap<String, i64>, SubmitError> {
    Ok(submitter.intake.cursors(ChannelKind::Discord, &submitter.discord.settings.account).await?)
}

/// Hands in the history of a channel, which may be a server's, after a message.
async fn fetch(
    submitter: &mut Submitter<'_>,
    place: Id,
    kind: PlaceKind,
    guild: Option<Id>,
    mut from: i64,
) -> Result<(), SubmitError> {
    loop {
        let channel = place.to_string();
        let request = Request::get(["channels", &channel, "messages"]).query("after", from).query("limit", PAGE);
        let answer = match submitter.api.call(request).await {
            Ok(answer) => answer,
            Err(error) if error.is_transient() => return Err(error.into()),
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
        // A history does not repeat whose it is.
        messages.iter_mut().for_each(|message| message.guild_id = guild);
        let Some(newest) = messages.last().map(|message| message.id) else {
            // It is read to its end, which is its beginning.
            return if from < place.position() { submitter.advance(cursor(place, kind, place)).await } else { Ok(()) };
        };
        let mut handed_in = None;
        for message in &messages {
            if submitter.submit_message(message, kind, true).await? {
                handed_in = Some(message.id);
            }
        }
        if handed_in != Some(newest) {
            submitter.advance(cursor(place, kind, newest)).await?;
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

    fn place(id: &str, last: Option<&str>) -> ChannelInfo {
        ChannelInfo {
            id: Id::parse(id).unwrap(),
            kind: 0,
            guild_id: None,
            parent_id: None,
            last_message_id: last.and_then(Id::parse),
            newly_created: false,
        }
    }

    fn known(cursors: &[(&str, i64)]) -> BTreeMap<String, i64> {
        cursors.iter().map(|(list, position)| ((*list).to_owned(), *position)).collect()
    }

    #[test]
    fn n11_what_has_no_cursor_begins_by_its_age_however_often_that_is_interrupted() {
        let all = [place("10", Some("60")), place("20", Some("61")), place("70", None), place("80", Some("95"))];
        let places: Vec<(&ChannelInfo, PlaceKind)> = all.iter().map(|place| (place, PlaceKind::Channel)).collect();
        let table = [
            (known(&[("10", 60)]), vec![("70", 69), ("80", 79), ("20", 61)]),
            // Nothing is missing.
            (known(&[("10", 60), ("20", 61), ("70", 69), ("80", 95)]), vec![]),
            // A server that Hob is new to.
            (known(&[]), vec![("80", 95), ("70", 70), ("20", 61), ("10", 60)]),
            (known(&[("99", 500)]), vec![("80", 95), ("70", 70), ("20", 61), ("10", 60)]),
        ];
        for (before, expected) in table {
            for done in 0..=expected.len() {
                let mut cursors = before.clone();
                cursors.extend(known(&expected[..done]));
                let firsts = initial_cursors(&places, &cursors);
                let firsts: Vec<(&str, i64)> =
                    firsts.iter().map(|cursor| (cursor.list.as_str(), cursor.position)).collect();
                assert_eq!(firsts, expected[done..], "{before:?}, interrupted after {done}");
            }
        }
    }

    #[test]
    fn n11_what_was_missed_follows_from_cursor_and_age() {
        let table = [
            (Some("60"), 60, false),
            (Some("61"), 60, true),
            (None, 60, false),
            // Made while Hob was away, and never read.
            (Some("51"), 49, true),
            (None, 49, true),
            (None, 50, false),
        ];
        for (last, from, expected) in table {
            assert_eq!(may_have_missed(&place("50", last), from), expected, "{last:?} {from}");
        }
    }

    #[test]
    fn n11_a_thread_that_was_put_away_is_sought_for_a_week() {
        let (day, listed) = (86_400_000_i64 << TIME_BITS, Id::parse("7").unwrap());
        let cursors = known(&[("5", 20 * day), ("6", 14 * day), ("7", 19 * day), ("8", 12 * day), ("dm:9", 21 * day)]);
        let ids: Vec<String> =
            archived_thread_cursors(&cursors, |id| id == listed).into_iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(ids, ["5", "6"]);
        let many: BTreeMap<String, i64> = (1..=80_i64).map(|number| (number.to_string(), number)).collect();
        let ids: Vec<i64> = archived_thread_cursors(&many, |_| false).into_iter().map(|(_, from)| from).collect();
        assert_eq!(ids, (31..=80).rev().collect::<Vec<_>>());
        assert_eq!(archived_thread_cursors(&known(&[]), |_| false), []);
    }
}
