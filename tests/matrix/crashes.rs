//! `kill -9` at the moments that matter: one answer, and only one.

use hob_testkit::fake_model::{Gate, Reply, Script};
use serde_json::{Value, json};

use crate::world::{BOB, HOB, Person, World};

/// How many sealed messages of Hob's the server has there.
async fn sent(ada: &mut Person, room: &str) -> usize {
    let all = ada.does(json!({"do": "messages", "room": room})).await;
    let own = |event: &&Value| {
        event["sender"] == HOB && matches!(event["type"].as_str(), Some("m.room.encrypted" | "m.room.message"))
    };
    all.as_array().unwrap().iter().filter(own).count()
}

#[tokio::test]
async fn f11_killed_between_sending_and_recording_it_sends_once() {
    let mut world = World::new("[delivery]\nreactions = false\nstream = false").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    world.hob.model.reply(Reply::text("Once."));
    world.proxy.lose("/send/m.room.encrypted/");
    ada.says(&room, "hi").await;
    // The server has it, and Hob dies before it hears of that.
    world.proxy.lost().await;
    ada.hears(&room, "Once.").await;
    world.hob.crash().await;
    let before = world.proxy.asked("/send/m.room.encrypted/");
    world.start().await;
    world.hob.recorded(1).await;
    assert_eq!(world.proxy.asked("/send/m.room.encrypted/"), before + 1, "it was sent again");
    world.hob.model.reply(Reply::text("Yes."));
    ada.says(&room, "are you there?").await;
    ada.hears(&room, "Yes.").await;
    assert_eq!(ada.by_hob(&room), ["Once.", "Yes."]);
    assert_eq!(sent(&mut ada, &room).await, 2, "and the server has it once");
    // The same device, by the same login.
    assert_eq!(world.proxy.asked("/login"), 1);
    world.hob.nothing_refused();
}

#[tokio::test]
async fn f11_killed_between_taking_in_and_answering_it_answers_once_whatever_the_server_sends_again() {
    let mut world = World::new("[delivery]\nreactions = false\nstream = false").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    let (begun, before) = (Gate::default(), world.proxy.syncs() - 1);
    world.hob.model.reply(Script::default().gate(&begun).text("Lost.").finish("stop").into());
    ada.says(&room, "hi").await;
    world.hob.asked(1).await;
    world.hob.crash().await;
    // The server tells everything since then once more, as if the token had not been kept.
    world.proxy.rewind_to(before);
    world.hob.model.reply(Reply::text("Once."));
    world.start().await;
    world.proxy.rewound().await;
    ada.hears(&room, "Once.").await;
    world.hob.model.reply(Reply::text("Yes."));
    ada.says(&room, "are you there?").await;
    ada.hears(&room, "Yes.").await;
    assert_eq!(ada.by_hob(&room), ["Once.", "Yes."]);
    let taken: i64 = world.hob.value("SELECT count(*) FROM inbound WHERE channel = 'matrix'").await;
    assert_eq!(taken, 2);
    begun.open();
}

#[tokio::test]
async fn f11_what_was_said_while_hob_was_away_is_answered_however_much_it_is() {
    let mut world = World::new("[delivery]\nreactions = false\nstream = false").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.makes(json!({"do": "room", "invite": [HOB, BOB], "sealed": true})).await;
    ada.until_joined(&room, HOB).await;
    world.hob.model.reply(Reply::text("First."));
    let mention = json!({"user_ids": [HOB]});
    ada.makes(json!({"do": "say", "room": room, "text": "hob: one", "m.mentions": mention})).await;
    ada.hears(&room, "First.").await;
    world.hob.crash().await;
    // The oldest of them is more than a sync tells.
    ada.makes(json!({"do": "say", "room": room, "text": "hob: two", "m.mentions": mention})).await;
    for number in 0..70 {
        ada.makes(json!({"do": "say", "room": room, "text": format!("chatter {number}"), "m.mentions": {}})).await;
    }
    world.hob.model.reply(Reply::text("Second."));
    world.start().await;
    ada.hears(&room, "Second.").await;
    assert_eq!(ada.by_hob(&room), ["First.", "Second."]);
    world.hob.nothing_refused();
}

/// A homeserver may let tokens run out: while Hob is at work, while it is away, and while it renews one.
#[tokio::test]
async fn f11_a_token_that_has_run_out_is_renewed_for_the_same_device_at_work_and_at_a_start() {
    let mut world = World::new("[delivery]\nreactions = false\nstream = false").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    let device = std::fs::read_to_string(world.hob.path("data/logins/matrix-default.json")).unwrap();
    let device = serde_json::from_str::<Value>(&device).unwrap()["device"].clone();
    for (number, is_away) in [(1, false), (2, true)] {
        if is_away {
            world.hob.crash().await;
        }
        world.proxy.let_token_run_out();
        if is_away {
            // Nor does it matter that the answer to the first login is lost.
            world.proxy.lose("/login");
            world.hob.start().await;
            world.proxy.lost().await;
            world.hob.crash().await;
            world.start().await;
        }
        world.hob.model.reply(Reply::text(&format!("Answer {number}.")));
        ada.says(&room, "are you there?").await;
        ada.hears(&room, &format!("Answer {number}.")).await;
    }
    let now = std::fs::read_to_string(world.hob.path("data/logins/matrix-default.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&now).unwrap()["device"], device);
    world.hob.nothing_refused();
}
