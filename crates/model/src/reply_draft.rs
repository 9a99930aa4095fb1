//! A reply while it is written: its parts in order, its reasoning taken out, within its limits.
//!
//! Never: I/O, or a provider's words.
//! Start at [`ReplyDraft::words`].

use serde_json::{Map, Value};

use crate::error::{ErrorClass, ModelError};
use crate::exchange::malformed;
use crate::message::{Completion, ReplyPart, Sealed, StopReason, ToolCall, Usage, reply_calls, reply_text};
use crate::think_filter::ThinkFilter;

/// How much a reply may hold, reasoning included.
pub(crate) const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How many calls one reply may make.
const REPLY_CALLS_MAX: usize = 128;
/// How many seals a reply may carry: each stands for a part of it.
const REPLY_SEALS_MAX: usize = 4 * REPLY_CALLS_MAX;

/// How much there is of a reply, against how much it may hold.
#[derive(Debug, Default)]
pub(crate) struct ReplyLimits {
    bytes: usize,
    calls: usize,
}

impl ReplyLimits {
    /// Counts what is kept or read.
    pub(crate) fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > REPLY_BYTES_MAX { Err(malformed("The model's reply is too long.")) } else { Ok(()) }
    }

    /// Counts one more call.
    pub(crate) fn count_call(&mut self) -> Result<(), ModelError> {
        self.calls += 1;
        let is_much = self.calls > REPLY_CALLS_MAX;
        if is_much { Err(malformed("The model asks for too many tools at once.")) } else { Ok(()) }
    }

    /// Whether anything came.
    pub(crate) fn has_begun(&self) -> bool {
        self.bytes > 0
    }
}

/// The whole reply, unless it says nothing.
pub(crate) fn completion(parts: Vec<ReplyPart>, usage: Usage, stop: StopReason) -> Result<Completion, ModelError> {
    if reply_calls(&parts).next().is_some() || !reply_text(&parts).trim().is_empty() {
        return Ok(Completion { parts, usage, stop, latency_ms: 0 });
    }
    Err(match stop {
        StopReason::End => malformed("The model's reply is empty."),
        StopReason::MaxTokens => malformed(
            "The model used up its output limit before it said anything whole: allow it more output tokens, or less \
             thinking.",
        ),
        StopReason::ContentFilter => ModelError::new(ErrorClass::Refused, "The model provider withheld the reply."),
    })
}

/// A reply while it is written.
#[derive(Debug)]
pub(crate) struct ReplyDraft {
    model: String,
    parts: Vec<ReplyPart>,
    think: ThinkFilter,
    /// More words join the last part.
    open: bool,
    limits: ReplyLimits,
    seals: usize,
}

impl ReplyDraft {
    /// Nothing yet from the model with this label.
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            parts: Vec::new(),
            think: ThinkFilter::default(),
            open: false,
            limits: ReplyLimits::default(),
            seals: 0,
        }
    }

    /// Takes more words, answers with those that may be shown.
    pub(crate) fn push_text(&mut self, text: &str) -> Result<String, ModelError> {
        self.count_bytes(text.len())?;
        let shown = self.think.push(text);
        self.append(&shown);
        Ok(shown)
    }

    /// Takes words that are a part of their own under a seal, answers with those that may be shown; without any, the
    /// seal stands alone.
    pub(crate) fn push_sealed_text(
        &mut self,
        text: &str,
        seal: &str,
        alone: &str,
        data: String,
    ) -> Result<String, ModelError> {
        self.count_bytes(text.len())?;
        let shown = self.think.push(text);
        self.seal(if shown.is_empty() { alone } else { seal }, data)?;
        self.append(&shown);
        self.open = false;
        Ok(shown)
    }

    /// What looked like the start of a tag was none: what is shown of it.
    pub(crate) fn flush(&mut self) -> String {
        let shown = self.think.finish();
        self.append(&shown);
        shown
    }

    /// Takes a whole call.
    pub(crate) fn call(&mut self, call: ToolCall) -> Result<(), ModelError> {
        self.count_bytes(call.name.len() + call.arguments.len() + call.id.0.len())?;
        self.limits.count_call()?;
        self.open = false;
        self.parts.push(ReplyPart::Call(call));
        Ok(())
    }

    /// Takes what only the model understands.
    pub(crate) fn seal(&mut self, kind: &str, data: String) -> Result<(), ModelError> {
        self.count_bytes(data.len())?;
        self.seals += 1;
        if self.seals > REPLY_SEALS_MAX {
            return Err(malformed("The model's reply is in too many pieces."));
        }
        self.open = false;
        self.parts.push(ReplyPart::Sealed(Sealed { model: self.model.clone(), kind: kind.to_owned(), data }));
        Ok(())
    }

    /// Seals the words that are open; where there are none, those that come next.
    pub(crate) fn seal_open_text(&mut self, kind: &str, data: String) -> Result<(), ModelError> {
        let words = if self.open { self.parts.pop() } else { None };
        self.seal(kind, data)?;
        self.parts.extend(words);
        Ok(())
    }

    /// Counts what is kept or read elsewhere.
    pub(crate) fn count_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.limits.count_bytes(bytes)
    }

    /// Whether anything came.
    pub(crate) fn has_begun(&self) -> bool {
        self.limits.has_begun()
    }

    /// The whole reply.
    pub(crate) fn complete(mut self, usage: Usage, stop: StopReason) -> Result<Completion, ModelError> {
        if stop == StopReason::MaxTokens {
            self.leave_out_cut_call();
        }
        completion(self.parts, usage, stop)
    }

    /// A call that the limit cut off would look like one without arguments.
    fn leave_out_cut_call(&mut self) {
        let is_seal = |part: &ReplyPart| matches!(part, ReplyPart::Sealed(_));
        let last = self.parts.iter().rposition(|part| !is_seal(part));
        if let Some(at) = last.filter(|at| is_cut(&self.parts[*at])) {
            self.parts.truncate(at);
            while self.parts.pop_if(|seal| is_seal(seal)).is_some() {}
        }
    }

    fn append(&mut self, shown: &str) {
        if shown.is_empty() {
            return;
        }
        match self.parts.last_mut().filter(|_| self.open) {
            Some(ReplyPart::Text { text }) => text.push_str(shown),
            Some(ReplyPart::Call(_) | ReplyPart::Sealed(_)) | None => self.parts.push(ReplyPart::text(shown)),
        }
        self.open = true;
    }
}

/// Whether it is a call that may be cut off: its arguments are none, or not whole.
fn is_cut(part: &ReplyPart) -> bool {
    match part {
        ReplyPart::Call(call) => {
            serde_json::from_str::<Map<String, Value>>(&call.arguments).map_or(true, |arguments| arguments.is_empty())
        }
        ReplyPart::Text { .. } | ReplyPart::Sealed(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::CallId;

    fn call(arguments: &str) -> ToolCall {
        ToolCall { id: CallId("a".to_owned()), name: "look".to_owned(), arguments: arguments.to_owned() }
    }

    fn sealed(kind: &str, data: &str) -> ReplyPart {
        ReplyPart::Sealed(Sealed { model: "a/b".to_owned(), kind: kind.to_owned(), data: data.to_owned() })
    }

    #[test]
    fn words_join_and_seals_stand_before_their_part() {
        let mut draft = ReplyDraft::new("a/b");
        let mut shown = String::new();
        for text in ["<think>no</think>", "Hel", "lo <"] {
            shown.push_str(&draft.push_text(text).unwrap());
        }
        shown.push_str(&draft.flush());
        shown.push_str(&draft.push_sealed_text(" you", "s", "alone", "1".to_owned()).unwrap());
        shown.push_str(&draft.push_text(" there").unwrap());
        shown.push_str(&draft.push_sealed_text("", "s", "alone", "2".to_owned()).unwrap());
        draft.seal("s", "3".to_owned()).unwrap();
        draft.call(call("{}")).unwrap();
        let completion = draft.complete(Usage::default(), StopReason::End).unwrap();
        let parts = [
            ReplyPart::text("Hello <"),
            sealed("s", "1"),
            ReplyPart::text(" you"),
            ReplyPart::text(" there"),
            sealed("alone", "2"),
            sealed("s", "3"),
            ReplyPart::Call(call("{}")),
        ];
        assert_eq!(completion.parts, parts);
        assert_eq!(shown, completion.text());
    }

    #[test]
    fn words_can_be_sealed_once_they_are_said() {
        let mut draft = ReplyDraft::new("a/b");
        draft.seal_open_text("s", "1".to_owned()).unwrap();
        for text in ["Hel", "lo"] {
            draft.push_text(text).unwrap();
        }
        draft.seal_open_text("s", "2".to_owned()).unwrap();
        draft.push_text("you").unwrap();
        let completion = draft.complete(Usage::default(), StopReason::End).unwrap();
        let parts = [sealed("s", "1"), sealed("s", "2"), ReplyPart::text("Hello"), ReplyPart::text("you")];
        assert_eq!(completion.parts, parts);
    }

    #[test]
    fn a_call_that_was_cut_off_is_left_out_with_its_seals() {
        for (arguments, stop, calls) in
            [("{}", StopReason::MaxTokens, 1), ("{}", StopReason::End, 2), ("{\"a\":1}", StopReason::MaxTokens, 2)]
        {
            let mut draft = ReplyDraft::new("a/b");
            draft.call(call("{}")).unwrap();
            draft.seal("s", "1".to_owned()).unwrap();
            draft.call(call(arguments)).unwrap();
            draft.seal("alone", "2".to_owned()).unwrap();
            let completion = draft.complete(Usage::default(), stop).unwrap();
            assert_eq!(completion.calls().count(), calls, "{arguments} {stop:?}");
            assert_eq!(completion.parts.len(), if calls == 1 { 1 } else { 4 });
        }
    }

    #[test]
    fn what_says_nothing_is_an_error() {
        let cases = [
            (StopReason::End, ErrorClass::Malformed),
            (StopReason::MaxTokens, ErrorClass::Malformed),
            (StopReason::ContentFilter, ErrorClass::Refused),
        ];
        for (stop, class) in cases {
            let mut draft = ReplyDraft::new("a/b");
            draft.push_text(" \n<think>never said").unwrap();
            draft.seal("s", "1".to_owned()).unwrap();
            assert_eq!(draft.complete(Usage::default(), stop).unwrap_err().class, class);
        }
    }

    #[test]
    fn every_limit_holds() {
        let mut draft = ReplyDraft::new("a/b");
        draft.count_bytes(REPLY_BYTES_MAX).unwrap();
        assert_eq!(draft.push_text("x").unwrap_err().class, ErrorClass::Malformed);
        let mut draft = ReplyDraft::new("a/b");
        (0..REPLY_CALLS_MAX).for_each(|_| draft.call(call("{}")).unwrap());
        assert_eq!(draft.call(call("{}")).unwrap_err().class, ErrorClass::Malformed);
        let mut draft = ReplyDraft::new("a/b");
        (0..REPLY_SEALS_MAX).for_each(|_| draft.seal("s", String::new()).unwrap());
        assert_eq!(draft.seal("s", String::new()).unwrap_err().class, ErrorClass::Malformed);
    }
}
