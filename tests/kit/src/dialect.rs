//! What the tests of every dialect share: settings, requests, a sink that remembers, and any history.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hob_core::domain::ids::CallId;
use hob_model::error::ModelError;
use hob_model::message::{Completion, Image, MediaType, Message, ReplyPart, Sealed, ToolCall, ToolResult, UserPart};
use hob_model::provider::{NoSink, Provider, Request, Sink, ToolSchema};
use hob_model::settings::{Deadlines, Settings, Tuning};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stream::Gate;
use crate::validate::sample;

/// Keeps what is streamed.
#[derive(Default)]
pub struct Shown {
    text: Mutex<String>,
    pub more: Notify,
}

impl Shown {
    pub fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }
}

impl Sink for Shown {
    fn delta(&self, text: &str) {
        self.text.lock().unwrap().push_str(text);
        self.more.notify_one();
    }
}

/// A model at this address, with time for everything.
pub fn settings(base_url: &str, model: &str) -> Settings {
    let long = Duration::from_secs(60);
    Settings {
        base_url: base_url.to_owned(),
        api_key: None,
        model: model.to_owned(),
        label: format!("test/{model}"),
        deadlines: Deadlines { connect: long, first_event: long, between_events: long },
        tuning: Tuning::default(),
        sees_images: true,
        context_tokens: None,
    }
}

/// A request with this history and two tools.
pub fn asking(messages: Vec<Message>) -> Request {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Args", "type": "object",
            "properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": {"type": ["string", "null"]}},
        }),
    };
    Request {
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![tool("current_time"), tool("look")].into(),
        ..Request::default()
    }
}

/// A request with these words, and two tools that take nothing.
pub fn asking_plainly(text: &str) -> Request {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {}}),
    };
    Request { tools: vec![tool("current_time"), tool("recall")].into(), ..asking(vec![Message::user(text)]) }
}

/// Asks; answers with what came and what was streamed.
pub async fn heard(provider: &dyn Provider, request: &Request) -> (Result<Completion, ModelError>, String) {
    let shown = Shown::default();
    let outcome = provider.complete(request, &shown).await;
    (outcome, shown.text())
}

/// The history after a reply and what came of its calls, and the next words of the user.
pub fn answered(mut history: Vec<Message>, reply: &Completion, next: Option<&str>) -> Vec<Message> {
    history.push(Message::Assistant { parts: reply.parts.clone() });
    for call in reply.calls() {
        let (call, name) = (call.id.clone(), call.name.clone());
        history.push(Message::Tool(ToolResult { call, name, text: "seen".to_owned(), is_error: false }));
    }
    history.extend(next.map(Message::user));
    history
}

/// Has a conversation of three requests, with a call in the first reply and words of the user after the second.
pub async fn converse(provider: &dyn Provider) {
    let mut history = vec![Message::user("Hi")];
    for next in [None, Some("More"), None] {
        let completion = provider.complete(&asking(history.clone()), &NoSink).await.unwrap();
        history = answered(history, &completion, next);
    }
}

/// Is each of these lists the one before it, with more behind?
pub fn is_growing(lists: &[&Vec<Value>]) -> bool {
    lists.windows(2).all(|pair| pair[1].starts_with(pair[0]))
}

/// Holds the clock once the stream stands before the gate: the next deadline is then the only thing left to happen.
pub async fn stalled(provider: impl Provider + 'static, gate: &Gate) -> (Result<Completion, ModelError>, Duration) {
    let task = tokio::spawn(async move { provider.complete(&asking(vec![Message::user("Hi")]), &NoSink).await });
    gate.reached().await;
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let outcome = task.await.unwrap();
    let waited = start.elapsed();
    tokio::time::resume();
    (outcome, waited)
}

/// What is shown of a reply while its stream stands before the gate, and the whole of it.
pub async fn through(provider: impl Provider + 'static, gate: &Gate) -> (String, Completion) {
    let shown = Arc::new(Shown::default());
    let sink = Arc::clone(&shown);
    let task = tokio::spawn(async move { provider.complete(&asking(vec![Message::user("Hi")]), sink.as_ref()).await });
    shown.more.notified().await;
    let before = shown.text();
    gate.open();
    (before, task.await.unwrap().unwrap())
}

/// Lets go of a call once something of its reply is shown.
pub async fn let_go(provider: &dyn Provider) {
    let (shown, request) = (Shown::default(), asking(vec![Message::user("Hi")]));
    tokio::select! {
        outcome = provider.complete(&request, &shown) => panic!("{outcome:?}"),
        () = shown.more.notified() => {}
    }
}

/// Any message, legal or not; seals are of the model with this label, or of another.
pub fn any_message(label: &'static str, kinds: &'static [&'static str]) -> impl Strategy<Value = Message> {
    let text = || prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[ a-zé]{1,3}"];
    let id = || prop_oneof![Just("0.0"), Just("0.1"), Just("1.0"), Just("")].prop_map(|id| CallId(id.to_owned()));
    let arguments = prop_oneof![Just("{\"at\":\"x\"}".to_owned()), ".{0,3}"];
    let call = (id(), ".{0,3}", arguments).prop_map(|(id, name, arguments)| ToolCall { id, name, arguments });
    let sealed =
        (prop_oneof![Just(label), Just("other/model")], proptest::sample::select(kinds)).prop_map(|(model, kind)| {
            Sealed { model: model.to_owned(), kind: kind.to_owned(), data: "U2VhbA==".to_owned() }
        });
    let media = proptest::sample::select(vec![MediaType::Jpeg, MediaType::Png, MediaType::Gif, MediaType::WebP]);
    let image = media.prop_map(|media_type| UserPart::Image(Image::new(media_type, sample(media_type.as_str()))));
    let user_part = prop_oneof![3 => text().prop_map(UserPart::text), 1 => image];
    let reply_part = prop_oneof![
        text().prop_map(ReplyPart::text),
        call.prop_map(ReplyPart::Call),
        sealed.prop_map(ReplyPart::Sealed),
    ];
    prop_oneof![
        proptest::collection::vec(user_part, 0..3).prop_map(|parts| Message::User { parts }),
        proptest::collection::vec(reply_part, 0..5).prop_map(|parts| Message::Assistant { parts }),
        (id(), text(), any::<bool>()).prop_map(|(call, text, is_error)| {
            Message::Tool(ToolResult { call, name: "x".to_owned(), text, is_error })
        }),
    ]
}
