//! Before the lane: accepted, edited, taken back, joined, begun.

use crate::machine::accepted::Order;
use crate::machine::begun::Begun;
use crate::machine::effect::Effect;
use crate::machine::event::{End, Event, Reply};
use crate::machine::state::{Active, State};
use crate::machine::{compaction, ending, texts};

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
            let mut active = Active::begin(accepted.clone(), Begun::clone(begun));
            let effects = compaction::summary::no_room(&mut active).unwrap_or_else(|| ending::go_on(&mut active));
            *state = State::Active(Box::new(active));
            effects
        }
        (State::Queued(_), Event::Withdrawn) => vec![Effect::End(End::Withdrawn)],
        (State::Queued(_), Event::Joined { .. }) => vec![Effect::End(End::Joined)],
        // Nobody has asked for anything, so nobody is told, time and again, that there is no money, or no token, for it.
        (State::Queued(accepted), Event::BudgetReached(_)) if accepted.order == Order::Heartbeat => {
            vec![Effect::End(End::Failed { why: "budget".to_owned() })]
        }
        (State::Queued(accepted), Event::QuotaReached(_)) if accepted.order == Order::Heartbeat => {
            vec![Effect::End(End::Failed { why: "quota".to_owned() })]
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
    vec![Effect::Reply(Reply::Notice { text }), Effect::End(End::Failed { why: why.to_owned() })]
}
