use serde_json::json;

use super::*;
use crate::message::{MediaType, ToolCall, ToolResult};
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;

const LABEL: &str = "openai/m";

fn request(messages: Vec<Message>) -> Request {
    let tool = ToolSchema { name: "look".to_owned(), description: "Looks.".to_owned(), parameters: json!({}) };
    Request {
        system: " Be brief. ".to_owned(),
        messages,
        tools: vec![tool].into(),
        session: Some(SessionKey("telegram:1".to_owned())),
        ..Request::default()
    }
}

fn asked(learned: &RefusedParameters) -> TargetModel<'_> {
    let tuning = Tuning::default();
    TargetModel { model: "m", label: LABEL, tuning, sees_images: true, gives_reasoning: true, learned }
}

fn body(messages: Vec<Message>, gives_reasoning: bool) -> Value {
    let learned = RefusedParameters::default();
    let asked = TargetModel { gives_reasoning, ..asked(&learned) };
    serde_json::to_value(ResponsesRequest::new(&request(messages), asked)).unwrap()
}

fn sealed(model: &str, id: &str) -> ReplyPart {
    let data = format!(r#"{{"id":"{id}","summary":[],"encrypted_content":"AA=="}}"#);
    ReplyPart::Sealed(Sealed { model: model.to_owned(), kind: REASONING.to_owned(), data })
}

/// A question, thinking, a call, its result, and thinking of which nothing came.
fn history() -> Vec<Message> {
    let id = || CallId("0.0".to_owned());
    let call = ToolCall { id: id(), name: "look".to_owned(), arguments: r#"{"at":1}"#.to_owned() };
    let result = ToolResult { call: id(), name: "look".to_owned(), text: "seen".to_owned(), is_error: false };
    let image = UserPart::Image(Image::new(MediaType::Png, "AA=="));
    vec![
        Message::User { parts: vec![UserPart::text("Hi"), image] },
        Message::Assistant { parts: vec![sealed(LABEL, "rs_1"), ReplyPart::text("So."), ReplyPart::Call(call)] },
        Message::Tool(result),
        Message::Assistant {
            parts: vec![sealed("openai/other", "rs_2"), ReplyPart::text("Done."), sealed(LABEL, "rs_3")],
        },
        Message::user("And?"),
    ]
}

#[test]
fn f5_a_request_keeps_nothing_at_openai_and_gives_reasoning_to_its_maker_alone() {
    let body = body(history(), true);
    let call_id = body["input"][3]["call_id"].clone();
    let expected = json!({
        "model": "m", "instructions": "Be brief.", "store": false, "stream": true,
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "ba300832dc193a4457f77306acfc1559",
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {}, "strict": false}],
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Hi"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
            ]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AA=="},
            {"type": "message", "role": "assistant", "content": "So."},
            {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{\"at\":1}"},
            {"type": "function_call_output", "call_id": call_id, "output": "seen"},
            {"type": "message", "role": "assistant", "content": "Done."},
            {"type": "message", "role": "user", "content": "And?"},
        ],
    });
    assert_eq!(body, expected);
}

#[test]
fn f5_reasoning_that_cannot_be_opened_stays_away_and_the_words_do_not() {
    let body = body(history(), false);
    let types: Vec<_> = body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["message", "message", "function_call", "function_call_output", "message", "message"]);
}

#[test]
fn f5_options_are_left_out_once_they_are_refused() {
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(9), effort: Some(Effort::High) };
    let names = ["include", "prompt_cache_key", "tool_choice", "temperature", "max_output_tokens", "reasoning"];
    let request =
        Request { tool_choice: ToolChoice::Tool { name: "look".to_owned() }, ..request(vec![Message::user("a")]) };
    let options = |refused: &[&str]| {
        let learned: RefusedParameters = serde_json::from_value(json!(refused)).unwrap();
        let body = ResponsesRequest::new(&request, TargetModel { tuning, ..asked(&learned) });
        let mut options = serde_json::to_value(&body).unwrap();
        options.as_object_mut().unwrap().retain(|name, _| names.contains(&name.as_str()));
        (options, body.refusable())
    };
    let (all, refusable) = options(&[]);
    let expected = json!({
        "include": ["reasoning.encrypted_content"], "prompt_cache_key": "ba300832dc193a4457f77306acfc1559",
        "tool_choice": {"type": "function", "name": "look"}, "temperature": 0.5, "max_output_tokens": 16,
        "reasoning": {"effort": "high"},
    });
    assert_eq!((all, refusable), (expected, names.to_vec()));
    for name in names {
        let (left, refusable) = options(&[name]);
        assert!(left.get(name).is_none() && !refusable.contains(&name), "{name}");
    }
}

#[test]
fn k1_messages_go_back_in_their_phase_to_the_model_that_named_it() {
    let phase = |model: &str, phase: &str| {
        ReplyPart::Sealed(Sealed { model: model.to_owned(), kind: PHASE.to_owned(), data: phase.to_owned() })
    };
    let said = vec![
        phase(LABEL, "commentary"),
        ReplyPart::text("Let me see."),
        phase(LABEL, "final_answer"),
        ReplyPart::text("\n\nDry."),
        phase(LABEL, "of the moon"),
        ReplyPart::text("Unheard of."),
        phase("openai/other", "commentary"),
        ReplyPart::text("Foreign."),
    ];
    let body = body(vec![Message::user("a"), Message::Assistant { parts: said }, Message::user("b")], true);
    let message = |role: &str, content: &str| json!({"type": "message", "role": role, "content": content});
    let with = |phase: &str, mut message: Value| {
        message["phase"] = json!(phase);
        message
    };
    let expected = json!([
        message("user", "a"),
        with("commentary", message("assistant", "Let me see.")),
        with("final_answer", message("assistant", "Dry.")),
        message("assistant", "Unheard of."),
        message("assistant", "Foreign."),
        message("user", "b"),
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn k1_reasoning_goes_back_though_its_summary_has_parts_that_nobody_knows() {
    let data = r#"{"id":"rs_1","summary":[{"type":"summary_text","text":"Hm."},{"type":"summary_song"}],"encrypted_content":"AA=="}"#;
    let seal = Sealed { model: LABEL.to_owned(), kind: REASONING.to_owned(), data: data.to_owned() };
    let body = body(
        vec![
            Message::user("a"),
            Message::Assistant { parts: vec![ReplyPart::Sealed(seal), ReplyPart::text("b")] },
            Message::user("c"),
        ],
        true,
    );
    let summary = json!([{"type": "summary_text", "text": "Hm."}]);
    let expected = json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "AA=="});
    assert_eq!(body["input"][1], expected);
}
