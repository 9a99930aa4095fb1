//! What the fake model answers.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Holds a stream until the test opens it.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<Semaphore>,
    reached: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: Arc::new(Semaphore::new(0)), reached: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.open.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until a stream stands before the gate.
    pub async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Something that is no stream.
    Http {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// A stream of events.
    Stream(Script),
}

impl Reply {
    /// Says this, word by word.
    pub fn text(text: &str) -> Self {
        Script::default().words(text).finish("stop").into()
    }

    /// Calls one tool.
    pub fn call(name: &str, arguments: &str) -> Self {
        Self::calls(&[(name, arguments)])
    }

    /// Calls several tools at once.
    pub fn calls(calls: &[(&str, &str)]) -> Self {
        let call = |script: Script, (index, (name, arguments)): (usize, &(&str, &str))| {
            let id = format!("call_{index}_{name}");
            let script = script.fragment(index, Some(&id), Some(name), "");
            let (start, end) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
            script.fragment(index, None, None, start).fragment(index, None, None, end)
        };
        calls.iter().enumerate().fold(Script::default(), call).finish("tool_calls").into()
    }

    /// Fails as OpenAI does with this status.
    pub fn status(status: u16) -> Self {
        let (message, kind, code) = match status {
            401 => ("Incorrect API key provided: sk-***.", "invalid_request_error", Some("invalid_api_key")),
            402 => ("Insufficient credits.", "billing", None),
            404 => ("The model `x` does not exist.", "invalid_request_error", Some("model_not_found")),
            429 => ("Rate limit reached.", "tokens", Some("rate_limit_exceeded")),
            503 => ("The engine is currently overloaded.", "server_error", None),
            _ => ("The server had an error.", "server_error", None),
        };
        Self::http(status, "application/json", &error_body(message, kind, code))
    }

    /// A web page with status 200, as captive portals send.
    pub fn html() -> Self {
        Self::http(200, "text/html; charset=utf-8", "<!doctype html><p>Please log in")
    }

    /// Any answer that is no stream.
    pub fn http(status: u16, content_type: &str, body: &str) -> Self {
        Self::Http { status, headers: vec![("content-type", content_type.to_owned())], body: body.to_owned() }
    }

    /// Adds a header, `retry-after` for one, to an answer that is no stream.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        match &mut self {
            Self::Http { headers, .. } => headers.push((name, value.to_owned())),
            Self::Stream(_) => panic!("headers are for answers that are no stream"),
        }
        self
    }
}

impl From<Script> for Reply {
    fn from(script: Script) -> Self {
        Self::Stream(script)
    }
}

/// A stream, step by step. One that is never finished ends without `[DONE]`.
#[derive(Debug, Clone, Default)]
pub struct Script {
    steps: Vec<Planned>,
    piece_len: Option<usize>,
}

#[derive(Debug, Clone)]
enum Planned {
    Send(Vec<u8>),
    Finish(String),
    Wait(Gate),
    Pause(Duration),
    Cut,
}

/// What is done to the connection.
#[derive(Debug)]
pub(super) enum Step {
    Send(Bytes),
    Wait(Gate),
    Pause(Duration),
    Cut,
}

impl Script {
    /// Text in one event.
    pub fn text(self, text: &str) -> Self {
        self.delta(&json!({"content": text}))
    }

    /// Text, one event a word.
    pub fn words(self, text: &str) -> Self {
        text.split_inclusive(' ').fold(self.delta(&json!({"role": "assistant", "content": ""})), Self::text)
    }

    /// A piece of the `index`th call.
    pub fn fragment(self, index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Self {
        let mut call = json!({"index": index, "function": {"arguments": arguments}});
        if let Some(id) = id {
            call["id"] = json!(id);
            call["type"] = json!("function");
        }
        if let Some(name) = name {
            call["function"]["name"] = json!(name);
        }
        self.delta(&json!({"tool_calls": [call]}))
    }

    /// An event with this delta.
    pub fn delta(self, delta: &Value) -> Self {
        self.event(&json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
    }

    /// These bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.steps.push(Planned::Send(bytes.to_vec()));
        self
    }

    /// Waits until the test opens the gate.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.steps.push(Planned::Wait(gate.clone()));
        self
    }

    /// Takes its time: to be killed in, never to wait for something.
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Planned::Pause(time));
        self
    }

    /// Never goes on.
    pub fn stall(self) -> Self {
        self.gate(&Gate::default())
    }

    /// Breaks the connection off.
    pub fn cut(mut self) -> Self {
        self.steps.push(Planned::Cut);
        self
    }

    /// The end: the reason, the usage where it was asked for, `[DONE]`.
    pub fn finish(mut self, reason: &str) -> Self {
        self.steps.push(Planned::Finish(reason.to_owned()));
        self
    }

    /// Cuts everything that is sent into pieces of so many bytes, also within a character.
    pub fn in_pieces(mut self, len: usize) -> Self {
        self.piece_len = Some(len);
        self
    }

    fn event(self, choices: &Value, usage: Option<&Value>) -> Self {
        let mut event = json!({
            "id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "fake",
            "system_fingerprint": "fp_fake", "choices": choices,
        });
        if let Some(usage) = usage {
            event["usage"] = usage.clone();
        }
        self.raw(format!("data: {event}\n\n").as_bytes())
    }

    fn end(self, reason: &str, tells_usage: bool) -> Self {
        let usage = json!({
            "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
        });
        let ended = self.event(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None);
        let ended = if tells_usage { ended.event(&json!([]), Some(&usage)) } else { ended };
        ended.raw(b"data: [DONE]\n\n")
    }

    pub(super) fn steps(self, tells_usage: bool) -> VecDeque<Step> {
        let piece_len = self.piece_len.unwrap_or(usize::MAX);
        let steps = self.steps.into_iter().flat_map(|planned| match planned {
            Planned::Finish(reason) => Self::default().end(&reason, tells_usage).steps,
            Planned::Send(_) | Planned::Wait(_) | Planned::Pause(_) | Planned::Cut => vec![planned],
        });
        steps
            .flat_map(|planned| match planned {
                Planned::Send(bytes) => {
                    bytes.chunks(piece_len).map(|piece| Step::Send(Bytes::copy_from_slice(piece))).collect()
                }
                Planned::Wait(gate) => vec![Step::Wait(gate)],
                Planned::Pause(time) => vec![Step::Pause(time)],
                Planned::Cut => vec![Step::Cut],
                Planned::Finish(_) => unreachable!("ends were written out"),
            })
            .collect()
    }
}

/// Calls back if it is dropped while there are steps left.
struct Playing<F: FnMut()> {
    steps: VecDeque<Step>,
    on_drop: F,
}

impl<F: FnMut()> Drop for Playing<F> {
    fn drop(&mut self) {
        if !self.steps.is_empty() {
            (self.on_drop)();
        }
    }
}

/// The steps as a body; `on_drop` is called when the client goes before the end.
pub(super) fn play(
    steps: VecDeque<Step>,
    on_drop: impl FnMut() + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> {
    futures::stream::unfold(Playing { steps, on_drop }, |mut playing| async {
        loop {
            // Gives the connection time to send each piece by itself.
            tokio::task::yield_now().await;
            if let Some(Step::Wait(gate)) = playing.steps.front() {
                gate.clone().pass().await;
            }
            match playing.steps.pop_front()? {
                Step::Wait(_) => {}
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Send(bytes) => return Some((Ok(bytes), playing)),
                Step::Cut => {
                    playing.steps.clear();
                    return Some((Err(io::Error::other("cut by the script")), playing));
                }
            }
        }
    })
}

/// An error's body as OpenAI writes it.
pub(super) fn error_body(message: &str, kind: &str, code: Option<&str>) -> String {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
}
