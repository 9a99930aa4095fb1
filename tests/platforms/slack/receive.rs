//! What people do comes in once, as what it is, and is acknowledged only then.

use std::time::Duration;

use hob_core::domain::inbound::Audience;
use serde_json::json;

use crate::slack::harness::{ADA, ADAS, BOB, HALL, RunningAdapter, workspace};
use hob_testkit::fake_slack::{FakeSlack, Fault};

#[tokio::test]
async fn k2_what_is_said_comes_in_and_is_acknowledged() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let ts = fake.say(ADAS, ADA, "1 &lt; 2, says <@U0BOB>");
    let seen = running.intake.until(1).await;
    assert_eq!(running.intake.texts(1).await, ["1 < 2, says @Bob"]);
    assert_eq!((seen[0].external_id.as_str(), seen[0].sender.name.as_str()), (ts.as_str(), "Ada"));
    assert_eq!(seen[0].conversation.session_key().0, "slack:D0ADA");
    fake.acknowledged().await;
    running.end().await;
}

#[tokio::test]
async fn k2_a_mention_comes_in_once_whichever_event_is_first() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let ts = fake.say(HALL, ADA, "<@U0HOB> what's for dinner?");
    fake.acknowledged().await;
    fake.say(HALL, BOB, "pizza");
    let seen = running.intake.until(2).await;
    assert_eq!(running.intake.attempts().iter().filter(|id| **id == ts).count(), 2, "message and app_mention");
    assert_eq!(running.intake.texts(2).await, ["what's for dinner?", "pizza"]);
    assert_eq!(seen[0].conversation.session_key().0, format!("slack:C0HALL:{ts}"));
    let audiences: Vec<Audience> = seen.iter().map(|inbound| inbound.metadata.audience).collect();
    assert_eq!(audiences, [Audience::Hob, Audience::Group]);
    running.end().await;
}

#[tokio::test]
async fn a12_a_thread_is_a_session() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let root = fake.say(HALL, ADA, "<@U0HOB> plan the party");
    fake.reply(HALL, &root, BOB, "<@U0HOB>: with cake");
    fake.reply(HALL, &root, BOB, "and juice");
    let seen = running.intake.until(3).await;
    let keys: Vec<String> = seen.iter().map(|inbound| inbound.conversation.session_key().0).collect();
    assert_eq!(keys, vec![format!("slack:C0HALL:{root}"); 3]);
    assert_eq!(seen[2].metadata.audience, Audience::Group);
    running.end().await;
}

#[tokio::test]
async fn k2_edits_and_deletions_come_in() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let ts = fake.say(ADAS, ADA, "Buy milk");
    fake.edit(ADAS, &ts, "Buy oat milk");
    fake.delete(ADAS, &ts);
    assert_eq!(running.intake.texts(3).await, ["Buy milk", "edited: Buy oat milk", "deleted"]);
    assert!(running.intake.until(3).await.iter().all(|inbound| inbound.external_id == ts));
    running.end().await;
}

#[tokio::test]
async fn c4_presses_and_commands_come_in() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    let asking = json!([{"type": "actions", "elements": [{"type": "button", "action_id": "a", "value": "t:yes",
        "text": {"type": "plain_text", "text": "Yes"}}]}]);
    let ts = fake.post(HALL, ADA, json!({"text": "?", "blocks": asking, "bot_id": FakeSlack::BOT_ID}));
    fake.press(HALL, &ts, BOB, "Yes");
    fake.command(ADAS, ADA, "stop");
    fake.command(ADAS, ADA, "what's up?");
    assert_eq!(running.intake.texts(3).await, ["pressed: t:yes", "/stop", "what's up?"]);
    let seen = running.intake.until(3).await;
    assert_eq!((seen[0].sender.external_id.as_str(), seen[0].sender.name.as_str()), (BOB, "Bob"));
    fake.acknowledged().await;
    running.end().await;
}

#[tokio::test]
async fn k2_nothing_is_acknowledged_that_is_not_stored() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    running.intake.fail("the disk is full", 2);
    fake.say(ADAS, ADA, "one");
    running.until_health(&fake, "the disk is full").await;
    assert_eq!(running.intake.texts(1).await, ["one"]);
    fake.acknowledged().await;
    assert_eq!(running.intake.until(1).await.len(), 1);
    assert!(running.intake.attempts().len() >= 3, "it was handed in until it was stored");
    running.end().await;
}

#[tokio::test]
async fn k2_what_comes_again_is_one_message() {
    let fake = workspace().await;
    // Slack does not wait for an answer at all.
    fake.look(|world| world.redeliver_after = Duration::ZERO);
    let running = RunningAdapter::start(&fake).await;
    fake.say(ADAS, ADA, "one");
    fake.say(ADAS, ADA, "two");
    assert_eq!(running.intake.texts(2).await, ["one", "two"]);
    fake.acknowledged().await;
    running.end().await;
}

#[tokio::test]
async fn k2_strange_envelopes_are_passed_over() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.look(|world| {
        world.push_event(json!({"type": "message", "channel": 7, "text": []}));
        world.push_event(json!("what?"));
        world.push("interactive", json!({"type": "view_submission"}));
        world.push("something_new", json!(null));
    });
    fake.say(ADAS, ADA, "still there?");
    assert_eq!(running.intake.texts(1).await, ["still there?"]);
    fake.acknowledged().await;
    running.end().await;
}

#[tokio::test]
async fn k2_names_are_asked_for_once_and_done_without() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.say(ADAS, ADA, "one");
    fake.say(ADAS, ADA, "two");
    running.intake.until(2).await;
    assert_eq!(fake.look(|world| world.called("users.info")), 1);
    fake.look(|world| world.scopes.remove("users:read"));
    fake.say(HALL, BOB, "three");
    assert_eq!(running.intake.until(3).await[2].sender.name, BOB);
    running.end().await;
}

#[tokio::test]
async fn k2_a_command_that_is_typed_where_hob_is_not_is_answered_and_goes_no_further() {
    let fake = workspace().await;
    let running = RunningAdapter::start(&fake).await;
    fake.look(|world| world.channels.get_mut(HALL).unwrap().member = false);
    // A chat of two people, which is not there for Hob, and a channel that anybody may see.
    for (number, chat) in ["D0ADABOB", HALL].into_iter().enumerate() {
        fake.command(chat, ADA, "what's up?");
        fake.until_true("words with the acknowledgement", |world| world.told.len() == number + 1).await;
    }
    let told = fake.look(|world| world.told.clone());
    assert!(told.iter().all(|said| said["text"].as_str().unwrap().contains("Invite me here")), "{told:?}");
    // Once it is invited it hears; and is not asked about the chat again.
    fake.look(|world| world.channels.get_mut(HALL).unwrap().member = true);
    fake.command(HALL, ADA, "stop");
    fake.command(HALL, ADA, "help");
    assert_eq!(running.intake.texts(2).await, ["/stop", "/help"]);
    assert_eq!(fake.look(|world| world.called("conversations.info")), 3);
    // Where Slack does not say, Hob may be there.
    fake.fault("conversations.info", Fault::Limited(30));
    fake.command(ADAS, ADA, "stop");
    assert_eq!(running.intake.texts(3).await, ["/stop", "/help", "/stop"]);
    fake.acknowledged().await;
    assert_eq!(fake.look(|world| world.told.len()), 2);
    running.end().await;
}
