//! A strict, scriptable server of OpenAI's Responses API on loopback.
//!
//! It refuses what OpenAI refuses (see [`validate::responses`]), takes back only the thinking that it has sealed itself, and
//! keeps nothing. No fixed port, no sleeps.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::stream::{Plan, Step};
use super::validate;

/// One answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These items, and how it ends.
    Items(Vec<Value>, Value),
    /// This event again and again, until the client goes.
    Flood(Value),
    /// An error instead of a stream.
    Error(u16, Value),
}

/// The item of a message.
pub fn message(words: &str) -> Value {
    let content = json!([{"type": "output_text", "text": words, "annotations": [], "logprobs": []}]);
    json!({"type": "message", "role": "assistant", "status": "completed", "content": content, "phase": "final_answer"})
}

/// The item of a call.
pub fn call(name: &str, arguments: &str) -> Value {
    let id = format!("call_{name}");
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments, "status": "completed"})
}

/// The item of thinking, under this seal.
pub fn thought(seal: &str) -> Value {
    json!({"type": "reasoning", "summary": [], "encrypted_content": seal})
}

/// These items, to a regular end.
pub fn items(items: &[Value]) -> Answer {
    Answer::Items(items.to_vec(), json!({"status": "completed"}))
}

#[derive(Default)]
struct ServerState {
    script: VecDeque<Answer>,
    requests: Vec<Value>,
    refused: Vec<String>,
    sealed: HashSet<String>,
}

/// The server; it ends when dropped.
pub struct FakeResponses {
    world: Arc<Mutex<ServerState>>,
    address: String,
    server: JoinHandle<()>,
}

impl Drop for FakeResponses {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeResponses {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        let world = Arc::<Mutex<ServerState>>::default();
        let router = Router::new().route("/v1/responses", post(respond)).with_state(Arc::clone(&world));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { world, address, server }
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds an answer to the script; each serves one request.
    pub fn answer(&self, answer: Answer) -> &Self {
        self.world.lock().unwrap().script.push_back(answer);
        self
    }

    /// Every request that was well formed, in order.
    pub fn requests(&self) -> Vec<Value> {
        self.world.lock().unwrap().requests.clone()
    }

    /// What was wrong with each request that was refused, in order.
    pub fn refused(&self) -> Vec<String> {
        self.world.lock().unwrap().refused.clone()
    }
}

async fn respond(State(world): State<Arc<Mutex<ServerState>>>, body: Bytes) -> Response {
    let mut world = world.lock().unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let ServerState { script, requests, refused, sealed } = &mut *world;
    let answer = match validate::responses::request(&body, sealed) {
        Ok(()) => script.pop_front(),
        Err(why) => {
            let parameter = why.split('\'').nth(1).filter(|_| why.starts_with("Unsupported parameter"));
            let error =
                json!({"error": {"message": why, "type": "invalid_request_error", "param": parameter, "code": null}});
            refused.push(why);
            return whole(400, &error);
        }
    };
    requests.push(body);
    match answer.unwrap_or_else(|| Answer::Error(500, json!({"error": {"message": "The script is over."}}))) {
        Answer::Error(status, error) => whole(status, &error),
        Answer::Flood(event) => stream(Plan::default().step(Step::Forever(sent(&event).into()))),
        Answer::Items(items, end) => {
            sealed.extend(items.iter().filter_map(|item| item["encrypted_content"].as_str().map(str::to_owned)));
            let events = events(items, &end);
            stream(events.iter().fold(Plan::default(), |plan, event| plan.raw(sent(event))))
        }
    }
}

/// The events of a reply as OpenAI sends them, numbered.
fn events(items: Vec<Value>, end: &Value) -> Vec<Value> {
    let base = json!({"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "fake", "output": [],
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "status": "in_progress"});
    let mut events = vec![json!({"type": "response.created", "response": base})];
    let mut output = Vec::new();
    for (at, mut item) in items.into_iter().enumerate() {
        let (kind, delta, id) = match item["type"].as_str().unwrap() {
            "message" => ("msg", "response.output_text.delta", format!("msg_{at}")),
            "function_call" => ("fc", "response.function_call_arguments.delta", format!("fc_{at}")),
            _ => ("rs", "", format!("rs_{at}")),
        };
        item["id"] = json!(id);
        let words = match kind {
            "msg" => item["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            "fc" => item["arguments"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let mut begun = item.clone();
        match kind {
            "msg" => begun["content"] = json!([]),
            "fc" => begun["arguments"] = json!(""),
            _ => begun["encrypted_content"] = json!(""),
        }
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        let part = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
        let part_begun = json!({"type": "response.content_part.added", "item_id": id, "output_index": at,
            "content_index": 0, "part": part});
        events.extend((kind == "msg").then_some(part_begun));
        let pieces = words.split_inclusive(' ').filter(|_| !delta.is_empty());
        events.extend(pieces.map(|piece| {
            json!({"type": delta, "item_id": id, "output_index": at, "content_index": 0, "delta": piece, "logprobs": []})
        }));
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        output.push(item);
    }
    let mut response = base;
    response["output"] = json!(output);
    response["usage"] = json!({"input_tokens": 11, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 18});
    response.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
    let kind = format!("response.{}", response["status"].as_str().unwrap());
    events.push(json!({"type": kind, "response": response}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn sent(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

fn whole(status: u16, body: &Value) -> Response {
    let response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    response.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string())).unwrap()
}

fn stream(plan: Plan) -> Response {
    let body = Body::from_stream(plan.play(|| {}));
    Response::builder().header(header::CONTENT_TYPE, "text/event-stream").body(body).unwrap()
}
