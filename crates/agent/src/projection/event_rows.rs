//! What an event says becomes rows: replies, notices, questions, and what the envelope of a call keeps.
//!
//! Pure. Start at [`rows_of_words`].

use crate::journal::RunKey;
use crate::machine::answer_rights::PermittedAnswerer;
use crate::machine::event::{Event, RunReply, ToolOutcome};
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::{approval, reading};
use crate::projection::ProjectionRow;
use crate::projection::buttons::{UndoPress, choices, question_text};
use hob_core::domain::ids::CallId;
use hob_core::render::TextFormat;
use hob_store::outbox::ChunkRole;

/// The rows of what an event says: to the people of the conversation, to owners, or in the envelope of a call.
pub(super) fn rows_of_words(key: &RunKey, event: &Event, seq: i64, after: &State) -> Vec<ProjectionRow> {
    match event {
        // A call that asks is done when the person has answered: with the messages of its batch.
        // What the machine answers by itself is known there as well.
        Event::ToolFinished { outcome: ToolOutcome::Ask { .. } | ToolOutcome::Notebook { .. }, .. } => Vec::new(),
        Event::ToolFinished { outcome: ToolOutcome::Spawn { .. } | ToolOutcome::Tell { .. }, .. } => Vec::new(),
        // A reader gets it: what comes of the call is its answer.
        Event::ToolFinished { call, .. } if after.active().is_some_and(|run| reading::waiting(run, call).is_some()) => {
            Vec::new()
        }
        // It is run again: what came of the call is not known yet.
        Event::ToolFinished { call, outcome: ToolOutcome::Transient { .. }, .. } if is_running(after, call) => {
            Vec::new()
        }
        Event::ToolFinished { call, outcome, .. } => {
            let (text, is_error) = outcome.words();
            vec![ProjectionRow::ToolFinished { call: call.clone(), text: text.to_owned(), is_error }]
        }
        // Who paused it was told so, and agents are nobody's business but the run's.
        Event::HumanAsked(Question::Paused { .. } | Question::Agents) => Vec::new(),
        Event::HumanAsked(question) => after.active().map_or_else(Vec::new, |run| asked(key, run, question, seq)),
        Event::Replied(RunReply::Answer { text }) => {
            let offers = after.active().is_some_and(|run| !run.undo.offered.is_empty());
            let (text, choices) = (text.clone(), UndoPress::choices(key, offers));
            vec![ProjectionRow::Say { seq, text, form: TextFormat::Markdown, choices, part: ChunkRole::Reply }]
        }
        Event::Replied(RunReply::Notice { text }) => {
            let (text, choices) = (text.clone(), Vec::new());
            vec![ProjectionRow::Say { seq, text, form: TextFormat::Plain, choices, part: ChunkRole::Reply }]
        }
        Event::Replied(RunReply::Silence)
        | Event::Accepted(_)
        | Event::Edited { .. }
        | Event::Withdrawn
        | Event::Joined { .. }
        | Event::Begun(_)
        | Event::Steered(_)
        | Event::ToolStarted { .. }
        | Event::HumanAnswered(_)
        | Event::BudgetReached(_)
        | Event::QuotaReached(_)
        | Event::Expired { .. }
        | Event::GrantRevoked { .. }
        | Event::ChildEnded(_)
        | Event::PauseRequested { .. }
        | Event::PauseLifted { .. }
        | Event::CompactRequested { .. }
        | Event::SummaryAsked { .. }
        | Event::SummaryMade { .. }
        | Event::SummaryFailed { .. }
        | Event::ToolRetried(_)
        | Event::LoopDetected(_)
        | Event::Escalated(_)
        | Event::PhantomCaught(_)
        | Event::Compacted(_)
        | Event::RecoveryFired(_)
        | Event::SoftExhausted
        | Event::Terminated(_)
        | Event::SoftLimit
        | Event::Suspended
        | Event::ModelAsked { .. }
        | Event::ModelAnswered(_)
        | Event::Assessed { .. }
        | Event::Looked { .. }
        | Event::ModelFailed { .. }
        | Event::Resumed { .. }
        | Event::Mismatched(_)
        | Event::CancelRequested(_)
        | Event::Panicked { .. }
        | Event::Ended(_) => Vec::new(),
    }
}

/// A question is put where the run talks, and before the owners where only they may answer it.
fn asked(key: &RunKey, run: &ActiveState, question: &Question, seq: i64) -> Vec<ProjectionRow> {
    let (number, text) = (run.questions, question_text(run, question));
    let choices = choices(key, number, question);
    let user = run.input.principal.user;
    let whole = approval::words::omitted_text(question).map(|text| (user, text));
    let owners = (PermittedAnswerer::of(run, question) == PermittedAnswerer::Owner).then(|| ProjectionRow::AskOwners {
        seq,
        who: approval::words::quotable(&run.input.principal.name),
        text: text.clone(),
        choices: choices.clone(),
        question: number,
        whole: whole.clone(),
    });
    let attached = whole.map(|(user, text)| ProjectionRow::Attached { seq, user, text });
    let here = ProjectionRow::Say { seq, text, form: TextFormat::Plain, choices, part: ChunkRole::Question(number) };
    attached.into_iter().chain([here]).chain(owners).collect()
}

/// Is this call at work?
pub(super) fn is_running(state: &State, id: &CallId) -> bool {
    let Some(Phase::Acting(batch)) = state.active().map(|run| &run.phase) else {
        return false;
    };
    batch.started().any(|(call, _)| call.id == *id)
}
