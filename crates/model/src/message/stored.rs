//! The shapes in the database: words and calls are fields of their own, as they were in the first version; `parts` stands
//! for both where they do not say it all.

use serde::{Deserialize, Serialize};

use crate::message::{
    ReplyPart, StopReason, ToolCall, ToolResult, Usage, UserPart, is_zero, reply_calls, reply_parts, reply_text,
};

#[derive(Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message {
    User {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<UserPart>,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<ReplyPart>,
    },
    Tool(ToolResult),
}

impl From<Message> for super::Message {
    fn from(stored: Message) -> Self {
        match stored {
            Message::User { text, parts } if parts.is_empty() => Self::user(text),
            Message::User { parts, .. } => Self::User { parts },
            Message::Assistant { text, calls, parts } if parts.is_empty() => Self::assistant(text, calls),
            Message::Assistant { parts, .. } => Self::Assistant { parts },
            Message::Tool(result) => Self::Tool(result),
        }
    }
}

impl From<super::Message> for Message {
    fn from(message: super::Message) -> Self {
        match message {
            super::Message::User { parts } => match <[UserPart; 1]>::try_from(parts) {
                Ok([UserPart::Text { text }]) => Self::User { text, parts: Vec::new() },
                Ok(image) => Self::User { text: String::new(), parts: image.into() },
                Err(parts) => Self::User { text: String::new(), parts },
            },
            super::Message::Assistant { parts } => {
                let (text, calls, parts) = fields(parts);
                Self::Assistant { text, calls, parts }
            }
            super::Message::Tool(result) => Self::Tool(result),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Completion {
    text: String,
    calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<ReplyPart>,
    usage: Usage,
    stop: StopReason,
    #[serde(default, skip_serializing_if = "is_zero")]
    latency_ms: u64,
}

impl From<Completion> for super::Completion {
    fn from(stored: Completion) -> Self {
        let Completion { text, calls, parts, usage, stop, latency_ms } = stored;
        let parts = if parts.is_empty() { reply_parts(text, calls) } else { parts };
        Self { parts, usage, stop, latency_ms }
    }
}

impl From<super::Completion> for Completion {
    fn from(completion: super::Completion) -> Self {
        let super::Completion { parts, usage, stop, latency_ms } = completion;
        let (text, calls, parts) = fields(parts);
        Self { text, calls, parts, usage, stop, latency_ms }
    }
}

/// Words and calls, if they are all there is and in this order; else the parts.
fn fields(parts: Vec<ReplyPart>) -> (String, Vec<ToolCall>, Vec<ReplyPart>) {
    let text = reply_text(&parts).into_owned();
    let calls: Vec<ToolCall> = reply_calls(&parts).cloned().collect();
    if reply_parts(text.clone(), calls.clone()) == parts {
        (text, calls, Vec::new())
    } else {
        (String::new(), Vec::new(), parts)
    }
}
