//! A strict, scriptable server of OpenAI's Responses API on loopback.
//!
//! It refuses what OpenAI refuses (see [`validate::responses`]), takes back only the thinking that it has sealed itself, and
//! keeps nothing. No fixed port, no sleeps.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::scripted::{self, RecordedRequest, ScriptedServer, Service, Verdict};
use crate::stream::Plan;
use crate::validate;

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

/// The server; it ends when dropped.
pub struct FakeResponses(ScriptedServer<ResponsesService>);

impl Deref for FakeResponses {
    type Target = ScriptedServer<ResponsesService>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FakeResponses {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start() -> Self {
        Self(ScriptedServer::start(ResponsesService::default()).await)
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root())
    }

    /// Adds an answer to the script; each serves one request.
    pub fn answer(&self, answer: Answer) -> &Self {
        self.reply(answer);
        self
    }
}

/// What the service knows: the thinking that it has sealed.
#[derive(Default)]
pub struct ResponsesService(Mutex<HashSet<String>>);

impl Service for ResponsesService {
    type ReceivedRequest = Value;
    type Reply = Answer;

    fn judge(&self, asked: &RecordedRequest) -> Verdict {
        if asked.path() != "POST /v1/responses" {
            return Verdict::Known(scripted::Answer::http(404, "text/plain", ""));
        }
        let Err(why) = validate::responses::request(&asked.body, &self.0.lock().unwrap()) else {
            return Verdict::Scripted;
        };
        let parameter = why.split('\'').nth(1).filter(|_| why.starts_with("Unsupported parameter"));
        let error = json!({"message": why, "type": "invalid_request_error", "param": parameter, "code": null});
        Verdict::Refused(scripted::Answer::json(400, &json!({"error": error})), why)
    }

    fn asked(&self, request: RecordedRequest) -> Value {
        request.body
    }

    fn play(&self, reply: Answer, _asked: &Value) -> scripted::Answer {
        let plan = match reply {
            Answer::Error(status, error) => return scripted::Answer::json(status, &error),
            Answer::Flood(event) => Plan::default().forever(sent(&event)),
            Answer::Items(items, end) => {
                let sealed = items.iter().filter_map(|item| item["encrypted_content"].as_str().map(str::to_owned));
                self.0.lock().unwrap().extend(sealed);
                events(items, &end).iter().fold(Plan::default(), |plan, event| plan.raw(sent(event)))
            }
        };
        scripted::Answer::Stream("text/event-stream", plan)
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
