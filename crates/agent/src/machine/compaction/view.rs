//! What of a conversation is shown to the model.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::machine::compaction::fit::head_and_tail;
use crate::machine::compaction::texts;
use crate::machine::transcript::{Transcript, TranscriptEntry};
use hob_model::message::{Message, ToolResult};

/// The most characters of a person's words that are quoted after the messages around them are gone.
pub(super) const QUOTE_CHARS_MAX: usize = 4_000;

/// A tool's result that outlives its message (row B4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedResult {
    /// Where its message stands, in the history that goes along and the transcript together.
    pub at: usize,
    pub tool: String,
    /// The result, cut.
    pub text: String,
}

/// What is shown of the history that goes along and the transcript behind it. The default: all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextView {
    /// The first message that is shown as it is.
    pub from: usize,
    /// What stands for those before it.
    pub summary: Option<String>,
    /// How many of those before it the summary does not know.
    pub left_out: u32,
    /// What is gone by a deep prune, in a line each (row B5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<String>,
    /// The latest good result of each tool among those before it.
    pub pins: Vec<PinnedResult>,
    /// The most characters of a result that are shown.
    pub(crate) result_chars: Option<u32>,
}

impl ContextView {
    /// Is everything shown as it is?
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    /// What stands for the messages that are not shown.
    pub fn body(&self) -> Option<String> {
        let left_out = (self.left_out > 0).then(|| texts::left_out(self.left_out));
        let pins = (!self.pins.is_empty()).then(|| texts::pins(&self.pins));
        let parts: Vec<String> =
            [self.summary.clone(), left_out, self.pruned.clone(), pins].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// The message that says so.
    pub fn block(&self) -> Option<Message> {
        self.body().map(|body| Message::user(texts::block(&body)))
    }

    /// What is shown of the history that goes along: its end.
    pub(crate) fn of_past(&self, past: &[Message]) -> Vec<Message> {
        past.iter().skip(self.from).map(|message| self.cut(message).into_owned()).collect()
    }

    /// What is shown of the transcript behind `past` messages: its end, and before it what people said themselves.
    pub(crate) fn of_transcript(&self, transcript: &Transcript, past: usize) -> Vec<Message> {
        let hidden = self.from.saturating_sub(past);
        let quoted = transcript.entries().take(hidden).filter(is_quoted).map(|entry| quoted(entry.message));
        let shown = transcript.messages().iter().skip(hidden).map(|message| self.cut(message).into_owned());
        quoted.chain(shown).collect()
    }

    /// The message as it is shown.
    pub fn cut<'a>(&self, message: &'a Message) -> Cow<'a, Message> {
        let chars_max = self.result_chars.map_or(usize::MAX, |chars| usize::try_from(chars).unwrap_or(usize::MAX));
        match message {
            Message::Tool(result) if result.text.len() > chars_max => {
                let text = head_and_tail(&result.text, chars_max);
                Cow::Owned(Message::Tool(ToolResult { text, ..result.clone() }))
            }
            Message::Tool(_) | Message::User { .. } | Message::Assistant { .. } => Cow::Borrowed(message),
        }
    }
}

/// The task, and what joined it, in people's own words: no summary takes their place.
pub(super) fn is_quoted(entry: &TranscriptEntry<'_>) -> bool {
    entry.author.is_some()
}

/// A person's words without what is too long in them, and without their pictures: a line names these in any case.
pub(super) fn quoted(message: &Message) -> Message {
    let text = message.text();
    if text.len() <= QUOTE_CHARS_MAX && message.pictures().next().is_none() {
        return message.clone();
    }
    Message::user(head_and_tail(&text, QUOTE_CHARS_MAX))
}
