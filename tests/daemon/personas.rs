//! Who Hob is where (rows A3, C3), and that a run stays who it was.

use hob_testkit::fake_model::{Gate, Reply, Script};
use hob_testkit::fake_telegram::FakeTelegram;
use hob_testkit::fake_telegram::world::Post;
use hob_testkit::test_hob::{ADA, BOB, HALL, STRANGER, TestHob};

/// A clerk on Telegram, a cook in the hall.
const STAFF: &str = r#"
[agent]
system_prompt = "You are Hob."
[personas.clerk]
prompt = "You keep the books."
[personas.cook]
prompt = "You cook."
modules = ["time"]
max_output_tokens = 77
iterations_max = 1
iterations_cap = 2
[telegram]
persona = "clerk"
personas = { "-100123" = "cook" }
guest_user_ids = [99]
"#;

async fn in_hall(hob: &TestHob, person: i64, text: &str, reply: Reply) -> String {
    let before = hob.heard(HALL).len();
    hob.model.reply(reply);
    hob.telegram.post(Post::new(HALL, person, &format!("@{} {text}", FakeTelegram::BOT_NAME)));
    hob.told(HALL, before + 1).await.pop().unwrap()
}

#[tokio::test]
async fn c3_by_chat_by_platform_and_as_chosen() {
    let mut hob = TestHob::with(STAFF).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.ask(ADA, "Who are you?", Reply::text("A clerk.")).await;
    in_hall(&hob, ADA, "who are you?", Reply::text("A cook.")).await;
    hob.say(ADA, "/persona cook");
    hob.told(ADA, 2).await;
    hob.ask(ADA, "And now?", Reply::text("A cook.")).await;
    hob.say(ADA, "/persona");
    hob.told(ADA, 4).await;
    hob.say(ADA, "/persona default");
    hob.told(ADA, 5).await;
    hob.ask(ADA, "And now?", Reply::text("A clerk.")).await;
    hob.say(ADA, "/persona cok");
    let told = hob.told(ADA, 7).await;
    insta::assert_snapshot!([&told[1], &told[3], &told[4], &told[6]].map(String::as_str).join("\n"), @r#"
    From now on I am cook here. /persona default undoes it.
    I am cook (chosen here).
    /persona NAME chooses another, /persona default undoes that: clerk, cook.
    From now on I am clerk here, as configured.
    I have no persona "cok". There are: clerk, cook. More can be declared in config.toml.
    "#);
    let requests = hob.model.requests();
    let systems: Vec<&str> = requests.iter().map(|request| request.system()).collect();
    let (clerk, cook) = ("You are Hob.\n\nYou keep the books.", "You are Hob.\n\nYou cook.");
    assert_eq!(systems, [clerk, cook, cook, clerk]);
    // What else makes a cook.
    assert_eq!(requests[0].body.get("max_tokens"), None);
    assert_eq!(requests[1].body["max_tokens"], 77);
    assert!(requests[0].tools().contains(&"recall"));
    assert_eq!(requests[1].tools(), ["ask_human", "use_tool"]);
    hob.nothing_refused();
}

#[tokio::test]
async fn c3_its_limits_and_its_tools_are_the_runs() {
    let mut hob = TestHob::with(STAFF).await;
    hob.telegram.group(HALL, &[]);
    hob.start().await;
    hob.model.reply(Reply::call("recall", r#"{"query": "soup"}"#));
    in_hall(&hob, ADA, "what soup?", Reply::text("Leek.")).await;
    let requests = hob.model.requests();
    assert!(requests[1].messages().iter().any(|message| {
        message["content"].as_str().is_some_and(|text| text.starts_with("There is no tool \"recall\"."))
    }));
    assert_eq!(requests[1].body["tool_choice"], "none", "one step is all it has");
}

#[tokio::test]
async fn e3_a_persona_has_a_maximum_of_the_history_of_its_own() {
    let settings = "[telegram]\npersona = 'brief'\n[personas.brief]\nhistory_messages_max = 2";
    let hob = TestHob::running(settings).await;
    for text in ["One?", "Two?", "Three?"] {
        hob.ask(ADA, text, Reply::text(&text.replace('?', "."))).await;
    }
    let sent = hob.model.requests()[2].body["messages"].to_string();
    assert!(!sent.contains("One") && sent.contains("Two?") && sent.contains("Two."), "{sent}");
    hob.nothing_refused();
}

#[tokio::test]
async fn e3_the_window_of_a_hosted_model_that_nobody_knows_is_taken_for_a_larger_one() {
    for (kind, model, expected) in [("groq", "brand-new", Some(128_000)), ("openai_compatible", "fake", None)] {
        let settings = format!("[provider]\nkind = '{kind}'\n[provider.models]\nprimary = '{model}'");
        let mut hob = TestHob::running(&settings).await;
        hob.ask(ADA, "Hello", Reply::text("Hello.")).await;
        hob.stop().await;
        let begun: String = hob.value("SELECT body FROM run_events WHERE kind = 'run.begun'").await;
        let begun: serde_json::Value = serde_json::from_str(&begun).unwrap();
        assert_eq!(begun["body"]["billing"]["models"][0]["assumed"].as_u64(), expected, "{kind}: {begun}");
    }
}

#[tokio::test]
async fn c3_its_model_answers_unless_another_is_chosen() {
    let hob = TestHob::running(
        "[provider.models]
        others = ['big']
        [aliases]
        large = 'openai-compatible/big'
        [agent]
        persona = 'thinker'
        [personas.thinker]
        model = 'large'",
    )
    .await;
    hob.ask(ADA, "Think", Reply::text("I do.")).await;
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 2).await.pop().unwrap();
    assert!(status.contains("\nmodel: openai-compatible/big\n"), "{status}");
    assert!(status.contains("\npersona: thinker, set for everywhere\n"), "{status}");
    hob.say(ADA, "/model fake");
    hob.told(ADA, 3).await;
    hob.ask(ADA, "Think", Reply::text("I do.")).await;
    let asked: Vec<String> =
        hob.model.requests().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, ["big", "fake"]);
}

#[tokio::test]
async fn c3_one_that_is_not_configured_any_more_is_told_of() {
    let mut hob = TestHob::running(STAFF).await;
    hob.say(ADA, "/persona cook");
    hob.told(ADA, 1).await;
    hob.stop().await;
    hob.configure("[agent]\nsystem_prompt = 'You are Hob.'");
    hob.start().await;
    hob.ask(ADA, "Who are you?", Reply::text("Hob.")).await;
    assert_eq!(hob.model.requests()[0].system(), "You are Hob.");
    hob.say(ADA, "/persona");
    insta::assert_snapshot!(hob.told(ADA, 3).await[2], @r"
    cook, which was chosen here, is not configured any more.
    There are no personas; they can be declared under [personas] in config.toml.
    ");
    hob.say(ADA, "/status");
    let status = hob.told(ADA, 4).await.pop().unwrap();
    let line = "\npersona: nobody in particular (cook, which was chosen here, is not configured any more)\n";
    assert!(status.contains(line), "{status}");
}

#[tokio::test]
async fn c3_guests_do_not_choose() {
    let hob = TestHob::running(STAFF).await;
    hob.say(STRANGER, "/persona cook");
    insta::assert_snapshot!(hob.told(STRANGER, 1).await[0], @"Guests cannot choose that: somebody of the household can.");
    hob.ask(STRANGER, "Who are you?", Reply::text("A clerk.")).await;
    assert!(hob.model.requests()[0].system().ends_with("You keep the books."));
}

#[tokio::test]
async fn c3_guests_have_the_default_modules_where_the_persona_chooses_none() {
    let tools = "
[telegram]
guest_user_ids = [99]
[tools.lamp]
description = 'Lights a lamp.'
command = ['true']
module = 'lights'
role = 'guest'
[tools.bell]
description = 'Rings a bell.'
command = ['true']
module = 'bells'
role = 'guest'
[personas.ringer]
modules = ['bells']
";
    let both = Some(["bell", "lamp"].as_slice());
    let settings = [
        ("", both, both),
        ("[agent]\ndefault_guest_modules = ['lights']", Some(&["lamp"]), both),
        ("[agent]\ndefault_guest_modules = []", Some(&[]), both),
        ("[agent]\ndefault_guest_modules = ['lights']\npersona = 'ringer'", Some(&["bell"]), Some(&["bell"])),
    ];
    for (setting, guests, users) in settings {
        let hob = TestHob::running(&format!("{tools}{setting}")).await;
        for (person, expected) in [(STRANGER, guests), (ADA, users)] {
            hob.ask(person, "Light, please", Reply::text("There you are.")).await;
            let asked = hob.model.requests().pop().unwrap();
            let offered: Vec<&str> = asked.tools().into_iter().filter(|name| ["bell", "lamp"].contains(name)).collect();
            assert_eq!(Some(offered.as_slice()), expected, "{setting} {person}");
            assert!(asked.tools().contains(&"ask_human"), "what steers a run is always there");
        }
        hob.nothing_refused();
    }
}

#[tokio::test]
async fn c3_a_run_that_crashed_asks_when_its_own_persona_has_changed() {
    for (change, asks) in [("You cook.", true), ("You keep the books.", false)] {
        let mut hob = TestHob::with(STAFF).await;
        hob.telegram.group(HALL, &[]);
        hob.start().await;
        hob.model.reply(Script::default().gate(&Gate::default()).text("Never.").finish("stop").into());
        hob.telegram.post(Post::new(HALL, BOB, &format!("@{} what soup?", FakeTelegram::BOT_NAME)));
        hob.asked(1).await;
        hob.crash().await;
        hob.configure(&STAFF.replace(change, "You have changed."));
        hob.model.reply(Reply::text("Leek."));
        hob.start().await;
        let told = hob.told(HALL, 1).await.pop().unwrap();
        assert_eq!(
            told.starts_with("I was interrupted on this, and my instructions have been changed since."),
            asks,
            "{told}"
        );
        assert_eq!(told == "Leek.", !asks, "{told}");
    }
}

#[tokio::test]
async fn a3_the_prompt_is_the_base_and_what_is_known() {
    let hob = TestHob::running(STAFF).await;
    let fact = r#"{"category": "home", "key": "bins", "value": "They go out on Tuesday"}"#;
    hob.model.reply(Reply::call("remember_fact", fact));
    hob.ask(ADA, "The bins go out on Tuesday", Reply::text("Noted.")).await;
    hob.ask(ADA, "When?", Reply::text("On Tuesday.")).await;
    let last = hob.model.requests().pop().unwrap();
    assert_eq!(last.system(), "You are Hob.\n\nYou keep the books.");
    let said = last.last_text();
    assert!(said.contains("<context>\n") && said.contains("- bins: They go out on Tuesday"), "{last:#?}");
}
