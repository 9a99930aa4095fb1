//! What a recorded run's tools answered, by their calls. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::machine::effect::Effect;
use crate::machine::event::{Event, ToolOutcome};
use crate::machine::state::State;
use crate::machine::step;
use crate::machine::tool_disclosure;
use crate::replay::RecordedRun;
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::Assessment;
use hob_model::message::{Completion, ToolCall};

/// The same tool with the same arguments, whatever their order and spaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key(String, String);

impl Key {
    fn of(call: &ToolCall) -> Self {
        let arguments = serde_json::from_str::<Value>(&call.arguments);
        Self(call.name.clone(), arguments.map_or_else(|_| call.arguments.clone(), |arguments| arguments.to_string()))
    }
}

/// What was answered to calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RecordedAnswers {
    answers: BTreeMap<Key, AnswerQueue>,
    known: BTreeMap<Key, Assessment>,
    calls: BTreeMap<CallId, Key>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct AnswerQueue {
    /// The ends of the call, in order.
    given: Vec<Event>,
    /// How many of them the run has had.
    had: usize,
}

impl RecordedAnswers {
    /// Of a run; it has had what its events up to number `upto` brought.
    pub(super) fn of(recorded: &RecordedRun, upto: i64) -> Self {
        let (mut record, mut state, mut assessed) = (Self::default(), State::Empty, Vec::new());
        for (seq, timed) in recorded.numbered() {
            match &timed.event {
                Event::Assessed { calls } => assessed.clone_from(calls),
                Event::ModelAnswered(completion) => record.learn(&state, completion, std::mem::take(&mut assessed)),
                Event::Looked { call, known } => record.look(call, known),
                event => record.enter(event, seq <= upto),
            }
            if timed.event.is_start_record() {
                continue;
            }
            for effect in step(&mut state, timed.event.clone()).effects {
                if let Effect::RunTool { call, .. } | Effect::Look(call) = effect {
                    record.calls.insert(call.id.clone(), Key::of(&call));
                }
            }
        }
        record
    }

    fn learn(&mut self, state: &State, completion: &Completion, assessed: Vec<Assessment>) {
        let Some(run) = state.active() else { return };
        let meant = completion.calls().map(|call| Key::of(&tool_disclosure::resolve_call(call, &run.tools).0));
        self.known.extend(meant.zip(assessed));
    }

    fn look(&mut self, call: &CallId, known: &Assessment) {
        if let Some(key) = self.calls.get(call) {
            self.known.insert(key.clone(), known.clone());
        }
    }

    /// Keeps what is an answer. An agent's is its report; that a call was cut off is none.
    fn enter(&mut self, event: &Event, is_had: bool) {
        let (id, given) = match event {
            Event::ToolFinished { outcome: ToolOutcome::Interrupted, .. } => return,
            Event::ToolFinished { outcome: ToolOutcome::Spawn { .. } | ToolOutcome::Tell { .. }, .. } => return,
            Event::ToolFinished { call, .. } => (call, event.clone()),
            Event::ChildEnded(end) => {
                let (outcome, source, draft) = (ToolOutcome::Text { text: end.report(), is_error: false }, None, None);
                (&end.call, Event::ToolFinished { call: end.call.clone(), outcome, source, draft, undo: None })
            }
            _ => return,
        };
        if let Some(key) = self.calls.get(id) {
            let answers = self.answers.entry(key.clone()).or_default();
            answers.given.push(given);
            answers.had += usize::from(is_had);
        }
    }

    /// How such a call ended: each time the next end on record, and the last one again and again; none: there is no such call.
    pub(super) fn answer(&mut self, call: &ToolCall) -> Option<Event> {
        let answers = self.answers.get_mut(&Key::of(call))?;
        let given = answers.given.get(answers.had).or_else(|| answers.given.last())?;
        answers.had += 1;
        match given.clone() {
            Event::ToolFinished { outcome, source, draft, undo, .. } => {
                Some(Event::ToolFinished { call: call.id.clone(), outcome, source, draft, undo })
            }
            _ => None,
        }
    }

    /// What was known of such a call before it was made.
    pub(super) fn known(&self, call: &ToolCall) -> Option<&Assessment> {
        self.known.get(&Key::of(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::{Script, finished, says, wants};
    use crate::replay::testkit::recorded;

    fn look(arguments: &str) -> ToolCall {
        ToolCall { id: CallId::new(9, 0), name: "look".to_owned(), arguments: arguments.to_owned() }
    }

    fn text(event: Option<Event>) -> Option<String> {
        match event? {
            Event::ToolFinished { outcome: ToolOutcome::Text { text, .. }, call, .. } => {
                assert_eq!(call, CallId::new(9, 0), "the answer is the asking call's");
                Some(text)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn n2_what_a_run_has_had_is_not_answered_again_while_the_record_has_more() {
        let mut script = Script::begun();
        let done =
            |call: &str, text: &str| finished(call, ToolOutcome::Text { text: text.to_owned(), is_error: false });
        for event in [wants(&["look"]), done("1.0", "ok"), wants(&["look"]), done("2.0", "better"), says("Good.")] {
            script.on(event);
        }
        let first =
            (1..).zip(&script.journal).find(|(_, event)| matches!(event, Event::ToolFinished { .. })).unwrap().0;
        let table = [(0, ["ok", "better", "better"]), (first, ["better"; 3]), (i64::MAX, ["better"; 3])];
        for (upto, expected) in table {
            let mut record = RecordedAnswers::of(&recorded(&script), upto);
            assert_eq!([(); 3].map(|()| text(record.answer(&look(" {\"a\" : 1}"))).unwrap()), expected, "{upto}");
            assert_eq!(record.answer(&look("{}")), None);
        }
    }
}
