use super::*;
use crate::anthropic::family::Family;
use crate::message::{MediaType, Sealed};
use crate::settings::Tuning;
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;

fn call(id: &str) -> ReplyPart {
    let (id, name, arguments) = (CallId(id.to_owned()), "look".to_owned(), r#"{"z":1.0,"a":12345678901234567890}"#);
    ReplyPart::Call(ToolCall { id, name, arguments: arguments.to_owned() })
}

fn result(id: &str, is_error: bool) -> Message {
    let (call, name, text) = (CallId(id.to_owned()), "look".to_owned(), "seen".to_owned());
    Message::Tool(ToolResult { call, name, text, is_error })
}

fn sealed(data: &str) -> ReplyPart {
    let (model, kind) = ("anthropic/m".to_owned(), "thinking".to_owned());
    ReplyPart::Sealed(Sealed { model, kind, data: data.to_owned() })
}

fn written(messages: Vec<Message>, stable: usize, thinks: bool) -> String {
    let turns = turns(LegalHistory { messages, stable }, thinks);
    turns.iter().map(|turn| serde_json::to_string(turn).unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_is_written_with_its_thinking_and_its_breakpoints() {
    let image = UserPart::Image(Image::new(MediaType::Png, "AA=="));
    let messages = vec![
        Message::user("old"),
        Message::Assistant { parts: vec![sealed("{\"old\":1}"), ReplyPart::text("said")] },
        Message::User { parts: vec![UserPart::text("tail"), image] },
        Message::Assistant { parts: vec![sealed("{\"b\": 1,\"a\":2}"), call("call00001"), call("call00002")] },
        result("call00001", false),
        result("call00002", true),
        Message::user("and now?"),
    ];
    insta::assert_snapshot!(written(messages, 2, true), @r#"
    {"role":"user","content":[{"type":"text","text":"old"}]}
    {"role":"assistant","content":[{"type":"text","text":"said","cache_control":{"type":"ephemeral"}}]}
    {"role":"user","content":[{"type":"text","text":"tail"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}
    {"role":"assistant","content":[{"b": 1,"a":2},{"type":"tool_use","id":"call00001","name":"look","input":{"z":1.0,"a":12345678901234567890}},{"type":"tool_use","id":"call00002","name":"look","input":{"z":1.0,"a":12345678901234567890}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call00001","content":"seen"},{"type":"tool_result","tool_use_id":"call00002","content":"seen","is_error":true},{"type":"text","text":"and now?","cache_control":{"type":"ephemeral"}}]}
    "#);
}

#[test]
fn no_message_ends_with_thinking() {
    let messages = vec![
        Message::user("a"),
        Message::Assistant { parts: vec![ReplyPart::text("b"), sealed("{}")] },
        Message::user("c"),
        Message::Assistant { parts: vec![sealed("{}")] },
        Message::user("d"),
    ];
    insta::assert_snapshot!(written(messages.clone(), 0, false), @r#"
    {"role":"user","content":[{"type":"text","text":"a"}]}
    {"role":"assistant","content":[{"type":"text","text":"b"}]}
    {"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d","cache_control":{"type":"ephemeral"}}]}
    "#);
    insta::assert_snapshot!(written(messages[..2].to_vec(), 0, true), @r#"
    {"role":"user","content":[{"type":"text","text":"a"}]}
    {"role":"assistant","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}
    "#);
}

fn body(model: &str, tuning: Tuning, request: &Request) -> Value {
    let (model, label) = (model.to_owned(), "anthropic/m".to_owned());
    let speaker = ModelProfile { family: Family::of(&model), model, label, tuning, sees_images: true };
    serde_json::to_value(MessagesRequest::new(&speaker, request)).unwrap()
}

fn request(tool_choice: ToolChoice, system: &str) -> Request {
    let parameters = serde_json::json!({"type": "object"});
    let tool =
        |name: &str| ToolSchema { name: name.to_owned(), description: "x".to_owned(), parameters: parameters.clone() };
    Request {
        system: system.to_owned(),
        messages: vec![Message::user("a")],
        tools: vec![tool("look"), tool("tell")].into(),
        tool_choice,
        ..Request::default()
    }
}

#[test]
fn choices_are_told_where_they_are_taken() {
    let tool = || ToolChoice::Tool { name: "look".to_owned() };
    let table = [
        ("claude-opus-4-5", ToolChoice::Auto, "null"),
        ("claude-opus-4-5", ToolChoice::None, r#"{"type":"none"}"#),
        ("claude-opus-4-5", ToolChoice::Any, r#"{"type":"any"}"#),
        ("claude-opus-4-5", tool(), r#"{"name":"look","type":"tool"}"#),
        ("claude-opus-5-5", tool(), "null"),
        ("claude-opus-5-5", ToolChoice::None, r#"{"type":"none"}"#),
    ];
    for (model, choice, expected) in table {
        let body = body(model, Tuning::default(), &request(choice.clone(), "s"));
        assert_eq!(body["tool_choice"].to_string(), expected, "{model} {choice:?}");
    }
    let bare = Request { tools: Vec::new().into(), ..request(tool(), "") };
    let body = body("claude-opus-4-5", Tuning::default(), &bare);
    assert_eq!((body.get("tool_choice"), body.get("tools"), body.get("system")), (None, None, None));
}

#[test]
fn temperature_and_thinking_exclude_each_other() {
    let warm = Tuning { temperature: Some(1.5), effort: None, max_output_tokens: None };
    let thoughtful = Tuning { effort: Some(Effort::Low), ..warm };
    let temperature =
        |model: &str, tuning, choice| body(model, tuning, &request(choice, ""))["temperature"].to_string();
    assert_eq!(temperature("claude-opus-4-5", warm, ToolChoice::Auto), "1.0");
    assert_eq!(temperature("claude-opus-4-5", thoughtful, ToolChoice::Auto), "null");
    assert_eq!(temperature("claude-opus-4-5", thoughtful, ToolChoice::Any), "1.0");
    assert_eq!(temperature("claude-opus-5-5", warm, ToolChoice::Auto), "null");
}

#[test]
fn tools_and_system_share_a_breakpoint() {
    let with = body("claude-opus-4-5", Tuning::default(), &request(ToolChoice::Auto, "s"));
    assert_eq!(with["system"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(with["tools"][1].get("cache_control"), None);
    let without = body("claude-opus-4-5", Tuning::default(), &request(ToolChoice::Auto, " "));
    assert_eq!(without["tools"][1]["cache_control"]["type"], "ephemeral");
}

#[test]
fn calls_of_tools_that_are_gone_are_still_described() {
    let messages = vec![Message::user("a"), Message::Assistant { parts: vec![call("0.0")] }, result("0.0", false)];
    let request = Request { tools: Vec::new().into(), messages, ..request(ToolChoice::Auto, "") };
    let body = body("claude-opus-4-5", Tuning::default(), &request);
    insta::assert_snapshot!(body["tools"], @r#"[{"cache_control":{"type":"ephemeral"},"description":"No longer on offer.","input_schema":{"type":"object"},"name":"look"}]"#);
    assert_eq!(body["tool_choice"]["type"], "none");
}
