//! A question that is not open any more says so itself: its message shows what became of it, and has no buttons.
//!
//! By whatever path it was closed (an answer, its time, a stop, a panic), it is the state that tells: it was open before the
//! step, and is not after it. Wherever it was put, at owners' desks too, its chunk carries the run and its number.

use crate::machine::Step;
use crate::machine::approval::words::SAY_WHY_NOT;
use crate::machine::event::Event;
use crate::machine::human::Decision;
use crate::machine::question::Question;
use crate::machine::state::{Phase, State};
use crate::projection::ProjectionRow;
use crate::projection::failure::AfterFailure;
use crate::projection::write::RunRowTarget;
use hob_core::domain::capabilities::{Capabilities, Feature};
use hob_core::domain::ids::{SessionId, UserId};
use hob_core::domain::outgoing::Choice;
use hob_core::render::RenderedPiece;
use hob_store::error::StoreError;
use hob_store::outbox::{self, ChunkRole, NewChunk};
use hob_store::{Tx, users};

/// A name is shown so far.
const NAME_CHARS_MAX: usize = 60;

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Somebody answered.
    Answered {
        by: UserId,
        /// What they decided, where it offered something.
        decision: Option<Decision>,
    },
    /// Somebody decided what is to be done about the run's failure.
    Settled { by: UserId, choice: AfterFailure },
    /// Nobody did in time.
    Expired,
    /// Nothing depends on it any more.
    Moot,
}

/// The row of a question that this step closed.
pub(super) fn row(before: &State, step: &Step, after: &State) -> Option<ProjectionRow> {
    let (question, asked) = open(before)?;
    if open(after).is_some_and(|(still, _)| still == question) {
        return None;
    }
    let outcome = step.events.iter().find_map(|event| match event {
        Event::HumanAnswered(answer) => {
            Some(Resolution::Answered { by: answer.by, decision: Decision::parse(&answer.text, asked) })
        }
        Event::Expired { .. } => Some(Resolution::Expired),
        _ => None,
    });
    Some(ProjectionRow::Resolved { question, outcome: outcome.unwrap_or(Resolution::Moot) })
}

/// The question that a run stands at, with its number.
fn open(state: &State) -> Option<(u32, &Question)> {
    let run = state.active()?;
    match &run.phase {
        Phase::Waiting { question: Question::Paused { .. } | Question::Agents, .. } => None,
        Phase::Waiting { question, .. } => Some((run.questions, question)),
        Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_) => None,
    }
}

/// Queues what takes the place of a run's question, or of all of them, wherever it can be changed. Gives the conversations in
/// which something is to be changed.
pub async fn write(
    tx: &mut Tx,
    target: &RunRowTarget<'_>,
    question: Option<u32>,
    outcome: Resolution,
) -> Result<Vec<SessionId>, StoreError> {
    let who = match outcome {
        Resolution::Answered { by, .. } | Resolution::Settled { by, .. } => {
            users::name(tx, by).await?.unwrap_or_default()
        }
        Resolution::Expired | Resolution::Moot => String::new(),
    };
    let outcome = resolution_line(outcome, &who);
    let mut sessions = Vec::new();
    for asked in outbox::queries::questions(tx, target.key.run, question).await? {
        let capabilities = Capabilities::of(asked.destination.conversation.channel);
        if !capabilities.can(Feature::Edits) {
            continue;
        }
        let whole = closed(&asked.text, &asked.choices, &outcome);
        let text = if capabilities.text_limit().fits(&whole) { whole } else { outcome.clone() };
        let new = NewChunk {
            key: &format!("{}:end", asked.key),
            session: asked.session,
            run: Some(target.key.run),
            destination: &asked.destination,
            piece: &RenderedPiece { text, markup: None },
            choices: &[],
            file: None,
            part: ChunkRole::Instead(&asked.key),
        };
        outbox::add(tx, &new, target.at).await?;
        sessions.push(asked.session);
    }
    Ok(sessions)
}

/// What became of it, in a line.
fn resolution_line(outcome: Resolution, who: &str) -> String {
    let said = match outcome {
        Resolution::Answered { decision, .. } => decision.map(decision_text),
        Resolution::Settled { choice, .. } => Some(choice.said()),
        Resolution::Expired => return "— nobody answered in time".to_owned(),
        Resolution::Moot => return "— no longer needed".to_owned(),
    };
    let who: String = who.chars().filter(|sign| !sign.is_control()).take(NAME_CHARS_MAX).collect();
    let by = if who.is_empty() { String::new() } else { format!(" by {who}") };
    match said {
        Some(said) if by.is_empty() => format!("— {said}"),
        Some(said) => format!("— {said},{by}"),
        None => format!("— answered{by}"),
    }
}

fn decision_text(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "yes",
        Decision::All => "yes, to all",
        Decision::Always => "yes, always",
        Decision::Deny => "no",
        other => other.label(),
    }
}

/// The question without what can be chosen, and with what became of it.
fn closed(question: &str, choices: &[Choice], outcome: &str) -> String {
    let mut lines: Vec<&str> = question.lines().collect();
    let offered: Vec<String> =
        choices.iter().enumerate().map(|(index, choice)| format!("{}. {}", index + 1, choice.label)).collect();
    // They are its last lines: what the question quotes may have lines like these before.
    if lines.ends_with(&offered.iter().map(String::as_str).collect::<Vec<_>>()) {
        lines.truncate(lines.len() - offered.len());
    }
    if lines.last() == Some(&SAY_WHY_NOT) {
        lines.pop();
    }
    lines.push(outcome);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(labels: &[&str]) -> Vec<Choice> {
        labels.iter().map(|label| Choice { label: (*label).to_owned(), token: String::new() }).collect()
    }

    #[test]
    fn what_became_of_a_question_in_words() {
        let answered = |decision| Resolution::Answered { by: UserId(1), decision };
        let table = [
            (answered(Some(Decision::Approve)), "Ada"),
            (answered(Some(Decision::Always)), "Ada"),
            (answered(Some(Decision::ThisRun)), "Ada"),
            (answered(Some(Decision::Deny)), "Ada\n1. approve"),
            (answered(Some(Decision::Happened)), ""),
            (answered(None), "Ada"),
            (answered(None), ""),
            (Resolution::Settled { by: UserId(1), choice: AfterFailure::Resume }, "Ada"),
            (Resolution::Expired, ""),
            (Resolution::Moot, ""),
        ];
        let all: Vec<String> = table.iter().map(|(outcome, who)| resolution_line(*outcome, who)).collect();
        insta::assert_snapshot!(all.join("\n"), @"
        — yes, by Ada
        — yes, always, by Ada
        — yes, for this run, by Ada
        — no, by Ada1. approve
        — it happened
        — answered by Ada
        — answered
        — resumed, by Ada
        — nobody answered in time
        — no longer needed
        ");
    }

    #[test]
    fn a_closed_question_offers_nothing() {
        let question = "May I do this?\npay {\"to\": \"Ben\"}\nTo say why not: deny: REASON\n1. approve\n2. deny";
        insta::assert_snapshot!(closed(question, &choices(&["approve", "deny"]), "— yes, by Ada"), @r#"
        May I do this?
        pay {"to": "Ben"}
        — yes, by Ada
        "#);
        insta::assert_snapshot!(closed("Which one?", &[], "— answered by Ada"), @"
        Which one?
        — answered by Ada
        ");
        // Of a long question the last chunk alone has the buttons; it may be no more than these.
        insta::assert_snapshot!(closed("1. approve\n2. deny", &choices(&["approve", "deny"]), "— no, by Ada"), @"— no, by Ada");
    }
}
