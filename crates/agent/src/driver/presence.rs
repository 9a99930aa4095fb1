//! What is told of a run besides its words: that it works, that it waits for somebody, and how it ended.

use std::sync::Arc;

use crate::driver::Driver;
use crate::driver::advance::Committed;
use crate::machine::effect::Effect;
use crate::machine::event::RunReply;
use crate::machine::question::Question;
use crate::machine::state::{Phase, State};
use crate::machine::status::Status;
use crate::ports::Ports;
use hob_core::domain::channel::{IdleReason, Progress};
use hob_core::domain::ids::RunId;
use hob_core::domain::outgoing::Destination;

/// However a drive ends, by a panic too, its last sign is told: when this is dropped.
pub(super) struct FinalProgress {
    ports: Arc<Ports>,
    destination: Destination,
    run: RunId,
    /// What is told when the drive ends now.
    next: Progress,
    /// It was told that the run works.
    works: bool,
    audience: EndAudience,
}

/// Who hears how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndAudience {
    /// The person that it answers.
    Person,
    /// The same, and it answers by saying nothing.
    Nobody,
    /// It is an agent: the run that it works for hears of it, and goes on.
    Run,
}

impl FinalProgress {
    /// Of a drive that begins: until more is known, whatever ends it leaves the run where it stands.
    pub(super) fn of(driver: &Driver) -> Self {
        let agent = match &*driver.state {
            State::Queued(accepted) => accepted.agent.is_some(),
            State::Active(run) => run.input.agent.is_some(),
            State::Empty | State::Closed(_) => false,
        };
        Self {
            ports: Arc::clone(&driver.ports),
            destination: driver.destination.clone(),
            run: driver.key.run,
            next: Progress::Idle(IdleReason::Suspended),
            works: false,
            audience: if agent { EndAudience::Run } else { EndAudience::Person },
        }
    }

    /// What a transaction led to.
    pub(super) fn look(&mut self, state: &State, effects: &[Committed<Effect>]) {
        let silent = effects.iter().any(|effect| matches!(effect.inner(), Effect::Reply(RunReply::Silence)));
        if silent && self.audience == EndAudience::Person {
            self.audience = EndAudience::Nobody;
        }
        self.next = final_progress(state, self.audience);
    }

    /// The run goes on, be it with a model or with tools that a person has let go.
    pub(super) fn works(&mut self) {
        if !std::mem::replace(&mut self.works, true) {
            self.ports.watcher.progress(&self.destination, self.run, Progress::Working);
        }
    }
}

impl Drop for FinalProgress {
    fn drop(&mut self) {
        self.ports.watcher.progress(&self.destination, self.run, self.next.clone());
    }
}

/// What is told of a run that nobody drives any more.
fn final_progress(state: &State, audience: EndAudience) -> Progress {
    let ended = match state.status() {
        Status::Waiting if is_at_question(state) => return Progress::Waiting,
        // It goes on by itself, at somebody's word that is not an answer, or when its agents are done.
        Status::Queued | Status::Running | Status::Waiting => return Progress::Idle(IdleReason::Suspended),
        Status::Completed if audience == EndAudience::Nobody => IdleReason::Quietly,
        Status::Completed => IdleReason::Done,
        Status::Failed => IdleReason::Failed,
        Status::Cancelled | Status::Withdrawn | Status::Joined => IdleReason::Quietly,
    };
    Progress::Idle(if audience == EndAudience::Run { IdleReason::Suspended } else { ended })
}

/// Does it stand at a question that somebody can answer?
fn is_at_question(state: &State) -> bool {
    match state.active().map(|run| &run.phase) {
        Some(Phase::Waiting { question: Question::Paused { .. } | Question::Agents, .. }) => false,
        Some(Phase::Waiting { .. }) => true,
        Some(Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::event::{Event, RunEnd};
    use crate::machine::step;
    use crate::machine::stop::CancelReason;
    use crate::machine::tests::{accepted, begun};
    use hob_core::domain::ids::UserId;

    #[test]
    fn the_last_sign_is_how_the_run_stands() {
        let mut running = State::Empty;
        for event in [Event::Accepted(accepted()), Event::Begun(Box::new(begun()))] {
            step(&mut running, event);
        }
        let asked = |question| {
            let mut state = running.clone();
            step(&mut state, Event::HumanAsked(question));
            state
        };
        let closed = State::Closed;
        let failed = RunEnd::Failed { why: "no".to_owned() };
        let mut stopped = running.clone();
        step(&mut stopped, Event::CancelRequested(CancelReason::Stopped { by: UserId(1) }));
        let told: Vec<String> = [
            (running.clone(), EndAudience::Person),
            (asked(Question::CrashLoop), EndAudience::Person),
            (asked(Question::Paused { by: UserId(1) }), EndAudience::Person),
            (asked(Question::Agents), EndAudience::Person),
            (closed(RunEnd::Completed), EndAudience::Person),
            (closed(RunEnd::Completed), EndAudience::Nobody),
            (closed(failed.clone()), EndAudience::Person),
            (closed(RunEnd::Withdrawn), EndAudience::Person),
            (stopped, EndAudience::Person),
            (closed(failed), EndAudience::Run),
        ]
        .iter()
        .map(|(state, audience)| format!("{:?}", final_progress(state, *audience)))
        .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        Idle(Suspended)
        Waiting
        Idle(Suspended)
        Idle(Suspended)
        Idle(Done)
        Idle(Quietly)
        Idle(Failed)
        Idle(Quietly)
        Idle(Quietly)
        Idle(Suspended)
        ");
    }
}
