//! The fake model server refuses what real ones refuse.

use hob_testkit::fake_model::{FakeModel, Reply};
use hob_testkit::validate::openai as validate;
use serde_json::{Value, json};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn model(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calling(id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn body(messages: &[Value]) -> Value {
    json!({"model": "m", "stream": true, "messages": messages})
}

fn with(field: &str, value: Value) -> Value {
    let mut body = body(&[user("a")]);
    body[field] = value;
    body
}

fn tool(name: &str, parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "x", "parameters": parameters}})
}

#[test]
fn good_requests_pass() {
    let object = json!({"type": "object"});
    let system = json!({"role": "system", "content": "s"});
    let bodies = [
        body(&[user("a")]),
        body(&[system, user("a"), calling("1", "x", "{}"), result("1", "y"), model("b"), user("c")]),
        body(&[user("a"), calling("1", "x", "{}"), result("1", "y")]),
        with("stream_options", json!({"include_usage": true})),
        with("tools", json!([tool("a", &object), tool("b", &object)])),
    ];
    for body in bodies {
        assert_eq!(validate::request(&body), Ok(()), "{body}");
    }
}

#[test]
fn bad_requests_are_refused() {
    let object = json!({"type": "object"});
    let bodies = [
        json!([]),
        json!({"stream": true}),
        with("stream", json!(false)),
        with("frobnicate", json!(1)),
        with("stream_options", json!({"usage": true})),
        with("tools", json!([])),
        with("tools", json!([tool("a b", &object)])),
        with("tools", json!([tool("a", &object), tool("a", &object)])),
        with("tools", json!([tool("a", &json!({"type": "string"}))])),
        body(&[]),
        body(&[json!({"role": "robot", "content": "a"})]),
        body(&[user(" ")]),
        body(&[user("a"), user("b")]),
        body(&[user("a"), json!({"role": "system", "content": "s"}), user("b")]),
        body(&[model("a"), user("b")]),
        body(&[user("a"), model("b")]),
        body(&[user("a"), model(""), user("b")]),
        body(&[user("a"), result("1", "x")]),
        body(&[user("a"), calling("1", "x", "{}")]),
        body(&[user("a"), calling("1", "x", "{}"), user("b")]),
        body(&[user("a"), calling("1", "x", "{}"), result("2", "y")]),
        body(&[user("a"), calling("1", "x", "{}"), result("1", "y"), result("1", "y")]),
        body(&[user("a"), calling("1", "x", "{}"), result("1", "y"), calling("1", "x", "{}"), result("1", "y")]),
        body(&[user("a"), calling("1", "x.y", "{}"), result("1", "y")]),
        body(&[user("a"), calling("1", "x", "{"), result("1", "y")]),
        body(&[user("a"), calling("1", "x", "{}"), result("1", "")]),
    ];
    let said: Vec<_> = bodies.iter().map(|body| validate::request(body).unwrap_err()).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    The body must be an object.
    you must provide a model parameter
    This fake only streams: set 'stream' to true.
    Unrecognized request argument supplied: frobnicate
    Unrecognized request argument supplied: stream_options.usage
    Invalid 'tools': empty array. Expected an array with minimum length 1.
    'a b' does not match '^[a-zA-Z0-9_-]{1,64}$'.
    The tool "a" is offered twice.
    Invalid schema for function 'a': schema must be a JSON Schema of 'type: "object"'.
    Invalid 'messages': empty array.
    Invalid 'messages[0]': unknown role "robot"
    Invalid 'messages[0]': text content must be non-empty
    Invalid 'messages[1]': two user messages in a row
    Invalid 'messages[1]': the system prompt comes first
    Invalid 'messages[0]': an assistant message after ""
    The last message must not be from "assistant".
    Invalid 'messages[1]': text content must be non-empty
    Invalid 'messages[1]': messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
    An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: 1
    Invalid 'messages[2]': An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: 1
    Invalid 'messages[2]': messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
    Invalid 'messages[3]': messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.
    Invalid 'messages[3]': the call id "1" is used twice
    Invalid 'messages[1]': 'x.y' does not match '^[a-zA-Z0-9_-]{1,64}$'.
    Invalid 'messages[1]': arguments must be a JSON object: "{"
    Invalid 'messages[2]': text content must be non-empty
    "#);
}

#[tokio::test]
async fn refusals_are_recorded_and_leave_the_script_alone() {
    let fake = FakeModel::start().await;
    fake.reply(Reply::text("ok")).otherwise(|asked| Reply::text(asked.last_text()));
    let http = reqwest_client();
    let url = format!("{}/chat/completions", fake.base_url());
    let post = async |body: Value| {
        let response = http.post(&url).body(body.to_string()).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(post(body(&[])).await.0, 400);
    assert_eq!(fake.refused().len(), 1);
    assert_eq!(fake.requests().len(), 0);
    assert!(post(body(&[user("a")])).await.1.contains("\"ok\""));
    assert!(post(body(&[user("echo")])).await.1.contains("\"echo\""));
    fake.asked(2).await;
    assert_eq!(fake.requests()[1].last_user(), "echo");
    assert_eq!(fake.dropped_so_far(), 0);
}

fn reqwest_client() -> reqwest::Client {
    hob_http::direct_client(std::time::Duration::from_secs(60)).unwrap()
}
