//! The conversations.

use crate::channels::platform::{Platform, PlatformHarness, VisibleMessage};
use crate::channels::ten_minutes;
use hob_core::domain::capabilities::Feature;
use hob_testkit::fake_model::{Gate, Reply, Script};

/// A tool that leaves a line, and asks before.
pub(crate) const PAY: &str = hob_testkit::test_hob::PAYS;

/// Each conversation as a test of each platform.
macro_rules! on_every_platform {
    ($($conversation:ident)*) => {
        on_every_platform! { @ telegram crate::channels::telegram::platform ; $($conversation)* }
        on_every_platform! { @ slack crate::channels::slack::platform ; $($conversation)* }
        on_every_platform! { @ discord crate::channels::discord::platform ; $($conversation)* }
        on_every_platform! { @ email crate::channels::email::platform ; $($conversation)* }
    };
    (@ $platform:ident $make:path ; $($conversation:ident)*) => {
        mod $platform {
            $(
                #[tokio::test]
                async fn $conversation() {
                    super::$conversation(Box::new($make().await)).await;
                }
            )*
        }
    };
}

on_every_platform! {
    k2_words_are_answered_once
    k2_a_long_answer_comes_whole_and_in_order
    k2_an_answer_grows_and_ends_exact
    c6_a_file_comes_and_another_goes
    d6_a_question_is_answered_once
    b7_stop_stops
    b8_what_waits_is_answered_in_order
    n1_a_crash_in_the_middle_costs_nothing
    n1_what_is_delivered_again_is_answered_once
    n11_after_an_outage_everything_is_answered_once_and_in_order
    n11_ten_minutes_away_cost_nothing
}

async fn k2_words_are_answered_once(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    there.hob.model.reply(Reply::text("Hello **you**, it is *five*."));
    there.say("what time is it?").await;
    there.until_texts(&["Hello you, it is five."]).await;
    assert!(there.hob.model.requests()[0].last_user().contains("what time is it?"));
    there.hob.nothing_refused();
}

async fn k2_a_long_answer_comes_whole_and_in_order(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let paragraphs: Vec<String> = (0..400)
        .map(|n| format!("Paragraph {n} tells of the garden, of **rain** and of the {n} birds in it."))
        .collect();
    there.hob.model.reply(Reply::text(&paragraphs.join("\n\n")));
    there.say("tell me everything").await;
    let shown = there.until("the last paragraph", |shown| all(shown).contains("the 399 birds")).await;
    let told = all(&shown);
    let mut from = 0;
    for n in 0..400 {
        let paragraph = format!("Paragraph {n} tells of the garden, of rain and of the {n} birds in it.");
        from += told[from..].find(&paragraph).unwrap_or_else(|| panic!("no paragraph {n} in order"));
    }
    assert_eq!(told.matches("tells of the garden").count(), 400, "nothing twice");
    there.hob.nothing_refused();
}

async fn k2_an_answer_grows_and_ends_exact(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let gate = Gate::default();
    let first = "The kettle is on, and the tea will be ready in about **four** minutes; ";
    there
        .hob
        .model
        .reply(Script::default().words(first).gate(&gate).words("the milk is in the fridge.").finish("stop").into());
    there.say("tea?").await;
    if there.can(Feature::Edits) {
        let growing = there.until("the beginning", |shown| all(shown).contains("about four minutes")).await;
        assert_eq!(growing.len(), 1, "{growing:#?}");
        assert!(!all(&growing).contains("milk"));
    } else {
        there.hob.asked(1).await;
    }
    gate.open();
    let whole = "The kettle is on, and the tea will be ready in about four minutes; the milk is in the fridge.";
    there.until_texts(&[whole]).await;
    there.hob.nothing_refused();
}

async fn c6_a_file_comes_and_another_goes(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let model = &there.hob.model;
    model.reply(Reply::call("read_file", r#"{"id": 1}"#)).reply(Reply::call("send_file", r#"{"id": 1}"#));
    model.reply(Reply::text("That was it."));
    there.platform.hand(&there.hob, "list.txt", b"milk\neggs\n", "what is on it?").await;
    // Whoever wrote the list might be the one who wants it sent.
    there.until("the question", |shown| all(shown).contains("May I do this?")).await;
    there.say("1").await;
    let shown = there.until("its answer", |shown| all(shown).contains("That was it.")).await;
    let files: Vec<_> = shown.iter().filter_map(|shown| shown.file.clone()).collect();
    assert_eq!(files, [("list.txt".to_owned(), b"milk\neggs\n".to_vec())]);
    let requests = there.hob.model.requests();
    assert!(requests[0].last_user().contains("what is on it?"), "{}", requests[0].last_user());
    assert!(requests[1].last_text().contains("milk"), "{}", requests[1].last_text());
    there.hob.nothing_refused();
}

async fn d6_a_question_is_answered_once(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, PAY).await;
    there.hob.model.reply(Reply::call("pay", r#"{"to": "Ben"}"#)).reply(Reply::text("Paid."));
    there.say("Pay Ben").await;
    let asked = there.until("the question", |shown| all(shown).contains("May I do this?")).await;
    assert_eq!(there.hob.lines("paid"), Vec::<String>::new(), "it was not asked for nothing");
    if there.can(Feature::Buttons) {
        assert_eq!(asked[0].buttons, ["approve", "always", "deny"]);
        there.press("approve").await;
    } else {
        there.say("1").await;
    }
    let shown = there.until("the answer", |shown| all(shown).contains("Paid.")).await;
    assert_eq!(there.hob.lines("paid"), ["Ben"]);
    assert_eq!(shown.iter().filter(|shown| shown.text.contains("Paid.")).count(), 1);
    if there.can(Feature::Buttons) {
        there.until("the question without buttons", |shown| shown[0].buttons.is_empty()).await;
    }
    there.hob.nothing_refused();
}

async fn b7_stop_stops(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let gate = Gate::default();
    there.hob.model.reply(Script::default().words("Well").gate(&gate).words(" then.").finish("stop").into());
    there.say("think").await;
    there.hob.asked(1).await;
    there.say("/stop").await;
    there.until("the word that it stopped", |shown| all(shown).contains("top")).await;
    there.hob.model.dropped(1).await;
    there.hob.ended(1).await;
    gate.open();
    there.hob.model.reply(Reply::text("Here I am."));
    there.say("are you there?").await;
    let shown = there.until("the next answer", |shown| all(shown).contains("Here I am.")).await;
    assert!(!all(&shown).contains("then."), "{shown:#?}");
    there.hob.nothing_refused();
}

async fn b8_what_waits_is_answered_in_order(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let gate = Gate::default();
    let model = &there.hob.model;
    model.reply(Script::default().gate(&gate).words("First.").finish("stop").into());
    model.reply(Reply::text("Second.")).reply(Reply::text("Third."));
    there.say("one").await;
    there.hob.asked(1).await;
    there.say("two").await;
    there.say("three").await;
    there.until("two words that they wait", |shown| shown.len() >= 2).await;
    gate.open();
    let shown = there.until("the last answer", |shown| all(shown).contains("Third.")).await;
    let told = all(&shown);
    let places: Vec<_> = ["First.", "Second.", "Third."].iter().map(|answer| told.find(answer)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
    there.hob.nothing_refused();
}

async fn n1_a_crash_in_the_middle_costs_nothing(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let gate = Gate::default();
    there.hob.model.reply(Script::default().gate(&gate).words("Never heard.").finish("stop").into());
    there.say("are you well?").await;
    there.hob.asked(1).await;
    there.hob.model.reply(Reply::text("Quite well."));
    there.restart().await;
    there.until("the answer", |shown| all(shown).contains("Quite well.")).await;
    there.hob.recorded(1).await;
    there.hob.model.reply(Reply::text("Still here."));
    there.restart().await;
    there.say("and now?").await;
    let shown = there.until("the next answer", |shown| all(shown).contains("Still here.")).await;
    assert_eq!(all(&shown).matches("Quite well.").count(), 1, "{shown:#?}");
    there.hob.nothing_refused();
}

async fn n1_what_is_delivered_again_is_answered_once(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    there.hob.model.reply(Reply::text("Once."));
    let id = there.say("say it once").await;
    there.until_texts(&["Once."]).await;
    there.platform.again(&there.hob, &id).await;
    there.hob.model.reply(Reply::text("Next."));
    there.say("and the next").await;
    there.until_texts(&["Once.", "Next."]).await;
    assert_eq!(there.hob.model.requests().len(), 2);
    there.hob.nothing_refused();
}

async fn n11_after_an_outage_everything_is_answered_once_and_in_order(platform: Box<dyn Platform>) {
    let mut there = PlatformHarness::with(platform, "").await;
    let gate = Gate::default();
    there.hob.model.reply(Script::default().gate(&gate).words("Late.").finish("stop").into());
    there.say("zero").await;
    there.hob.asked(1).await;
    there.platform.goes_down(&mut there.hob).await;
    gate.open();
    there.hob.ended(1).await;
    there.hob.model.otherwise(|asked| {
        let said = asked.last_user().lines().last().unwrap_or_default();
        Reply::text(&format!("You said {said}."))
    });
    for word in ["one", "two", "three"] {
        there.say(word).await;
    }
    there.platform.comes_back(&mut there.hob).await;
    there.hob.ended(4).await;
    let shown = there.until("everything", |shown| all(shown).contains("You said three.")).await;
    let told = all(&shown);
    let places: Vec<_> = ["Late.", "one.", "two.", "three."].iter().map(|answer| told.find(answer)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
    for answer in ["Late.", "You said one.", "You said two.", "You said three."] {
        assert_eq!(told.matches(answer).count(), 1, "{answer}: {told}");
    }
    there.hob.nothing_refused();
}

async fn n11_ten_minutes_away_cost_nothing(platform: Box<dyn Platform>) {
    Box::pin(ten_minutes::conversation(platform)).await;
}

fn all(shown: &[VisibleMessage]) -> String {
    shown.iter().map(|shown| shown.text.as_str()).collect::<Vec<_>>().join("\n\n")
}
