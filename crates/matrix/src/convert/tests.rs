use serde_json::{Value, json};

use super::*;

const HOB: &str = "@hob:x";

fn me() -> Me<'static> {
    Me { id: HOB, name: "Hob", account: "default", is_command: |words| words.starts_with("/stop") }
}

fn room(people: &[&str]) -> Room {
    let member = |id: &&str| json!({"state_key": id, "content": {"membership": "join", "displayname": id[1..].split(':').next()}});
    Room::of(&json!({"chunk": people.iter().map(member).collect::<Vec<_>>()}), true)
}

fn event(content: Value) -> Value {
    json!({
        "type": "m.room.message", "sender": "@ada:x", "event_id": "$1", "origin_server_ts": 1_700_000_000_000_i64,
        "content": content,
    })
}

fn seen(event: &Value, people: &[&str]) -> Option<Inbound> {
    inbound(event, Place { id: "!r:x", room: &room(people) }, me(), SenderProof::Platform)
}

fn said(content: Value) -> String {
    match seen(&event(content), &[HOB, "@ada:x", "@bob:x"]).unwrap().happening {
        InboundEvent::Posted { text } | InboundEvent::Edited { text } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn f11_a_message_in_private_is_for_hob() {
    let got = seen(&event(json!({"msgtype": "m.text", "body": "hi"})), &[HOB, "@ada:x"]).unwrap();
    assert_eq!(got.conversation.session_key().0, "matrix:!r:x");
    assert!(got.conversation.is_private());
    assert_eq!((got.external_id.as_str(), got.sender.name.as_str()), ("$1", "ada"));
    assert_eq!((got.metadata.audience, got.happening), (Audience::Hob, InboundEvent::Posted { text: "hi".to_owned() }));
}

#[test]
fn f11_in_a_group_only_a_mention_is_for_hob() {
    let people = [HOB, "@ada:x", "@bob:x"];
    let audience = |content: Value| seen(&event(content), &people).unwrap().metadata.audience;
    let table = [
        (json!({"msgtype": "m.text", "body": "Hob, hi", "m.mentions": {"user_ids": [HOB]}}), Audience::Hob),
        // Its name is only a word where the client says whom it mentions.
        (json!({"msgtype": "m.text", "body": "Hob: hi", "m.mentions": {}}), Audience::Group),
        (json!({"msgtype": "m.text", "body": "hob: hi"}), Audience::Hob),
        (json!({"msgtype": "m.text", "body": "ask @hob:x"}), Audience::Hob),
        (
            json!({"msgtype": "m.text", "body": "x", "formatted_body": "<a href=\"https://matrix.to/#/@hob:x\">H</a>"}),
            Audience::Hob,
        ),
        (json!({"msgtype": "m.text", "body": "hobby"}), Audience::Group),
    ];
    for (content, expected) in table {
        assert_eq!(audience(content.clone()), expected, "{content}");
    }
    let place = seen(&event(json!({"msgtype": "m.text", "body": "hi"})), &people).unwrap().conversation;
    assert!(!place.is_private());
}

#[test]
fn f11_words_are_what_their_sender_wrote() {
    assert_eq!(said(json!({"msgtype": "m.text", "body": "Hob: what's up"})), "what's up");
    assert_eq!(said(json!({"msgtype": "m.text", "body": "@hob:x !stop"})), "/stop");
    assert_eq!(said(json!({"msgtype": "m.text", "body": "!important"})), "!important");
    let quoting = "> <@bob:x> a\n> b\n\nyes";
    let answer = json!({"m.in_reply_to": {"event_id": "$0"}});
    assert_eq!(said(json!({"msgtype": "m.text", "body": quoting, "m.relates_to": answer})), "yes");
    assert_eq!(said(json!({"msgtype": "m.text", "body": quoting})), quoting);
    assert_eq!(said(json!({"msgtype": "m.image", "body": "cat.png", "url": "mxc://x/1"})), "");
    assert_eq!(
        said(json!({"msgtype": "m.image", "body": "my cat", "filename": "cat.png", "url": "mxc://x/1"})),
        "my cat"
    );
}

#[test]
fn f11_edits_redactions_and_threads_name_their_message() {
    let edit = json!({
        "msgtype": "m.text", "body": "* b", "m.new_content": {"msgtype": "m.text", "body": "b"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": "$0"},
    });
    let got = seen(&event(edit), &[HOB, "@ada:x"]).unwrap();
    assert_eq!((got.external_id.as_str(), got.happening), ("$0", InboundEvent::Edited { text: "b".to_owned() }));
    let mut gone = event(json!({"redacts": "$0"}));
    gone["type"] = "m.room.redaction".into();
    let got = seen(&gone, &[HOB, "@ada:x"]).unwrap();
    assert_eq!((got.external_id.as_str(), got.happening), ("$0", InboundEvent::Deleted));
    let relation =
        json!({"rel_type": "m.thread", "event_id": "$t", "is_falling_back": true, "m.in_reply_to": {"event_id": "$9"}});
    let threaded = event(json!({"msgtype": "m.text", "body": "a", "m.relates_to": relation}));
    assert_eq!(answered(&threaded), None);
    let got = seen(&threaded, &[HOB, "@ada:x"]).unwrap();
    assert_eq!(got.conversation.session_key().0, "matrix:!r:x:$t");
}

#[test]
fn f11_a_file_comes_with_the_key_that_opens_it() {
    let file = json!({"url": "mxc://x/1", "key": {"k": "a"}, "iv": "i", "hashes": {"sha256": "h"}, "v": "v2"});
    let content = json!({"msgtype": "m.file", "body": "list.txt", "file": file, "info": {"size": 3}});
    let got = seen(&event(content), &[HOB, "@ada:x"]).unwrap().attachments.remove(0);
    assert_eq!(
        (serde_json::from_str::<Value>(&got.handle).unwrap(), got.name.as_str(), got.bytes),
        (file, "list.txt", Some(3))
    );
    let voice = json!({"msgtype": "m.audio", "body": "v.ogg", "url": "mxc://x/2", "info": {"duration": 4_200}, "org.matrix.msc3245.voice": {}});
    assert_eq!(
        seen(&event(voice), &[HOB, "@ada:x"]).unwrap().metadata.spoken,
        Some(VoiceRecording { seconds: Some(4) })
    );
}

#[test]
fn f11_what_nobody_says_to_anybody_is_passed_over() {
    let nothing = [
        event(json!({"msgtype": "m.notice", "body": "I am a bot"})),
        event(json!({"msgtype": "m.key.verification.request", "body": "verify"})),
        event(json!({})),
        json!({"type": "m.reaction", "sender": "@ada:x", "event_id": "$1", "origin_server_ts": 1, "content": {}}),
        json!({"type": "m.room.message", "sender": HOB, "event_id": "$1", "origin_server_ts": 1, "content": {"msgtype": "m.text", "body": "me"}}),
        Value::Null,
    ];
    for event in nothing {
        assert_eq!(seen(&event, &[HOB, "@ada:x"]), None, "{event}");
    }
}

#[test]
fn f11_a_quotation_says_whose_it_is() {
    let own = json!({"sender": HOB, "content": {"body": "I said so"}});
    let got = quoted(&own, &room(&[HOB, "@ada:x"]), me()).unwrap();
    assert_eq!((got.author.as_str(), got.text.as_str(), got.own), ("hob", "I said so", true));
}
