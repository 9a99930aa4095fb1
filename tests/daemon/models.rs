//! Which model answers: tiers, choices, stand-ins; what it is sent and how that is measured (rows A2, A7, B14, E2, E4).

use serde_json::Value;

use hob_testkit::fake_model::{ReceivedRequest, Reply, Script};
use hob_testkit::fake_responses::{FakeResponses, call, items, message, thought};
use hob_testkit::test_hob::{ADA, TestHob};

/// The models asked so far.
fn asked(hob: &TestHob) -> Vec<String> {
    hob.model.requests().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a2_the_form_of_a_message_chooses_its_model_until_a_person_does() {
    let hob = TestHob::running("[provider.models]\nfast = 'small'\nsmart = 'large'").await;
    hob.model.otherwise(|_asked| Reply::text("Fine."));
    let hard =
        "1. list all of it\n2. sort it\n3. add it up\n\n```rust\nfn main() {\n    todo();\n}\n```\nWhy? And how?\n"
            .repeat(12);
    for (index, text) in ["hi", &hard, "/model small", &hard, "/auto", "hi"].into_iter().enumerate() {
        hob.say(ADA, text);
        hob.told(ADA, index + 1).await;
    }
    assert_eq!(asked(&hob), ["small", "large", "small", "small"]);
    let told = hob.heard(ADA);
    assert_eq!(told[2], "From now on I use openai-compatible/small here.");
    insta::assert_snapshot!(told[4], @"From now on each message here chooses its model: openai-compatible/small for short words, openai-compatible/large for hard ones, openai-compatible/fake for the rest.");
}

#[tokio::test]
async fn e2_a_stand_in_is_told_once_and_so_is_its_end() {
    let mut hob = TestHob::new().await;
    let base = hob.model.base_url();
    hob.configure(&format!(
        "[[provider.fallbacks]]\nkind = 'openai_compatible'\nmodel = 'other'\nbase_url = '{base}'\napi_key = 'sk-other'"
    ));
    hob.start().await;
    // Twice busy, for a second each: once for the run's own wait, once more and the other is asked.
    let busy = || Reply::status(429).header("retry-after", "1");
    hob.model.reply(busy()).reply(busy());
    hob.model.otherwise(|asked| {
        Reply::text(if asked.body["model"] == "other" { "I am the other." } else { "I am the first." })
    });
    hob.say(ADA, "Go");
    let mut told = hob.told(ADA, 2).await;
    while told.last().unwrap() != "I am the first." {
        let before = told.len();
        hob.say(ADA, "And now?");
        hob.telegram.until_sent(ADA, before + 1).await;
        // Its end is told before the first answer of the right one.
        if hob.heard(ADA).last().unwrap().starts_with('(') {
            hob.telegram.until_sent(ADA, before + 2).await;
        }
        told = hob.heard(ADA);
    }
    let notes: Vec<&String> = told.iter().filter(|text| text.starts_with('(')).collect();
    assert_eq!(notes.len(), 2, "{told:#?}");
    assert!(notes[0].contains("openai-compatible/other stands in"), "{notes:?}");
    assert_eq!(notes[1], "(openai-compatible/fake answers again.)");
    assert_eq!(told[0], *notes[0], "before the answer");
}

#[tokio::test]
async fn e4_an_answer_that_is_cut_off_is_made_whole() {
    let hob = TestHob::running("").await;
    hob.model.reply(Script::default().words("One, two, ").finish("length").into());
    assert_eq!(hob.ask(ADA, "Count to four", Reply::text("three, four.")).await, "One, two, three, four.");
    assert_eq!(hob.ask(ADA, "Thanks", Reply::text("Gladly.")).await, "Gladly.");
    let said: Vec<String> = hob.model.requests()[2]
        .messages()
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said, ["One, two, ", "three, four."], "nothing stands twice in the history");
    hob.nothing_refused();
}

/// The request as it goes over the wire, up to the volatile tail.
fn prefix(asked: &ReceivedRequest) -> String {
    let body = serde_json::to_string(&asked.body["messages"]).unwrap();
    let tools = serde_json::to_string(&asked.body["tools"]).unwrap();
    let tail = body.rfind("<context>").unwrap();
    format!("{tools}{}", &body[..tail])
}

#[tokio::test]
async fn the_request_of_each_turn_begins_as_the_one_before() {
    let hob = TestHob::running("").await;
    for turn in 0..6 {
        hob.model.reply(Reply::call("remember_fact", &format!(r#"{{"category":"c","key":"k{turn}","value":"v"}}"#)));
        hob.ask(ADA, &format!("Remember {turn}"), Reply::text("Done.")).await;
    }
    let requests = hob.model.requests();
    assert_eq!(requests.len(), 12);
    let prefixes: Vec<String> = requests.iter().map(prefix).collect();
    for (index, pair) in prefixes.windows(2).enumerate() {
        assert!(pair[1].starts_with(&pair[0]), "request {}:\n{}\n{}", index + 1, pair[0], pair[1]);
    }
    hob.say(ADA, "/cost");
    let bill = hob.telegram.until_sent(ADA, 7).await.pop().unwrap();
    assert!(!bill.contains("could not go on"), "the prefix never broke: {bill}");
}

#[tokio::test]
async fn why_the_prefix_broke_is_kept_and_told() {
    let mut hob = TestHob::running("[provider.models]\nothers = ['large']").await;
    hob.ask(ADA, "Hello", Reply::text("Hi.")).await;
    hob.say(ADA, "/model large");
    hob.told(ADA, 2).await;
    hob.ask(ADA, "Hello", Reply::text("Hi.")).await;
    hob.say(ADA, "/cost");
    let bill = hob.told(ADA, 4).await.pop().unwrap();
    assert!(bill.contains(": another model 1 ×"), "{bill}");
    hob.process().until_logged("model.cache.prefix_broken", 1).await;
}

/// The tokens of a provider that counts its own way: by the bytes of what it is sent, and more for each message.
fn counted(asked: &ReceivedRequest) -> u64 {
    let bytes = |value: &Value| value.to_string().len() as u64;
    bytes(&asked.body["tools"]) / 3 + asked.messages().iter().map(|message| bytes(message) / 2 + 9).sum::<u64>()
}

#[tokio::test]
async fn b14_after_ten_turns_the_estimate_is_what_the_provider_counts() {
    let mut hob = TestHob::running("").await;
    hob.model.otherwise(|asked| {
        let answer = "A sentence of several words follows the other one, and then there is one more. ".repeat(3);
        Script::default().words(&answer).finish("stop").reads(counted(asked)).into()
    });
    for turn in 0..11 {
        hob.say(ADA, &format!("Tell me about the {turn}th of your many journeys through the whole wide house."));
        hob.told(ADA, turn + 1).await;
    }
    hob.stop().await;
    let bodies: Vec<String> =
        hob.values("SELECT body FROM run_events WHERE kind = 'model.asked' ORDER BY run_id").await;
    let estimates: Vec<u64> = bodies
        .iter()
        .map(|body| serde_json::from_str::<Value>(body).unwrap()["body"]["input_estimate"].as_u64().unwrap())
        .collect();
    let reported: Vec<u64> = hob.model.requests().iter().map(counted).collect();
    let error = |turn: usize| estimates[turn].abs_diff(reported[turn]) as f64 / reported[turn] as f64;
    assert!(error(0) > 0.2, "it counts differently: {estimates:?} {reported:?}");
    assert!(error(10) < 0.1, "{estimates:?} {reported:?}");
}

const LUNA: &str = "models.primary = 'gpt-6-luna'";

#[tokio::test]
async fn k1_f5_openai_is_spoken_to_by_the_responses_api() {
    let fake = FakeResponses::start().await;
    let base = fake.base_url();
    let mut hob =
        TestHob::with(&format!("[provider]\nkind = 'openai'\napi = 'responses'\nbase_url = '{base}'\n{LUNA}")).await;
    fake.answer(items(&[thought("gAAAA1"), call("recall", r#"{"query": "soup"}"#)]));
    fake.answer(items(&[message("I know of no soup.")])).answer(items(&[message("Good night.")]));
    hob.start().await;
    hob.say(ADA, "What soup do I like?");
    assert_eq!(hob.told(ADA, 1).await, ["I know of no soup."]);
    hob.say(ADA, "Good night");
    assert_eq!(hob.told(ADA, 2).await[1], "Good night.");
    assert_eq!(fake.refused(), Vec::<String>::new());
    let requests = fake.requests();
    let kinds = |at: usize| -> Vec<&str> {
        requests[at]["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect()
    };
    assert_eq!(
        kinds(1)[1..],
        ["reasoning", "function_call", "function_call_output"],
        "what it thought goes back to it"
    );
    let key = requests[0]["prompt_cache_key"].as_str().unwrap();
    for asked in &requests {
        assert_eq!((&asked["store"], &asked["prompt_cache_key"]), (&false.into(), &key.into()));
    }
}
