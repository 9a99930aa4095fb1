//! Standing still (rows B7, E1): a run pauses at its next safe boundary, asks nobody, and goes on when it is told to.
//!
//! The boundaries are before a model call, before the tools of a reply, and after them. What is under way is not cut off.

use crate::machine::effect::Effect;
use crate::machine::human::unpause;
use crate::machine::question::Question;
use crate::machine::resume;
use crate::machine::state::{ActiveState, Phase};
use hob_core::domain::ids::UserId;

/// Somebody wants the run to stand still.
pub(super) fn on_requested(run: &mut ActiveState, by: UserId) -> Vec<Effect> {
    match &run.phase {
        Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } if run.pause.is_none() => {
            run.pause = Some(by);
            Vec::new()
        }
        Phase::Calling(_) | Phase::Acting(_) | Phase::Waiting { .. } => {
            vec![Effect::Ignored { why: "it is paused already" }]
        }
        Phase::Replied | Phase::Done(_) => vec![Effect::Ignored { why: "the run has said its last word" }],
    }
}

/// A boundary is reached, and somebody wants the run to stand still there.
pub(super) fn stand_still(by: UserId) -> Vec<Effect> {
    vec![Effect::AskHuman(Question::Paused { by })]
}

/// It may go on.
pub(super) fn on_lifted(run: &mut ActiveState) -> Vec<Effect> {
    if run.pause.take().is_none() {
        return vec![Effect::Ignored { why: "it was not paused" }];
    }
    let stands = matches!(&run.phase, Phase::Waiting { question: Question::Paused { .. }, .. });
    if !stands {
        return Vec::new();
    }
    unpause(run);
    resume::reopen(run)
}
