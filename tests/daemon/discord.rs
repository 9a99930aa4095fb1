//! Discord, end to end: the real process between a model of Discord and a model server.

use hob_testkit::fake_discord::FakeDiscord;
use hob_testkit::fake_discord::world::{ADA, BOB, DM, GUILD, HALL, THREAD};
use hob_testkit::fake_model::Reply;
use hob_testkit::test_hob::{PAYS, TestHob};

/// A house that is on Discord as well.
async fn on(fake: &FakeDiscord, more: &str) -> TestHob {
    let settings = format!(
        "[discord]\nbot_token = '{}'\nallowed_user_ids = [{ADA}]\napi_url = '{}'\n{more}",
        FakeDiscord::TOKEN,
        fake.api_url()
    );
    TestHob::with(&settings).await
}

#[tokio::test]
async fn k2_discord_is_answered_and_what_came_during_an_outage_once() {
    let fake = FakeDiscord::start().await;
    let mut hob = on(&fake, "").await;
    hob.start().await;
    fake.until_identified(1).await;
    hob.model.reply(Reply::text("Hello **Ada**."));
    fake.say(DM, ADA, "Hi");
    assert!(fake.until_sent(DM, 1).await[0].contains("Ada"));
    hob.recorded(1).await;
    hob.crash().await;
    fake.say(DM, ADA, "are you there?");
    hob.model.reply(Reply::text("I am."));
    hob.start().await;
    assert_eq!(fake.until_sent(DM, 2).await[1], "I am.");
    hob.model.reply(Reply::text("In the thread."));
    fake.say(THREAD, ADA, &format!("<@{}> and here?", FakeDiscord::BOT));
    assert_eq!(fake.until_sent(THREAD, 1).await, ["In the thread."]);
    assert!(fake.sent(HALL).is_empty());
    fake.until_true("slash commands", |world| !world.commands.is_empty()).await;
    fake.command(DM, ADA, "status", None);
    let told = fake.until_sent(DM, 3).await;
    assert!(told[2].contains(r"discord: connected (@hob\_test)"), "{}", told[2]);
    fake.until_true("deferred answer, taken back", |world| world.interactions.values().all(|known| known.taken_back))
        .await;
    assert_eq!(fake.sent(DM).len(), 3, "nothing is said twice");
    hob.nothing_refused();
    fake.nothing_wrong();
}

#[tokio::test]
async fn k2_an_approval_on_discord_is_given_by_its_button() {
    let fake = FakeDiscord::start().await;
    let mut hob = on(&fake, PAYS).await;
    hob.start().await;
    fake.until_identified(1).await;
    hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#)).reply(Reply::text("Paid."));
    fake.say(HALL, ADA, &format!("<@{}> pay Ben", FakeDiscord::BOT));
    fake.until_sent(HALL, 1).await;
    let asked = fake.sent(HALL).remove(0);
    let buttons = asked.components[0]["components"].as_array().unwrap().clone();
    let approve = buttons.iter().find(|button| button["label"] == "approve").unwrap_or_else(|| panic!("{asked:?}"));
    let custom_id = approve["custom_id"].as_str().unwrap();
    // Whoever is not let in presses in vain.
    fake.press(HALL, BOB, asked.id, custom_id);
    fake.until_true("acknowledged press", |world| world.interactions.values().all(|known| known.answered.is_some()))
        .await;
    assert!(hob.lines("paid").is_empty());
    fake.press(HALL, ADA, asked.id, custom_id);
    fake.until_true("the answer", |world| world.by_bot(HALL).any(|message| message.content == "Paid.")).await;
    assert_eq!(hob.lines("paid"), ["Ben"]);
    hob.nothing_refused();
    fake.nothing_wrong();
}

#[tokio::test]
async fn c3_a_discord_server_has_a_persona_between_its_channels_and_the_platforms() {
    let fake = FakeDiscord::start().await;
    let personas = format!(
        "persona = 'clerk'\nserver_personas = {{ '{GUILD}' = 'night' }}\npersonas = {{ }}\n[agent]\nsystem_prompt = 'You are Hob.'\n\
         [personas.clerk]\nprompt = 'A clerk.'\n[personas.night]\nprompt = 'A watchman.'\n[personas.cook]\nprompt = 'A cook.'"
    );
    let mut hob = on(&fake, &personas).await;
    hob.start().await;
    fake.until_identified(1).await;
    for (sent, place) in [(1, DM), (1, HALL), (1, THREAD)] {
        hob.model.reply(Reply::text("Yes."));
        fake.say(place, ADA, &format!("<@{}> who are you?", FakeDiscord::BOT));
        fake.until_sent(place, sent).await;
    }
    fake.say(HALL, ADA, &format!("<@{}> /persona", FakeDiscord::BOT));
    assert!(
        fake.until_sent(HALL, 2).await[1].starts_with("I am night (set for this server)."),
        "{:?}",
        fake.sent(HALL)
    );
    fake.command(HALL, ADA, "status", None);
    let status = fake.until_sent(HALL, 3).await.pop().unwrap();
    assert!(status.contains("persona: night, set for this server"), "{status}");
    // What is caught up with says no more than where it was said.
    hob.recorded(5).await;
    hob.crash().await;
    fake.say(HALL, ADA, &format!("<@{}> and now?", FakeDiscord::BOT));
    hob.model.reply(Reply::text("Yes."));
    hob.start().await;
    fake.until_sent(HALL, 4).await;
    fake.say(HALL, ADA, &format!("<@{}> /persona cook", FakeDiscord::BOT));
    fake.until_sent(HALL, 5).await;
    hob.model.reply(Reply::text("Yes."));
    fake.say(HALL, ADA, &format!("<@{}> and chosen?", FakeDiscord::BOT));
    fake.until_sent(HALL, 6).await;
    let systems: Vec<String> =
        hob.model.requests().iter().map(|asked| asked.system().replace("You are Hob.\n\n", "")).collect();
    assert_eq!(systems, ["A clerk.", "A watchman.", "A watchman.", "A watchman.", "A cook."]);
    hob.nothing_refused();
    fake.nothing_wrong();
}

#[tokio::test]
async fn c3_the_server_of_what_was_missed_is_known() {
    let fake = FakeDiscord::start().await;
    let settings = format!(
        "server_personas = {{ '{GUILD}' = 'night' }}\n[personas.night]\nprompt = 'A watchman.'\n[personas.cook]\nprompt = 'A cook.'"
    );
    let mut hob = on(&fake, &settings).await;
    hob.start().await;
    fake.until_identified(1).await;
    hob.model.reply(Reply::text("Hello."));
    fake.say(DM, ADA, "Hi");
    fake.until_sent(DM, 1).await;
    hob.recorded(1).await;
    hob.crash().await;
    // Nothing was ever said in the hall before.
    fake.say(HALL, ADA, &format!("<@{}> who are you?", FakeDiscord::BOT));
    hob.model.reply(Reply::text("The watchman."));
    hob.start().await;
    assert_eq!(fake.until_sent(HALL, 1).await, ["The watchman."]);
    assert!(hob.model.requests()[1].system().ends_with("A watchman."), "{}", hob.model.requests()[1].system());
    hob.nothing_refused();
    fake.nothing_wrong();
}
