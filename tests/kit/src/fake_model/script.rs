//! What the fake model answers.

use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::scripted;
use crate::stream::{Gate, Plan, Step};

/// One answer.
pub type Reply = scripted::Reply<Script>;

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
}

/// A stream, step by step. One that is never finished ends without `[DONE]`.
#[derive(Debug, Clone, Default)]
pub struct Script {
    steps: Vec<PlannedStep>,
    piece_len: Option<usize>,
    read: Option<u64>,
}

#[derive(Debug, Clone)]
enum PlannedStep {
    Step(Step),
    Finish(String),
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

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.steps.push(PlannedStep::Step(Step::Send(Bytes::copy_from_slice(bytes))));
        self
    }

    /// Waits until the test opens the gate.
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.steps.push(PlannedStep::Step(Step::Wait(gate.clone())));
        self
    }

    /// Takes its time: to be killed in, never to wait for something.
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(PlannedStep::Step(Step::Pause(time)));
        self
    }

    /// Never goes on.
    pub fn stall(self) -> Self {
        self.gate(&Gate::default())
    }

    /// Breaks the connection off.
    pub fn cut(mut self) -> Self {
        self.steps.push(PlannedStep::Step(Step::Cut));
        self
    }

    /// The end: the reason, the usage where it was asked for, `[DONE]`.
    pub fn finish(mut self, reason: &str) -> Self {
        self.steps.push(PlannedStep::Finish(reason.to_owned()));
        self
    }

    /// Says that it has read so many tokens, none of them from a cache.
    pub fn reads(mut self, tokens: u64) -> Self {
        self.read = Some(tokens);
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
        let (read, cached) = self.read.map_or((11, 3), |read| (read, 0));
        let usage = json!({
            "prompt_tokens": read, "completion_tokens": 7, "total_tokens": read + 7,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        });
        let ended = self.event(&json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None);
        let ended = if tells_usage { ended.event(&json!([]), Some(&usage)) } else { ended };
        ended.raw(b"data: [DONE]\n\n")
    }

    /// The whole stream, with the usage where it was asked for.
    pub(super) fn plan(self, tells_usage: bool) -> Plan {
        let plan = Plan::default().in_pieces(self.piece_len.unwrap_or(usize::MAX));
        self.steps.into_iter().fold(plan, |plan, planned| match planned {
            PlannedStep::Step(step) => plan.step(step),
            PlannedStep::Finish(reason) => {
                let end = Self { read: self.read, ..Self::default() }.end(&reason, tells_usage).steps.into_iter();
                end.fold(plan, |plan, planned| match planned {
                    PlannedStep::Step(step) => plan.step(step),
                    PlannedStep::Finish(_) => unreachable!("an end has none"),
                })
            }
        })
    }
}

/// An error's body as OpenAI writes it.
pub(super) fn error_body(message: &str, kind: &str, code: Option<&str>) -> String {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
}
