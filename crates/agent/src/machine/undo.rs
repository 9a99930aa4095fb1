//! Effects that can be taken back (row N16): which calls count as such, what is offered, and the run that takes one back.
//!
//! | | then |
//! |---|---|
//! | a call whose tool names an inverse, and that tells nobody, spends and deletes nothing (`policy::undo`) | is one grade lower: *medium* asks nobody, *high* not each time |
//! | the same, planned, in a tainted run | goes with the values that the plan left open, as long as they lead nobody on and are no ids |
//! | it is done, and its inverse is known whole | the inverse is offered for an hour |
//! | it is done, and its inverse is not | the answer says so; calls of that tool count for nothing special in this run any more |
//! | a person wants it taken back | a run of its own calls the inverse, once, and asks no model |
//!
//! Never: a call that was not planned, unasked in a tainted run: an entry that an attacker wanted is there until somebody sees it; a
//! critical grade lowered. Start at [`counts`] and `begin`.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::machine::approval::words::quotable;
use crate::machine::batch::{Batch, CallProgress, OpenCall};
use crate::machine::effect::Effect;
use crate::machine::event::{RunEnd, RunReply, ToolOutcome};
use crate::machine::run_start::RulesEdition;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{plan, tools};
use hob_core::domain::ids::CallId;
use hob_core::domain::tools::Assessment;
use hob_core::domain::undo::UndoOffer;
use hob_model::message::ToolCall;

/// For the record of the run that takes something back, whatever its tool said: others may have written that.
const DONE: &str = "It was taken back.";
const FAILED: &str = "Its tool says that this failed.";

/// For whoever is asked all the same.
pub(super) const CAN_BE_TAKEN_BACK: &str = "what it does can be taken back for an hour: /undo";

/// For the model, in the history: it was stopped on its way.
pub(super) const UNSETTLED: &str =
    "[The user wanted the last effect taken back. That was stopped on its way: perhaps it was.]";

/// What of a run's effects can be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UndoState {
    /// The tools whose effects can be, each once, in the order of the first.
    pub offered: Vec<String>,
    /// The tools of which a call left no way back, though they have one.
    pub broken: BTreeSet<String>,
}

/// Is it a call whose effect can be taken back, by all that is known before it is made?
pub(crate) fn counts(run: &ActiveState, tool: &str, known: &Assessment) -> bool {
    known.undoable && run.rules >= RulesEdition::UNDONE && !run.undo.broken.contains(tool)
}

/// Was it planned but for values that the plan left open, and can it be taken back, whatever these are?
pub(crate) fn covers_open_values(run: &ActiveState, open: &OpenCall) -> bool {
    let is_counted = open.assessed.as_ref().is_some_and(|known| counts(run, &open.call.name, known));
    is_counted && plan::leads_nobody_on(run, open)
}

/// A call is done: what of it can be taken back. What takes something back is not: the one before is next.
pub(super) fn on_done(run: &mut ActiveState, id: &CallId, outcome: &ToolOutcome, offer: Option<&UndoOffer>) {
    if run.input.undo.is_some() {
        return;
    }
    let open = run.phase.batch_mut().and_then(|batch| batch.get(id));
    let is_running = |open: &&OpenCall| matches!(open.progress, CallProgress::Started { .. });
    let Some(open) = open.filter(is_running).filter(|_| is_done(outcome)) else { return };
    let (tool, is_promised) = (open.call.name.clone(), open.assessed.as_ref().is_some_and(|known| known.undoable));
    if offer.is_some() && !run.undo.offered.contains(&tool) {
        run.undo.offered.push(tool);
    } else if offer.is_none() && is_promised {
        run.undo.broken.insert(tool);
    }
}

/// Below the answer: what can be taken back, and what cannot though it should. None: nothing.
pub(super) fn offer_text(run: &ActiveState) -> Option<String> {
    let (offered, broken) = (&run.undo.offered, &run.undo.broken);
    let back = (!offered.is_empty())
        .then(|| format!("To take back within an hour, the last first: /undo. It covers {}.", named(offered.iter())));
    let lost = (!broken.is_empty())
        .then(|| format!("Not to be taken back, as its answer left no way: {}.", named(broken.iter())));
    let told: Vec<String> = back.into_iter().chain(lost).collect();
    (!told.is_empty()).then(|| format!("({})", told.join(" ")))
}

fn named<'a>(tools: impl Iterator<Item = &'a String>) -> String {
    tools.map(|tool| quotable(tool)).collect::<Vec<_>>().join(", ")
}

/// A run begins that takes something back: a person has said so, and what is called was fixed before. None: it is another.
pub(super) fn begin(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let inverse = run.input.undo.as_ref()?.inverse.clone();
    let call = ToolCall { id: CallId::new(1, 0), name: inverse.tool, arguments: inverse.arguments };
    let open = OpenCall::added(call);
    run.phase = Phase::Acting(Batch { reply: Vec::new(), calls: vec![open] });
    Some(tools::settle(run))
}

/// What such a run makes of its tool's answer; none: it is another.
pub(super) fn on_finished(run: &mut ActiveState, id: &CallId, outcome: &ToolOutcome) -> Option<Vec<Effect>> {
    run.input.undo.as_ref().filter(|_| *outcome != ToolOutcome::Interrupted)?;
    let is_done = is_done(outcome);
    let batch = run.phase.batch_mut()?;
    batch.finish(id, if is_done { DONE } else { FAILED }.to_owned(), !is_done);
    Some(tools::settle(run))
}

fn is_done(outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Text { is_error, .. } | ToolOutcome::Seen { is_error, .. } => !is_error,
        ToolOutcome::Exited { code, .. } => *code == 0,
        ToolOutcome::Transient { .. }
        | ToolOutcome::Denied { .. }
        | ToolOutcome::Notebook { .. }
        | ToolOutcome::Plan
        | ToolOutcome::MoreIterations { .. }
        | ToolOutcome::Ask { .. }
        | ToolOutcome::Deliver { .. }
        | ToolOutcome::Spawn { .. }
        | ToolOutcome::Tell { .. }
        | ToolOutcome::Interrupted => false,
    }
}

/// Its end, once its call is settled; none: it is another.
pub(super) fn end(run: &ActiveState) -> Option<Vec<Effect>> {
    let order = run.input.undo.as_ref()?;
    let tool = quotable(&order.tool);
    let text = match run.ledger.shortfall() {
        None if run.ledger.has_done() => format!("Taken back: {tool}."),
        shortfall => format!("{tool} is not taken back. {}", shortfall.unwrap_or_default()).trim_end().to_owned(),
    };
    Some(vec![Effect::Reply(RunReply::Notice { text }), Effect::End(RunEnd::Completed)])
}

/// For the model, in the history: what became of it.
pub(super) fn note(text: &str) -> String {
    format!("[The user wanted the last effect taken back. {}]", text.trim())
}
