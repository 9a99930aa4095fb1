//! What a run did, in a few words one after another: "looked at list.md", "asked you", "wrote list.md". Pure.

use jiff::Timestamp;

use crate::activity_text::call_done_text;
use crate::replay::tree::{Cycle, RecordedCall, RunTree};

/// The tool whose call is a question: that it was asked stands beside it anyway.
const ASKS: &str = "ask_human";
/// A person was asked, by whatever.
const ASKED: &str = "human.asked";
/// More steps are not told: the newest are.
const STEPS_MAX: usize = 200;

/// One thing that a run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryStep {
    /// The cycle, from 1.
    pub cycle: u32,
    pub words: String,
    /// So many times, one after another.
    pub times: u32,
    /// It failed, or was not let through.
    pub failed: bool,
}

/// What was done, in order.
pub fn story(tree: &RunTree) -> Vec<StoryStep> {
    let mut told: Vec<StoryStep> = Vec::new();
    for step in tree.cycles.iter().flat_map(steps) {
        match told.last_mut() {
            Some(last) if last.words == step.words && last.failed == step.failed => last.times += 1,
            _ => told.push(step),
        }
    }
    let old = told.len().saturating_sub(STEPS_MAX);
    told.drain(..old);
    told
}

/// What was done in a cycle. What was never begun stands where its cycle ends.
fn steps(cycle: &Cycle) -> Vec<StoryStep> {
    let step = |words: String, failed| StoryStep { cycle: cycle.number, words, times: 1, failed };
    let asked = cycle.remarks.iter().filter(|remark| remark.kind == ASKED);
    let asked = asked.map(|remark| (remark.at, step("asked you".to_owned(), false)));
    let calls = cycle.calls.iter().filter(|call| call.name != ASKS);
    let calls = calls.map(|call| (call.started_at.unwrap_or(Timestamp::MAX), step(words(call), failed(call))));
    let mut all: Vec<(Timestamp, StoryStep)> = asked.chain(calls).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, step)| step).collect()
}

fn words(call: &RecordedCall) -> String {
    let done = call_done_text(&call.name, &call.arguments);
    match &call.result {
        None => format!("{done} (not done yet)"),
        Some(_) if call.attempts == 0 => format!("{done} (not let through)"),
        Some(result) if result.is_error => format!("{done} (failed)"),
        Some(_) => done,
    }
}

fn failed(call: &RecordedCall) -> bool {
    call.result.as_ref().is_some_and(|result| result.is_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tree::{CallResult, Remark};
    use hob_core::domain::ids::CallId;
    use hob_model::message::Usage;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn call(name: &str, arguments: &str, started_at: Option<i64>, is_error: bool) -> RecordedCall {
        RecordedCall {
            id: CallId::new(0, 0),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            assessed: None,
            source: None,
            attempts: started_at.map_or(0, |_| 1),
            started_at: started_at.map(at),
            took_ms: None,
            result: Some(CallResult { text: String::new(), is_error }),
        }
    }

    #[test]
    fn f8_a_cycle_is_told_in_the_order_in_which_it_went() {
        let list = r#"{"path":"list.md"}"#;
        let cycle = Cycle {
            number: 2,
            asks: Vec::new(),
            text: String::new(),
            calls: vec![
                call("read_file", list, Some(1), false),
                call("pay", "{}", None, true),
                call("write_file", list, Some(5), false),
                call("ask_human", "{}", Some(2), false),
                call("web_fetch", r#"{"url":"https://a.example"}"#, Some(6), true),
            ],
            usage: Usage::default(),
            cost: None,
            remarks: vec![Remark { seq: 4, at: at(3), kind: "human.asked", text: String::new() }],
        };
        let told: Vec<String> = steps(&cycle).into_iter().map(|step| step.words).collect();
        let expected = [
            "looked at list.md",
            "asked you",
            "wrote list.md",
            "looked at https://a.example (failed)",
            "used pay (not let through)",
        ];
        assert_eq!(told, expected);
    }
}
