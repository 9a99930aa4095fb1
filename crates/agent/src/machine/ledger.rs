//! The record of what a run changed outside, and of what it did not: what is told is held against it (row E10).

use serde::{Deserialize, Serialize};

use crate::machine::batch::{Batch, CallFate, CallProgress};
use crate::machine::digest::Digest;
use crate::machine::guards::circle_detector;

/// How much of a reason is told.
const REASON_CHARS_MAX: usize = 80;

/// The calls of a run that could change something, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    deeds: Vec<ActionRecord>,
}

/// A call of a tool that changes something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ActionRecord {
    tool: String,
    /// Tool and arguments.
    key: Digest,
    fate: CallFate,
    why: String,
}

impl Ledger {
    /// Takes the calls of a batch that is being closed. What a guard kept from running, and what was never started, is
    /// no deed.
    pub(crate) fn record_batch(&mut self, batch: &Batch, changes: impl Fn(&str) -> bool) {
        for open in batch.calls.iter().filter(|open| changes(&open.call.name)) {
            let why = match &open.progress {
                CallProgress::Queued | CallProgress::Held => continue,
                CallProgress::Finished(_) if open.fate == CallFate::Blocked => continue,
                CallProgress::Finished(result) => reason(&result.text),
                CallProgress::Started { .. }
                | CallProgress::Doubtful { .. }
                | CallProgress::Asks { .. }
                | CallProgress::Child => String::new(),
            };
            let (tool, key) = (open.call.name.clone(), circle_detector::key(&open.call.name, &open.call.arguments));
            self.deeds.push(ActionRecord { tool, key, fate: open.fate, why });
        }
    }

    /// Takes what an agent's record says: what was done for a run was done in it.
    pub fn join(&mut self, other: &Self) {
        self.deeds.extend(other.deeds.iter().cloned());
    }

    /// Was nothing entered?
    pub fn is_empty(&self) -> bool {
        self.deeds.is_empty()
    }

    /// Was anything changed?
    pub(crate) fn has_done(&self) -> bool {
        self.deeds.iter().any(|deed| deed.fate == CallFate::Done)
    }

    /// Was nothing done, nothing tried in vain, and all that was wanted denied?
    pub(crate) fn is_only_denied(&self) -> bool {
        self.deeds.iter().all(|deed| deed.fate == CallFate::Denied)
    }

    /// What was not done, or perhaps not, by tool; none: nothing is missing. A call that was made again with success is
    /// made good.
    pub(crate) fn shortfall(&self) -> Option<String> {
        let missing = |tool: &&str| self.of(tool).any(|(_, deed)| deed.fate != CallFate::Done);
        let told: Vec<String> = self.tools().into_iter().filter(missing).map(|tool| self.line(tool)).collect();
        (!told.is_empty()).then(|| format!("(By my record, not all of it was done. {}.)", told.join("; ")))
    }

    /// All of it, a line for each tool.
    pub(crate) fn summary_lines(&self) -> String {
        match self.listed() {
            Some(lines) => format!("By my record:\n{lines}"),
            None => "Done so far: nothing that changes anything.".to_owned(),
        }
    }

    /// All of it, and nothing around; none: nothing was entered.
    pub fn listed(&self) -> Option<String> {
        let lines: Vec<String> = self.tools().into_iter().map(|tool| format!("- {}", self.line(tool))).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The tools, in the order in which they were first called.
    fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = Vec::new();
        for deed in &self.deeds {
            if !tools.contains(&deed.tool.as_str()) {
                tools.push(&deed.tool);
            }
        }
        tools
    }

    /// The deeds of a tool that count: not those that were made good later, nor the same failure twice.
    fn of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = (usize, &'a ActionRecord)> {
        self.deeds.iter().enumerate().filter(move |(at, deed)| {
            let later = &self.deeds[at + 1..];
            let again = later.iter().any(|later| later.key == deed.key);
            deed.tool == tool && (deed.fate == CallFate::Done || !again)
        })
    }

    fn line(&self, tool: &str) -> String {
        let count = |fate: CallFate| self.of(tool).filter(|(_, deed)| deed.fate == fate).count();
        let all = self.of(tool).count();
        let why = |fate: CallFate| {
            let last = self.of(tool).filter(|(_, deed)| deed.fate == fate).last();
            last.map(|(_, deed)| deed.why.as_str()).filter(|why| !why.is_empty()).map(|why| format!(" ({why})"))
        };
        let mut parts = vec![format!("{} of {all} done", count(CallFate::Done))];
        for (fate, name) in
            [(CallFate::Failed, "failed"), (CallFate::Denied, "not allowed"), (CallFate::Open, "perhaps done")]
        {
            if count(fate) > 0 {
                parts.push(format!("{} {name}{}", count(fate), why(fate).unwrap_or_default()));
            }
        }
        format!("{tool}: {}", parts.join(", "))
    }
}

/// The first line, not too long, without its full stop; of Hob's own words to the model, the first sentence.
fn reason(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let own = line.strip_prefix("Not run: ").map(|own| own.split(". ").next().unwrap_or(own));
    let line = own.unwrap_or(line);
    let mut short: String = line.chars().take(REASON_CHARS_MAX).collect();
    if short.len() < line.len() {
        let words = short.rfind(' ').unwrap_or(short.len());
        short.truncate(words);
        short.push_str(" …");
    }
    short.trim_end_matches('.').to_owned()
}
