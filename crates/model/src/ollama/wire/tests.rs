use serde_json::json;

use super::*;
use crate::message::{Image, MediaType, Sealed, ToolResult};
use crate::ollama::traits::ShowResponse;
use crate::settings::{Deadlines, Tuning};
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;

const LABEL: &str = "ollama/qwen3";

fn settings() -> Settings {
    Settings {
        base_url: "http://127.0.0.1:11434".to_owned(),
        api_key: None,
        model: "qwen3".to_owned(),
        label: LABEL.to_owned(),
        deadlines: Deadlines::default(),
        tuning: Tuning::default(),
        sees_images: true,
        context_tokens: Some(8192),
    }
}

fn traits(capabilities: &Value) -> Traits {
    let info = json!({"general.architecture": "qwen3", "qwen3.context_length": 40_960});
    let shown: ShowResponse =
        serde_json::from_value(json!({"model_info": info, "capabilities": capabilities})).unwrap();
    Traits::of(&shown)
}

fn request(messages: Vec<Message>) -> Request {
    let tool = ToolSchema {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {}}),
    };
    Request { system: " Be brief.\n".to_owned(), messages, tools: vec![tool].into(), ..Request::default() }
}

fn body(settings: &Settings, traits: Traits, request: &Request) -> Value {
    serde_json::to_value(ChatRequest::new(settings, traits, request)).unwrap()
}

fn call(at: usize) -> ToolCall {
    ToolCall { id: CallId::new(0, at), name: "look".to_owned(), arguments: format!("{{\"at\":{at}}}") }
}

#[test]
fn messages_are_written_as_ollama_reads_them() {
    let sealed = Sealed { model: LABEL.to_owned(), kind: THINKING.to_owned(), data: "hm".to_owned() };
    let image = Image::new(MediaType::Png, "AA==");
    let result =
        ToolResult { call: CallId::new(0, 0), name: "look".to_owned(), text: "seen".to_owned(), is_error: false };
    let messages = [
        Message::User { parts: vec![UserPart::text("a"), UserPart::Image(image), UserPart::text("b")] },
        Message::Assistant {
            parts: vec![ReplyPart::Sealed(sealed), ReplyPart::text("Let me."), ReplyPart::Call(call(0))],
        },
        Message::Tool(result),
        Message::assistant("Seen.", Vec::new()),
    ];
    let written: Vec<_> =
        messages.map(|message| serde_json::to_value(ChatMessage::from(message)).unwrap()).into_iter().collect();
    let expected = [
        json!({"role": "user", "content": "a\n\nb", "images": ["AA=="]}),
        json!({
            "role": "assistant", "content": "Let me.", "thinking": "hm",
            "tool_calls": [{"function": {"name": "look", "arguments": {"at": 0}}}],
        }),
        json!({"role": "tool", "content": "seen", "tool_name": "look"}),
        json!({"role": "assistant", "content": "Seen."}),
    ];
    assert_eq!(written, expected);
}

#[test]
fn a_whole_request() {
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(99), effort: Some(Effort::High) };
    let settings = Settings { tuning, ..settings() };
    let traits = traits(&json!(["completion", "tools", "thinking"]));
    let expected = json!({
        "model": "qwen3", "stream": true, "truncate": false, "shift": false, "think": true,
        "options": {"num_ctx": 8192, "num_predict": 99, "temperature": 0.5},
        "tools": [{"type": "function", "function": {
            "name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}},
        }}],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    });
    assert_eq!(body(&settings, traits, &request(vec![Message::user("Hi")])), expected);
}

#[test]
fn tools_are_offered_where_they_can_and_may_be_called() {
    let offered = |capabilities: Value, tool_choice: ToolChoice| {
        let request = Request { tool_choice, ..request(vec![Message::user("Hi")]) };
        body(&settings(), traits(&capabilities), &request).get("tools").is_some()
    };
    assert!(offered(json!(["tools"]), ToolChoice::Auto));
    assert!(offered(json!(["tools"]), ToolChoice::Any));
    assert!(offered(json!(["tools"]), ToolChoice::Tool { name: "look".to_owned() }));
    assert!(!offered(json!(["tools"]), ToolChoice::None));
    assert!(!offered(json!(["completion"]), ToolChoice::Any));
}

#[test]
fn what_would_be_shortened_in_silence_is_refused() {
    let fits = |text: String| {
        let request = request(vec![Message::user(text)]);
        ChatRequest::new(&settings(), traits(&json!([])), &request).into_body().map_err(|error| error.class)
    };
    let too_long = Err(ErrorClass::ContextTooLong);
    assert!(fits("word ".repeat(4000)).is_ok());
    assert_eq!(fits("word ".repeat(6000)), too_long);
    assert!(fits("東京".repeat(3800)).is_ok());
    assert_eq!(fits("東京".repeat(4200)), too_long);
}

#[test]
fn a_picture_counts_as_a_picture() {
    let body = |count: usize| {
        let image = Image::new(MediaType::Png, "A".repeat(400_000));
        let message = ChatMessage::user(vec![UserPart::Image(image); count]);
        let request = request(vec![Message::user("Hi")]);
        let settings = settings();
        let mut request = ChatRequest::new(&settings, traits(&json!(["vision"])), &request);
        request.messages.push(message);
        request.into_body().map(|body| body.len() > 400_000)
    };
    assert_eq!(body(1), Ok(true));
    let error = body(8).unwrap_err();
    insta::assert_snapshot!(error, @"The conversation is too long for the model: about 8271 tokens, and Ollama holds 8192 for it.");
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    let text = |messages: Vec<Message>| {
        let (settings, request) = (settings(), request(messages));
        serde_json::to_string(&ChatRequest::new(&settings, traits(&json!(["tools"])), &request)).unwrap()
    };
    let result =
        ToolResult { call: CallId::new(0, 0), name: "look".to_owned(), text: "seen".to_owned(), is_error: false };
    let mut messages = vec![Message::user("Hi"), Message::assistant("", vec![call(0)]), Message::Tool(result)];
    let before = text(messages.clone());
    messages.extend([Message::assistant("Seen.", Vec::new()), Message::user("More")]);
    assert!(text(messages).starts_with(before.strip_suffix("]}").unwrap()));
}
