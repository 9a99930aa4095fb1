//! Slack's bad days: nothing is lost, nothing comes twice, and what was missed comes in order.

use std::sync::Arc;
use std::time::Duration;

use hob_core::domain::channel::Channel as _;
use hob_core::domain::inbound::Audience;
use serde_json::json;

use crate::slack::harness::{ADA, ADAS, BOB, HALL, RunningAdapter, message, workspace};
use hob_testkit::fake_slack::{FakeSlack, Fault};
use hob_testkit::intake::Memory;

/// Waits until another socket is open than the first `known`.
async fn connected_anew(fake: &FakeSlack, known: u64) {
    fake.until_true("another socket", |world| world.sockets_opened > known && !world.sockets.is_empty()).await;
}

#[tokio::test]
async fn a_lost_socket_is_rebuilt_and_nothing_is_lost() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(ADAS, ADA, "one");
    running.intake.until(1).await;
    fake.drop_sockets();
    fake.say(ADAS, ADA, "two");
    connected_anew(&fake, 1).await;
    fake.say(ADAS, ADA, "three");
    assert_eq!(running.intake.texts(3).await, ["one", "two", "three"]);
    running.end().await;
}

#[tokio::test]
async fn n11_a_silent_socket_is_rebuilt() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.silence();
    fake.say(ADAS, ADA, "does anybody hear me?");
    connected_anew(&fake, 1).await;
    assert_eq!(running.intake.texts(1).await, ["does anybody hear me?"]);
    running.until_health(&fake, "connected").await;
    running.end().await;
}

#[tokio::test]
async fn disconnects_lead_to_another_socket() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    for (number, reason) in ["refresh_requested", "warning"].into_iter().enumerate() {
        let known = fake.look(|world| world.sockets_opened);
        fake.disconnect(reason);
        fake.until_true("closed socket", |world| world.disconnecting.is_none()).await;
        fake.say(ADAS, ADA, reason);
        connected_anew(&fake, known).await;
        assert_eq!(running.intake.texts(number + 1).await[number], reason);
    }
    running.end().await;
}

#[tokio::test]
async fn n11_what_an_operator_has_to_mend_is_told() {
    let fake = workspace().await;
    fake.fault("apps.connections.open", Fault::error("invalid_auth"));
    fake.fault("apps.connections.open", Fault::error("too_many_websockets"));
    let running = RunningAdapter::start_with(&fake, Arc::new(Memory::default()));
    for says in ["does not know the app_token", "too many programs are connected"] {
        running.until_health(&fake, says).await;
    }
    running.caught_up(&fake).await;
    fake.fault("auth.test", Fault::error("token_revoked"));
    fake.disconnect("link_disabled");
    running.until_health(&fake, "Socket Mode is switched off").await;
    running.until_health(&fake, "does not know the bot_token").await;
    running.caught_up(&fake).await;
    running.end().await;
}

#[tokio::test]
async fn n11_a_backlog_comes_once_and_in_order() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let old = fake.say(HALL, ADA, "<@U0HOB> plan the party");
    let talk = fake.say(HALL, BOB, "nice weather");
    fake.say(ADAS, ADA, "hello");
    running.intake.until(3).await;
    fake.acknowledged().await;
    let mut outage = fake.outage().await;
    running.until_down().await;
    let world = &mut outage.world;
    let mut expected = Vec::new();
    for number in 0..230 {
        world.post_by(ADAS, ADA, json!({"text": format!("private {number}")}));
        expected.push(format!("private {number}"));
    }
    world.post_by(HALL, BOB, json!({"text": "<@U0HOB> with cake", "thread_ts": old}));
    world.post_by(HALL, BOB, json!({"text": "<@U0HOB> sunny?", "thread_ts": talk}));
    world.post_by(HALL, BOB, json!({"text": "<@U0HOB> new"}));
    world.post_by(HALL, BOB, json!({"text": "a joke", "bot_id": "B0ELSE"}));
    // Somebody writes for the first time, in a chat that is new.
    world.post_by("D0BOB", BOB, json!({"text": "hi"}));
    let fake = outage.end().await;
    fake.fault("conversations.history", Fault::Limited(0));
    let seen = running.intake.until(3 + 230 + 4).await;
    let texts = |chat: &str| -> Vec<String> {
        let of_chat = seen[3..].iter().filter(|inbound| inbound.conversation.chat == chat);
        of_chat.map(hob_testkit::intake::text_of).collect()
    };
    assert_eq!(texts(ADAS), expected);
    assert_eq!(texts(HALL), ["with cake", "sunny?", "new"]);
    assert_eq!(texts("D0BOB"), ["hi"]);
    let hall: Vec<&Audience> = seen
        .iter()
        .filter(|inbound| inbound.conversation.chat == HALL)
        .map(|inbound| &inbound.metadata.audience)
        .collect();
    assert_eq!(hall, [&Audience::Hob, &Audience::Group, &Audience::Hob, &Audience::Hob, &Audience::Hob]);
    // The next restart brings none of it again.
    let attempts = running.intake.attempts().len();
    fake.until_true("caught up", |world| world.called("users.conversations") > 0).await;
    let known = running.end().await;
    let again = RunningAdapter::start_with(&fake, Arc::clone(&known));
    again.caught_up(&fake).await;
    fake.say(ADAS, ADA, "last");
    assert_eq!(again.intake.texts(3 + 230 + 5).await.last().unwrap(), "last");
    assert_eq!(again.intake.attempts().len(), attempts + 1);
    again.end().await;
}

#[tokio::test]
async fn a_restart_finds_what_was_said_meanwhile_and_nothing_from_before_hob() {
    let fake = workspace().await;
    fake.say(ADAS, ADA, "before Hob was there");
    let running = RunningAdapter::start(&fake).await;
    let known = running.end().await;
    fake.until_true("closed socket", |world| world.sockets.is_empty()).await;
    fake.say(ADAS, ADA, "while it was away");
    let again = RunningAdapter::start_with(&fake, known);
    assert_eq!(again.intake.texts(1).await, ["while it was away"]);
    again.end().await;
}

#[tokio::test]
async fn older_messages_go_before_newer_ones() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let known = running.end().await;
    fake.until_true("closed socket", |world| world.sockets.is_empty()).await;
    fake.say(ADAS, ADA, "older");
    // History takes its time; a message comes over the socket meanwhile.
    fake.fault("users.conversations", Fault::Limited(0));
    fake.fault("conversations.history", Fault::Limited(0));
    let again = RunningAdapter::start_with(&fake, known);
    fake.connected().await;
    fake.say(ADAS, ADA, "newer");
    assert_eq!(again.intake.texts(2).await, ["older", "newer"]);
    fake.acknowledged().await;
    again.end().await;
}

#[tokio::test]
async fn a_live_message_waits_no_longer_than_slack_does() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let known = running.end().await;
    fake.until_true("closed socket", |world| world.sockets.is_empty()).await;
    fake.say(ADAS, ADA, "older");
    fake.look(|world| world.redeliver_after = Duration::from_secs(60));
    fake.fault("conversations.history", Fault::HangAfter);
    let again = RunningAdapter::start_with(&fake, known);
    fake.connected().await;
    fake.say(HALL, ADA, "newer");
    assert_eq!(again.intake.texts(2).await, ["newer", "older"]);
    fake.acknowledged().await;
    again.end().await;
}

#[tokio::test]
async fn deliveries_do_not_wait_for_the_socket() {
    let fake = workspace().await;
    fake.fault("apps.connections.open", Fault::HangAfter);
    let running = RunningAdapter::start_with(&fake, Arc::new(Memory::default()));
    fake.until_true("hanging call", |world| world.called("apps.connections.open") > 0).await;
    running.adapter.deliver(&message(ADAS, "Dinner is ready")).await.unwrap();
    assert_eq!(fake.look(|world| world.by_bot(ADAS)), ["Dinner is ready"]);
    running.end().await;
}

#[tokio::test]
async fn a_press_is_handed_in_though_the_socket_goes() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let asking = json!([{"type": "actions", "elements": [{"type": "button", "action_id": "a", "value": "t:yes",
        "text": {"type": "plain_text", "text": "Yes"}}]}]);
    let ts = fake.post(HALL, ADA, json!({"text": "?", "blocks": asking, "bot_id": FakeSlack::BOT_ID}));
    fake.acknowledged().await;
    let asked = fake.look(|world| world.called("users.info"));
    fake.fault("users.info", Fault::HangAfter);
    fake.press(HALL, &ts, BOB, "Yes");
    fake.until_true("question for a name", |world| world.called("users.info") > asked).await;
    // Slack does not send it again.
    fake.disconnect("refresh_requested");
    assert_eq!(running.intake.texts(1).await, ["pressed: t:yes"]);
    connected_anew(&fake, 1).await;
    running.end().await;
}

#[tokio::test]
async fn n11_one_channel_that_slack_does_not_tell_of_holds_up_no_other() {
    let fake = workspace().await;
    let known = RunningAdapter::start(&fake).await.end().await;
    fake.until_true("closed socket", |world| world.sockets.is_empty()).await;
    fake.say(HALL, ADA, "<@U0HOB> missed in the hall");
    fake.say(ADAS, ADA, "missed");
    fake.look(|world| world.broken.insert(HALL.to_owned(), "fatal_error".to_owned()));
    let again = RunningAdapter::start_with(&fake, known);
    assert_eq!(again.intake.texts(1).await, ["missed"]);
    // What comes later passes over nothing.
    let ts = fake.say(HALL, ADA, "<@U0HOB> later");
    assert_eq!(again.intake.texts(2).await, ["missed", "later"]);
    let position: i64 = ts.replace('.', "").parse().unwrap();
    assert!(again.intake.cursor(HALL).is_some_and(|cursor| cursor < position));
    fake.look(|world| world.broken.clear());
    assert_eq!(again.intake.texts(3).await, ["missed", "later", "missed in the hall"]);
    again.intake.until_cursor(|cursors| cursors[HALL] >= position).await;
    assert_eq!(fake.look(|world| world.sockets_opened), 2);
    again.end().await;
}

#[tokio::test]
async fn where_slack_does_not_say_where_hob_is_it_hears_all_the_same() {
    let fake = workspace().await;
    let known = RunningAdapter::start(&fake).await.end().await;
    fake.until_true("closed socket", |world| world.sockets.is_empty()).await;
    fake.say(ADAS, ADA, "missed");
    for _ in 0..1_000 {
        fake.fault("users.conversations", Fault::error("team_access_not_granted"));
    }
    let again = RunningAdapter::start_with(&fake, known);
    fake.connected().await;
    fake.say(ADAS, ADA, "later");
    assert_eq!(again.intake.texts(1).await, ["later"]);
    fake.look(|world| world.faults.clear());
    assert_eq!(again.intake.texts(2).await, ["later", "missed"]);
    again.end().await;
}
