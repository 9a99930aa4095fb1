//! A question as people see it: its words, and the buttons under it.

use crate::agent::journal::RunKey;
use crate::agent::machine::human::Decision;
use crate::agent::machine::question::Question;
use crate::agent::machine::texts;
use crate::domain::outgoing::Choice;

/// A question with the decisions it offers, by number, for channels without buttons and for replies in words.
pub(super) fn question_text(question: &Question) -> String {
    let numbered = |(index, decision): (usize, &Decision)| format!("{}. {}", index + 1, decision.label());
    let decisions = Decision::offered(question).iter().enumerate().map(numbered);
    std::iter::once(texts::question(question)).chain(decisions).collect::<Vec<_>>().join("\n")
}

/// Must an owner decide it?
#[must_use]
pub fn is_for_owners(question: &Question) -> bool {
    matches!(question, Question::Approval { concern, .. } if concern.owners)
}

/// Its buttons.
pub(super) fn choices(key: &RunKey, number: u32, question: &Question) -> Vec<Choice> {
    let button = |(index, decision): (usize, &Decision)| Choice {
        label: decision.label().to_owned(),
        token: Press { run: key.run.0, question: number, choice: index + 1 }.token(),
    };
    Decision::offered(question).iter().enumerate().map(button).collect()
}

/// A press of a button under a run's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Press {
    /// The run.
    pub run: i64,
    /// Its question.
    pub question: u32,
    /// The decision, from 1.
    pub choice: usize,
}

impl Press {
    /// What the button carries.
    #[must_use]
    pub fn token(&self) -> String {
        format!("q:{}:{}:{}", self.run, self.question, self.choice)
    }

    /// The press that a token stands for.
    #[must_use]
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
