//! Every run's journal, folded again, with what the invariants ask of it.

use std::collections::{BTreeMap, BTreeSet};

use hob_agent::journal::decode;
use hob_agent::machine::accepted_input::RunKind;
use hob_agent::machine::batch::CallProgress;
use hob_agent::machine::effect::Effect;
use hob_agent::machine::event::{Event, RunReply, ToolOutcome};
use hob_agent::machine::human::Decision;
use hob_agent::machine::question::Question;
use hob_agent::machine::state::{Phase, ResumePoint, State};
use hob_agent::machine::{Replay, apply};
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Assessment, DangerGrade};
use hob_core::domain::undo::UndoOrder;
use hob_store::{Tx, journal};

use crate::model::{KEPT, STUCK};

#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct RunRow {
    pub(crate) id: i64,
    pub(crate) inbound_id: i64,
    pub(crate) user_id: i64,
    pub(crate) sender_id: i64,
    pub(crate) state: String,
    pub(crate) lease_owner: Option<String>,
    pub(crate) state_hash: Option<String>,
    pub(crate) parent_run: Option<i64>,
}

/// A run, as its journal tells it.
#[derive(Debug)]
pub(crate) struct ReplayedRun {
    pub(crate) row: RunRow,
    pub(crate) state: State,
    pub(crate) mismatch: Option<String>,
    pub(crate) principal: Option<i64>,
    /// Whether an owner wants it.
    pub(crate) is_of_an_owner: bool,
    /// What it takes back.
    pub(crate) undoes: Option<UndoOrder>,
    /// By number.
    pub(crate) replies: Vec<(i64, RunReply)>,
    pub(crate) questions: Vec<i64>,
    /// The calls that were more than their person may make in a minute.
    pub(crate) refused: BTreeSet<String>,
    /// The calls that wanted something delivered.
    pub(crate) delivers: BTreeSet<String>,
    pub(crate) ends: usize,
    /// Answers that changed nothing.
    pub(crate) answers_ignored: usize,
    pub(crate) answers: usize,
    /// What a person wanted made again, and how often.
    pub(crate) run_again: BTreeMap<String, usize>,
    /// What was started after somebody had ended the run.
    pub(crate) started_after_cancel: Vec<&'static str>,
    /// What was started while it was to stand still, or without the approval that it needs.
    pub(crate) started_unasked: Vec<String>,
    approvals: Approvals,
    /// Words that joined, and whose.
    pub(crate) joined: Vec<(i64, String)>,
    pub(crate) kinds: Vec<&'static str>,
    /// The agents whose end it has heard.
    pub(crate) heard: Vec<i64>,
    /// How often it handed a task on.
    pub(crate) spawned: usize,
    /// Somebody has ended it.
    pub(crate) cancelled: bool,
    /// The number of its end.
    pub(crate) end_seq: Option<i64>,
}

pub(crate) async fn list(tx: &mut Tx) -> Vec<ReplayedRun> {
    let rows: Vec<RunRow> = sqlx::query_as(
        "SELECT r.id, r.inbound_id, r.user_id, i.user_id AS sender_id, r.state, r.lease_owner, r.state_hash, r.parent_run
         FROM runs r JOIN inbound i ON i.id = r.inbound_id ORDER BY r.id",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    let mut told = Vec::new();
    for row in rows {
        told.push(tell(tx, row).await);
    }
    told
}

async fn tell(tx: &mut Tx, row: RunRow) -> ReplayedRun {
    let run = RunId(row.id);
    let mut told = ReplayedRun {
        row,
        state: State::Empty,
        mismatch: None,
        principal: None,
        is_of_an_owner: false,
        undoes: None,
        replies: Vec::new(),
        questions: Vec::new(),
        refused: BTreeSet::new(),
        delivers: BTreeSet::new(),
        ends: 0,
        answers_ignored: 0,
        answers: 0,
        run_again: BTreeMap::new(),
        started_after_cancel: Vec::new(),
        started_unasked: Vec::new(),
        approvals: Approvals::default(),
        joined: Vec::new(),
        kinds: Vec::new(),
        heard: Vec::new(),
        spawned: 0,
        cancelled: false,
        end_seq: None,
    };
    let mut replay = Replay::default();
    let mut cancelled = false;
    for stored in journal::list(tx, run).await.unwrap() {
        let event = decode(run, &stored).unwrap();
        told.hear(stored.seq, &event, cancelled);
        cancelled |= matches!(event, Event::CancelRequested(_));
        replay.feed(&event);
    }
    told.cancelled = cancelled;
    told.mismatch = replay.mismatch().map(|mismatch| mismatch.to_string());
    told
}

impl ReplayedRun {
    /// Whether its answer was cut off and could not be made whole.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.state.active().is_some_and(|run| run.unfinished.times > 0)
    }

    fn hear(&mut self, seq: i64, event: &Event, cancelled: bool) {
        self.kinds.push(event.kind());
        let before = self.state.clone();
        let effects = apply(&mut self.state, event);
        if cancelled && matches!(event, Event::ModelAsked { .. } | Event::ToolStarted { .. } | Event::HumanAsked(_)) {
            self.started_after_cancel.push(event.kind());
        }
        self.started_unasked.extend(self.approvals.hear(&before, event, is_ignored(&effects)));
        match event {
            Event::Accepted(accepted) => {
                self.principal = Some(accepted.principal.user.0);
                self.is_of_an_owner = accepted.principal.role == Role::Owner;
                self.undoes = accepted.undo.as_deref().cloned();
            }
            Event::Steered(steered) => self.joined.push((steered.principal.user.0, steered.text.clone())),
            // Nobody is asked.
            Event::HumanAsked(Question::Paused { .. } | Question::Agents) => {}
            Event::HumanAsked(_) => self.questions.push(seq),
            // It is told where it was asked.
            Event::Expired { .. } if !is_ignored(&effects) && is_approval(&before) => self.questions.push(seq),
            Event::ToolFinished { call, outcome: ToolOutcome::Denied { reason }, .. }
                if reason.contains("in a minute") =>
            {
                self.refused.insert(call.0.clone());
            }
            Event::ToolFinished { call, outcome: ToolOutcome::Deliver { .. }, .. } if !is_ignored(&effects) => {
                self.delivers.insert(call.0.clone());
            }
            Event::Replied(reply) => self.replies.push((seq, reply.clone())),
            Event::Ended(_) => {
                self.ends += 1;
                self.end_seq = Some(seq);
            }
            Event::ChildEnded(end) if !is_ignored(&effects) => self.heard.push(end.run.0),
            Event::ToolFinished { call, outcome: ToolOutcome::Spawn { .. }, .. } => {
                self.spawned += usize::from(waits_for(&self.state, call));
            }
            Event::HumanAnswered(answer) => {
                self.answers += 1;
                if is_ignored(&effects) {
                    self.answers_ignored += 1;
                }
                if let Some((call, question)) = unsafe_call(&before)
                    && Decision::parse(&answer.text, &question) == Some(Decision::RunAgain)
                {
                    *self.run_again.entry(call).or_default() += 1;
                }
            }
            _ => {}
        }
    }
}

/// Is an agent at work on this call?
fn waits_for(state: &State, id: &CallId) -> bool {
    let Some(Phase::Acting(batch) | Phase::Waiting { paused: ResumePoint::Batch(batch), .. }) =
        state.active().map(|run| &run.phase)
    else {
        return false;
    };
    batch.calls.iter().any(|open| open.call.id == *id && open.progress == CallProgress::Child)
}

fn unsafe_call(state: &State) -> Option<(String, Question)> {
    match &state.active()?.phase {
        Phase::Waiting { question: question @ Question::UnsafeCall { call, .. }, .. } => {
            Some((call.0.clone(), question.clone()))
        }
        _ => None,
    }
}

fn is_approval(state: &State) -> bool {
    let phase = state.active().map(|run| &run.phase);
    matches!(phase, Some(Phase::Waiting { question: Question::Approval { .. }, .. }))
}

fn is_ignored(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Ignored { .. }))
}

/// What people have allowed in a run so far, as its journal tells it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that a run has come to")]
struct Approvals {
    granted: BTreeSet<String>,
    /// One start of each of these calls.
    once: BTreeSet<String>,
    /// The tools that may be called until something is read.
    excused: BTreeSet<String>,
    /// Something was read that nobody vouches for.
    tainted: bool,
    paused: bool,
    /// It answers a person's own message.
    own: bool,
    /// What was said of the calls of the reply that comes next …
    assessed: Vec<Assessment>,
    known: BTreeMap<String, Assessment>,
    /// The tool that is called to take something back, until it is.
    undoes: Option<String>,
    /// A call left no way back, though its tool has one.
    broken: bool,
    /// The arguments of the call that each plan names.
    plans: BTreeMap<String, &'static str>,
    /// The call that is planned and was not made yet, by these.
    planned: Option<&'static str>,
    as_planned: BTreeSet<String>,
}

/// The tools that do more than look.
const ACTS: [&str; 6] = ["append", "crawl", "bomb", "pay", "wipe", "stick"];

/// Of which call a plan is.
fn planned_arguments(plan: &str) -> &'static str {
    if plan.contains("stick") { STUCK } else { KEPT }
}

impl Approvals {
    /// Takes an event in; what it starts without a word that allows it, is told.
    fn hear(&mut self, before: &State, event: &Event, ignored: bool) -> Option<String> {
        match event {
            Event::Accepted(accepted) => {
                self.own = accepted.order == RunKind::Answer && accepted.agent.is_none();
                self.undoes = accepted.undo.as_ref().map(|order| order.inverse.tool.clone());
            }
            Event::ToolFinished { call, outcome: ToolOutcome::Plan, .. } if !ignored && self.own && !self.tainted => {
                self.planned = self.plans.get(&call.0).copied();
            }
            Event::Assessed { calls } => self.assessed.clone_from(calls),
            Event::ModelAnswered(completion) if !ignored => {
                let cycle = before.active().map_or(0, |run| run.cycles) + 1;
                let assessed = std::mem::take(&mut self.assessed);
                for (index, call) in completion.calls().enumerate() {
                    let id = CallId::new(cycle, index).0;
                    if let Some(known) = assessed.get(index) {
                        self.known.insert(id.clone(), known.clone());
                    }
                    if call.name == "plan" {
                        self.plans.insert(id, planned_arguments(&call.arguments));
                    } else if self.planned == Some(call.arguments.as_str()) {
                        self.planned = None;
                        self.as_planned.insert(id);
                    }
                }
            }
            Event::Begun(begun) => {
                self.granted.extend(begun.granted.iter().cloned());
                self.tainted = !begun.taint.is_clean();
            }
            Event::ToolFinished { source: Some(_), .. } if !ignored => {
                self.tainted = true;
                self.excused.clear();
            }
            Event::ToolFinished { call, outcome: ToolOutcome::Text { is_error: false, .. }, undo: None, .. }
                if !ignored =>
            {
                self.broken |= self.known.get(&call.0).is_some_and(|known| known.undoable);
            }
            Event::ChildEnded(end) if !ignored && !end.taint.is_clean() => {
                self.tainted = true;
                self.excused.clear();
            }
            // What is asked again was not allowed.
            Event::HumanAsked(Question::Approval { call, beside, .. }) => {
                for call in std::iter::once(call).chain(beside.iter().map(|beside| &beside.call)) {
                    self.once.remove(&call.0);
                }
            }
            Event::GrantRevoked { tool } => drop(self.granted.remove(tool)),
            Event::PauseRequested { .. } if !ignored => self.paused = true,
            Event::PauseLifted { .. } => self.paused = false,
            Event::HumanAnswered(answer) if !ignored => self.decided(before, &answer.text),
            Event::ModelAsked { .. } if self.paused => return Some("a model while paused".to_owned()),
            Event::ToolStarted { call, .. } if self.paused => return Some(format!("{call} while paused")),
            Event::ToolStarted { call, name, .. } => return self.started(call, name),
            _ => {}
        }
        None
    }

    /// What is wrong with the start of a call; none: it was planned, or somebody has said so, or nobody need say anything.
    fn started(&mut self, call: &CallId, name: &str) -> Option<String> {
        let known = self.known.get(&call.0);
        let can_go_back = known.is_some_and(|known| known.undoable) && !self.broken;
        let is_medium = known.is_some_and(|known| known.grade >= DangerGrade::Medium) && !can_go_back;
        let covered = ["pay", "peek", "stick"].contains(&name) && self.granted.contains(name);
        let needs = ["pay", "peek", "wipe", "unstick"].contains(&name) || is_medium;
        let once = self.once.remove(&call.0);
        let excused = name != "wipe" && self.excused.contains(name);
        // Where the plan has left something open, it goes only if it can be taken back.
        let planned = self.as_planned.contains(&call.0) && (name != "stick" || can_go_back);
        let ordered = self.undoes.take_if(|tool| *tool == name).is_some();
        let allowed = once || excused || planned || ordered;
        if self.tainted && ACTS.contains(&name) && !allowed {
            return Some(format!("{call} {name} in a tainted run without an approval of its own"));
        }
        (needs && !covered && !allowed).then(|| format!("{call} {name} without approval"))
    }

    fn decided(&mut self, before: &State, text: &str) {
        let Some(Phase::Waiting { question, .. }) = before.active().map(|run| &run.phase) else { return };
        match (question, Decision::parse(text, question)) {
            (Question::Approval { call, .. }, Some(Decision::Approve))
            | (Question::UnsafeCall { call, .. }, Some(Decision::RunAgain)) => {
                self.once.insert(call.0.clone());
            }
            (Question::Approval { call, beside, .. }, Some(decision)) if !beside.is_empty() => {
                let calls = std::iter::once(call).chain(beside.iter().map(|beside| &beside.call));
                let is_meant = |number: usize| match decision {
                    Decision::All => true,
                    Decision::Only(only) => number == only,
                    Decision::Named => text.contains(&number.to_string()),
                    _ => false,
                };
                self.once
                    .extend((1..).zip(calls).filter(|(number, _)| is_meant(*number)).map(|(_, call)| call.0.clone()));
            }
            (Question::Approval { name, .. }, Some(Decision::Always)) => {
                self.granted.insert(name.clone());
            }
            (Question::Approval { name, .. }, Some(Decision::ThisRun)) => {
                self.excused.insert(name.clone());
            }
            _ => {}
        }
    }
}
