//! The OpenAI-compatible provider against a strict fake.

#![expect(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

pub mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hob::domain::ids::CallId;
use hob::domain::secret::Secret;
use hob::model::discover::ollama::OllamaAddress;
use hob::model::discover::{Source, discover};
use hob::model::error::{ErrorClass, ModelError};
use hob::model::message::{Completion, Message, StopReason, ToolCall, ToolResult, Usage};
use hob::model::openai::OpenAi;
use hob::model::provider::{NoSink, Provider, Request, Sink, ToolChoice, ToolSchema};
use hob::model::settings::{Deadlines, Settings, Tuning};
use proptest::prelude::*;
use serde_json::json;
use support::fake_model::{FakeModel, Gate, Reply, Script};
use tokio::sync::Notify;

/// Keeps what is streamed.
#[derive(Default)]
struct Shown {
    text: Mutex<String>,
    more: Notify,
}

impl Shown {
    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

impl Sink for Shown {
    fn delta(&self, text: &str) {
        self.text.lock().unwrap().push_str(text);
        self.more.notify_one();
    }
}

fn deadlines() -> Deadlines {
    let long = Duration::from_secs(60);
    Deadlines { connect: long, first_event: long, between_events: long }
}

fn provider_at(base_url: &str) -> OpenAi {
    OpenAi::new(Settings {
        base_url: base_url.to_owned(),
        api_key: Some(Secret::new("sk-test".to_owned())),
        model: "fake".to_owned(),
        label: "test/fake".to_owned(),
        deadlines: deadlines(),
        tuning: Tuning::default(),
        sees_images: true,
        context_tokens: None,
    })
    .unwrap()
}

fn asking(text: &str) -> Request {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {}}),
    };
    Request {
        system: "Be brief.".to_owned(),
        messages: vec![Message::user(text)],
        stable: 0,
        tools: vec![tool("current_time"), tool("recall")],
        tool_choice: ToolChoice::Auto,
    }
}

/// One reply of the fake, as the provider understands it, and what was streamed.
async fn heard(reply: impl Into<Reply>) -> (Result<Completion, ModelError>, String) {
    let fake = FakeModel::start().await;
    fake.reply(reply.into());
    let shown = Shown::default();
    let outcome = provider_at(&fake.base_url()).complete(&asking("Hi"), &shown).await;
    assert_eq!(fake.refused(), Vec::<String>::new());
    assert_eq!(fake.requests().len(), 1, "no retries");
    (outcome, shown.text())
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
    let shown = Arc::new(Shown::default());
    let task = tokio::spawn({
        let (provider, shown) = (provider_at(&fake.base_url()), Arc::clone(&shown));
        async move { provider.complete(&asking("Hi"), shown.as_ref()).await }
    });
    shown.more.notified().await;
    assert_eq!(shown.text(), "Hello");
    gate.open();
    let completion = task.await.unwrap().unwrap();
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
    fake.refuse_usage().otherwise(|_| Reply::text("ok"));
    let provider = provider_at(&fake.base_url());
    for _ in 0..2 {
        let completion = provider.complete(&asking("Hi"), &NoSink).await.unwrap();
        assert_eq!((&*completion.text(), completion.usage), ("ok", Usage::default()));
    }
    assert_eq!(fake.requests().len(), 2);
    let fake = FakeModel::start().await;
    fake.never_tell_usage().reply(Reply::text("ok"));
    let completion = provider_at(&fake.base_url()).complete(&asking("Hi"), &NoSink).await.unwrap();
    assert_eq!((&*completion.text(), completion.usage), ("ok", Usage::default()));
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
        ("bytes", Script::default().raw(&[0xff, 0xfe, b'\n', b'\n']).into(), ErrorClass::Network),
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
    let shown = Shown::default();
    let provider = provider_at(&fake.base_url());
    let request = asking("Hi");
    tokio::select! {
        outcome = provider.complete(&request, &shown) => panic!("{outcome:?}"),
        () = shown.more.notified() => {}
    }
    fake.dropped(1).await;
}

/// Holds the clock once the stream stands still: the next deadline is then the only thing left to happen.
async fn stalled(script: Script, deadlines: Deadlines) -> (ModelError, Duration) {
    let fake = FakeModel::start().await;
    let gate = Gate::default();
    fake.reply(script.gate(&gate).into());
    let settings = Settings {
        base_url: fake.base_url(),
        api_key: None,
        model: "fake".to_owned(),
        label: "test/fake".to_owned(),
        deadlines,
        tuning: Tuning::default(),
        sees_images: true,
        context_tokens: None,
    };
    let task = tokio::spawn(async move {
        let provider = OpenAi::new(settings).unwrap();
        provider.complete(&asking("Hi"), &NoSink).await.unwrap_err()
    });
    gate.reached().await;
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let error = task.await.unwrap();
    (error, start.elapsed())
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let hours = |n: u64| Duration::from_secs(n * 3600);
    let deadlines = Deadlines { connect: hours(9), first_event: hours(2), between_events: hours(1) };
    let (error, waited) = stalled(Script::default(), deadlines).await;
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, "The model did not answer in time."));
    assert!(waited.as_secs().abs_diff(2 * 3600) < 60, "{waited:?}");
    tokio::time::resume();
    let (error, waited) = stalled(Script::default().text("Hel"), deadlines).await;
    assert_eq!((error.class, error.message.as_str()), (ErrorClass::Timeout, "The model fell silent during its reply."));
    assert!(waited.as_secs().abs_diff(3600) < 60, "{waited:?}");
}

#[test]
fn bad_settings_are_told_before_anything_is_sent() {
    let with = |base_url: &str, key: &str| {
        let settings = Settings {
            base_url: base_url.to_owned(),
            api_key: Some(Secret::new(key.to_owned())),
            model: "fake".to_owned(),
            label: "test/fake".to_owned(),
            deadlines: deadlines(),
            tuning: Tuning::default(),
            sees_images: true,
            context_tokens: None,
        };
        OpenAi::new(settings).map(|_| ()).map_err(|error| error.class)
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
    assert_eq!(found.source, Source::Fallback, "a server without models");
    fake.tags(r#"{"models":[{"name":"llama3.2:latest","modified_at":"2025-01-01T00:00:00Z"}]}"#)
        .reply(Reply::text("ok"));
    let found = discover(None, &at(fake.address().to_owned()), &nowhere).await.unwrap();
    assert_eq!((found.source, found.label.as_str()), (Source::Ollama, "ollama/llama3.2:latest"));
    let provider = found.provider(deadlines()).unwrap();
    assert_eq!(provider.complete(&asking("Hi"), &NoSink).await.unwrap().text(), "ok");
    assert_eq!(fake.requests()[0].authorization, None);
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
