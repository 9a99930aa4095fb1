use std::time::Duration;

use serde_json::json;

use super::*;
use crate::message::{MediaType, Sealed};
use crate::settings::Deadlines;
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;

const LABEL: &str = "google/gemini-3-flash-preview";

fn settings(model: &str) -> Settings {
    Settings {
        base_url: "https://host".to_owned(),
        api_key: None,
        model: model.to_owned(),
        label: LABEL.to_owned(),
        deadlines: Deadlines { connect: Duration::ZERO, ..Deadlines::default() },
        tuning: Tuning::default(),
        sees_images: true,
        context_tokens: None,
    }
}

fn request(messages: Vec<Message>) -> Request {
    let tool = ToolSchema {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"$schema": "x", "type": "object", "properties": {}}),
    };
    Request { system: " Be brief.\n".to_owned(), messages, tools: vec![tool].into(), ..Request::default() }
}

fn body(settings: &Settings, request: &Request) -> Value {
    serde_json::to_value(GenerateRequest::new(settings, Family::of(&settings.model), request)).unwrap()
}

fn seal(kind: &str, data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: LABEL.to_owned(), kind: kind.to_owned(), data: data.to_owned() })
}

fn call(at: usize) -> ToolCall {
    ToolCall { id: CallId::new(0, at), name: "look".to_owned(), arguments: format!("{{\"at\":{at}}}") }
}

fn result(at: usize, is_error: bool) -> Message {
    let (call, name, text) = (CallId::new(0, at), "look".to_owned(), format!("seen {at}"));
    Message::Tool(ToolResult { call, name, text, is_error })
}

/// Calls and results, as [`contents`] gets them from the legal pass.
fn called() -> Vec<Message> {
    let parts = vec![
        ReplyPart::text("Let me look."),
        seal(SIGNATURE, "A+/="),
        seal(CALL_ID, "gp7"),
        ReplyPart::Call(call(0)),
        ReplyPart::Call(call(1)),
        seal(LONE_SIGNATURE, "B=="),
    ];
    vec![Message::user("Hi"), Message::Assistant { parts }, result(0, false), result(1, true)]
}

#[test]
fn calls_results_and_seals_come_back_as_they_came() {
    let history = [called(), vec![Message::user("And?")]].concat();
    let contents = serde_json::to_value(contents(history, true)).unwrap();
    let expected = json!([
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [
            {"text": "Let me look."},
            {"functionCall": {"id": "gp7", "name": "look", "args": {"at": 0}}, "thoughtSignature": "A+/="},
            {"functionCall": {"name": "look", "args": {"at": 1}}},
            {"text": "", "thoughtSignature": "B=="},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "gp7", "name": "look", "response": {"output": "seen 0"}}},
            {"functionResponse": {"name": "look", "response": {"error": "seen 1"}}},
            {"text": "And?"},
        ]},
    ]);
    assert_eq!(contents, expected);
}

#[test]
fn only_the_first_call_of_others_is_signed_and_only_where_it_must_be() {
    let history = vec![Message::user("Hi"), Message::assistant("", vec![call(0), call(1)])];
    let signed = |signed_calls| {
        let contents = serde_json::to_value(contents(history.clone(), signed_calls)).unwrap();
        [0, 1].map(|at| contents[1]["parts"][at].get("thoughtSignature").cloned())
    };
    assert_eq!(signed(true), [Some(json!(NO_SIGNATURE)), None]);
    assert_eq!(signed(false), [None, None]);
}

#[test]
fn pictures_are_inline() {
    let image = UserPart::Image(Image::new(MediaType::WebP, "AA=="));
    let contents = serde_json::to_value(contents(vec![Message::User { parts: vec![image] }], true)).unwrap();
    assert_eq!(contents[0]["parts"], json!([{"inlineData": {"mimeType": "image/webp", "data": "AA=="}}]));
}

#[test]
fn the_choice_of_tools_is_told_only_where_there_are_tools() {
    let mut request = request(vec![Message::user("Hi")]);
    let cases = [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"functionCallingConfig": {"mode": "NONE"}})),
        (ToolChoice::Any, json!({"functionCallingConfig": {"mode": "ANY"}})),
        (
            ToolChoice::Tool { name: "look".to_owned() },
            json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}),
        ),
    ];
    for (choice, told) in cases {
        request.tool_choice = choice;
        let body = body(&settings("gemini-2.5-flash"), &request);
        assert_eq!(body["toolConfig"], told);
        let parameters = &body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"];
        assert_eq!(*parameters, json!({"type": "object", "properties": {}}));
    }
    request.tools = Vec::new().into();
    let body = body(&settings("gemini-2.5-flash"), &request);
    assert_eq!((body.get("tools"), body.get("toolConfig")), (None, None));
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
}

#[test]
fn what_the_owner_sets_is_told_in_the_familys_words() {
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(99), effort: Some(Effort::High) };
    let told = |model: &str| {
        let settings = Settings { tuning, ..settings(model) };
        body(&settings, &request(vec![Message::user("Hi")]))["generationConfig"].clone()
    };
    let common = json!({"temperature": 0.5, "maxOutputTokens": 99});
    assert_eq!(told("gemini-2.0-flash"), common);
    let with = |thinking: Value| {
        let mut config = common.clone();
        config["thinkingConfig"] = thinking;
        config
    };
    assert_eq!(told("gemini-2.5-pro"), with(json!({"includeThoughts": false, "thinkingBudget": 24576})));
    assert_eq!(told("gemini-3-pro-preview"), with(json!({"includeThoughts": false, "thinkingLevel": "high"})));
    let untold = body(&settings("gemini-3-pro-preview"), &request(vec![Message::user("Hi")]));
    assert_eq!(untold.get("generationConfig"), None);
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    let text = |messages: Vec<Message>| {
        let request = request(messages);
        let settings = settings("gemini-3-flash-preview");
        serde_json::to_string(&GenerateRequest::new(&settings, Family::of(&settings.model), &request)).unwrap()
    };
    let mut messages = vec![Message::user("Hi"), Message::assistant("", vec![call(0)]), result(0, false)];
    let before = text(messages.clone());
    messages.extend([Message::assistant("Seen.", Vec::new()), Message::user("More")]);
    let after = text(messages);
    assert!(after.starts_with(before.strip_suffix("]}").unwrap()), "{before}\n{after}");
}
