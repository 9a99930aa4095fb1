//! The failure panel: what a run that failed for good wanted, where it stood and what comes next, and what may be done about it
//! (row B12).
//!
//! It follows from the run's end and is not part of it: the journal of a failed run has nothing of a panel, and nothing is appended to it.
//! Start at [`FailurePanel::of`].

use crate::journal::RunKey;
use crate::machine::Step;
use crate::machine::accepted_input::RunKind;
use crate::machine::event::{Event, RunEnd};
use crate::machine::notebook::{GIST_CHARS, SEE_ALL, TOOLS, line};
use crate::machine::state::{ActiveState, State};
use crate::projection::ProjectionRow;
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Choice;
use hob_model::message::{Message, ToolResult};
use hob_store::outbox::ChunkRole;

/// Stands where the run has noted no next action.
const NOTHING_NOTED: &str = "nothing noted";

/// What may be done about a run that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// A run goes on from its journal.
    Resume,
    /// Its message is put again, as if nothing was noted.
    TryAgain,
    /// Nothing: its notes are dropped.
    LetBe,
}

impl AfterFailure {
    /// In the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Resume, Self::TryAgain, Self::LetBe];

    /// What its button says.
    pub fn label(self) -> &'static str {
        match self {
            Self::Resume => "Resume",
            Self::TryAgain => "Try again from the start",
            Self::LetBe => "Let it be",
        }
    }

    /// What is said of it once it is decided.
    pub fn said(self) -> &'static str {
        match self {
            Self::Resume => "resumed",
            Self::TryAgain => "tried again from the start",
            Self::LetBe => "let be",
        }
    }

    /// What these words name: its label or its number, perhaps said to Hob by name.
    pub fn named(text: &str) -> Option<Self> {
        let said = match text.split_once(char::is_whitespace) {
            Some((name, rest)) if name.starts_with('@') => rest,
            Some(_) | None => text,
        };
        let said = said.trim().trim_end_matches(['.', '!']);
        let numbered = Self::ALL.into_iter().zip(1_usize..);
        let names =
            |(choice, number): &(Self, usize)| said.eq_ignore_ascii_case(choice.label()) || said == number.to_string();
        numbered.into_iter().find(names).map(|(choice, _)| choice)
    }
}

/// A press of a button of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailurePress {
    /// The run that failed.
    pub run: RunId,
    /// What was chosen.
    pub choice: AfterFailure,
}

impl FailurePress {
    /// What the button carries.
    pub fn token(self) -> String {
        let number = AfterFailure::ALL.into_iter().position(|choice| choice == self.choice).map_or(0, |at| at + 1);
        format!("f:{}:{number}", self.run)
    }

    /// The press that a token stands for.
    pub fn parse(token: &str) -> Option<Self> {
        let (run, number) = token.strip_prefix("f:")?.split_once(':')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some(Self { run: RunId(run.parse().ok()?), choice: *AfterFailure::ALL.get(index)? })
    }
}

/// Where a failed run was, from its journal as far as it noted anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailurePanel {
    /// What was to be reached.
    pub objective: String,
    /// Where it stood.
    pub state: String,
    /// What should be done next.
    pub next: String,
}

impl FailurePanel {
    /// The panel of a run that failed; none: it came to its end, works for nobody who could decide, or had done nothing
    /// yet, so that there is nothing to go on from: its message can be sent again.
    pub fn of(run: &ActiveState) -> Option<Self> {
        if !matches!(run.end(), Some(RunEnd::Failed { .. }))
            || run.input.order != RunKind::Answer
            || run.input.agent.is_some()
        {
            return None;
        }
        let results = run.transcript.messages().iter().filter_map(|message| match message {
            // What it noted is not a step of the task.
            Message::Tool(result) if !TOOLS.contains(&&*result.name) => Some(result),
            Message::Tool(_) | Message::User { .. } | Message::Assistant { .. } => None,
        });
        let results: Vec<&ToolResult> = results.collect();
        if run.notebook.is_empty() && results.is_empty() {
            return None;
        }
        let noted = |text: &str, or: &str| line(if text.is_empty() { or } else { text }, GIST_CHARS);
        let notes = &run.notebook;
        Some(Self {
            objective: noted(&notes.objective, &run.input.text),
            state: noted(&notes.current_state, &done(&results)),
            next: noted(&notes.handoff_next_action, NOTHING_NOTED),
        })
    }

    /// It below the words that say why the run failed, with what may be done, by number.
    fn below(&self, run: &ActiveState, told: &str) -> String {
        // What was noted stands in the panel.
        let gist = run.notebook.gist().unwrap_or_default();
        let told = match told.strip_suffix(')') {
            Some(quoted) => quoted.strip_suffix(&gist).map(|told| format!("{})", told.trim_end())),
            None => told.strip_suffix(&gist).map(|told| told.trim_end().to_owned()),
        }
        .unwrap_or_else(|| told.to_owned());
        let Self { objective, state, next } = self;
        let mut lines = vec![
            told,
            String::new(),
            format!("Objective: {objective}"),
            format!("Where it stood: {state}"),
            format!("Next: {next}"),
        ];
        lines.extend((!run.notebook.is_empty()).then(|| SEE_ALL.to_owned()));
        let numbered = AfterFailure::ALL.into_iter().zip(1..);
        lines.extend(numbered.map(|(choice, number)| format!("{number}. {}", choice.label())));
        lines.join("\n")
    }
}

/// Where a run stood that noted nothing of it.
fn done(results: &[&ToolResult]) -> String {
    match results {
        [] => "nothing was done yet".to_owned(),
        [only] => format!("one step was done: {}{}", only.name, failed(only)),
        [.., last] => format!("{} steps were done, the last of them: {}{}", results.len(), last.name, failed(last)),
    }
}

fn failed(result: &ToolResult) -> &'static str {
    if result.is_error { " (failed)" } else { "" }
}

/// Puts the panel under the last word of a run that fails in this step.
pub(super) fn offer(key: &RunKey, step: &Step, after: &State, rows: &mut [ProjectionRow]) {
    let fails = step.events.iter().any(|event| matches!(event, Event::Ended(RunEnd::Failed { .. })));
    let Some(run) = after.active().filter(|_| fails) else { return };
    let Some(panel) = FailurePanel::of(run) else { return };
    for row in rows {
        let ProjectionRow::Say { text, choices, part: part @ ChunkRole::Reply, .. } = row else { continue };
        *text = panel.below(run, text);
        let button = |choice: AfterFailure| Choice {
            label: choice.label().to_owned(),
            token: FailurePress { run: key.run, choice }.token(),
        };
        *choices = AfterFailure::ALL.into_iter().map(button).collect();
        *part = ChunkRole::Failure;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b12_what_may_be_done_about_a_failure_is_named_by_button_number_or_words() {
        for choice in AfterFailure::ALL {
            let press = FailurePress { run: RunId(12), choice };
            assert_eq!(FailurePress::parse(&press.token()), Some(press));
        }
        for token in ["f:12:0", "f:12:4", "f:12", "f:x:1", "q:12:1:1", ""] {
            assert_eq!(FailurePress::parse(token), None, "{token}");
        }
        let table = [
            ("1", Some(AfterFailure::Resume)),
            ("resume", Some(AfterFailure::Resume)),
            ("@hob_bot Resume.", Some(AfterFailure::Resume)),
            ("2", Some(AfterFailure::TryAgain)),
            ("try again from the start", Some(AfterFailure::TryAgain)),
            ("Let it be!", Some(AfterFailure::LetBe)),
            ("4", None),
            ("resume the music", None),
            ("try again", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(AfterFailure::named(text), expected, "{text}");
        }
    }
}
