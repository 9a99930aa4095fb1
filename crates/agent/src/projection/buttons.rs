//! A question as people see it: its words, and the buttons under it.

use crate::journal::RunKey;
use crate::machine::answer_rights::PermittedAnswerer;
use crate::machine::human::Decision;
use crate::machine::question::Question;
use crate::machine::state::ActiveState;
use crate::machine::texts;
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Choice;

/// A run's question with the decisions it offers, by number, for channels without buttons and for replies in words; who may
/// answer it, where not everybody may who reads it; and that it was put before.
pub(super) fn question_text(run: &ActiveState, question: &Question) -> String {
    let numbered = |(index, decision): (usize, &Decision)| format!("{}. {}", index + 1, decision.label());
    let decisions = Decision::offered(question).iter().enumerate().map(numbered);
    let again = (run.reminders > 0).then(|| texts::STILL_OPEN.to_owned());
    // An approval says it by itself.
    let says = matches!(question, Question::Approval { .. });
    let owners = (PermittedAnswerer::of(run, question) == PermittedAnswerer::Owner && !says)
        .then(|| texts::FOR_OWNERS.to_owned());
    let told = again.into_iter().chain([texts::question(question)]).chain(owners);
    told.chain(decisions).collect::<Vec<_>>().join("\n")
}

/// Its buttons.
pub(super) fn choices(key: &RunKey, number: u32, question: &Question) -> Vec<Choice> {
    let button = |(index, decision): (usize, &Decision)| Choice {
        label: decision.label().to_owned(),
        token: QuestionPress { run: key.run.0, question: number, choice: index + 1 }.token(),
    };
    Decision::offered(question).iter().enumerate().map(button).collect()
}

/// A press of a button under a run's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionPress {
    pub run: i64,
    pub question: u32,
    /// The decision, from 1.
    pub choice: usize,
}

impl QuestionPress {
    /// What the button carries.
    pub fn token(&self) -> String {
        format!("q:{}:{}:{}", self.run, self.question, self.choice)
    }

    /// The press that a token stands for.
    pub fn parse(token: &str) -> Option<Self> {
        let mut parts = token.strip_prefix("q:")?.split(':');
        let press = Self {
            run: parts.next()?.parse().ok()?,
            question: parts.next()?.parse().ok()?,
            choice: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(press)
    }
}

/// A press of the button under an answer whose effects can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoPress {
    /// The run that answered.
    pub run: RunId,
}

impl UndoPress {
    /// The button, if there is something to take back.
    pub(super) fn choices(key: &RunKey, offers: bool) -> Vec<Choice> {
        let button = || Choice { label: "Undo".to_owned(), token: format!("u:{}", key.run) };
        offers.then(button).into_iter().collect()
    }

    /// The press that a token stands for.
    pub fn parse(token: &str) -> Option<Self> {
        Some(Self { run: RunId(token.strip_prefix("u:")?.parse().ok()?) })
    }
}
