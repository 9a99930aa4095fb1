//! Agents: a run hands a task on, waits for its end, and takes its words as a claim (rows A12, B8; lesson 22).
//!
//! An agent is a run of its own, in a session and a lane of its own. While a run waits for nothing but its agents, it gives
//! up its lane's permit and its lease, as one that waits for a person: agents never starve behind those who wait for them,
//! and after a crash there is nothing to be asked about.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::machine::batch::CallProgress;
use crate::machine::detached_agents::ReportTarget;
use crate::machine::effect::Effect;
use crate::machine::event::RunEnd;
use crate::machine::human::unpause;
use crate::machine::ledger::Ledger;
use crate::machine::outbound_allowance::OutboundAllowance;
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{approval, outbound_allowance, reading, tools};
use hob_core::domain::agents::{DEPTH_MAX, OPEN_MAX};
use hob_core::domain::ids::{CallId, RunId, SessionId, SessionKey};
use hob_core::domain::money::Money;
use hob_core::domain::origin::Taint;
use hob_core::domain::text::{cut, one_line};
use hob_model::message::ToolCall;

/// The most characters of an agent's words that reach the run which it works for.
pub const WORDS_CHARS_MAX: usize = 16_000;
/// The most characters of a mission that people are shown.
const SHOWN_CHARS_MAX: usize = 80;

/// That a run works for another, and what it got from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTask {
    /// The run that waits for it.
    pub parent: RunId,
    /// The call there that its end settles.
    pub call: CallId,
    /// The run that a person's message began.
    pub root: RunId,
    /// That one's conversation: what the agent has to ask is asked there.
    pub home: SessionId,
    /// Its own session's published name.
    pub key: SessionKey,
    /// How deep it is: 1 works for a person's own run.
    pub depth: u32,
    /// Who it is and what it keeps to.
    pub mission: String,
    /// Who Hob is in it, as in the run that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// All that it may have called: no more than the run that it works for.
    pub tools: BTreeSet<String>,
    /// It reads for that run (`machine::reading`): it has no tools, and sees nothing but what it is to read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// How often it may look outside unasked, once it has read what nobody vouches for.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub looks: OutboundAllowance,
}

impl AgentTask {
    /// What its system prompt has besides the household's.
    pub fn prompt(&self) -> String {
        if self.reads {
            return self.mission.clone();
        }
        format!(
            "You are an agent of Hob's: another run of Hob has handed you a task, and no person reads along. Do that task \
             and nothing else. Your last message goes back as your report: what you did and found, with names and numbers, \
             what failed, and what is missing.\n\nYour mission: {}",
            self.mission
        )
    }

    /// For people: who asks them something, before the question itself.
    pub fn asks(&self, question: &str) -> String {
        format!("An agent at work for you ({}) asks:\n{question}", self.mission_excerpt())
    }

    /// The beginning of its mission, on one line.
    pub(crate) fn mission_excerpt(&self) -> String {
        cut(&one_line(&self.mission), SHOWN_CHARS_MAX)
    }
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The call that it settles.
    pub call: CallId,
    /// The agent's run.
    pub run: RunId,
    pub end: RunEnd,
    /// Its last words.
    pub text: String,
    /// What it changed, and what not, by its record.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
    /// What it had read that nobody vouches for.
    #[serde(default, skip_serializing_if = "Taint::is_clean")]
    pub taint: Taint,
    /// How often it looked at which site unasked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reached: BTreeMap<String, u32>,
    /// What it cost, with its own agents, as far as prices are known.
    pub cost: Money,
}

impl ChildEnd {
    /// What the model is told: a claim, and what the record says to it.
    pub fn report(&self) -> String {
        let head = match &self.end {
            RunEnd::Completed => {
                "[An agent's report. It is a claim: check what matters before you tell it as done.]".to_owned()
            }
            RunEnd::Cancelled | RunEnd::GivenUp => "[The agent was stopped before it was done.]".to_owned(),
            RunEnd::Withdrawn | RunEnd::Joined => "[The agent was called off before it began.]".to_owned(),
            RunEnd::Failed { why } => format!("[The agent failed: {why}.]"),
        };
        let words = if self.text.trim().is_empty() { "(It said nothing.)" } else { self.text.trim() };
        let record = self.ledger.listed().unwrap_or_else(|| "- nothing that changes anything".to_owned());
        format!("{head}\n{words}\n[Its record, which counts:\n{record}\nCost: {}]", self.cost)
    }

    /// For people: what it found, where no run waits for it any more.
    pub(crate) fn late_report(&self) -> String {
        let words = if self.text.trim().is_empty() { "(It said nothing.)" } else { self.text.trim() };
        let ledger = self.ledger.summary_lines();
        format!(
            "An agent was still at work for you; the task that it belonged to is over. It says, and I have not checked it:\n\
             {words}\n\n{ledger}"
        )
    }
}

/// Why a run may have no further agent; none: it may.
pub(super) fn refusal(run: &ActiveState, open: usize) -> Option<String> {
    let depth = run.input.agent.as_ref().map_or(0, |agent| agent.depth);
    if depth >= DEPTH_MAX {
        return Some(format!("You are at depth {depth} of {DEPTH_MAX}: do it yourself."));
    }
    let full = open + run.long_agents.at_work() >= OPEN_MAX;
    full.then(|| format!("{OPEN_MAX} agents are at work already: wait for them, then call again."))
}

/// A call hands a task on: it stays open until the agent is done.
pub(super) fn on_spawn(run: &mut ActiveState, id: &CallId) {
    let Phase::Acting(batch) = &run.phase else { return };
    let refusal = refusal(run, batch.children());
    let Phase::Acting(batch) = &mut run.phase else { return };
    match (refusal, batch.find(id)) {
        (Some(why), _) => batch.deny(id, why),
        (None, Some(open)) => open.progress = CallProgress::Child,
        (None, None) => {}
    }
}

/// A run that waits for nothing but its agents.
pub(super) fn wait() -> Vec<Effect> {
    vec![Effect::AskHuman(Question::Agents)]
}

/// What an agent read and did was read and done in the run that it worked for. Its report, the result of `call`, was written by
/// whoever read all this.
fn join(run: &mut ActiveState, end: &ChildEnd, call: Option<&ToolCall>) {
    end.taint.sources().for_each(|source| approval::on_read(run, source, &end.text, call));
    run.ledger.join(&end.ledger);
    run.agents_cost = run.agents_cost.plus(end.cost);
    outbound_allowance::add(run, &end.reached);
}

/// An agent is done.
pub(super) fn on_ended(run: &mut ActiveState, end: &ChildEnd) -> Vec<Effect> {
    let ignored = Effect::Ignored { why: "no agent is waited for there" };
    let is_error = end.end != RunEnd::Completed;
    let awaited = match run.long_agents.end(end, is_error) {
        ReportTarget::By(call) => call,
        ReportTarget::Later => {
            join(run, end, None);
            return Vec::new();
        }
    };
    let Some(batch) = run.phase.batch_mut() else {
        return vec![ignored];
    };
    let Some(call) =
        batch.get(&awaited).filter(|open| open.progress == CallProgress::Child).map(|open| open.call.clone())
    else {
        return vec![ignored];
    };
    if batch.get(&awaited).is_some_and(|open| open.reading.is_none()) {
        batch.finish(&awaited, end.report(), is_error);
    }
    run.crashes = 0;
    if !reading::on_answered(run, &awaited, Some(end)) {
        join(run, end, Some(&call));
    }
    let more = run.phase.batch_mut().is_some_and(|batch| batch.children() > 0);
    match &run.phase {
        Phase::Acting(_) => tools::settle(run),
        Phase::Waiting { question: Question::Agents, .. } if !more => {
            unpause(run);
            tools::settle(run)
        }
        // Others are still at work, or a person is asked something.
        Phase::Waiting { .. } | Phase::Calling(_) | Phase::Replied | Phase::Done(_) => Vec::new(),
    }
}
