use super::*;
use crate::message::{MediaType, ToolResult};
use crate::openai::quirks::{OutputLimit, PLAIN};
use hob_core::domain::choices::Effort;
use hob_core::domain::ids::CallId;

const LABEL: &str = "test/m";

fn call(id: &str) -> ReplyPart {
    ReplyPart::Call(ToolCall { id: CallId(id.to_owned()), name: "look".to_owned(), arguments: "{}".to_owned() })
}

fn result(id: &str) -> Message {
    let (call, name) = (CallId(id.to_owned()), "look".to_owned());
    Message::Tool(ToolResult { call, name, text: "x".to_owned(), is_error: false })
}

fn sealed(model: &str, kind: &str, data: &str) -> ReplyPart {
    ReplyPart::Sealed(Sealed { model: model.to_owned(), kind: kind.to_owned(), data: data.to_owned() })
}

fn request(messages: Vec<Message>) -> Request {
    let tool = ToolSchema { name: "look".to_owned(), description: String::new(), parameters: json!({}) };
    Request { system: " ".to_owned(), messages, tools: vec![tool].into(), ..Request::default() }
}

fn asked<'a>(quirks: &'a Quirks, learned: &'a RefusedParameters) -> TargetModel<'a> {
    TargetModel { model: "m", label: LABEL, quirks, tuning: Tuning::default(), sees_images: true, learned }
}

/// The model's messages on the wire, each without what is not asked about.
fn replies(quirks: &Quirks, messages: Vec<Message>) -> Vec<Value> {
    let body = serde_json::to_value(ChatRequest::new(&request(messages), asked(quirks, &RefusedParameters::default())))
        .unwrap();
    let all = body["messages"].as_array().unwrap();
    all.iter().filter(|message| message["role"] == "assistant").cloned().collect()
}

/// What the request has besides the conversation.
fn options(quirks: &Quirks, tuning: Tuning, refused: &[&str]) -> String {
    let learned: RefusedParameters = serde_json::from_value(json!(refused)).unwrap();
    let request = Request { tool_choice: ToolChoice::Any, ..request(vec![Message::user("a")]) };
    let body = ChatRequest::new(&request, TargetModel { tuning, ..asked(quirks, &learned) });
    let told = serde_json::to_string(&body.options).unwrap();
    let names: Value = serde_json::to_value(body.refusable()).unwrap();
    let on_the_wire = |name: &&Value| **name != THINKING_BESIDE_TOOLS;
    let mut named = names.as_array().unwrap().iter().filter(on_the_wire);
    assert!(named.all(|name| told.contains(name.as_str().unwrap())), "{names} {told}");
    told
}

#[test]
fn options_follow_the_server_and_what_it_refused() {
    let tuning = Tuning { temperature: Some(0.5), max_output_tokens: Some(100), effort: Some(Effort::High) };
    let new_name = Quirks { output_limit: OutputLimit::MaxCompletionTokens, ..PLAIN };
    let object = Quirks { effort: EffortFormat::Object, usage_option: false, ..PLAIN };
    let said = [
        options(&PLAIN, Tuning::default(), &[]),
        options(&PLAIN, tuning, &[]),
        options(&PLAIN, tuning, &["max_tokens", "temperature"]),
        options(&new_name, tuning, &["max_completion_tokens", "reasoning_effort", "tool_choice"]),
        options(&new_name, tuning, &["max_completion_tokens", "max_tokens", "stream_options"]),
        options(&object, tuning, &[]),
        options(&object, tuning, &["reasoning"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    {"tool_choice":"required","stream_options":{"include_usage":true}}
    {"tool_choice":"required","stream_options":{"include_usage":true},"temperature":0.5,"max_tokens":100,"reasoning_effort":"high"}
    {"tool_choice":"required","stream_options":{"include_usage":true},"max_completion_tokens":100,"reasoning_effort":"high"}
    {"stream_options":{"include_usage":true},"temperature":0.5,"max_tokens":100}
    {"tool_choice":"required","temperature":0.5,"reasoning_effort":"high"}
    {"tool_choice":"required","temperature":0.5,"max_tokens":100,"reasoning":{"effort":"high"}}
    {"tool_choice":"required","temperature":0.5,"max_tokens":100}
    "#);
}

#[test]
fn pictures_go_as_data_and_words_alone_as_a_text() {
    let image = Image::new(MediaType::Png, "AA==");
    let parts = vec![UserPart::text("What is it?"), UserPart::Image(image)];
    let request = request(vec![Message::User { parts }]);
    let learned = RefusedParameters::default();
    let body = ChatRequest::new(&request, asked(&PLAIN, &learned));
    insta::assert_snapshot!(serde_json::to_string(&body.messages).unwrap(), @r#"[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]"#);
}

#[test]
fn what_a_server_refuses_changes_nothing_that_is_on_record() {
    let parts = vec![UserPart::text("What is it?"), UserPart::Image(Image::new(MediaType::Png, "AA=="))];
    let request = request(vec![Message::User { parts }]);
    let content = |learned: &RefusedParameters| {
        let mut body = serde_json::to_value(ChatRequest::new(&request, asked(&PLAIN, learned))).unwrap();
        let sent = body.as_object_mut().unwrap();
        sent.retain(|name, _| ["model", "messages", "tools"].contains(&name.as_str()));
        body
    };
    let all = ["tool_choice", "stream_options", "temperature", "max_tokens", "max_completion_tokens", "image_url"];
    let learned: RefusedParameters = serde_json::from_value(json!(all)).unwrap();
    assert_eq!(content(&learned), content(&RefusedParameters::default()));
    assert!(
        !ChatRequest::new(&request, asked(&PLAIN, &RefusedParameters::default())).refusable().contains(&"image_url")
    );
}

#[test]
fn thinking_goes_back_to_its_maker_where_it_is_wanted() {
    let details = r#"[{"type":"reasoning.encrypted","data":"A+/="}]"#;
    let turn = |parts: Vec<ReplyPart>| vec![Message::user("a"), Message::Assistant { parts }, result("0.0")];
    let thought = |kind: &str, data: &str| turn(vec![sealed(LABEL, kind, data), call("0.0")]);
    let content = Quirks { reasoning: ReasoningReplay::Content, ..PLAIN };
    let all = Quirks { reasoning: ReasoningReplay::Details, ..PLAIN };
    let table = [
        (&PLAIN, thought(REASONING_CONTENT, "Hm."), json!(null), json!(null)),
        (&content, thought(REASONING_CONTENT, "Hm.\n"), json!("Hm.\n"), json!(null)),
        (&content, turn(vec![sealed("other/m", REASONING_CONTENT, "Hm."), call("0.0")]), json!(" "), json!(null)),
        (
            &content,
            vec![Message::user("a"), Message::assistant("b", vec![]), Message::user("c")],
            json!(" "),
            json!(null),
        ),
        (&all, thought(REASONING_DETAILS, details), json!(null), serde_json::from_str(details).unwrap()),
        (&all, thought(REASONING_DETAILS, "{broken"), json!(null), json!(null)),
    ];
    for (quirks, messages, reasoning_content, reasoning_details) in table {
        let replies = replies(quirks, messages);
        assert_eq!(replies[0]["reasoning_content"], reasoning_content, "{replies:?}");
        assert_eq!(replies[0]["reasoning_details"], reasoning_details, "{replies:?}");
    }
}

#[test]
fn calls_keep_their_signature_and_the_first_has_one() {
    let signs = Quirks { signs_calls: true, ..PLAIN };
    let signature = r#"{"google":{"thought_signature":"s+/="}}"#;
    let parts = |signed: bool| {
        let seal = signed.then(|| sealed(LABEL, EXTRA_CONTENT, signature));
        seal.into_iter().chain([call("0.0"), call("0.1")]).collect()
    };
    let extra = |signed: bool, quirks: &Quirks| {
        let turn = [Message::user("a"), Message::Assistant { parts: parts(signed) }, result("0.0"), result("0.1")];
        let calls = replies(quirks, turn.to_vec())[0]["tool_calls"].clone();
        (calls[0]["extra_content"].clone(), calls[1]["extra_content"].clone())
    };
    assert_eq!(extra(true, &signs), (serde_json::from_str(signature).unwrap(), Value::Null));
    assert_eq!(extra(false, &signs), (unsigned(), Value::Null));
    assert_eq!(extra(true, &PLAIN), (Value::Null, Value::Null));
}

#[test]
fn between_results_and_the_user_the_model_speaks_where_the_server_wants_it() {
    let history = || {
        let called = Message::Assistant { parts: vec![call("a")] };
        vec![Message::user("a"), called, result("a"), Message::user("b")]
    };
    let roles = |quirks: &Quirks| {
        let body =
            serde_json::to_value(ChatRequest::new(&request(history()), asked(quirks, &RefusedParameters::default())))
                .unwrap();
        let messages = body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&PLAIN), ["user", "assistant", "tool", "user"]);
    let strict = Quirks { speaks_after_results: true, ..PLAIN };
    assert_eq!(roles(&strict), ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(replies(&strict, history())[1], json!({"role": "assistant", "content": SEEN}));
}
