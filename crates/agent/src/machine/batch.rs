//! The tool calls of one reply, from their start to the messages that they become.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::machine::reading::Reading;
use crate::machine::{draft, texts, tool_disclosure, undo};
use hob_core::domain::elicitation::{ElicitReply, Elicitation};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::{Assessment, KEEP_CHANGES, ToolFacts};
use hob_model::message::{Message, Pictures, ReplyPart, ToolCall, ToolResult, reply_calls};

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
    pub progress: CallProgress,
    /// The code that its command ended with, if it is a command and has ended.
    pub exit_code: Option<i32>,
    /// What became of it, as far as it is settled.
    pub fate: CallFate,
    /// What its tool said of it beforehand; none: nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assessed: Option<Assessment>,
    /// The machine has added it: it stands in no reply, and its result is told as a note.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub added: bool,
    /// That was said as things stand now: where it depends on that, the call starts only then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub looked: bool,
    /// What was known of it when a person let it go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<Assessment>,
    /// The pictures of its result.
    #[serde(skip_serializing_if = "Pictures::is_empty")]
    pub pictures: Pictures,
    /// Which step of the run's plan it was taken for; none: it was not planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// What a reader is asked about its result, which the model never sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Box<Reading>>,
    /// What a person has answered its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Box<AnsweredForm>>,
}

/// What became of a call, for the record (row E10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallFate {
    /// Nothing yet: nobody knows whether it took effect, if it was started.
    #[default]
    Open,
    Done,
    Failed,
    /// It was not let through.
    Denied,
    /// A guard kept it from being run (row E6).
    Blocked,
}

impl OpenCall {
    /// One that nothing has happened to; of it so much is known.
    fn queued(call: ToolCall, assessed: Option<Assessment>) -> Self {
        Self {
            call,
            progress: CallProgress::Queued,
            exit_code: None,
            fate: CallFate::Open,
            assessed,
            added: false,
            looked: false,
            approved: None,
            pictures: Pictures::default(),
            planned: None,
            reading: None,
            answered: None,
        }
    }

    /// One that no model has written.
    pub(super) fn added(call: ToolCall) -> Self {
        Self { added: true, ..Self::queued(call, None) }
    }

    /// What it is asked for: by that two calls of a tool are the same.
    pub fn wanted(&self) -> Cow<'_, str> {
        match &self.reading {
            None => Cow::Borrowed(&self.call.arguments),
            Some(reading) => Cow::Owned(format!("{} {}", self.call.arguments, reading.question)),
        }
    }

    /// A guard keeps it from being run.
    pub fn block(&mut self, text: String) {
        let (call, name) = (self.call.id.clone(), self.call.name.clone());
        self.progress = CallProgress::Finished(ToolResult { call, name, text, is_error: true });
        self.fate = CallFate::Blocked;
    }
}

/// What a call's server asks while it works on the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenForm {
    pub asked: Elicitation,
    /// The try that waits for the answer.
    pub attempt: u32,
}

/// What a person has said to that. A later try that asks the same has the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredForm {
    /// What was asked, and by which try.
    pub form: OpenForm,
    /// What they said.
    pub reply: ElicitReply,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum CallProgress {
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
        question: String,
        /// Its server asks it.
        #[serde(skip_serializing_if = "Option::is_none")]
        form: Option<Box<OpenForm>>,
    },
    /// An agent is at work on it: a run of its own.
    Child,
    /// Settled.
    Finished(ToolResult),
}

impl CallProgress {
    /// What came of the call; none: it is not settled.
    pub fn result(&self) -> Option<&ToolResult> {
        if let Self::Finished(result) = self { Some(result) } else { None }
    }
}

impl Batch {
    /// The batch of a fresh reply: nothing started yet. What is known of its calls stands in their order.
    pub fn new(reply: Vec<ReplyPart>, assessed: Vec<Assessment>) -> Self {
        let mut assessed = assessed.into_iter();
        let open = |call: &ToolCall| OpenCall::queued(call.clone(), assessed.next());
        let calls = reply_calls(&reply).map(open).collect();
        Self { reply, calls }
    }

    /// From here on its calls are those that the model meant, where it may call these tools; its reply is as it was written.
    #[must_use]
    pub(crate) fn resolve_disclosed(mut self, tools: &BTreeMap<String, ToolFacts>) -> Self {
        for open in &mut self.calls {
            let (meant, asked) = tool_disclosure::resolve_call(&open.call, tools);
            open.call = meant;
            open.reading = asked.map(|(question, form)| Box::new(Reading { question, form, from: None }));
        }
        self
    }

    /// Starts what may start now: all that wait together, or, where one of the batch's tools runs alone, one after another
    /// in their order; what waits there for a person's word keeps those behind it waiting.
    pub(crate) fn start_next(&mut self, is_exclusive: impl Fn(&str) -> bool) -> Vec<ToolCall> {
        let one_by_one = self.calls.iter().any(|open| is_exclusive(&open.call.name));
        let unsettled = self.calls.iter_mut().filter(|open| !matches!(open.progress, CallProgress::Finished(_)));
        let due = unsettled.take(if one_by_one { 1 } else { usize::MAX });
        let starting = due.filter(|open| open.progress == CallProgress::Queued);
        let start = |open: &mut OpenCall| {
            open.progress = CallProgress::Started { attempt: 1 };
            open.call.clone()
        };
        starting.map(start).collect()
    }

    /// The call whose turn it is, if its tool has to look at it before it starts.
    pub(crate) fn next_unassessed(&self, is_by_state: impl Fn(&str) -> bool) -> Option<&ToolCall> {
        let first = self.calls.iter().find(|open| open.progress.result().is_none())?;
        let is_due = first.progress == CallProgress::Queued && !first.looked && is_by_state(&first.call.name);
        is_due.then_some(&first.call)
    }

    /// What was looked at is to be looked at again: time has passed.
    pub(crate) fn reset_assessed(&mut self) {
        self.calls.iter_mut().filter(|open| open.progress == CallProgress::Queued).for_each(|open| open.looked = false);
    }

    /// The calls that run.
    pub fn started(&self) -> impl Iterator<Item = (&ToolCall, u32)> {
        self.calls.iter().filter_map(|open| {
            let CallProgress::Started { attempt } = open.progress else { return None };
            Some((&open.call, attempt))
        })
    }

    /// On how many calls agents are at work.
    pub fn children(&self) -> usize {
        self.calls.iter().filter(|open| open.progress == CallProgress::Child).count()
    }

    /// The first call of which nobody knows whether it took effect, and which try that was.
    pub(crate) fn doubtful(&self) -> Option<(&ToolCall, u32)> {
        self.calls.iter().find_map(|open| {
            let CallProgress::Doubtful { attempt } = open.progress else { return None };
            Some((&open.call, attempt))
        })
    }

    /// The first call that a person has to approve.
    pub fn held(&self) -> Option<&OpenCall> {
        self.calls.iter().find(|open| open.progress == CallProgress::Held)
    }

    /// The call with this id, to be looked at.
    pub fn get(&self, id: &CallId) -> Option<&OpenCall> {
        self.calls.iter().find(|open| open.call.id == *id)
    }

    /// Is every call settled?
    pub fn is_settled(&self) -> bool {
        self.calls.iter().all(|open| open.progress.result().is_some())
    }

    /// The first call by which the model asks a person.
    pub fn asking(&self) -> Option<(&ToolCall, &str)> {
        self.calls.iter().find_map(|open| {
            let CallProgress::Asks { question, form: None } = &open.progress else { return None };
            Some((&open.call, question.as_str()))
        })
    }

    pub fn find(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|open| open.call.id == *id)
    }

    /// Settles a call.
    pub fn finish(&mut self, id: &CallId, text: String, is_error: bool) {
        if let Some(open) = self.find(id) {
            let (call, name) = (open.call.id.clone(), open.call.name.clone());
            open.progress = CallProgress::Finished(ToolResult { call, name, text, is_error });
            open.fate = if is_error { CallFate::Failed } else { CallFate::Done };
        }
    }

    /// Notes the pictures of a call's result.
    pub fn show(&mut self, id: &CallId, pictures: &Pictures) {
        if let Some(open) = self.find(id) {
            open.pictures = pictures.clone();
        }
    }

    /// Settles a call that was not let through (rows D6, E7, E15).
    pub fn deny(&mut self, id: &CallId, reason: String) {
        self.finish(id, reason, true);
        self.judge(id, CallFate::Denied);
    }

    /// Settles a call that was stopped on its way: nobody knows whether it took effect.
    pub fn interrupt(&mut self, id: &CallId, text: String) {
        self.finish(id, text, true);
        self.judge(id, CallFate::Open);
    }

    /// Adds a paragraph of Hob's to what the model reads of a settled call.
    pub(crate) fn add_below(&mut self, id: &CallId, words: &str) {
        if let Some(OpenCall { progress: CallProgress::Finished(result), .. }) = self.find(id) {
            result.text.extend(["\n\n", words]);
        }
    }

    fn judge(&mut self, id: &CallId, fate: CallFate) {
        if let Some(open) = self.find(id) {
            open.fate = fate;
        }
    }

    /// Row E9: what failed or was denied says what not to do now.
    pub fn guide(&mut self) {
        for open in &mut self.calls {
            let CallProgress::Finished(result) = &mut open.progress else { continue };
            let guidance = match open.fate {
                CallFate::Failed => texts::AFTER_FAILURE,
                CallFate::Denied => texts::AFTER_DENIAL,
                CallFate::Open | CallFate::Done | CallFate::Blocked => continue,
            };
            result.text.push_str("\n\n");
            result.text.push_str(guidance);
        }
    }

    /// The messages it becomes; what is not settled gets `unsettled` as its result, so that pairs are never halved.
    pub fn into_messages(self, unsettled: &str) -> Vec<Message> {
        // A result bears the name that its call was written under: some providers pair them by it.
        let written: Vec<String> = reply_calls(&self.reply).map(|call| call.name.clone()).collect();
        let seen = self.calls.iter().filter(|open| !open.pictures.is_empty());
        let seen: Vec<Message> =
            seen.map(|open| Message::user_with(texts::pictures(&open.call.name), open.pictures.as_slice())).collect();
        let (added, meant): (Vec<OpenCall>, Vec<OpenCall>) = self.calls.into_iter().partition(|open| open.added);
        let mut messages = Vec::new();
        if !self.reply.is_empty() {
            messages.push(Message::Assistant { parts: self.reply });
        }
        messages.extend(written.into_iter().zip(meant).map(|(name, open)| {
            let call = open.call.id;
            Message::Tool(match open.progress {
                CallProgress::Finished(result) => ToolResult { name, ..result },
                CallProgress::Queued | CallProgress::Held => {
                    ToolResult { call, name, text: texts::NOT_STARTED.to_owned(), is_error: true }
                }
                CallProgress::Started { .. }
                | CallProgress::Doubtful { .. }
                | CallProgress::Asks { .. }
                | CallProgress::Child => ToolResult { call, name, text: unsettled.to_owned(), is_error: true },
            })
        }));
        messages.extend(added.into_iter().map(|open| match (open.progress.result(), open.call.name == KEEP_CHANGES) {
            (Some(result), true) => Message::user(draft::note(&result.text)),
            (Some(result), false) => Message::user(undo::note(&result.text)),
            (None, true) => Message::user(draft::UNSETTLED),
            (None, false) => Message::user(undo::UNSETTLED),
        }));
        // After all results: nothing may stand between them.
        messages.extend(seen);
        messages
    }
}
