//! Ollama's own API against a strict fake.

use std::time::Duration;

use hob_core::domain::choices::Effort;
use hob_core::domain::secret::Secret;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Image, MediaType, Message, StopReason, Usage, UserPart};
use hob_model::ollama::Ollama;
use hob_model::provider::{ModelCheck, NoSink, Provider, Request, ToolChoice};
use hob_model::settings::{Deadlines, Settings, Tuning};
use hob_testkit::dialect::{
    self, answered, any_message, asking, converse, heard, is_growing, let_go, stalled, through,
};
use hob_testkit::fake_ollama::{self, FakeOllama, Model, Script};
use hob_testkit::histories;
use hob_testkit::scripted::Answer;
use hob_testkit::stream::Gate;
use proptest::prelude::*;
use serde_json::{Value, json};

fn settings(fake: &FakeOllama) -> Settings {
    dialect::settings(&fake.root(), "qwen3")
}

fn provider(fake: &FakeOllama) -> Ollama {
    Ollama::new(settings(fake)).unwrap()
}

fn hi() -> Request {
    asking(vec![Message::user("Hi")])
}

/// One reply of the fake, as the provider understands it, and what was streamed.
async fn said(script: Script) -> (Result<Completion, ModelError>, String) {
    let fake = FakeOllama::start(Model::default()).await;
    fake.says(script);
    let outcome = heard(&provider(&fake), &hi()).await;
    assert_eq!((fake.refused(), fake.requests().len()), (Vec::new(), 1), "asked once");
    outcome
}

async fn answered_with(answer: Answer) -> ModelError {
    let fake = FakeOllama::start(Model::default()).await;
    fake.reply(answer);
    let error = provider(&fake).complete(&hi(), &NoSink).await.unwrap_err();
    assert_eq!(fake.requests().len(), 1, "no retries");
    error
}

#[tokio::test]
async fn a_reply_is_streamed_and_answered_whole() {
    let fake = FakeOllama::start(Model::default()).await;
    for tail in ["", "/", "/v1", "/v1/", "/api"] {
        fake.says(Script::default().words("Hello, dear world.").finish("stop"));
        let base_url = format!("{}{tail}", fake.root());
        let api_key = Some(Secret::new("k".to_owned()));
        let provider = Ollama::new(Settings { base_url, api_key, ..settings(&fake) }).unwrap();
        let (completion, shown) = heard(&provider, &hi()).await;
        let completion = completion.unwrap();
        assert_eq!((&*completion.text(), shown.as_str()), ("Hello, dear world.", "Hello, dear world."));
        assert_eq!(completion.stop, StopReason::End);
        assert_eq!(completion.usage, Usage { input_tokens: 26, output_tokens: 282, ..Usage::default() });
        assert_eq!(provider.label(), "test/qwen3");
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    assert_eq!(fake.requests()[0].header("authorization"), Some("Bearer k"));
    insta::assert_snapshot!(fake.requests()[0].body, @r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Hi","role":"user"}],"model":"qwen3","options":{"num_ctx":16384},"shift":false,"stream":true,"tools":[{"function":{"description":"Looks.","name":"current_time","parameters":{"properties":{"at":{"type":["string","null"]}},"title":"Args","type":"object"}},"type":"function"},{"function":{"description":"Looks.","name":"look","parameters":{"properties":{"at":{"type":["string","null"]}},"title":"Args","type":"object"}},"type":"function"}],"truncate":false}"#);
}

#[tokio::test]
async fn text_comes_while_it_is_written() {
    let fake = FakeOllama::start(Model::default()).await;
    let gate = Gate::default();
    fake.says(Script::default().words("Hello").gate(&gate).words(" there").finish("length"));
    let (before, completion) = through(provider(&fake), &gate).await;
    assert_eq!(before, "Hello");
    assert_eq!((&*completion.text(), completion.stop), ("Hello there", StopReason::MaxTokens));
}

#[tokio::test]
async fn pieces_of_any_length_make_the_same_reply() {
    for len in [1, 2, 3, 7, 64] {
        let script = Script::default().words("Grüße aus Köln <think>hm, 東京</think>und 東京 🎉");
        let script = script.call("look", &json!({"at": "Köln"})).finish("stop");
        let (completion, shown) = said(script.planned(|plan| plan.in_pieces(len))).await;
        let completion = completion.unwrap();
        assert_eq!(completion.text(), "Grüße aus Köln und 東京 🎉");
        assert_eq!(shown, completion.text());
        assert_eq!(completion.calls().next().unwrap().arguments, "{\"at\":\"Köln\"}");
    }
}

#[tokio::test]
async fn the_model_is_shown_once_and_asked_to_hold_what_fits() {
    let table = [
        (Model { context_length: 131_072, ..Model::default() }, None, 16_384),
        (Model { context_length: 8192, ..Model::default() }, None, 8192),
        (
            Model { context_length: 131_072, parameters: "num_ctx                        32768", ..Model::default() },
            None,
            32_768,
        ),
        (Model { context_length: 131_072, ..Model::default() }, Some(65_536), 65_536),
    ];
    for (model, context_tokens, num_ctx) in table {
        let fake = FakeOllama::start(model).await;
        let provider = Ollama::new(Settings { context_tokens, ..settings(&fake) }).unwrap();
        for _ in 0..2 {
            fake.says(Script::default().words("ok").finish("stop"));
            provider.complete(&hi(), &NoSink).await.unwrap();
        }
        assert_eq!(fake.requests()[1].body["options"]["num_ctx"], json!(num_ctx));
        assert_eq!((fake.shown(), fake.refused()), (1, Vec::new()));
        let checked = provider.check().await;
        assert_eq!(checked, Ok(ModelCheck { listed: Some(true), context_tokens: Some(num_ctx) }));
    }
}

#[tokio::test]
async fn nothing_is_shortened_in_silence() {
    let fake = FakeOllama::start(Model { context_length: 8192, ..Model::default() }).await;
    let provider = provider(&fake);
    let long = asking(vec![Message::user("word ".repeat(8000))]);
    let error = provider.complete(&long, &NoSink).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::ContextTooLong, "{error}");
    assert_eq!((fake.requests().len(), fake.shortened()), (0, 0));
    fake.says(Script::default().words("ok").finish("stop"));
    let short = asking(vec![Message::user("word ".repeat(4000))]);
    provider.complete(&short, &NoSink).await.unwrap();
    assert_eq!((fake.requests().len(), fake.shortened()), (1, 0));
}

#[tokio::test]
async fn a_model_is_asked_for_what_it_can_do() {
    let tuning = Tuning { temperature: Some(0.2), max_output_tokens: Some(100), effort: Some(Effort::High) };
    let able = |architecture, capabilities| Model { architecture, capabilities, ..Model::default() };
    let table = [
        (able("llama", &["completion"]), Value::Null, 0),
        (able("llama", &["completion", "tools"]), Value::Null, 2),
        (able("qwen3", &["completion", "tools", "thinking"]), json!(true), 2),
        (able("gptoss", &["completion", "tools", "thinking"]), json!("high"), 2),
    ];
    for (model, think, tools) in table {
        let fake = FakeOllama::start(model).await;
        fake.says(Script::default().words("ok").finish("stop"));
        let image = UserPart::Image(Image::new(MediaType::Png, "iVBORw0K"));
        let request = asking(vec![Message::User { parts: vec![UserPart::text("Hi"), image] }]);
        let provider = Ollama::new(Settings { tuning, ..settings(&fake) }).unwrap();
        provider.complete(&request, &NoSink).await.unwrap();
        assert_eq!(fake.refused(), Vec::<String>::new());
        let body = &fake.requests()[0].body;
        assert_eq!(body["think"], think);
        assert_eq!(body["tools"].as_array().map_or(0, Vec::len), tools);
        assert_eq!(body["options"], json!({"num_ctx": 16_384, "num_predict": 100, "temperature": 0.2}));
    }
}

#[tokio::test]
async fn tools_are_left_out_where_none_may_be_called() {
    let fake = FakeOllama::start(Model::default()).await;
    let tool = |name: &str| ToolChoice::Tool { name: name.to_owned() };
    for (tool_choice, tools) in [(ToolChoice::None, 0), (ToolChoice::Any, 2), (tool("look"), 2)] {
        fake.says(Script::default().words("ok").finish("stop"));
        provider(&fake).complete(&Request { tool_choice, ..hi() }, &NoSink).await.unwrap();
        let requests = fake.requests();
        assert_eq!(requests.last().unwrap().body["tools"].as_array().map_or(0, Vec::len), tools);
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn pictures_are_sent() {
    let fake = FakeOllama::start(Model::default()).await;
    let image = UserPart::Image(Image::new(MediaType::Png, "iVBORw0K"));
    fake.says(Script::default().words("A cat.").finish("stop"));
    let parts = vec![UserPart::text("What is this?"), image];
    provider(&fake).complete(&asking(vec![Message::User { parts }]), &NoSink).await.unwrap();
    assert_eq!(fake.refused(), Vec::<String>::new());
    let message = &fake.requests()[0].body["messages"][1];
    assert_eq!(*message, json!({"role": "user", "content": "What is this?", "images": ["iVBORw0K"]}));
}

#[tokio::test]
async fn e12_thoughts_go_back_to_their_model_alone_and_are_never_shown() {
    let fake = FakeOllama::start(Model::default()).await;
    let script = Script::default().thinks("I wonder, truly").words("Let me look.");
    let script = script.call("look", &json!({"at": "x"})).call("current_time", &json!({})).finish("stop");
    fake.says(script);
    let (completion, shown) = heard(&provider(&fake), &hi()).await;
    let completion = completion.unwrap();
    assert_eq!((shown.as_str(), completion.calls().count()), ("Let me look.", 2));
    let history = answered(vec![Message::user("Hi")], &completion, None);
    for (label, thinking) in [("test/qwen3", json!("I wonder, truly")), ("other/model", Value::Null)] {
        fake.says(Script::default().words("ok").finish("stop"));
        let provider = Ollama::new(Settings { label: label.to_owned(), ..settings(&fake) }).unwrap();
        provider.complete(&asking(history.clone()), &NoSink).await.unwrap();
        let messages = fake.requests().last().unwrap().body["messages"].clone();
        assert_eq!(messages[2]["thinking"], thinking);
        assert_eq!((&messages[3]["tool_name"], &messages[4]["tool_name"]), (&json!("look"), &json!("current_time")));
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn refusals_get_their_class_and_are_not_retried() {
    let cases = [
        (400, "registry.ollama.ai/library/x:latest does not support tools", ErrorClass::UnknownModel),
        (404, "model 'qwen3' not found", ErrorClass::UnknownModel),
        (500, "llama runner process has terminated: exit status 2", ErrorClass::Server),
        (500, "model requires more system memory (9.9 GiB) than is available (5.0 GiB)", ErrorClass::Server),
        (503, "server busy, please try again. maximum pending requests exceeded", ErrorClass::Overloaded),
        (401, "unauthorized", ErrorClass::Auth),
    ];
    for (status, message, class) in cases {
        let error = answered_with(fake_ollama::error(status, message)).await;
        assert_eq!(error.class, class, "{status} {message}: {error}");
    }
}

#[tokio::test]
async fn what_is_no_stream_is_an_error_of_its_class() {
    let json = "application/json";
    let cases: Vec<(&str, Answer, ErrorClass)> = vec![
        ("web page", Answer::html(), ErrorClass::Malformed),
        ("error with 200", Answer::http(200, json, "{\"error\":\"model 'x' not found\"}"), ErrorClass::UnknownModel),
        ("whole reply", Answer::http(200, json, "{\"message\":{}}"), ErrorClass::Malformed),
    ];
    for (name, answer, class) in cases {
        let error = answered_with(answer).await;
        assert_eq!(error.class, class, "{name}: {error}");
    }
    let begun = || Script::default().words("Hel");
    let late = json!({"error": "an error was encountered while running the model: unexpected EOF"});
    let raw = |bytes: &'static [u8]| Script::default().planned(|plan| plan.raw(bytes));
    let cases = [
        ("nothing", Script::default(), ErrorClass::Malformed),
        ("no words", Script::default().finish("stop"), ErrorClass::Malformed),
        ("only loaded", Script::default().finish("load"), ErrorClass::Malformed),
        ("cut at once", Script::default().planned(|plan| plan.cut()), ErrorClass::Network),
        ("cut", begun().planned(|plan| plan.cut()), ErrorClass::Network),
        ("cut in a line", begun().planned(|plan| plan.raw("{\"mess").cut()), ErrorClass::Network),
        ("no end", begun(), ErrorClass::Network),
        ("garbage", raw(b"{nonsense\n").finish("stop"), ErrorClass::Malformed),
        ("late", begun().line(&late), ErrorClass::Server),
        ("only thoughts", Script::default().thinks("hm").finish("length"), ErrorClass::Malformed),
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
        let fake = FakeOllama::start(Model::default()).await;
        let gate = Gate::default();
        fake.says(script.gate(&gate));
        let provider = Ollama::new(Settings { deadlines, ..settings(&fake) }).unwrap();
        let (outcome, waited) = stalled(provider, &gate).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, message));
        assert!(waited.as_secs().abs_diff(seconds) < 60, "{waited:?}");
    }
}

#[tokio::test]
async fn dropping_the_call_drops_the_stream() {
    let fake = FakeOllama::start(Model::default()).await;
    fake.says(Script::default().words("Hello").planned(|plan| plan.stall()));
    let_go(&provider(&fake)).await;
    fake.dropped(1).await;
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told() {
    let fake = FakeOllama::start(Model::default()).await;
    let provider = Ollama::new(Settings { model: "llama9".to_owned(), ..settings(&fake) }).unwrap();
    assert_eq!(provider.check().await, Ok(ModelCheck { listed: Some(false), context_tokens: None }));
    let error = provider.complete(&hi(), &NoSink).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::UnknownModel, "{error}");
    let nowhere = Ollama::new(dialect::settings("http://127.0.0.1:1", "qwen3")).unwrap();
    assert_eq!(nowhere.check().await.unwrap_err().class, ErrorClass::Network);
    assert_eq!(nowhere.complete(&hi(), &NoSink).await.unwrap_err().class, ErrorClass::Network);
}

#[tokio::test]
async fn the_next_request_begins_with_the_last_one() {
    let fake = FakeOllama::start(Model::default()).await;
    fake.says(Script::default().thinks("hm").call("look", &json!({"at": "x"})).finish("stop"));
    fake.says(Script::default().words("Seen.").finish("stop"));
    fake.says(Script::default().words("Bye.").finish("stop"));
    converse(&provider(&fake)).await;
    let requests = fake.requests();
    let messages: Vec<_> = requests.iter().map(|asked| asked.body["messages"].as_array().unwrap()).collect();
    assert!(messages.len() == 3 && is_growing(&messages), "{messages:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_history_is_taken_by_the_strict_server(messages in prop_oneof![
        histories::trimmed(12),
        histories::switched(3),
        proptest::collection::vec(any_message("ollama/four", &["thinking"]), 0..12),
    ]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fake = FakeOllama::start(Model::default()).await;
            fake.says(Script::default().words("ok").finish("stop"));
            let label = "ollama/four".to_owned();
            let provider = Ollama::new(Settings { label, ..settings(&fake) }).unwrap();
            let outcome = provider.complete(&asking(messages), &NoSink).await;
            prop_assert_eq!(fake.refused(), Vec::<String>::new());
            prop_assert_eq!(outcome.map(|completion| completion.text().into_owned()), Ok("ok".to_owned()));
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_server_that_tells_nothing_of_its_model_is_asked_all_the_same() {
    let fake = FakeOllama::start(Model { is_told: false, ..Model::default() }).await;
    let provider = provider(&fake);
    for _ in 0..2 {
        fake.says(Script::default().words("ok").finish("stop"));
        assert_eq!(provider.complete(&hi(), &NoSink).await.unwrap().text(), "ok");
    }
    assert_eq!(provider.check().await, Ok(ModelCheck { listed: None, context_tokens: Some(16_384) }));
    assert_eq!(fake.refused(), Vec::<String>::new());
}
