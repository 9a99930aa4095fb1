//! Before the lane: accepted, edited, taken back, joined, begun.

use crate::machine::accepted_input::RunKind;
use crate::machine::effect::Effect;
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::run_start::RunStart;
use crate::machine::state::{ActiveState, State};
use crate::machine::{compaction, ending, texts, undo};

/// An event of a run that has not begun.
pub(super) fn on_waiting(state: &mut State, event: &Event) -> Vec<Effect> {
    match (&mut *state, event) {
        (State::Empty, Event::Accepted(accepted)) => {
            *state = State::Queued(accepted.clone());
            Vec::new()
        }
        (State::Queued(accepted), Event::Edited { text }) => {
            accepted.text.clone_from(text);
            Vec::new()
        }
        (State::Queued(accepted), Event::Begun(begun)) => {
            let mut active = ActiveState::begin(accepted.clone(), RunStart::clone(begun));
            let effects = undo::begin(&mut active)
                .or_else(|| compaction::summary::no_room(&mut active))
                .unwrap_or_else(|| ending::go_on(&mut active));
            *state = State::Active(Box::new(active));
            effects
        }
        (State::Queued(_), Event::Withdrawn) => vec![Effect::End(RunEnd::Withdrawn)],
        (State::Queued(_), Event::Joined { .. }) => vec![Effect::End(RunEnd::Joined)],
        // Nobody has asked for anything, so nobody is told, time and again, that there is no money, or no token, for it.
        (State::Queued(accepted), Event::BudgetReached(_)) if accepted.order == RunKind::Heartbeat => {
            vec![Effect::End(RunEnd::Failed { why: "budget".to_owned() })]
        }
        (State::Queued(accepted), Event::QuotaReached(_)) if accepted.order == RunKind::Heartbeat => {
            vec![Effect::End(RunEnd::Failed { why: "quota".to_owned() })]
        }
        (State::Queued(_), Event::BudgetReached(stop)) => failed(texts::budget_before(stop), "budget"),
        (State::Queued(_), Event::QuotaReached(stop)) => failed(texts::quota_before(stop), "quota"),
        (State::Queued(_), Event::Panicked { message }) => failed(texts::panicked(message), "panic"),
        // Its beginning is missing, so nobody knows what it did: it does not begin a second time.
        (State::Queued(_), Event::Mismatched(mismatch)) => failed(texts::lost_beginning(mismatch), "mismatch"),
        (State::Queued(_), Event::Replied(_)) => Vec::new(),
        (State::Queued(_), Event::Ended(end)) => {
            *state = State::Closed(end.clone());
            Vec::new()
        }
        (State::Empty | State::Queued(_) | State::Active(_) | State::Closed(_), _) => {
            vec![Effect::Ignored { why: "the run has not begun" }]
        }
    }
}

fn failed(text: String, why: &str) -> Vec<Effect> {
    vec![Effect::Reply(RunReply::Notice { text }), Effect::End(RunEnd::Failed { why: why.to_owned() })]
}
