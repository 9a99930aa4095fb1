//! Agents that take long: their call is given back to the model, which goes on, and may say something to them (row E3).
//!
//! | | then |
//! |---|---|
//! | a run has waited so long for agents alone | each open call says that its agent is still at work, and by which number it is known |
//! | the model says something to one (`agent_send`) | the agent hears it at its next step; that call waits for its report, as long again |
//! | such an agent is done | the call that waits for it has its report; without one, the model is told that there is one to be heard |
//!
//! A report is what a model wrote: it comes back as the result of a call, and nowhere else.

use serde::Serialize;

use crate::machine::agents::ChildEnd;
use crate::machine::batch::{CallProgress, OpenCall};
use crate::machine::effect::Effect;
use crate::machine::human::unpause;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{reading, tools};
use hob_core::domain::ids::CallId;

/// Agents whose calls were given back, in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DetachedAgents(Vec<DetachedAgent>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DetachedAgent {
    /// The call that handed the task on: by it the agent's end is known.
    call: CallId,
    /// The call that waits for its report.
    awaited_by: Option<CallId>,
    /// What it reported, and whether it failed, until somebody hears it.
    report: Option<(String, bool)>,
    /// Its report is there or was heard.
    is_done: bool,
    /// The model was told that there is a report.
    is_told: bool,
}

/// To which call an agent's end belongs.
pub(super) enum ReportTarget {
    By(CallId),
    /// To none: it is kept until it is asked for.
    Later,
}

impl DetachedAgents {
    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are at work.
    pub(crate) fn at_work(&self) -> usize {
        self.0.iter().filter(|agent| !agent.is_done && agent.awaited_by.is_none()).count()
    }

    /// The call that handed on what the agent does for which `call` waits.
    pub(crate) fn awaited(&self, call: &CallId) -> Option<&CallId> {
        self.0.iter().find(|agent| agent.awaited_by.as_ref() == Some(call)).map(|agent| &agent.call)
    }

    /// Nobody waits in `call` any more; gives the agent's number.
    fn give_back(&mut self, call: &CallId) -> usize {
        if let Some(at) = self.0.iter().position(|agent| agent.awaited_by.as_ref() == Some(call)) {
            self.0[at].awaited_by = None;
            return at + 1;
        }
        self.0.push(DetachedAgent {
            call: call.clone(),
            awaited_by: None,
            report: None,
            is_done: false,
            is_told: false,
        });
        self.0.len()
    }

    /// The agent that the call `handed_on` began is done.
    pub(super) fn end(&mut self, end: &ChildEnd, is_error: bool) -> ReportTarget {
        let Some(agent) = self.0.iter_mut().find(|agent| agent.call == end.call && !agent.is_done) else {
            return ReportTarget::By(end.call.clone());
        };
        agent.is_done = true;
        match agent.awaited_by.take() {
            Some(call) => ReportTarget::By(call),
            None => {
                agent.report = Some((end.report(), is_error));
                ReportTarget::Later
            }
        }
    }

    /// Is there a report that the model does not know of?
    pub(crate) fn has_news(&self) -> bool {
        self.0.iter().any(|agent| agent.report.is_some() && !agent.is_told)
    }

    /// Tells the model of it.
    pub(super) fn news(&mut self) -> Vec<String> {
        let unknown = self.0.iter_mut().zip(1..).filter(|(agent, _)| agent.report.is_some() && !agent.is_told);
        let told = |(agent, number): (&mut DetachedAgent, usize)| {
            agent.is_told = true;
            format!("[Agent {number} is done: agent_send to it gives you its report.]")
        };
        unknown.map(told).collect()
    }
}

/// How long the run waits for nothing but its agents; none: without end.
pub(super) fn waits_secs(run: &ActiveState) -> Option<u64> {
    Some(run.policy.tools.agent_secs).filter(|secs| *secs > 0)
}

/// So long was waited: each call that waits for an agent is given back.
pub(super) fn on_late(run: &mut ActiveState) -> Vec<Effect> {
    let secs = run.policy.tools.agent_secs;
    let Some(batch) = run.phase.batch_mut() else {
        return vec![Effect::Ignored { why: "no agent is waited for" }];
    };
    let waiting = batch.calls.iter().filter(|open| open.progress == CallProgress::Child);
    let (read, waiting): (Vec<&OpenCall>, Vec<&OpenCall>) = waiting.partition(|open| open.reading.is_some());
    let ids = |calls: Vec<&OpenCall>| calls.into_iter().map(|open| open.call.id.clone()).collect::<Vec<CallId>>();
    let (read, waiting) = (ids(read), ids(waiting));
    for call in waiting {
        let number = run.long_agents.give_back(&call);
        let text = format!(
            "[Agent {number} is still at work after {secs} s. Go on with something else, or say something to it with \
             agent_send, which waits for its report again.]"
        );
        batch.finish(&call, text, false);
    }
    // A reader's words are the answer of its call, or nobody hears them.
    for call in read {
        reading::on_answered(run, &call, None);
    }
    unpause(run);
    tools::settle(run)
}

/// A call says something to an agent: it waits for its report, which may be there already.
pub(super) fn on_tell(run: &mut ActiveState, id: &CallId, number: u32) {
    let Phase::Acting(batch) = &mut run.phase else { return };
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some(agent) = index.and_then(|index| run.long_agents.0.get_mut(index)) else {
        batch.finish(id, format!("There is no agent {number} that is still at work."), true);
        return;
    };
    if let Some((report, is_error)) = agent.report.take() {
        batch.finish(id, format!("[It was done before your words reached it.]\n{report}"), is_error);
    } else if agent.is_done {
        batch.finish(id, format!("Agent {number} is done, and you have its report."), true);
    } else if agent.awaited_by.is_some() {
        batch.finish(id, format!("Another call waits for agent {number} already."), true);
    } else if let Some(open) = batch.find(id) {
        agent.awaited_by = Some(id.clone());
        open.progress = CallProgress::Child;
    }
}
