//! The tool calls of one reply, from their start to the messages that they become.

use serde::Serialize;

use crate::agent::machine::texts;
use crate::domain::ids::CallId;
use crate::model::message::{Message, ReplyPart, ToolCall, ToolResult, reply_calls};

/// The tool calls of one reply (row D4: the model sees the results when all are settled).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Batch {
    /// The reply, whole; its calls carry the run's ids.
    pub reply: Vec<ReplyPart>,
    /// The calls, in its order; never empty.
    pub calls: Vec<OpenCall>,
}

/// One call of a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenCall {
    /// What was asked for.
    pub call: ToolCall,
    /// How far it is.
    pub progress: Progress,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum Progress {
    /// Not started: it waits for its turn.
    Queued,
    /// Not started: a person has to approve it (row D6).
    Held,
    /// Started for the `attempt`th time.
    Started {
        /// 1 for the first time.
        attempt: u32,
    },
    /// Under way when the process died, and not safe to run twice: a person must say.
    Doubtful {
        /// The attempt that was under way.
        attempt: u32,
    },
    /// It asks a person.
    Asks {
        /// What.
        question: String,
    },
    /// Settled.
    Finished(ToolResult),
}

impl Batch {
    /// The batch of a fresh reply: nothing started yet.
    #[must_use]
    pub fn new(reply: Vec<ReplyPart>) -> Self {
        let open = |call: &ToolCall| OpenCall { call: call.clone(), progress: Progress::Queued };
        let calls = reply_calls(&reply).map(open).collect();
        Self { reply, calls }
    }

    /// Starts what may start now: all that wait together, or, where one of the batch's tools runs alone, one after another.
    pub fn start_next(&mut self, is_exclusive: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let one_by_one = self.calls.iter().any(|open| is_exclusive(&open.call.name));
        if one_by_one && self.started().next().is_some() {
            return Vec::new();
        }
        let queued = self.calls.iter_mut().filter(|open| open.progress == Progress::Queued);
        let starting = queued.take(if one_by_one { 1 } else { usize::MAX });
        let start = |open: &mut OpenCall| {
            open.progress = Progress::Started { attempt: 1 };
            open.call.clone()
        };
        starting.map(start).collect()
    }

    /// The calls that run.
    pub fn started(&self) -> impl Iterator<Item = (&ToolCall, u32)> {
        self.calls.iter().filter_map(|open| match &open.progress {
            Progress::Started { attempt } => Some((&open.call, *attempt)),
            Progress::Queued
            | Progress::Held
            | Progress::Doubtful { .. }
            | Progress::Asks { .. }
            | Progress::Finished(_) => None,
        })
    }

    /// The first call of which nobody knows whether it took effect.
    #[must_use]
    pub fn doubtful(&self) -> Option<&ToolCall> {
        self.calls.iter().find(|open| matches!(open.progress, Progress::Doubtful { .. })).map(|open| &open.call)
    }

    /// The first call that asks a person.
    #[must_use]
    pub fn asking(&self) -> Option<(&ToolCall, &str)> {
        self.calls.iter().find_map(|open| match &open.progress {
            Progress::Asks { question } => Some((&open.call, question.as_str())),
            Progress::Queued
            | Progress::Held
            | Progress::Started { .. }
            | Progress::Doubtful { .. }
            | Progress::Finished(_) => None,
        })
    }

    /// The call with this id.
    pub fn find(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|open| open.call.id == *id)
    }

    /// Settles a call.
    pub fn finish(&mut self, id: &CallId, text: String, is_error: bool) {
        if let Some(open) = self.find(id) {
            let (call, name) = (open.call.id.clone(), open.call.name.clone());
            open.progress = Progress::Finished(ToolResult { call, name, text, is_error });
        }
    }

    /// The messages it becomes; what is not settled gets `unsettled` as its result, so that pairs are never halved.
    #[must_use]
    pub fn into_messages(self, unsettled: &str) -> Vec<Message> {
        let mut messages = vec![Message::Assistant { parts: self.reply }];
        messages.extend(self.calls.into_iter().map(|open| match open.progress {
            Progress::Finished(result) => Message::Tool(result),
            Progress::Queued | Progress::Held => Message::Tool(ToolResult {
                call: open.call.id,
                name: open.call.name,
                text: texts::NOT_STARTED.to_owned(),
                is_error: true,
            }),
            Progress::Started { .. } | Progress::Doubtful { .. } | Progress::Asks { .. } => Message::Tool(ToolResult {
                call: open.call.id,
                name: open.call.name,
                text: unsettled.to_owned(),
                is_error: true,
            }),
        }));
        messages
    }
}
