//! Discord, end to end: the real process between a model of Discord and a model server.

use crate::support::fake_discord::FakeDiscord;
use crate::support::fake_discord::world::{ADA, BOB, DM, HALL, THREAD};
use crate::support::fake_model::Reply;
use crate::support::house::House;

/// A tool that is asked about.
const PAYS: &str = r#"
[tools.pay]
sandbox = false
trusted_output = true
description = "Pays."
command = ["/bin/sh", "-c", 'echo "$1" >> $HOME/paid; echo paid "$1"', "sh", "{to}"]
parameters = { to = "Whom." }
approval = "ask"
"#;

/// A house that is on Discord as well.
async fn on(fake: &FakeDiscord, more: &str) -> House {
    let settings = format!(
        "[discord]\nbot_token = '{}'\nallowed_user_ids = [{ADA}]\napi_url = '{}'\n{more}",
        FakeDiscord::TOKEN,
        fake.api_url()
    );
    House::with(&settings).await
}

#[tokio::test]
async fn k2_discord_is_answered_and_what_came_during_an_outage_once() {
    let fake = FakeDiscord::start().await;
    let mut house = on(&fake, "").await;
    house.start().await;
    fake.until_identified(1).await;
    house.model.reply(Reply::text("Hello **Ada**."));
    fake.say(DM, ADA, "Hi");
    assert!(fake.until_sent(DM, 1).await[0].contains("Ada"));
    house.recorded(1).await;
    house.crash().await;
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
    assert!(told[2].contains(r"discord: connected (@hob\_test)"), "{}", told[2]);
    fake.until_true("deferred answer, taken back", |world| world.interactions.values().all(|known| known.taken_back))
        .await;
    assert_eq!(fake.sent(DM).len(), 3, "nothing is said twice");
    house.nothing_refused();
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_an_approval_on_discord_is_given_by_its_button() {
    let fake = FakeDiscord::start().await;
    let mut house = on(&fake, PAYS).await;
    house.start().await;
    fake.until_identified(1).await;
    house.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#)).reply(Reply::text("Paid."));
    fake.say(HALL, ADA, &format!("<@{}> pay Ben", FakeDiscord::BOT));
    fake.until_sent(HALL, 1).await;
    let asked = fake.sent(HALL).remove(0);
    let buttons = asked.components[0]["components"].as_array().unwrap().clone();
    let approve = buttons.iter().find(|button| button["label"] == "approve").unwrap_or_else(|| panic!("{asked:?}"));
    let press = (asked.id, approve["custom_id"].as_str().unwrap());
    // Whoever is not let in presses in vain.
    fake.press(HALL, BOB, press);
    fake.until_true("acknowledged press", |world| world.interactions.values().all(|known| known.answered.is_some()))
        .await;
    assert!(house.lines("paid").is_empty());
    fake.press(HALL, ADA, press);
    fake.until_true("the answer", |world| world.by_bot(HALL).any(|message| message.content == "Paid.")).await;
    assert_eq!(house.lines("paid"), ["Ben"]);
    house.nothing_refused();
    fake.nothing_wrong();
}
