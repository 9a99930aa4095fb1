use serde_json::{Value, json};

use super::*;

const ME: u64 = 1000;

fn view() -> ConversionContext<'static> {
    ConversionContext {
        account: "default",
        me: Id::parse(&ME.to_string()).unwrap(),
        now: Timestamp::from_second(1).unwrap(),
    }
}

/// A message of Ada's in channel 5, with these fields over the usual ones.
fn message(fields: Value) -> Message {
    let mut all = json!({
        "id": "70", "channel_id": "5", "type": 0, "content": "Hello", "timestamp": "2026-01-02T03:04:05.678000+00:00",
        "author": { "id": "7", "username": "ada", "global_name": "Ada" },
        "mentions": [], "attachments": [], "embeds": [], "flags": 0, "components": [{ "type": 999 }]
    });
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn text_of(inbound: Option<Inbound>) -> String {
    match inbound.map(|inbound| inbound.happening) {
        Some(InboundEvent::Posted { text } | InboundEvent::Edited { text }) => text,
        Some(other) => format!("{other:?}"),
        None => "nothing".to_owned(),
    }
}

#[test]
fn k2_a_message_says_what_a_person_would_read() {
    let me = json!({ "id": "1000", "username": "hob", "bot": true });
    let bob = json!({ "id": "8", "username": "bob", "member": { "nick": "Bobby" } });
    let table = [
        (json!({}), "Hello"),
        (json!({ "content": "<@1000> /status", "mentions": [me] }), "/status"),
        (json!({ "content": "<@!1000> hi <@8>", "mentions": [me, bob] }), "hi @Bobby"),
        (json!({ "content": "<@1000>", "mentions": [me] }), "@hob"),
        (json!({ "content": "ask <@1000> <@9> <@&3> <#5> a < b", "mentions": [me] }), "ask @hob <@9> <@&3> <#5> a < b"),
        (json!({ "content": "<:wave:12> <a:dance:13> <t:1700000000>" }), ":wave: :dance: <t:1700000000>"),
        (json!({ "content": "", "sticker_items": [{ "id": "1", "name": "Cat", "format_type": 1 }] }), "[sticker: Cat]"),
        (json!({ "content": "", "poll": { "question": { "text": "Tea?" }, "answers": [] } }), "[poll: Tea?]"),
        (
            json!({ "content": "", "embeds": [{ "title": "News", "url": "https://a.example" }] }),
            "[embed: News — https://a.example]",
        ),
        (json!({ "content": "see", "embeds": [{ "title": "News" }] }), "see"),
        (
            json!({ "content": "", "attachments": [{ "id": "1", "filename": "a.txt", "size": 3, "url": "https://x" }] }),
            "",
        ),
        (json!({ "content": "" }), "nothing"),
        (json!({ "type": 6, "content": "pinned" }), "nothing"),
        (json!({ "type": 7 }), "nothing"),
        (json!({ "author": { "id": "1000", "username": "hob", "bot": true } }), "nothing"),
        (json!({ "author": { "id": "9", "username": "other", "bot": true } }), "nothing"),
        (json!({ "author": { "id": "9", "username": "Discord", "system": true } }), "nothing"),
        (json!({ "webhook_id": "4" }), "nothing"),
    ];
    for (fields, expected) in table {
        assert_eq!(
            text_of(inbound_from_message(&message(fields.clone()), PlaceKind::Channel, &view())),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn k2_a_message_is_said_to_hob_or_to_the_group() {
    let me = json!({ "id": "1000", "username": "hob", "bot": true });
    let own = json!({ "id": "60", "channel_id": "5", "type": 0, "content": "Yes?", "author": me });
    let other = json!({ "id": "61", "channel_id": "5", "type": 0, "content": "No", "author": { "id": "8", "username": "bob" } });
    let table = [
        (json!({}), PlaceKind::Private, Audience::Hob),
        (json!({}), PlaceKind::Channel, Audience::Group),
        (json!({ "mentions": [me] }), PlaceKind::Channel, Audience::Hob),
        (json!({ "content": "<@&3>", "mention_roles": ["3"] }), PlaceKind::Channel, Audience::Group),
        (json!({ "content": "@everyone", "mention_everyone": true }), PlaceKind::Channel, Audience::Group),
        (json!({ "type": 19, "referenced_message": own }), PlaceKind::Channel, Audience::Hob),
        (json!({ "type": 19, "referenced_message": other }), PlaceKind::Channel, Audience::Group),
        (json!({ "type": 19, "referenced_message": null }), PlaceKind::Channel, Audience::Group),
        (json!({}), PlaceKind::Thread(Id::parse("4").unwrap()), Audience::Group),
    ];
    for (fields, kind, expected) in table {
        let inbound = inbound_from_message(&message(fields.clone()), kind, &view()).unwrap();
        assert_eq!(inbound.metadata.audience, expected, "{fields} {kind:?}");
    }
}

#[test]
fn c4_private_chats_channels_and_threads_are_conversations() {
    let at = |kind| {
        let place = inbound_from_message(&message(json!({})), kind, &view()).unwrap().conversation;
        (place.chat.clone(), place.thread.clone(), place.session_key().0, place.is_private())
    };
    assert_eq!(at(PlaceKind::Private), ("dm:5".to_owned(), None, "discord:5".to_owned(), true));
    assert_eq!(at(PlaceKind::Channel), ("5".to_owned(), None, "discord:5".to_owned(), false));
    let thread = at(PlaceKind::Thread(Id::parse("4").unwrap()));
    assert_eq!(thread, ("4".to_owned(), Some("5".to_owned()), "discord:5".to_owned(), false));
    assert_eq!(PlaceKind::of(11, None), None, "a thread without its channel is nowhere");
    assert_eq!(PlaceKind::of(3, None), None);
    assert_eq!(PlaceKind::of(15, None), Some(PlaceKind::Channel));
}

#[test]
fn k2_who_wrote_when_and_what_it_answers_is_told() {
    let long = "ö".repeat(600);
    let answered =
        json!({ "id": "61", "channel_id": "5", "content": long, "author": { "id": "8", "username": "bob" } });
    let fields = json!({ "type": 19, "referenced_message": answered, "member": { "nick": "Lady A" } });
    let inbound = inbound_from_message(&message(fields), PlaceKind::Channel, &view()).unwrap();
    assert_eq!(inbound.sender, Sender { external_id: "7".to_owned(), name: "Lady A".to_owned() });
    assert_eq!(inbound.sent_at.to_string(), "2026-01-02T03:04:05.678Z");
    let quoted = inbound.metadata.quoted.unwrap();
    assert_eq!((quoted.author.as_str(), quoted.text.chars().count(), quoted.own), ("bob", 501, false));
}

#[test]
fn k2_what_is_handed_on_is_nobodys_own_word() {
    let inner = json!({ "content": "Read <@8>", "mentions": [{ "id": "8", "username": "bob" }],
        "attachments": [{ "id": "1", "filename": "a.txt", "size": 3, "url": "https://cdn.discordapp.com/a" }] });
    let reference = json!({ "type": 1, "message_id": "3", "channel_id": "4" });
    let fields = json!({ "content": "", "message_reference": reference, "message_snapshots": [{ "message": inner }] });
    let inbound = inbound_from_message(&message(fields), PlaceKind::Private, &view()).unwrap();
    assert_eq!(inbound.happening, InboundEvent::Posted { text: "Read @bob".to_owned() });
    assert_eq!(inbound.metadata.forwarded_from.as_deref(), Some("somebody on Discord"));
    let file =
        Attachment { handle: "https://cdn.discordapp.com/a".to_owned(), name: "a.txt".to_owned(), bytes: Some(3) };
    assert_eq!(inbound.attachments, [file]);
}

#[test]
fn n5_only_a_changed_text_is_an_edit() {
    let changed = json!({ "content": "New", "edited_timestamp": "2026-01-02T03:04:06+00:00" });
    let inbound = edited(&message(changed), PlaceKind::Channel, &view()).unwrap();
    assert_eq!(inbound.happening, InboundEvent::Edited { text: "New".to_owned() });
    assert_eq!(inbound.sent_at.to_string(), "2026-01-02T03:04:06Z");
    assert!(edited(&message(json!({ "embeds": [{ "title": "x" }] })), PlaceKind::Channel, &view()).is_none());
    let partial: Message = serde_json::from_value(json!({ "id": "70", "channel_id": "5", "embeds": [] })).unwrap();
    assert!(edited(&partial, PlaceKind::Channel, &view()).is_none());
}

#[test]
fn k2_commands_and_presses_are_said_to_hob() {
    let of = |fields: Value| {
        let mut all = json!({ "id": "90", "application_id": "1000", "channel_id": "5", "token": "t",
            "member": { "nick": null, "user": { "id": "7", "username": "ada", "global_name": "Ada" } } });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        interaction(&serde_json::from_value(all).unwrap(), PlaceKind::Channel, &view())
    };
    let options = json!([{ "name": "text", "type": 3, "value": "a b" }]);
    let table = [
        (json!({ "type": 2, "data": { "name": "status" } }), "/status"),
        (json!({ "type": 2, "data": { "name": "model", "options": options } }), "/model a b"),
        (json!({ "type": 2, "data": { "name": "hob", "options": options } }), "a b"),
        (json!({ "type": 3, "data": { "custom_id": "q1:yes" } }), "Pressed { token: \"q1:yes\" }"),
        (json!({ "type": 4, "data": { "name": "status" } }), "nothing"),
        (json!({ "type": 1 }), "nothing"),
    ];
    for (fields, expected) in table {
        assert_eq!(text_of(of(fields.clone())), expected, "{fields}");
    }
    let pressed = of(json!({ "type": 3, "data": { "custom_id": "x" } })).unwrap();
    assert_eq!((pressed.external_id.as_str(), pressed.sender.name.as_str()), ("in:90", "Ada"));
    assert_eq!(pressed.metadata.audience, Audience::Hob);
}

#[test]
fn k2_where_no_message_can_be_shown_is_told_by_the_permissions() {
    let (view, send, in_threads, all) = (1_u64 << 10, 1 << 11, 1 << 38, 1 << 3);
    let table = [
        (json!({ "guild_id": "1", "app_permissions": (view | send).to_string() }), 0, true),
        (json!({ "guild_id": "1", "app_permissions": (view | in_threads).to_string() }), 0, false),
        (json!({ "guild_id": "1", "app_permissions": (view | in_threads).to_string() }), 11, true),
        (json!({ "guild_id": "1", "app_permissions": (view | send).to_string() }), 12, false),
        (json!({ "guild_id": "1", "app_permissions": (send | in_threads).to_string() }), 11, false),
        (json!({ "guild_id": "1", "app_permissions": all.to_string() }), 0, true),
        // In private there are others; and what isn't told, or can't be read, forbids nothing.
        (json!({ "app_permissions": "442368" }), 1, true),
        (json!({ "guild_id": "1" }), 0, true),
        (json!({ "guild_id": "1", "app_permissions": "many" }), 0, true),
    ];
    for (fields, kind, expected) in table {
        let mut all = json!({ "id": "90", "application_id": "1000", "type": 2, "token": "t",
            "channel": { "id": "5", "type": kind } });
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(can_answer(&serde_json::from_value(all).unwrap()), expected, "{fields} {kind}");
    }
}
