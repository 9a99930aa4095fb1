//! Gemini's own API against a strict fake.

use std::time::Duration;

use hob_core::domain::choices::Effort;
use hob_core::domain::secret::Secret;
use hob_model::error::ErrorClass;
use hob_model::gemini::Gemini;
use hob_model::message::{Completion, Image, MediaType, Message, StopReason, Usage, UserPart};
use hob_model::provider::{ModelCheck, NoSink, Provider, Request, ToolChoice};
use hob_model::settings::{Deadlines, Settings, Tuning};
use hob_testkit::dialect::{
    self, answered, any_message, asking, converse, heard, is_growing, let_go, stalled, through,
};
use hob_testkit::fake_gemini::{self, FakeGemini, KEY, Script};
use hob_testkit::histories;
use hob_testkit::scripted::Answer;
use hob_testkit::stream::Gate;
use proptest::prelude::*;
use serde_json::json;

const MODEL: &str = "gemini-3-flash-preview";

fn settings(base_url: &str) -> Settings {
    Settings { api_key: Some(Secret::new(KEY.to_owned())), ..dialect::settings(base_url, MODEL) }
}

fn provider(fake: &FakeGemini) -> Gemini {
    Gemini::new(settings(&fake.root())).unwrap()
}

fn hi() -> Request {
    asking(vec![Message::user("Hi")])
}

/// One reply of the fake, as the provider understands it, and what was streamed.
async fn said(script: Script) -> (Result<Completion, hob_model::error::ModelError>, String) {
    let fake = FakeGemini::start(MODEL).await;
    fake.says(script);
    let outcome = heard(&provider(&fake), &hi()).await;
    assert_eq!((fake.refused(), fake.requests().len()), (Vec::new(), 1), "asked once");
    outcome
}

async fn answered_with(answer: Answer) -> hob_model::error::ModelError {
    let fake = FakeGemini::start(MODEL).await;
    fake.reply(answer);
    let error = provider(&fake).complete(&hi(), &NoSink).await.unwrap_err();
    assert_eq!(fake.requests().len(), 1, "no retries");
    assert!(!error.message.contains(KEY), "{error}");
    error
}

#[tokio::test]
async fn a_reply_is_streamed_and_answered_whole() {
    let fake = FakeGemini::start(MODEL).await;
    for tail in ["", "/", "/v1", "/v1beta", "/v1beta/", "/v1beta/openai", "/v1beta/openai/"] {
        fake.says(Script::default().words("Hello, dear world.").finish("STOP"));
        let provider = Gemini::new(settings(&format!("{}{tail}", fake.root()))).unwrap();
        let (completion, shown) = heard(&provider, &hi()).await;
        let completion = completion.unwrap();
        assert_eq!((&*completion.text(), shown.as_str()), ("Hello, dear world.", "Hello, dear world."));
        assert_eq!(completion.stop, StopReason::End);
        let usage =
            Usage { input_tokens: 11, output_tokens: 12, cached_tokens: 3, reasoning_tokens: 5, ..Usage::default() };
        assert_eq!(completion.usage, usage);
        assert_eq!(provider.label(), "test/gemini-3-flash-preview");
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    assert!(fake.requests().iter().all(|asked| !asked.line.contains("AIza")), "the key is in no address");
    insta::assert_snapshot!(fake.requests()[0].body, @r#"{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"description":"Looks.","name":"current_time","parametersJsonSchema":{"properties":{"at":{"type":["string","null"]}},"title":"Args","type":"object"}},{"description":"Looks.","name":"look","parametersJsonSchema":{"properties":{"at":{"type":["string","null"]}},"title":"Args","type":"object"}}]}]}"#);
}

#[tokio::test]
async fn text_comes_while_it_is_written() {
    let fake = FakeGemini::start(MODEL).await;
    let gate = Gate::default();
    fake.says(Script::default().words("Hello").gate(&gate).words(" there").finish("MAX_TOKENS"));
    let (before, completion) = through(provider(&fake), &gate).await;
    assert_eq!(before, "Hello");
    assert_eq!((&*completion.text(), completion.stop), ("Hello there", StopReason::MaxTokens));
}

#[tokio::test]
async fn pieces_of_any_length_make_the_same_reply() {
    for len in [1, 2, 3, 7, 64] {
        let script = Script::default().words("Grüße aus Köln <think>hm, 東京</think>und 東京 🎉");
        let script = script.call("look", &json!({"at": "Köln"}), Some("c2ln")).finish("STOP");
        let (completion, shown) = said(script.planned(|plan| plan.in_pieces(len))).await;
        let completion = completion.unwrap();
        assert_eq!(completion.text(), "Grüße aus Köln und 東京 🎉");
        assert_eq!(shown, completion.text());
        assert_eq!(completion.calls().next().unwrap().arguments, "{\"at\":\"Köln\"}");
    }
}

#[tokio::test]
async fn e12_signatures_and_ids_come_back_byte_for_byte_and_are_never_shown() {
    let fake = FakeGemini::start(MODEL).await;
    let call = |id: &str| json!({"functionCall": {"name": "look", "args": {}, "id": id}});
    let mut first = call("gp737npz");
    first["thoughtSignature"] = json!("Es8CCswCAb4+/w==");
    fake.says(Script::default().words("Let me look.").part(first).part(call("x1")).part(call("x1")).finish("STOP"));
    fake.says(
        Script::default().words("I saw").part(json!({"text": "", "thoughtSignature": "QVk4OWE="})).finish("STOP"),
    );
    fake.says(Script::default().words("Bye.").finish("STOP"));
    let provider = provider(&fake);
    let mut history = vec![Message::user("Hi")];
    for next in [None, Some("And now?"), None] {
        let (completion, shown) = heard(&provider, &asking(history.clone())).await;
        assert!(!shown.contains('='), "{shown}");
        history = answered(history, &completion.unwrap(), next);
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let contents = &fake.requests()[2].body["contents"];
    let called = json!([
        {"text": "Let me look."},
        {
            "functionCall": {"name": "look", "args": {}, "id": "gp737npz"},
            "thoughtSignature": "Es8CCswCAb4+/w==",
        },
        {"functionCall": {"name": "look", "args": {}, "id": "x1"}},
        {"functionCall": {"name": "look", "args": {}, "id": "x1"}},
    ]);
    assert_eq!(contents[1]["parts"], called);
    let ids: Vec<_> = [0, 1, 2].map(|at| contents[2]["parts"][at]["functionResponse"]["id"].clone()).into();
    assert_eq!(ids, ["gp737npz", "x1", "x1"]);
    let seen = json!([{"text": "I saw"}, {"text": "", "thoughtSignature": "QVk4OWE="}]);
    assert_eq!(contents[3]["parts"], seen);
}

#[tokio::test]
async fn another_models_calls_are_given_the_documented_signature() {
    let fake = FakeGemini::start(MODEL).await;
    fake.says(Script::default().call("look", &json!({}), Some("c2ln")).finish("STOP"));
    fake.says(Script::default().words("ok").finish("STOP"));
    let completion = provider(&fake).complete(&hi(), &NoSink).await.unwrap();
    let history = answered(vec![Message::user("Hi")], &completion, None);
    let other = Gemini::new(Settings { label: "other/model".to_owned(), ..settings(&fake.root()) }).unwrap();
    assert_eq!(other.complete(&asking(history), &NoSink).await.unwrap().text(), "ok");
    assert_eq!(fake.refused(), Vec::<String>::new());
    let part = &fake.requests()[1].body["contents"][1]["parts"][0];
    assert_eq!(part["thoughtSignature"], "skip_thought_signature_validator");
}

#[tokio::test]
async fn parallel_calls_are_understood() {
    let calls = json!([
        {"functionCall": {"name": "look", "args": {"at": "x"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "current_time"}},
        {"functionCall": {"name": "look", "args": {}}},
    ]);
    let completion = said(Script::default().parts(calls).finish("STOP")).await.0.unwrap();
    let seen: Vec<_> = completion.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(seen, [("look", "{\"at\":\"x\"}"), ("current_time", "{}"), ("look", "{}")]);
}

#[tokio::test]
async fn what_is_set_is_told_as_google_takes_it() {
    for (model, effort) in [
        ("gemini-2.5-flash-lite", Effort::High),
        ("gemini-2.5-pro", Effort::Low),
        ("gemini-3-pro-preview", Effort::Medium),
        (MODEL, Effort::Medium),
        ("gemma-3-27b-it", Effort::High),
    ] {
        let fake = FakeGemini::start(model).await;
        fake.says(Script::default().words("ok").finish("STOP"));
        let tuning = Tuning { temperature: Some(0.2), max_output_tokens: Some(100), effort: Some(effort) };
        let settings = Settings { model: model.to_owned(), tuning, ..settings(&fake.root()) };
        let outcome = Gemini::new(settings).unwrap().complete(&hi(), &NoSink).await;
        assert_eq!((fake.refused(), outcome.map(|reply| reply.text().into_owned())), (vec![], Ok("ok".to_owned())));
    }
}

#[tokio::test]
async fn a_tool_can_be_forced() {
    for tool_choice in [ToolChoice::None, ToolChoice::Any, ToolChoice::Tool { name: "look".to_owned() }] {
        let fake = FakeGemini::start(MODEL).await;
        fake.says(Script::default().words("ok").finish("STOP"));
        let told = json!(match &tool_choice {
            ToolChoice::None => "NONE",
            _ => "ANY",
        });
        provider(&fake).complete(&Request { tool_choice, ..hi() }, &NoSink).await.unwrap();
        assert_eq!(fake.requests()[0].body["toolConfig"]["functionCallingConfig"]["mode"], told);
        assert_eq!(fake.refused(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn pictures_are_sent() {
    let fake = FakeGemini::start(MODEL).await;
    let image = |media_type| UserPart::Image(Image::new(media_type, "iVBORw0K"));
    let parts = vec![UserPart::text("What is this?"), image(MediaType::Png), image(MediaType::Gif)];
    fake.says(Script::default().words("A cat.").finish("STOP"));
    provider(&fake).complete(&asking(vec![Message::User { parts }]), &NoSink).await.unwrap();
    assert_eq!(fake.refused(), Vec::<String>::new());
    let picture = &fake.requests()[0].body["contents"][0]["parts"][1]["inlineData"];
    assert_eq!(*picture, json!({"mimeType": "image/png", "data": "iVBORw0K"}));
}

#[tokio::test]
async fn refusals_get_their_class_and_are_not_retried() {
    let cases = [
        (400, "API key not valid. Please pass a valid API key.", ErrorClass::Auth),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ErrorClass::ContextTooLong,
        ),
        (400, "Unable to submit request because it must have a text parameter.", ErrorClass::BadRequest),
        (403, "Your API key was reported as leaked. Please use another API key.", ErrorClass::Auth),
        (
            404,
            "models/x is not found for API version v1beta, or is not supported for generateContent.",
            ErrorClass::UnknownModel,
        ),
        (500, "An internal error has occurred. Please retry.", ErrorClass::Server),
        (503, "The model is overloaded. Please try again later.", ErrorClass::Overloaded),
        (504, "The request timed out. Please try again.", ErrorClass::Timeout),
    ];
    for (status, message, class) in cases {
        let error = answered_with(fake_gemini::error(status, message)).await;
        assert_eq!(error.class, class, "{status} {message}: {error}");
    }
    let error = answered_with(fake_gemini::quota("34.074824224s")).await;
    assert_eq!(error.class, ErrorClass::RateLimit);
    assert_eq!(error.retry_after, Some(Duration::from_secs_f64(34.074_824_224)));
}

#[tokio::test]
async fn what_is_no_stream_is_an_error() {
    let json = "application/json";
    let cases: Vec<(&str, Answer, ErrorClass)> = vec![
        ("web page", Answer::html(), ErrorClass::Malformed),
        ("whole reply", Answer::http(200, json, "[{\"candidates\":[]}]"), ErrorClass::Malformed),
        (
            "error with 200",
            Answer::http(200, json, "[{\"error\":{\"code\":503,\"message\":\"x\"}}]"),
            ErrorClass::Overloaded,
        ),
        (
            "redirect",
            Answer::http(302, "text/html", "").header("location", "http://127.0.0.1:1/"),
            ErrorClass::BadRequest,
        ),
    ];
    for (name, answer, class) in cases {
        let error = answered_with(answer).await;
        assert_eq!(error.class, class, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_stream_that_is_none_is_an_error_of_its_class() {
    let begun = || Script::default().words("Hel");
    let late = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let raw = |bytes: &'static [u8]| Script::default().planned(|plan| plan.raw(bytes));
    let cases = [
        ("nothing", Script::default(), ErrorClass::Malformed),
        ("no words", Script::default().finish("STOP"), ErrorClass::Malformed),
        ("cut at once", Script::default().planned(|plan| plan.cut()), ErrorClass::Network),
        ("cut", begun().planned(|plan| plan.cut()), ErrorClass::Network),
        ("cut in an event", begun().planned(|plan| plan.raw("data: {\"cand").cut()), ErrorClass::Network),
        ("no end", begun(), ErrorClass::Network),
        ("garbage", raw(b"data: {nonsense\r\n\r\n").finish("STOP"), ErrorClass::Malformed),
        ("late", begun().event(&late), ErrorClass::Overloaded),
        ("blocked", Script::default().event(&blocked), ErrorClass::Refused),
        ("withheld", Script::default().finish("SAFETY"), ErrorClass::Refused),
        ("bad call", begun().finish("MALFORMED_FUNCTION_CALL"), ErrorClass::Malformed),
        ("white space", Script::default().planned(|plan| plan.forever([b' '; 65_536])), ErrorClass::Malformed),
        ("empty lines", Script::default().planned(|plan| plan.forever([b'\n'; 65_536])), ErrorClass::Malformed),
    ];
    for (name, script, class) in cases {
        let error = said(script).await.0.unwrap_err();
        assert_eq!(error.class, class, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let deadlines = Deadlines { connect: minutes(25), first_event: minutes(20), between_events: minutes(10) };
    let cases = [
        (Script::default(), "The model did not answer in time.", 20 * 60),
        (Script::default().words("Hel"), "The model fell silent during its reply.", 10 * 60),
    ];
    for (script, message, seconds) in cases {
        let fake = FakeGemini::start(MODEL).await;
        let gate = Gate::default();
        fake.says(script.gate(&gate));
        let provider = Gemini::new(Settings { deadlines, ..settings(&fake.root()) }).unwrap();
        let (outcome, waited) = stalled(provider, &gate).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, message));
        assert!(waited.as_secs().abs_diff(seconds) < 60, "{waited:?}");
    }
}

#[tokio::test]
async fn dropping_the_call_drops_the_stream() {
    let fake = FakeGemini::start(MODEL).await;
    fake.says(Script::default().words("Hello").planned(|plan| plan.stall()));
    let_go(&provider(&fake)).await;
    fake.dropped(1).await;
}

#[tokio::test]
async fn the_server_is_asked_about_the_model() {
    let fake = FakeGemini::start(MODEL).await;
    let known = ModelCheck { listed: Some(true), context_tokens: Some(1_048_576 + 65_536) };
    assert_eq!(provider(&fake).check().await, Ok(known));
    let at = |model: &str, key: &str| {
        let api_key = Some(Secret::new(key.to_owned()));
        Gemini::new(Settings { model: model.to_owned(), api_key, ..settings(&fake.root()) }).unwrap()
    };
    assert_eq!(at(&format!("models/{MODEL}"), KEY).check().await, Ok(known));
    assert_eq!(at("gemini-0", KEY).check().await, Ok(ModelCheck { listed: Some(false), context_tokens: None }));
    assert_eq!(at("a/../b?key=c", KEY).check().await.unwrap().listed, Some(false));
    assert_eq!(at(MODEL, "AIza-wrong").check().await.unwrap_err().class, ErrorClass::Auth);
}

#[test]
fn bad_settings_are_told_before_anything_is_sent() {
    let with = |base_url: &str, key: &str| {
        let api_key = Some(Secret::new(key.to_owned()));
        Gemini::new(Settings { api_key, ..settings(base_url) }).map(|_| ()).map_err(|error| error.class)
    };
    assert_eq!(with("generativelanguage.googleapis.com", "k"), Err(ErrorClass::BadRequest));
    assert_eq!(with(hob_model::gemini::BASE_URL, "a\nb"), Err(ErrorClass::Auth));
    assert_eq!(with(hob_model::gemini::BASE_URL, "k\n"), Ok(()));
}

#[tokio::test]
async fn the_next_request_begins_with_the_last_one() {
    let fake = FakeGemini::start(MODEL).await;
    fake.says(Script::default().call("look", &json!({"at": "x"}), Some("c2ln")).finish("STOP"));
    fake.says(Script::default().words("Seen.").finish("STOP"));
    fake.says(Script::default().words("Bye.").finish("STOP"));
    converse(&provider(&fake)).await;
    let requests = fake.requests();
    let contents: Vec<_> = requests.iter().map(|asked| asked.body["contents"].as_array().unwrap()).collect();
    assert!(contents.len() == 3 && is_growing(&contents), "{contents:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_history_is_taken_by_the_strict_server(messages in prop_oneof![
        histories::trimmed(12),
        histories::switched(3),
        proptest::collection::vec(any_message("gemini/three", &["thought_signature", "thought_signature_alone", "function_call_id"]), 0..12),
    ]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fake = FakeGemini::start(MODEL).await;
            // The fake knows the seal of these histories as its own.
            fake.says(Script::default().part(json!({"text": "ok", "thoughtSignature": "U2VhbA=="})).finish("STOP"));
            let label = "gemini/three".to_owned();
            let provider = Gemini::new(Settings { label, ..settings(&fake.root()) }).unwrap();
            let outcome = provider.complete(&asking(messages), &NoSink).await;
            prop_assert_eq!(fake.refused(), Vec::<String>::new());
            prop_assert_eq!(outcome.map(|completion| completion.text().into_owned()), Ok("ok".to_owned()));
            Ok(())
        })?;
    }
}
