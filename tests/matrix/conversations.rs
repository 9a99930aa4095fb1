//! What people say with Hob on Matrix, sealed and in clear.

use hob_testkit::fake_model::{Gate, Reply, Script};
use serde_json::json;

use crate::world::{ADA, BOB, HOB, World, said};

#[tokio::test]
async fn f11_an_encrypted_message_is_answered_with_markup_signs_threads_and_files() {
    let mut world = World::new("").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    world.hob.model.reply(Reply::text("Hello **Ada**."));
    let hi = ada.says(&room, "hi").await;
    let answer = ada.hears(&room, "Hello Ada.").await;
    assert_eq!(answer["sealed"], true);
    assert_eq!(answer["content"]["formatted_body"], "<p>Hello <strong>Ada</strong>.</p>\n");
    assert_eq!(answer["content"]["m.relates_to"], json!(null));
    let is_done = |event: &serde_json::Value| {
        event["type"] == "m.reaction"
            && event["content"]["m.relates_to"] == json!({"rel_type": "m.annotation", "event_id": hi, "key": "✅"})
    };
    ada.until("sign that it is answered", is_done).await;
    // A thread is a conversation of its own, and is answered there.
    world.hob.model.reply(Reply::text("In the thread."));
    let relation =
        json!({"rel_type": "m.thread", "event_id": hi, "is_falling_back": true, "m.in_reply_to": {"event_id": hi}});
    let _said = ada.makes(json!({"do": "say", "room": room, "text": "and here?", "m.relates_to": relation})).await;
    let threaded = ada.hears(&room, "In the thread.").await;
    assert_eq!(threaded["content"]["m.relates_to"]["event_id"], hi.as_str());
    let sessions: Vec<String> =
        world.hob.values("SELECT key FROM sessions WHERE key LIKE 'matrix:%' ORDER BY id").await;
    assert_eq!(sessions, [format!("matrix:{room}"), format!("matrix:{room}:{hi}")]);
    // A file comes in as it was.
    world.hob.model.reply(Reply::text("Milk."));
    let _file = ada.makes(json!({"do": "file", "room": room, "name": "list.txt", "text": "milk and bread"})).await;
    ada.hears(&room, "Milk.").await;
    let asked = world.hob.model.requests();
    assert!(asked.last().unwrap().last_user().contains("list.txt"), "{}", asked.last().unwrap().last_user());
    // And one goes out as it was; the server holds nothing that it could read.
    let write = json!({"path": "plan.md", "content": "# Beds\n"}).to_string();
    let send = json!({"path": "plan.md", "caption": "The plan"}).to_string();
    world
        .hob
        .model
        .reply(Reply::call("write_file", &write))
        .reply(Reply::call("send_file", &send))
        .reply(Reply::text("Sent."));
    ada.says(&room, "send me the plan").await;
    let file = ada.until("file", |event| event["sender"] == HOB && event["content"]["filename"] == "plan.md").await;
    assert_eq!((file["bytes"].as_str(), file["sealed"].as_bool()), (Some("# Beds\n"), Some(true)));
    assert!(said(&file).unwrap().ends_with("The plan"), "{file}");
    ada.hears(&room, "Sent.").await;
    world.hob.nothing_refused();
}

#[tokio::test]
async fn f11_a_reply_grows_by_edits_and_what_waits_is_changed_and_taken_back() {
    let mut world = World::new("").await;
    world.start().await;
    let mut ada = world.person("ada").await;
    let room = ada.dm().await;
    let (begun, whole) = ("Once upon a time there was a king who had three daughters ", "and a dragon.");
    let gate = Gate::default();
    world.hob.model.reply(Script::default().text(begun).gate(&gate).text(whole).finish("stop").into());
    ada.says(&room, "tell me a story").await;
    ada.until("draft", |event| event["sender"] == HOB && said(event).is_some_and(|text| text.ends_with(" …"))).await;
    // What is said meanwhile waits, and its sender changes it, or takes it back.
    let waiting = ada.says(&room, "buy mlik").await;
    let seen = |id: String| {
        move |event: &serde_json::Value| {
            event["type"] == "m.reaction" && event["content"]["m.relates_to"]["event_id"] == id.as_str()
        }
    };
    ada.until("sign that it waits", seen(waiting.clone())).await;
    let gone = ada.says(&room, "and never mind").await;
    ada.until("sign that it waits", seen(gone.clone())).await;
    let _edit = ada.makes(json!({"do": "edit", "room": room, "event": waiting, "text": "buy milk"})).await;
    let _redaction = ada.makes(json!({"do": "redact", "room": room, "event": gone})).await;
    let hob = &world.hob;
    let waits = async || hob.value::<i64>("SELECT count(*) FROM runs WHERE state = 'queued'").await;
    while waits().await != 1 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Each note takes the place of the draft, which is written anew below it.
    let stands_below = |note: &str| {
        let lines = ada.by_hob(&room);
        lines.iter().any(|line| line == note) && lines.last().is_some_and(|line| line.ends_with(" …"))
    };
    ada.until("draft below the last note", |_| stands_below("Queued, 2nd.")).await;
    world.hob.model.reply(Reply::text("Bought."));
    gate.open();
    let told = ada.hears(&room, &format!("{begun}{whole}")).await;
    ada.hears(&room, "Bought.").await;
    assert!(world.hob.model.requests().last().unwrap().last_user().contains("buy milk"));
    // One draft became the story, in its place; those that made room for a note were taken back.
    let drafts: Vec<_> =
        ada.standing(&room).into_iter().filter(|event| said(event).is_some_and(|text| text.ends_with(" …"))).collect();
    let [draft] = &drafts[..] else { panic!("{drafts:#?}") };
    assert_eq!(told["content"]["m.relates_to"]["event_id"], draft["id"]);
    world.hob.nothing_refused();
}

#[tokio::test]
async fn f11_in_a_group_who_mentions_hob_is_answered_and_strangers_get_a_code() {
    let mut world = World::new("").await;
    world.start().await;
    let (mut ada, mut bob) = (world.person("ada").await, world.person("bob").await);
    // Nobody whom Hob does not know brings it into a room of several.
    let bobs = bob.makes(json!({"do": "room", "invite": [HOB, ADA], "sealed": false})).await;
    let hall = ada.makes(json!({"do": "room", "invite": [HOB, BOB], "name": "Hall"})).await;
    ada.until_joined(&hall, HOB).await;
    ada.until_joined(&hall, BOB).await;
    ada.says(&hall, "what a day").await;
    bob.says(&hall, "hob, can you hear me?").await;
    world.hob.model.reply(Reply::text("Pizza."));
    let asks = ada
        .makes(json!({"do": "say", "room": hall, "text": "hob: what's for dinner?", "m.mentions": {"user_ids": [HOB]}}))
        .await;
    let answer = ada.hears(&hall, "Pizza.").await;
    bob.hears(&hall, "Pizza.").await;
    assert_eq!(
        (answer["content"]["m.relates_to"]["m.in_reply_to"]["event_id"].as_str(), answer["sealed"].as_bool()),
        (Some(&*asks), Some(true))
    );
    let asked = world.hob.model.requests();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].last_user().contains("what a day") && asked[0].last_user().contains("what's for dinner?"),
        "{}",
        asked[0].last_user()
    );
    // In private a stranger gets what strangers get everywhere: a code, once.
    let alone = bob.dm().await;
    bob.says(&alone, "hi").await;
    bob.until("code", |event| {
        event["room"] == alone.as_str() && said(event).is_some_and(|text| text.starts_with("I do not know you yet."))
    })
    .await;
    assert_eq!(world.proxy.asked(&format!("/join/{bobs}")), 0);
    // It was one of these in clear, and none of the others.
    let plain = ada.makes(json!({"do": "room", "invite": [HOB], "direct": true, "sealed": false})).await;
    ada.until_joined(&plain, HOB).await;
    world.hob.model.reply(Reply::text("In clear."));
    ada.says(&plain, "hello").await;
    assert_eq!(ada.hears(&plain, "In clear.").await["sealed"], false);
    world.hob.nothing_refused();
}

#[tokio::test]
async fn nobody_takes_anothers_message_back_under_a_seal() {
    let mut world = World::new(&format!("guest_user_ids = ['{BOB}']")).await;
    world.start().await;
    let (mut ada, mut bob) = (world.person("ada").await, world.person("bob").await);
    let hall = ada.makes(json!({"do": "room", "invite": [HOB, BOB], "name": "Hall"})).await;
    ada.until_joined(&hall, HOB).await;
    ada.until_joined(&hall, BOB).await;
    let gate = Gate::default();
    world
        .hob
        .model
        .reply(Script::default().text("Once upon a time ").gate(&gate).text("it ended.").finish("stop").into());
    ada.says(&hall, "hob: tell me a story").await;
    world.hob.asked(1).await;
    let waiting = ada.says(&hall, "hob: lock the door").await;
    bob.until("Ada's words", |event| event["id"] == waiting.as_str()).await;
    let _redaction = bob.makes(json!({"do": "redact_sealed", "room": hall, "event": waiting})).await;
    // Once this was heard, so was what came before it.
    bob.says(&hall, "hob: /queue").await;
    bob.until("queue", |event| {
        event["sender"] == HOB && said(event).is_some_and(|text| text.contains("lock the door"))
    })
    .await;
    world.hob.model.reply(Reply::text("Locked."));
    gate.open();
    ada.hears(&hall, "Locked.").await;
    world.hob.nothing_refused();
}
