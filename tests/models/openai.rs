//! The OpenAI-compatible provider against a strict fake.

mod responses;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;
use hob_core::domain::secret::Secret;
use hob_model::discover::ollama::OllamaAddress;
use hob_model::discover::{DiscoverySource, discover};
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{Completion, Message, StopReason, ToolCall, ToolResult, Usage};
use hob_model::model_table::ModelTable;
use hob_model::openai::OpenAi;
use hob_model::openai::quirks::PLAIN;
use hob_model::provider::{ModelCheck, NoSink, Provider, Request};
use hob_model::refused_parameters::{NoParameterStore, RefusedParameterStore, RefusedParameters};
use hob_model::settings::{Deadlines, Settings, Tuning};
use hob_testkit::dialect::{self, Shown, asking_plainly as asking, let_go, stalled, through};
use hob_testkit::fake_model::{FakeModel, Gate, Reply, Script};
use proptest::prelude::*;
use serde_json::{Value, json};

fn deadlines() -> Deadlines {
    let long = Duration::from_secs(60);
    Deadlines { connect: long, first_event: long, between_events: long }
}

fn settings(base_url: &str) -> Settings {
    Settings { api_key: Some(Secret::new("sk-test".to_owned())), ..dialect::settings(base_url, "fake") }
}

fn provider_at(base_url: &str) -> OpenAi {
    OpenAi::new(settings(base_url), &PLAIN, Arc::new(NoParameterStore)).unwrap()
}

/// One reply of the fake, as the provider understands it, and what was streamed.
async fn heard(reply: impl Into<Reply>) -> (Result<Completion, ModelError>, String) {
    let fake = FakeModel::start().await;
    fake.reply(reply.into());
    let outcome = dialect::heard(&provider_at(&fake.base_url()), &asking("Hi")).await;
    assert_eq!(fake.refused(), Vec::<String>::new());
    assert_eq!(fake.requests().len(), 1, "no retries");
    outcome
}

#[tokio::test]
async fn a_reply_is_streamed_and_answered_whole() {
    let fake = FakeModel::start().await;
    fake.require_key("sk-test").reply(Reply::text("Hello, dear world."));
    let shown = Shown::default();
    let provider = provider_at(&format!("{}/", fake.base_url()));
    let completion = provider.complete(&asking("Hi"), &shown).await.unwrap();
    assert_eq!(completion.text(), "Hello, dear world.");
    assert_eq!(shown.text(), completion.text());
    assert_eq!(completion.stop, StopReason::End);
    assert_eq!(completion.usage, Usage { input_tokens: 11, output_tokens: 7, cached_tokens: 3, ..Usage::default() });
    assert_eq!(provider.label(), "test/fake");
    insta::assert_snapshot!(fake.requests()[0].body, @r#"{"messages":[{"content":"Be brief.","role":"system"},{"content":"Hi","role":"user"}],"model":"fake","stream":true,"stream_options":{"include_usage":true},"tools":[{"function":{"description":"Looks.","name":"current_time","parameters":{"properties":{},"type":"object"}},"type":"function"},{"function":{"description":"Looks.","name":"recall","parameters":{"properties":{},"type":"object"}},"type":"function"}]}"#);
}

#[tokio::test]
async fn text_comes_while_it_is_written() {
    let fake = FakeModel::start().await;
    let gate = Gate::default();
    fake.reply(Script::default().text("Hello").gate(&gate).text(" there").finish("length").into());
    let (before, completion) = through(provider_at(&fake.base_url()), &gate).await;
    assert_eq!(before, "Hello");
    assert_eq!((&*completion.text(), completion.stop), ("Hello there", StopReason::MaxTokens));
}

#[tokio::test]
async fn pieces_of_any_length_make_the_same_reply() {
    for len in [1, 2, 3, 7, 64] {
        let script = Script::default().words("Grüße aus Köln <think>hm, 東京</think>und 東京 🎉");
        let script = script.fragment(0, Some("a"), Some("recall"), "{\"query\":\"Kö").fragment(0, None, None, "ln\"}");
        let (outcome, shown) = heard(script.finish("tool_calls").in_pieces(len)).await;
        let completion = outcome.unwrap();
        assert_eq!(completion.text(), "Grüße aus Köln und 東京 🎉");
        assert_eq!(shown, completion.text());
        assert_eq!(completion.calls().next().unwrap().arguments, "{\"query\":\"Köln\"}");
    }
}

#[tokio::test]
async fn parallel_calls_are_understood() {
    let calls = [("recall", "{\"query\":\"x\"}"), ("current_time", ""), ("recall", "{}")];
    let completion = heard(Reply::calls(&calls)).await.0.unwrap();
    let seen: Vec<_> = completion.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(seen, [("recall", "{\"query\":\"x\"}"), ("current_time", "{}"), ("recall", "{}")]);
    assert_eq!(completion.stop, StopReason::End);
}

#[tokio::test]
async fn servers_without_usage_work() {
    let fake = FakeModel::start().await;
    fake.never_tell_usage().reply(Reply::text("ok"));
    let completion = provider_at(&fake.base_url()).complete(&asking("Hi"), &NoSink).await.unwrap();
    assert_eq!((&*completion.text(), completion.usage), ("ok", Usage::default()));
}

/// Remembers for as long as the test lasts.
#[derive(Default)]
struct Notes(Mutex<BTreeMap<String, RefusedParameters>>);

impl RefusedParameterStore for Notes {
    fn load(&self, place: &str) -> RefusedParameters {
        self.0.lock().unwrap().get(place).cloned().unwrap_or_default()
    }

    fn learned(&self, place: &str, learned: &RefusedParameters) {
        self.0.lock().unwrap().insert(place.to_owned(), learned.clone());
    }
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_at_once_and_from_then_on() {
    let fake = FakeModel::start().await;
    for name in ["stream_options", "temperature", "max_tokens", "reasoning_effort"] {
        fake.refuse_parameter(name);
    }
    fake.otherwise(|_| Reply::text("ok"));
    let notes = Arc::new(Notes::default());
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(99), effort: Some(Effort::Low) };
    for _restart in 0..2 {
        let settings = Settings { tuning, ..settings(&fake.base_url()) };
        let provider = OpenAi::new(settings, &PLAIN, notes.clone()).unwrap();
        for _call in 0..2 {
            let completion = provider.complete(&asking("Hi"), &NoSink).await.unwrap();
            assert_eq!((&*completion.text(), completion.usage), ("ok", Usage::default()));
        }
    }
    assert_eq!(fake.requests().len(), 4, "the refused ones are not counted");
    assert_eq!(fake.turned_away(), 4, "each is refused once");
    assert_eq!(fake.requests()[3].body["max_completion_tokens"], 99);
}

#[tokio::test]
async fn a_model_that_takes_no_tools_while_it_thinks_is_told_not_to() {
    let fake = FakeModel::start().await;
    fake.otherwise(|_| Reply::text("ok"));
    let without_tools = Request { tools: Vec::new().into(), ..asking("Hi") };
    for effort in [None, Some(Effort::High)] {
        let tuning = Tuning { effort, ..Tuning::default() };
        let settings = Settings { model: "gpt-6-luna".to_owned(), tuning, ..settings(&fake.base_url()) };
        let provider = OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).unwrap();
        for asked in [&asking("Hi"), &asking("Hi"), &without_tools] {
            provider.complete(asked, &NoSink).await.unwrap();
        }
        let sent: Vec<Value> = fake.requests().iter().map(|asked| asked.body["reasoning_effort"].clone()).collect();
        let alone = effort.map_or(Value::Null, |_| json!("high"));
        assert_eq!(sent[sent.len() - 3..], [json!("none"), json!("none"), alone]);
    }
    assert_eq!(fake.refused().len(), 2, "each provider is refused once");
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_not_asked_for_ever() {
    let fake = FakeModel::start().await;
    for name in ["stream_options", "temperature", "max_tokens", "max_completion_tokens", "reasoning_effort"] {
        fake.refuse_parameter(name);
    }
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(99), effort: Some(Effort::Low) };
    let settings = Settings { tuning, ..settings(&fake.base_url()) };
    let provider = OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).unwrap();
    let error = provider.complete(&asking("Hi"), &NoSink).await.unwrap_err();
    assert_eq!((error.class, fake.turned_away()), (ErrorClass::BadRequest, 5));
}

#[tokio::test]
async fn the_list_of_models_is_asked_without_a_call() {
    let fake = FakeModel::start().await;
    let checked = async |model: &str| {
        let settings = Settings { model: model.to_owned(), ..settings(&fake.base_url()) };
        OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).unwrap().check().await.unwrap()
    };
    assert_eq!(checked("fake").await, ModelCheck::default(), "a server without a list");
    fake.models(json!([{"id": "fake", "max_model_len": 4096}, {"id": "org/fake"}]));
    assert_eq!(checked("fake").await, ModelCheck { listed: Some(true), context_tokens: Some(4096) });
    assert_eq!(checked("org/fake").await, ModelCheck { listed: Some(true), context_tokens: None });
    assert_eq!(checked("fake-latest").await, ModelCheck { listed: Some(true), context_tokens: None });
    for unknown in ["other", "org/other", "../etc", "a?b"] {
        assert_eq!(checked(unknown).await, ModelCheck { listed: Some(false), context_tokens: None }, "{unknown}");
    }
    let error = provider_at("http://127.0.0.1:1/v1").check().await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
}

#[tokio::test]
async fn refusals_get_their_class_and_are_not_retried() {
    let cases = [
        (401, ErrorClass::Auth),
        (402, ErrorClass::Billing),
        (404, ErrorClass::UnknownModel),
        (429, ErrorClass::RateLimit),
        (500, ErrorClass::Server),
        (503, ErrorClass::Overloaded),
    ];
    for (status, class) in cases {
        let error = heard(Reply::status(status).header("retry-after", "7")).await.0.unwrap_err();
        assert_eq!(error.class, class, "{status}");
        let waits = status >= 429;
        assert_eq!(error.retry_after, waits.then_some(Duration::from_secs(7)), "{status}");
        assert!(!error.message.contains("sk-"), "{error}");
    }
}

/// An event as it is written, with these words.
fn event(words: &str) -> Vec<u8> {
    let words = words.repeat(200);
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n").into_bytes()
}

fn many_calls(count: usize) -> Script {
    let call = |script: Script, index| script.fragment(index, Some(&format!("c{index}")), Some("recall"), "{}");
    (0..count).fold(Script::default(), call)
}

#[tokio::test]
async fn odd_streams_are_understood() {
    let text = |words: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}");
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
    let raw = |stream: &str| Script::default().raw(stream.as_bytes());
    let cases = [
        ("comments and pings", raw(&format!(": hi\n\nevent: ping\ndata: {{}}\n\n{}\n\n{end}\n\n", text("ok")))),
        ("CRLF", raw(&format!("{}\r\n\r\n{end}\r\n\r\n", text("ok")))),
        ("no space, ids, retries", raw(&format!("id: 1\nretry: 5\n{}\n\n{end}\n\n", text("ok").replace(": ", ":")))),
        ("other answers", raw(&format!("data: {{\"choices\":[]}}\n\n{}\n\n{end}\n\n", text("ok")))),
        // A proxy that buffers sends all at once, with what comes after the end.
        ("buffered", raw(&format!("{}\n\n{end}\n\ndata: [DONE]\n\n", text("ok")))),
    ];
    for (name, script) in cases {
        assert_eq!(heard(script).await.0.map(|said| said.text().into_owned()), Ok("ok".to_owned()), "{name}");
    }
}

#[tokio::test]
async fn calls_of_every_kind_stay_apart() {
    let script = Script::default()
        .fragment(0, Some("same"), Some("no such tool!"), "{\"a\":1}")
        .fragment(1, Some("same"), Some("recall"), "{\"b\":")
        .fragment(2, Some(""), Some(""), "not json")
        .fragment(1, None, None, "2}");
    let completion = heard(script.finish("tool_calls")).await.0.unwrap();
    let seen: Vec<_> = completion.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(seen, [("no such tool!", "{\"a\":1}"), ("recall", "{\"b\":2}"), ("", "not json")]);
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    let script = Script::default()
        .text("Let me look.")
        .fragment(0, Some("a"), Some("recall"), "{\"query\":\"x\"}")
        .fragment(1, Some("b"), Some("recall"), "{\"query\":\"")
        .fragment(2, Some("c"), Some("recall"), "");
    let completion = heard(script.finish("length")).await.0.unwrap();
    let seen: Vec<_> = completion.calls().map(|call| call.arguments.as_str()).collect();
    assert_eq!((seen, completion.stop), (vec!["{\"query\":\"x\"}"], StopReason::MaxTokens));
}

#[tokio::test]
async fn what_is_no_stream_is_an_error() {
    let json = "application/json";
    let cases: Vec<(&str, Reply, ErrorClass)> = vec![
        ("web page", Reply::html(), ErrorClass::Malformed),
        ("error with 200", Reply::http(200, json, r#"{"error":{"code":402,"message":"x"}}"#), ErrorClass::Billing),
        ("whole reply", Reply::http(200, json, r#"{"choices":[{"message":{}}]}"#), ErrorClass::Malformed),
        (
            "redirect",
            Reply::http(302, "text/html", "").header("location", "http://127.0.0.1:1/"),
            ErrorClass::BadRequest,
        ),
        ("nothing", Script::default().into(), ErrorClass::Malformed),
        ("only the end", Script::default().raw(b"data: [DONE]\n\n").into(), ErrorClass::Malformed),
        ("no words", Reply::text(""), ErrorClass::Malformed),
        ("cut at once", Script::default().cut().into(), ErrorClass::Network),
        ("cut", Script::default().text("Hel").cut().into(), ErrorClass::Network),
        ("cut in an event", Script::default().text("Hel").raw(b"data: {\"cho").cut().into(), ErrorClass::Network),
        ("no end", Script::default().text("Hel").into(), ErrorClass::Network),
        ("garbage", Script::default().raw(b"data: {nonsense\n\n").finish("stop").into(), ErrorClass::Malformed),
        ("other JSON", Script::default().raw(b"data: [1]\n\n").finish("stop").into(), ErrorClass::Malformed),
        ("bytes", Script::default().raw(&[0xff, 0xfe, b'\n', b'\n']).into(), ErrorClass::Malformed),
        ("white space", Script::default().raw(&[b' '; 10_000_000]).into(), ErrorClass::Malformed),
        ("empty lines", Script::default().raw(&[b'\n'; 10_000_000]).into(), ErrorClass::Malformed),
        (
            "cut at the limit",
            Script::default().fragment(0, Some("a"), Some("recall"), "{\"q").finish("length").into(),
            ErrorClass::Malformed,
        ),
        ("a thousand calls", many_calls(1000).finish("tool_calls").into(), ErrorClass::Malformed),
        ("a flood of words", Script::default().raw(&event("x").repeat(45_000)).into(), ErrorClass::Malformed),
        (
            "late error",
            Script::default().text("Hel").raw(b"data: {\"error\":{\"code\":502}}\n\n").into(),
            ErrorClass::Server,
        ),
        ("withheld", Script::default().finish("content_filter").into(), ErrorClass::Refused),
    ];
    for (name, reply, class) in cases {
        let error = heard(reply).await.0.unwrap_err();
        assert_eq!(error.class, class, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_reply_that_breaks_after_its_end_counts() {
    let end = br#"data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
    let script = Script::default().raw(end).raw(b"\n\n");
    for script in [script.clone().cut(), script.clone().raw(b"data: {nonsense\n\n"), script] {
        assert_eq!(heard(script).await.0.unwrap().text(), "ok");
    }
}

#[tokio::test]
async fn nobody_listening_is_told() {
    let fake = FakeModel::start().await;
    let base_url = fake.base_url();
    drop(fake);
    let error = provider_at("http://127.0.0.1:1/v1").complete(&asking("Hi"), &NoSink).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network, "{error} {base_url}");
    insta::assert_snapshot!(error, @"127.0.0.1 cannot be reached: is the network up, is it running?");
}

#[tokio::test]
async fn dropping_the_call_drops_the_stream() {
    let fake = FakeModel::start().await;
    fake.reply(Script::default().text("Hello").stall().into());
    let_go(&provider_at(&fake.base_url())).await;
    fake.dropped(1).await;
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let deadlines = Deadlines { connect: minutes(90), first_event: minutes(20), between_events: minutes(10) };
    let patient = Deadlines { connect: minutes(90), first_event: minutes(90), between_events: minutes(90) };
    let begun = || Script::default().text("Hel");
    let cases = [
        (Script::default(), deadlines, "The model did not answer in time.", 20),
        (begun(), deadlines, "The model fell silent during its reply.", 10),
        // However long it may be silent: in all it has half an hour.
        (begun(), patient, "The model did not come to an end.", 30),
    ];
    for (script, deadlines, message, after) in cases {
        let fake = FakeModel::start().await;
        let gate = Gate::default();
        fake.reply(script.gate(&gate).into());
        let settings = Settings { deadlines, ..settings(&fake.base_url()) };
        let provider = OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).unwrap();
        let (outcome, waited) = stalled(provider, &gate).await;
        let error = outcome.unwrap_err();
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, message));
        assert!(waited.as_secs().abs_diff(after * 60) < 60, "{waited:?}");
    }
}

#[test]
fn bad_settings_are_told_before_anything_is_sent() {
    let with = |base_url: &str, key: &str| {
        let settings = Settings { api_key: Some(Secret::new(key.to_owned())), ..settings(base_url) };
        OpenAi::new(settings, &PLAIN, Arc::new(NoParameterStore)).map(|_| ()).map_err(|error| error.class)
    };
    assert_eq!(with("api.openai.com/v1", "sk-x"), Err(ErrorClass::BadRequest));
    assert_eq!(with("ftp://host/v1", "sk-x"), Err(ErrorClass::BadRequest));
    assert_eq!(with("https://host/v1", "sk-\nx"), Err(ErrorClass::Auth));
    assert_eq!(with(" https://host/v1/ ", "sk-x\n"), Ok(()));
}

#[tokio::test]
async fn an_ollama_that_answers_is_taken() {
    let fake = FakeModel::start().await;
    let at = |host: String| move |name: &str| (name == "OLLAMA_HOST").then(|| host.clone());
    let nowhere = OllamaAddress::parse("127.0.0.1:1").unwrap();
    let found = discover(None, &at(fake.address().to_owned()), &nowhere).await.unwrap();
    assert_eq!(found.source, DiscoverySource::Fallback, "a server without models");
    fake.tags(r#"{"models":[{"name":"llama3.2:latest","modified_at":"2025-01-01T00:00:00Z"}]}"#);
    let found = discover(None, &at(fake.address().to_owned()), &nowhere).await.unwrap();
    assert_eq!((found.source, found.label.as_str()), (DiscoverySource::Ollama, "ollama/llama3.2:latest"));
    let remember: Arc<dyn RefusedParameterStore> = Arc::new(NoParameterStore);
    assert_eq!(
        found.provider(deadlines(), &remember, &ModelTable::new(&BTreeMap::new()).unwrap()).unwrap().label(),
        found.label
    );
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = prop_oneof![Just(String::new()), "[ a-zé]{1,3}"];
    let id = prop_oneof![Just("0.0"), Just("0.1"), Just("1.0")].prop_map(|id| CallId(id.to_owned()));
    let call = (id.clone(), ".{0,3}", ".{0,3}").prop_map(|(id, name, arguments)| ToolCall { id, name, arguments });
    prop_oneof![
        text.clone().prop_map(Message::user),
        (text.clone(), proptest::collection::vec(call, 0..3)).prop_map(|(text, calls)| Message::assistant(text, calls)),
        (id, text).prop_map(|(call, text)| {
            Message::Tool(ToolResult { call, name: "x".to_owned(), text, is_error: false })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_history_is_taken_by_the_strict_server(messages in proptest::collection::vec(any_message(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fake = FakeModel::start().await;
            fake.reply(Reply::text("ok"));
            let request = Request { messages, ..asking("") };
            let outcome = provider_at(&fake.base_url()).complete(&request, &NoSink).await;
            prop_assert_eq!(outcome.map(|completion| completion.text().into_owned()), Ok("ok".to_owned()));
            prop_assert_eq!(fake.refused(), Vec::<String>::new());
            Ok(())
        })?;
    }
}
