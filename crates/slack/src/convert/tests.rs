use serde_json::json;

use super::*;

fn me() -> BotIdentity {
    let is_command = |text: &str| matches!(text, "/stop" | "/help" | "/status");
    let (user, bot) = ("UHOB".to_owned(), "BHOB".to_owned());
    BotIdentity { user, bot, name: "@hob".to_owned(), workspace: None, account: "default".to_owned(), is_command }
}

fn names() -> UserNames {
    UserNames::from([("UADA".to_owned(), "Ada".to_owned())])
}

const TS: &str = "1712345678.000100";
const ROOT: &str = "1712345600.000200";

/// A message event by Ada; `more` is laid over it.
fn message(channel: &str, said: &str, more: &Value) -> Value {
    let mut event = json!({"type": "message", "channel": channel, "user": "UADA", "ts": TS, "text": said});
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn heard(raw: &Value) -> Option<Inbound> {
    event(raw, &me(), &names())
}

/// Session, audience and text.
fn gist(raw: &Value) -> Option<(String, Audience, String)> {
    let inbound = heard(raw)?;
    let said = match inbound.happening {
        InboundEvent::Posted { text } => text,
        InboundEvent::Edited { text } => format!("edited: {text}"),
        InboundEvent::Deleted => "deleted".to_owned(),
        InboundEvent::Pressed { token } => format!("pressed: {token}"),
    };
    Some((inbound.conversation.session_key().0, inbound.metadata.audience, said))
}

#[test]
fn a12_threads_are_sessions() {
    use Audience::{Group, Hob};
    let (own, other) = (format!("slack:C1:{TS}"), format!("slack:C1:{ROOT}"));
    let threaded = json!({"thread_ts": ROOT, "parent_user_id": "UBOB"});
    let answer = json!({"thread_ts": ROOT, "parent_user_id": "UHOB"});
    let table = [
        // A private chat is one session, unless somebody begins a thread there.
        (message("D1", "hi", &json!({})), "slack:D1", Hob, "hi"),
        (message("D1", "hi", &threaded), &format!("slack:D1:{ROOT}"), Hob, "hi"),
        // A call in a channel begins a thread.
        (message("C1", "<@UHOB> hi", &json!({})), &own, Hob, "hi"),
        (message("C1", "well <@UHOB>, hi", &json!({})), &own, Hob, "well @UHOB, hi"),
        (message("C1", "<@UHOB> !stop", &threaded), &other, Hob, "/stop"),
        (message("C1", "hi", &answer), &other, Hob, "hi"),
        // What people say to each other.
        (message("C1", "hi", &json!({})), "slack:C1", Group, "hi"),
        (message("C1", "hi", &threaded), &other, Group, "hi"),
        (message("G1", "hi <@UADA>", &json!({"channel_type": "mpim"})), "slack:G1", Group, "hi @Ada"),
        // As history tells a thread's first message.
        (message("C1", "<@UHOB> hi", &json!({"thread_ts": TS})), &own, Hob, "hi"),
        (message("C1", "so", &json!({"thread_ts": ROOT, "subtype": "thread_broadcast"})), &other, Group, "so"),
    ];
    for (raw, session, audience, said) in table {
        assert_eq!(gist(&raw), Some((session.to_owned(), audience, said.to_owned())), "{raw}");
    }
}

#[test]
fn k2_a_post_and_its_mention_are_one_message() {
    let post = message("C1", "<@UHOB> hi", &json!({"channel_type": "channel", "client_msg_id": "x"}));
    let mut mention = post.clone();
    mention["type"] = "app_mention".into();
    mention.as_object_mut().unwrap().remove("channel_type");
    assert_eq!(heard(&post), heard(&mention));
    assert_eq!(heard(&post).unwrap().external_id, TS);
}

#[test]
fn k2_programs_and_notices_are_not_heard() {
    let table = [
        message("D1", "hi", &json!({"bot_id": "BHOB"})),
        message("D1", "hi", &json!({"bot_id": "BELSE", "subtype": "bot_message"})),
        message("D1", "hi", &json!({"app_id": "A1"})),
        message("D1", "hi", &json!({"bot_profile": {"name": "Flow"}})),
        message("D1", "hi", &json!({"user": "UHOB"})),
        message("D1", "hi", &json!({"user": "USLACKBOT"})),
        message("C1", "joined", &json!({"subtype": "channel_join"})),
        message("C1", "x", &json!({"subtype": "something_new"})),
        message("C1", "x", &json!({"ts": "yesterday"})),
        message("C1", "x", &json!({"user": 7})),
        json!({"type": "reaction_added", "user": "UADA"}),
        json!({"type": "message"}),
        json!(null),
    ];
    for raw in table {
        assert_eq!(gist(&raw), None, "{raw}");
    }
}

#[test]
fn k2_a_strange_field_costs_only_itself() {
    let more = json!({"files": "none", "attachments": [7, {"is_share": "so"}], "thread_ts": 7, "blocks": {"a": []}});
    let (session, _, said) = gist(&message("D1", "hi", &more)).unwrap();
    assert_eq!((session.as_str(), said.as_str()), ("slack:D1", "hi"));
}

fn change(now: &Value, before: &Value) -> Value {
    let ts = "1712345999.000000";
    json!({"type": "message", "subtype": "message_changed", "hidden": true, "channel": "C1", "ts": ts, "message": now, "previous_message": before})
}

#[test]
fn k2_edits_and_deletions_find_their_message() {
    use Audience::{Group, Hob};
    let edited = json!({"edited": {"user": "UADA", "ts": "1712345999.000000"}});
    let (own, called) = (format!("slack:C1:{TS}"), message("C1", "<@UHOB> hi", &json!({})));
    let plain = message("C1", "hi", &json!({}));
    let table = [
        (change(&message("C1", "<@UHOB> ho", &edited), &called), Some((own.as_str(), Hob, "edited: ho"))),
        // The mention was taken out: the message is still where it was.
        (change(&message("C1", "ho", &edited), &called), Some((&own, Hob, "edited: ho"))),
        // The mention was put in.
        (change(&message("C1", "<@UHOB> hi", &edited), &plain), Some((&own, Hob, "edited: hi"))),
        (change(&message("C1", "ho", &edited), &plain), Some(("slack:C1", Group, "edited: ho"))),
        // Slack looked at an address.
        (change(&message("C1", "hi", &json!({"attachments": [{}]})), &plain), None),
        (change(&message("C1", "ho", &edited), &message("C1", "ho", &edited)), None),
        (change(&message("C1", "ho", &json!({"bot_id": "BHOB", "edited": {}})), &plain), None),
        (
            change(&message("C1", "", &json!({"subtype": "tombstone", "user": "USLACKBOT"})), &called),
            Some((&own, Hob, "deleted")),
        ),
    ];
    for (raw, expected) in table {
        let expected = expected.map(|(session, audience, said)| (session.to_owned(), audience, said.to_owned()));
        assert_eq!(gist(&raw), expected, "{raw}");
        assert!(heard(&raw).is_none_or(|inbound| inbound.external_id == TS));
    }
    let mut gone =
        json!({"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": TS, "ts": ROOT});
    assert_eq!(gist(&gone), None, "nobody knows where it stood");
    gone["previous_message"] = called;
    assert_eq!(gist(&gone), Some((own, Hob, "deleted".to_owned())));
    assert_eq!(heard(&gone).unwrap().external_id, TS);
}

#[test]
fn k2_files_and_quotes_come_along() {
    let files = json!({"subtype": "file_share", "files": [
        {"id": "F1", "name": "a.txt", "size": 3, "url_private_download": "https://files.slack.com/F1/a.txt"},
        {"id": "F2", "title": "b", "file_access": "check_file_info"},
        {"id": "F3", "mode": "tombstone"},
        {"id": "F4", "is_external": true, "title": "Plan", "external_url": "https://docs.example/p"},
    ]});
    let inbound = heard(&message("D1", "look", &files)).unwrap();
    let handles: Vec<&str> = inbound.attachments.iter().map(|file| file.handle.as_str()).collect();
    assert_eq!(handles, ["https://files.slack.com/F1/a.txt", "F2"]);
    assert_eq!(inbound.happening, InboundEvent::Posted { text: "look\nPlan (https://docs.example/p)".to_owned() });
    let share = json!({"attachments": [{"is_share": true, "author_id": "UADA", "text": "1 &lt; 2"}]});
    let quoting = heard(&message("D1", "true?", &share)).unwrap().metadata;
    assert_eq!(quoting.quoted, Some(QuotedMessage { author: "Ada".to_owned(), text: "1 < 2".to_owned(), own: false }));
    let forwarding = heard(&message("D1", "", &share)).unwrap();
    assert_eq!(forwarding.metadata.forwarded_from.as_deref(), Some("Ada"));
    assert_eq!(forwarding.happening, InboundEvent::Posted { text: "1 < 2".to_owned() });
}

#[test]
fn c4_a_press_is_made_where_the_question_stands() {
    let now = Timestamp::UNIX_EPOCH;
    let mut payload = json!({
        "type": "block_actions", "user": {"id": "UBOB", "name": "bob"}, "channel": {"id": "C1"},
        "container": {"type": "message", "message_ts": TS, "channel_id": "C1", "thread_ts": ROOT},
        "actions": [{"action_id": "hob_0", "value": "t:1:yes", "action_ts": "1712345700.000001"}],
    });
    let inbound = inbound_from_press(&payload, &me(), &names(), now).unwrap();
    assert_eq!(inbound.conversation.session_key().0, format!("slack:C1:{ROOT}"));
    assert_eq!((inbound.sender.external_id.as_str(), inbound.sender.name.as_str()), ("UBOB", "bob"));
    assert_eq!(inbound.happening, InboundEvent::Pressed { token: "t:1:yes".to_owned() });
    payload["container"] = json!({"type": "view"});
    assert_eq!(inbound_from_press(&payload, &me(), &names(), now), None, "where it stands is not known");
    payload["type"] = "view_submission".into();
    assert_eq!(inbound_from_press(&payload, &me(), &names(), now), None);
}

#[test]
fn k2_the_slash_command_is_a_command_or_words() {
    let table =
        [("stop", "/stop"), ("what's up", "what's up"), ("/stop", "/stop"), ("", "/help"), ("stop that", "stop that")];
    for (written, expected) in table {
        let payload =
            json!({"command": "/hob", "text": written, "user_id": "UADA", "channel_id": "D1", "trigger_id": "1.2.x"});
        let inbound = slash_command(&payload, &me(), &names(), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(inbound.happening, InboundEvent::Posted { text: expected.to_owned() }, "{written}");
        assert_eq!((inbound.external_id.as_str(), inbound.sender.name.as_str()), ("command:1.2.x", "Ada"));
    }
}

#[test]
fn a_ts_is_a_position() {
    for (ts, expected) in
        [(TS, Some(1_712_345_678_000_100)), ("1.5", None), ("x.000000", None), ("-1.000000", None), ("", None)]
    {
        assert_eq!(micros(ts), expected, "{ts}");
    }
    assert_eq!(ts_of(1_712_345_678_000_100), TS);
    assert_eq!(people(&json!({"event": message("C1", "<@U2> <@U2>", &json!({}))})), ["U2", "UADA"]);
}
