//! What the fake Anthropic answers.

use serde_json::{Value, json};

use crate::scripted;
use crate::stream::{Gate, Plan};

/// One answer.
pub type Reply = scripted::Reply<Script>;

impl Reply {
    /// Says this, word by word.
    pub fn text(text: &str) -> Self {
        Script::begin().words(text).finish("end_turn").into()
    }

    /// Calls one tool.
    pub fn call(name: &str, input: &str) -> Self {
        Self::calls(&[(name, input)])
    }

    /// Calls several tools at once.
    pub fn calls(calls: &[(&str, &str)]) -> Self {
        let script = calls.iter().fold(Script::begin(), |script, (name, input)| script.call(name, input));
        script.finish("tool_use").into()
    }

    /// Fails as Anthropic does with this status.
    pub fn status(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "max_tokens: 99999 > 64000, which is the maximum allowed for this model"),
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "Your credit balance is too low to access the Anthropic API."),
            403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
            404 => ("not_found_error", "model: claude-x"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "This request would exceed your organization's rate limit of 50 requests."),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        Self::http(status, "application/json", &error_body(kind, message).to_string())
    }
}

/// A stream, event by event. One that is never finished ends without `message_stop`.
#[derive(Debug, Clone, Default)]
pub struct Script {
    plan: Plan,
    blocks: u64,
    thoughts: Vec<Value>,
}

impl Script {
    /// A stream that begins as every one does.
    pub fn begin() -> Self {
        let message = json!({
            "id": "msg_fake", "type": "message", "role": "assistant", "model": "claude-fake", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 11, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1},
        });
        Self::default().event(&json!({"type": "message_start", "message": message}))
    }

    /// A block of text, one event a word.
    pub fn words(self, text: &str) -> Self {
        let index = self.blocks;
        let script = self.start(index, &json!({"type": "text", "text": ""})).ping();
        text.split_inclusive(' ').fold(script, |script, word| script.text(index, word)).stop(index)
    }

    /// A whole call; its input in two pieces, cut anywhere.
    pub fn call(self, name: &str, input: &str) -> Self {
        let index = self.blocks;
        let id = format!("toolu_{index:02}");
        let script = self.start(index, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
        let (first, second) = input.split_at(input.floor_char_boundary(input.len() / 2));
        script.input(index, "").input(index, first).input(index, second).stop(index)
    }

    /// A whole block of thinking.
    pub fn thinking(mut self, thinking: &str, signature: &str) -> Self {
        let index = self.blocks;
        self.thoughts.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        let script = self.start(index, &json!({"type": "thinking", "thinking": "", "signature": ""}));
        let (first, second) = thinking.split_at(thinking.floor_char_boundary(thinking.len() / 2));
        let script = script.delta(index, &json!({"type": "thinking_delta", "thinking": first}));
        let script = script.delta(index, &json!({"type": "thinking_delta", "thinking": second}));
        script.delta(index, &json!({"type": "signature_delta", "signature": signature})).stop(index)
    }

    /// A whole block of thinking that nobody may read.
    pub fn redacted(mut self, data: &str) -> Self {
        let index = self.blocks;
        let block = json!({"type": "redacted_thinking", "data": data});
        self.thoughts.push(block.clone());
        self.start(index, &block).stop(index)
    }

    /// Begins a block.
    pub fn start(mut self, index: u64, block: &Value) -> Self {
        self.blocks = self.blocks.max(index + 1);
        self.event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    }

    /// More text of a block.
    pub fn text(self, index: u64, text: &str) -> Self {
        self.delta(index, &json!({"type": "text_delta", "text": text}))
    }

    /// More input of a call.
    pub fn input(self, index: u64, partial_json: &str) -> Self {
        self.delta(index, &json!({"type": "input_json_delta", "partial_json": partial_json}))
    }

    /// More of a block.
    pub fn delta(self, index: u64, delta: &Value) -> Self {
        self.event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    /// Ends a block.
    pub fn stop(self, index: u64) -> Self {
        self.event(&json!({"type": "content_block_stop", "index": index}))
    }

    /// A sign of life.
    pub fn ping(self) -> Self {
        self.event(&json!({"type": "ping"}))
    }

    /// Something went wrong after the answer had begun.
    pub fn error(self, kind: &str, message: &str) -> Self {
        self.event(&error_body(kind, message))
    }

    /// The end: the reason, the usage, `message_stop`.
    pub fn finish(self, reason: &str) -> Self {
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        let script = self.event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}));
        script.event(&json!({"type": "message_stop"}))
    }

    pub fn raw(self, bytes: impl AsRef<[u8]>) -> Self {
        Self { plan: self.plan.raw(bytes), ..self }
    }

    /// These bytes again and again, until the client goes.
    pub fn forever(self, bytes: impl AsRef<[u8]>) -> Self {
        Self { plan: self.plan.forever(bytes), ..self }
    }

    /// Waits until the test opens the gate.
    pub fn gate(self, gate: &Gate) -> Self {
        Self { plan: self.plan.gate(gate), ..self }
    }

    /// Never goes on.
    pub fn stall(self) -> Self {
        Self { plan: self.plan.stall(), ..self }
    }

    /// Breaks the connection off.
    pub fn cut(self) -> Self {
        Self { plan: self.plan.cut(), ..self }
    }

    /// Cuts everything that is sent into pieces of so many bytes, also within a character.
    pub fn in_pieces(self, len: usize) -> Self {
        Self { plan: self.plan.in_pieces(len), ..self }
    }

    fn event(self, event: &Value) -> Self {
        let name = event["type"].as_str().unwrap_or_default().to_owned();
        self.raw(format!("event: {name}\ndata: {event}\n\n"))
    }

    /// The blocks of thinking in it.
    pub(super) fn thoughts(&self) -> &[Value] {
        &self.thoughts
    }

    pub(super) fn plan(self) -> Plan {
        self.plan
    }
}

/// An error's body as Anthropic writes it.
pub fn error_body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"})
}
