//! Discord, end to end: the real process between a model of Discord and a model server.

use crate::support::fake_discord::FakeDiscord;
use crate::support::fake_discord::world::{ADA, BOB, DM, HALL, THREAD};
use crate::support::fake_model::Reply;
use crate::support::house::House;

/// A house that is on Discord as well.
async fn on(fake: &FakeDiscord) -> House {
    let settings = format!(
        "[discord]\nbot_token = '{}'\nallowed_user_ids = [{ADA}]\napi_url = '{}'\n",
        FakeDiscord::TOKEN,
        fake.api_url()
    );
    House::with(&settings).await
}

#[tokio::test]
async fn k2_discord_is_answered_and_what_came_during_an_outage_once() {
    let fake = FakeDiscord::start().await;
    let mut house = on(&fake).await;
    house.start().await;
    fake.until_identified(1).await;
    house.model.reply(Reply::text("Hello **Ada**."));
    fake.say(DM, ADA, "Hi");
    assert!(fake.until_sent(DM, 1).await[0].contains("Ada"));
    house.recorded(1).await;
    house.crash().await;
    fake.say(DM, BOB, "let me in");
    fake.say(DM, ADA, "are you there?");
    house.model.reply(Reply::text("I am."));
    house.start().await;
    assert_eq!(fake.until_sent(DM, 2).await[1], "I am.");
    house.model.reply(Reply::text("In the thread."));
    fake.say(THREAD, ADA, &format!("<@{}> and here?", FakeDiscord::BOT));
    assert_eq!(fake.until_sent(THREAD, 1).await, ["In the thread."]);
    assert!(fake.sent(HALL).is_empty());
    fake.until_true("slash commands", |world| !world.commands.is_empty()).await;
    fake.command(DM, ADA, ("status", None));
    let told = fake.until_sent(DM, 3).await;
    assert!(told[2].contains("discord: connected (@hob_test)"), "{}", told[2]);
    fake.until_true("deferred answer, taken back", |world| world.interactions.values().all(|known| known.taken_back))
        .await;
    assert_eq!(fake.sent(DM).len(), 3, "nothing is said twice");
    house.nothing_refused();
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_a_question_on_discord_is_answered_by_its_button() {
    let fake = FakeDiscord::start().await;
    let mut house = on(&fake).await;
    house.start().await;
    fake.until_identified(1).await;
    let asks = r#"{"question": "Red or blue?", "choices": ["Red", "Blue"]}"#;
    house.model.reply(Reply::call("ask_human", asks)).reply(Reply::text("Blue it is."));
    fake.say(DM, ADA, "Paint it");
    fake.until_sent(DM, 1).await;
    let asked = fake.sent(DM).remove(0);
    let buttons = asked.components[0]["components"].as_array().unwrap().clone();
    let blue = buttons.iter().find(|button| button["label"] == "Blue").unwrap_or_else(|| panic!("{asked:?}"));
    fake.press(DM, ADA, (asked.id, blue["custom_id"].as_str().unwrap()));
    fake.until_true("the answer", |world| world.by_bot(DM).any(|message| message.content == "Blue it is.")).await;
    house.nothing_refused();
    fake.nothing_wrong();
}
