//! The Anthropic dialect, and the exchange that it shares with others, against a strict fake.

mod broken;

use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;
use hob_core::domain::secret::Secret;
use hob_model::anthropic::Anthropic;
use hob_model::error::{ErrorClass, ModelError};
use hob_model::message::{
    Completion, Image, MediaType, Message, ReplyPart, Sealed, StopReason, ToolCall, ToolResult, Usage, UserPart,
};
use hob_model::provider::{ModelCheck, NoSink, Provider, Request, ToolChoice};
use hob_model::settings::{Settings, Tuning};
use hob_testkit::dialect::{self, Shown, asking_plainly as asking, through};
use hob_testkit::fake_anthropic::params::breakpoints;
use hob_testkit::fake_anthropic::{FakeAnthropic, ReceivedRequest, Reply, Script};
use hob_testkit::histories::{histories, switched, trimmed};
use hob_testkit::served::Served;
use hob_testkit::stream::Gate;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// One of those that write the arbitrary histories.
const LABEL: &str = "anthropic/two";

fn settings(base_url: &str) -> Settings {
    let api_key = Some(Secret::new("sk-ant-test".to_owned()));
    Settings { api_key, label: LABEL.to_owned(), ..dialect::settings(base_url, "claude-haiku-4-5") }
}

fn provider_at(base_url: &str) -> Anthropic {
    Anthropic::new(settings(base_url)).unwrap()
}

/// A provider that thinks before it speaks.
fn thinker_at(base_url: &str, model: &str) -> Anthropic {
    let tuning = Tuning { effort: Some(Effort::Low), ..Tuning::default() };
    Anthropic::new(Settings { model: model.to_owned(), tuning, ..settings(base_url) }).unwrap()
}

fn result(call: &ToolCall, text: &str) -> Message {
    let (call, name) = (call.id.clone(), call.name.clone());
    Message::Tool(ToolResult { call, name, text: text.to_owned(), is_error: false })
}

/// One reply of the fake, as the provider understands it, and what was streamed.
async fn heard(reply: impl Into<Reply>) -> (Result<Completion, ModelError>, String) {
    let fake = FakeAnthropic::start().await;
    fake.reply(reply);
    let outcome = dialect::heard(&provider_at(&fake.base_url()), &asking("Hi")).await;
    assert_eq!(fake.refused(), Vec::<String>::new());
    assert_eq!(fake.requests().len(), 1, "no retries");
    outcome
}

#[tokio::test]
async fn a_reply_is_streamed_and_answered_whole() {
    let fake = FakeAnthropic::start().await;
    fake.require_key("sk-ant-test").reply(Reply::text("Hello, dear world."));
    let shown = Shown::default();
    let provider = provider_at(&format!("{}/v1/", fake.base_url()));
    let completion = provider.complete(&asking("Hi"), &shown).await.unwrap();
    assert_eq!((&*completion.text(), completion.stop), ("Hello, dear world.", StopReason::End));
    assert_eq!(shown.text(), completion.text());
    let usage =
        Usage { input_tokens: 19, output_tokens: 7, cached_tokens: 3, cache_write_tokens: 5, reasoning_tokens: 0 };
    assert_eq!(completion.usage, usage);
    assert_eq!(provider.label(), LABEL);
    insta::assert_snapshot!(fake.requests()[0].raw, @r#"{"model":"claude-haiku-4-5","max_tokens":8192,"stream":true,"tools":[{"name":"current_time","description":"Looks.","input_schema":{"properties":{},"type":"object"}},{"name":"recall","description":"Looks.","input_schema":{"properties":{},"type":"object"}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]}"#);
}

#[tokio::test]
async fn text_comes_while_it_is_written() {
    let fake = FakeAnthropic::start().await;
    let gate = Gate::default();
    fake.reply(Script::begin().words("Hello").gate(&gate).words(" there").finish("max_tokens"));
    let (before, completion) = through(provider_at(&fake.base_url()), &gate).await;
    assert_eq!(before, "Hello");
    assert_eq!((&*completion.text(), completion.stop), ("Hello there", StopReason::MaxTokens));
}

#[tokio::test]
async fn pieces_of_any_length_make_the_same_reply() {
    for len in 1..=7 {
        let script = Script::begin().words("Grüße aus <think>hm, 東京</think>Köln 🎉");
        let script = script.call("recall", "{\"query\":\"Köln 東京\"}").finish("tool_use");
        let (outcome, shown) = heard(script.in_pieces(len)).await;
        let completion = outcome.unwrap();
        assert_eq!(completion.text(), "Grüße aus Köln 🎉", "by {len}");
        assert_eq!(shown, completion.text());
        assert_eq!(completion.calls().next().unwrap().arguments, "{\"query\":\"Köln 東京\"}");
    }
}

#[tokio::test]
async fn parallel_calls_are_understood_even_interleaved_and_with_one_id() {
    let calls = [("recall", "{\"query\":\"x\"}"), ("current_time", ""), ("recall", "{}")];
    let seen = |completion: &Completion| -> Vec<(String, String)> {
        completion.calls().map(|call| (call.name.clone(), call.arguments.clone())).collect()
    };
    let expected = [("recall", "{\"query\":\"x\"}"), ("current_time", "{}"), ("recall", "{}")]
        .map(|(name, arguments)| (name.to_owned(), arguments.to_owned()));
    assert_eq!(seen(&heard(Reply::calls(&calls)).await.0.unwrap()), expected);
    let block = |name: &str| json!({"type": "tool_use", "id": "toolu_same", "name": name, "input": {}});
    let script = Script::begin().start(0, &block("recall")).start(1, &block("current_time")).start(2, &block("recall"));
    let script = script.input(0, "{\"query\"").input(2, "{").input(0, ":\"x\"}").input(1, "").input(2, "}");
    let script = script.stop(2).stop(0).stop(1).finish("tool_use");
    assert_eq!(seen(&heard(script).await.0.unwrap()), expected);
}

#[tokio::test]
async fn a_forced_choice_is_passed_on() {
    let fake = FakeAnthropic::start().await;
    fake.otherwise(|_| Reply::call("recall", "{}"));
    for model in ["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5-5"] {
        let provider = thinker_at(&fake.base_url(), model);
        for tool_choice in [ToolChoice::Tool { name: "recall".to_owned() }, ToolChoice::Any, ToolChoice::None] {
            provider.complete(&Request { tool_choice, ..asking("Hi") }, &NoSink).await.unwrap();
        }
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let choices: Vec<_> = fake.requests().iter().map(|asked| asked.body["tool_choice"]["type"].clone()).collect();
    let forced = ["tool", "any", "none", "tool", "any", "none"].map(Value::from);
    assert_eq!(choices, [&forced[..], &[Value::Null, Value::Null, json!("none")]].concat());
}

#[tokio::test]
async fn pictures_are_sent() {
    let fake = FakeAnthropic::start().await;
    fake.otherwise(|_| Reply::text("A cat."));
    let image = Image::new(MediaType::Png, "iVBORw0KGgo=");
    let parts = vec![UserPart::text("What is it?"), UserPart::Image(image)];
    let request = Request { messages: vec![Message::User { parts }], ..asking("") };
    provider_at(&fake.base_url()).complete(&request, &NoSink).await.unwrap();
    let blind = Settings { sees_images: false, ..settings(&fake.base_url()) };
    Anthropic::new(blind).unwrap().complete(&request, &NoSink).await.unwrap();
    assert_eq!(fake.refused(), Vec::<String>::new());
    let requests = fake.requests();
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(requests[0].blocks(0)[1]["source"], source);
    assert!(!requests[1].raw.contains("iVBOR"), "{}", requests[1].raw);
}

#[tokio::test]
async fn e12_thinking_is_given_back_as_it_came_and_shown_to_nobody() {
    let fake = FakeAnthropic::start().await;
    let thought = Script::begin().thinking("The user\n\"東京\"…", "Eq/+==").redacted("Zm9v+/=");
    fake.reply(thought.words("Let me see.").call("recall", "{\"query\":\"x\"}").finish("tool_use"));
    fake.reply(Script::begin().thinking("Now I know.", "Sg==").words("Done.").finish("end_turn"));
    fake.reply(Reply::text("Yes?"));
    let provider = thinker_at(&fake.base_url(), "claude-haiku-4-5");
    let shown = Shown::default();
    let mut request = asking("Hi");
    let first = provider.complete(&request, &shown).await.unwrap();
    let call = first.calls().next().unwrap().clone();
    request.messages.extend([Message::Assistant { parts: first.parts }, result(&call, "seen")]);
    let second = provider.complete(&request, &shown).await.unwrap();
    assert_eq!(shown.text(), "Let me see.Done.");
    let thinking = r#"{"signature":"Eq/+==","thinking":"The user\n\"東京\"…","type":"thinking"}"#;
    let redacted = r#"{"data":"Zm9v+/=","type":"redacted_thinking"}"#;
    let raw = |at: usize| fake.requests()[at].raw.clone();
    assert!(raw(1).contains(&format!("[{thinking},{redacted},{{\"type\":\"text\"")), "{}", raw(1));
    // In the next turn the run is archived, and its thinking is over.
    request.messages.push(Message::Assistant { parts: second.parts });
    request.stable = request.messages.len();
    request.messages.push(Message::user("And?"));
    provider.complete(&request, &NoSink).await.unwrap();
    assert!(raw(2).contains("Done.") && !raw(2).contains("signature"), "{}", raw(2));
    assert_eq!(fake.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn thinking_survives_a_tail_that_changes_with_each_turn() {
    let fake = FakeAnthropic::start().await;
    let provider = thinker_at(&fake.base_url(), "claude-opus-5-5");
    let mut archive = Vec::new();
    for turn in 0..3 {
        let thought = |what: &str| Script::begin().thinking(what, &format!("{what} {turn}"));
        fake.reply(thought("first").call("recall", "{}").finish("tool_use"));
        fake.reply(thought("second").call("recall", "{}").finish("tool_use"));
        fake.reply(thought("third").words("Done.").finish("end_turn"));
        let mut request = Request { stable: archive.len(), messages: archive.clone(), ..asking("") };
        let said = Message::user(format!("said {turn}"));
        request.messages.extend([Message::user(format!("tail {turn}")), said.clone()]);
        let mut run = vec![said];
        for step in 0..3 {
            let reply = provider.complete(&request, &NoSink).await.unwrap();
            let results: Vec<_> = reply.calls().map(|call| result(call, "seen")).collect();
            let steer = (step == 1).then(|| Message::user("Quick!"));
            let said = [Message::Assistant { parts: reply.parts }].into_iter().chain(results).chain(steer);
            let said: Vec<_> = said.collect();
            request.messages.extend(said.clone());
            run.extend(said);
        }
        archive.extend(run);
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let thoughts: Vec<_> = fake.requests().iter().map(|asked| asked.raw.matches("signature").count()).collect();
    assert_eq!(thoughts, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[tokio::test]
async fn e12_a_run_that_another_model_began_is_gone_on_with() {
    let fake = FakeAnthropic::start().await;
    fake.otherwise(|_| Reply::text("ok"));
    let call = ToolCall { id: CallId::new(0, 0), name: "recall".to_owned(), arguments: "{}".to_owned() };
    let (model, kind) = ("google/gemini".to_owned(), "thought_signature".to_owned());
    let foreign = ReplyPart::Sealed(Sealed { model, kind, data: "SECRET".to_owned() });
    let parts = vec![foreign, ReplyPart::Call(call.clone())];
    let messages = vec![Message::user("Hi"), Message::Assistant { parts }, result(&call, "seen")];
    for model in ["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5-5"] {
        let request = Request { messages: messages.clone(), ..asking("") };
        thinker_at(&fake.base_url(), model).complete(&request, &NoSink).await.unwrap();
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let thinking: Vec<_> = fake.requests().iter().map(|asked| asked.body["thinking"]["type"].clone()).collect();
    assert_eq!(thinking, [Value::Null, json!("adaptive"), json!("adaptive")]);
    assert!(fake.requests().iter().all(|asked| !asked.raw.contains("SECRET")));
}

/// The request without its breakpoints.
fn unmarked(asked: &ReceivedRequest) -> String {
    asked.raw.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[tokio::test]
async fn a_turn_begins_as_the_one_before_and_is_marked_for_the_cache() {
    let fake = FakeAnthropic::start().await;
    fake.otherwise(|_| Reply::text("ok"));
    let provider = provider_at(&fake.base_url());
    let call = ToolCall { id: CallId::new(0, 0), name: "recall".to_owned(), arguments: "{ }".to_owned() };
    let mut archive = Vec::new();
    for turn in 0..4 {
        let mut request = asking("");
        let said = Message::user(format!("said {turn}"));
        request.stable = archive.len();
        request.messages = archive.clone();
        request.messages.extend([Message::user(format!("tail {turn}")), said.clone()]);
        provider.complete(&request, &NoSink).await.unwrap();
        request.messages.extend([Message::assistant("", vec![call.clone()]), result(&call, "seen")]);
        provider.complete(&request, &NoSink).await.unwrap();
        let ended =
            [Message::assistant("", vec![call.clone()]), result(&call, "seen"), Message::assistant("ok", vec![])];
        archive.extend([said].into_iter().chain(ended));
    }
    assert_eq!(fake.refused(), Vec::<String>::new());
    let requests = fake.requests();
    for (at, pair) in requests.windows(2).enumerate() {
        let (asked, next) = (unmarked(&pair[0]), unmarked(&pair[1]));
        // Within a run all of it stays but the closing brackets; from turn to turn all up to the tail does.
        let tail = asked.find(&format!("tail {}", at / 2)).unwrap();
        let kept = if at % 2 == 0 { asked.len() - "]}]}".len() } else { tail };
        assert!(next.starts_with(&asked[..kept]), "{asked}\n{next}");
        let marks = breakpoints(&pair[1].body);
        assert!((2..=4).contains(&marks), "{marks} in {}", pair[1].raw);
    }
    // The archive of the last turn ends with a breakpoint, and so do the core and the request.
    let last = requests.last().unwrap();
    let archived = last.raw.find("tail 3").unwrap();
    assert_eq!(breakpoints(&last.body), 3);
    assert_eq!(last.raw[..archived].matches("cache_control").count(), 2, "{}", last.raw);
}

#[tokio::test]
async fn a_model_is_looked_up_without_a_call() {
    let fake = FakeAnthropic::start().await;
    fake.require_key("sk-ant-test");
    let checked = async |model: &str| {
        let settings = Settings { model: model.to_owned(), ..settings(&fake.base_url()) };
        Anthropic::new(settings).unwrap().check().await
    };
    let listed = |listed, context_tokens| Ok(ModelCheck { listed: Some(listed), context_tokens });
    assert_eq!(checked("claude-haiku-4-5").await, listed(true, Some(200_000)));
    assert_eq!(checked("claude-x").await, listed(false, None));
    fake.require_key("another");
    assert_eq!(checked("claude-haiku-4-5").await.unwrap_err().class, ErrorClass::Auth);
    assert_eq!(fake.requests().len(), 0);
    let page = axum::Router::new().fallback(async || axum::response::Html("<p>Please log in"));
    let portal = Served::start(page).await;
    let error = provider_at(&portal.root()).check().await.unwrap_err();
    assert!(error.message.starts_with("There is a web page"), "{error}");
    let error = provider_at("http://127.0.0.1:1").check().await.unwrap_err();
    insta::assert_snapshot!(error, @"127.0.0.1 cannot be reached: is the network up, is it running?");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_history_is_taken_by_the_strict_server(
        messages in prop_oneof![histories(12), trimmed(12), switched(3)],
        stable in 0..12_usize,
        model in select(&["claude-haiku-4-5", "claude-opus-4-6", "claude-opus-5-5"][..]),
        effort in select(&[None, Some(Effort::High)][..]),
        tools in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fake = FakeAnthropic::start().await;
            fake.reply(Reply::text("ok"));
            let mut request = Request { stable: stable.min(messages.len()), messages, ..asking("") };
            request.tools = request.tools[..if tools { 2 } else { 0 }].to_vec().into();
            let tuning = Tuning { effort, ..Tuning::default() };
            let provider = Anthropic::new(Settings { model: model.to_owned(), tuning, ..settings(&fake.base_url()) });
            let outcome = provider.unwrap().complete(&request, &NoSink).await;
            prop_assert_eq!(fake.refused(), Vec::<String>::new());
            prop_assert_eq!(outcome.map(|completion| completion.text().into_owned()), Ok("ok".to_owned()));
            Ok(())
        })?;
    }
}
