//! Guards: circles are seen, warned of, blocked, and at last ended (rows A11, B2, B3, E6).
//!
//! Each call gets a verdict. *Allow*: it runs. *Warn*: its result carries a word about the circle. *Block*: it is not
//! run, its result is an error. *Break*: the loop ends, and the person is told what was done.
//!
//! The steps of row B3 go along: the first warning is the *nudge*; with the first block the model must call a tool to
//! look around (`LOOK_AROUND`, else whichever it likes); with the next it must call `ask_human`. A model that does
//! not, or has no such tool, is overruled: the machine asks. Whoever is asked once and circles again is broken off, as
//! is a run that nobody can be asked for. Anything new that the model finds or does takes it back to the beginning.

pub(crate) mod circle_detector;

mod texts;

pub(super) use texts::CARRY_ON;

use crate::machine::accepted_input::RunKind;
use crate::machine::batch::{Batch, CallFate, CallProgress};
use crate::machine::effect::Effect;
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::guards::circle_detector::{DetectedCircle, FinishedCall};
use crate::machine::note::{Detection, Escalation, EscalationStep, GuardVerdict, LoopKind};
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase};
use crate::machine::{ending, tools};
use hob_model::message::{Message, ReplyPart, reply_text};
use hob_model::provider::ToolChoice;

/// The tools that a model in a circle is made to call, the first on offer that is not in the circle itself.
const LOOK_AROUND: [&str; 2] = ["get_run_journal", "recall"];
/// The tool that asks a person.
const ASK_HUMAN: &str = "ask_human";

/// What comes of a look at a reply.
pub(super) enum GuardOutcome {
    /// The run goes its way; these are on record.
    Pass(Vec<Effect>),
    /// The run goes no further.
    Stop(Vec<Effect>),
}

fn is_on(run: &ActiveState) -> bool {
    run.policy.guards.enabled
}

/// The reply wants tools: the verdict for each call, before any of them starts.
pub(super) fn before(run: &mut ActiveState) -> GuardOutcome {
    if !is_on(run) {
        return GuardOutcome::Pass(Vec::new());
    }
    let forced = run.guard.force.take();
    run.guard.under_force = forced.is_some();
    let Phase::Acting(batch) = &mut run.phase else {
        return GuardOutcome::Pass(Vec::new());
    };
    let asks = batch.calls.iter().any(|open| open.call.name == ASK_HUMAN);
    if !asks && forced.is_some_and(|choice| is_ask(&choice)) {
        return GuardOutcome::Stop(ask(run, ""));
    }
    let mut found = Vec::new();
    for at in 0..batch.calls.len() {
        let (name, wanted) = (&batch.calls[at].call.name, batch.calls[at].wanted());
        let key = circle_detector::key(name, &wanted);
        let same = batch.calls[..at].iter().filter(|open| circle_detector::key(&open.call.name, &open.wanted()) == key);
        let beside = u32::try_from(same.count()).unwrap_or(u32::MAX);
        let verdict = run.guard.forbids(&run.policy.guards, name, &wanted, beside);
        if let Some(circle) = verdict {
            batch.calls[at].block(texts::blocked(&circle));
            found.push(circle);
        }
    }
    if let Some(circle) = run.guard.observe_words(&run.policy.guards, &reply_text(&batch.reply)) {
        run.guard.word = Some(texts::warning(&circle));
        found.push(circle);
    }
    let notes = found.iter().map(|circle| {
        note(circle, if circle.circle == LoopKind::RepeatedReply { GuardVerdict::Warn } else { GuardVerdict::Block })
    });
    let notes: Vec<Effect> = notes.collect();
    match found.first() {
        Some(circle) => escalate(run, circle, notes),
        None => GuardOutcome::Pass(notes),
    }
}

/// The reply is words: whether it was said so often that the loop must end with it (row A11).
pub(super) fn on_words(run: &mut ActiveState, words: &str) -> Option<Effect> {
    if !is_on(run) {
        return None;
    }
    let found = run.guard.observe_words(&run.policy.guards, words)?;
    Some(note(&found, GuardVerdict::Break))
}

/// The reply is words, where the model had to ask a person: the machine asks. `choice` is what the model had.
pub(super) fn overrule(run: &mut ActiveState, choice: &ToolChoice, parts: Vec<ReplyPart>) -> Option<Vec<Effect>> {
    run.guard.force = None;
    if !is_ask(choice) {
        return None;
    }
    let words = reply_text(&parts).trim().to_owned();
    run.transcript.push(Message::Assistant { parts });
    Some(ask(run, &words))
}

/// The calls are done: what they bring is watched, and the first of a circle carries a warning.
pub(super) fn after(run: &mut ActiveState) -> Vec<Effect> {
    if !is_on(run) {
        return Vec::new();
    }
    let ActiveState { phase, guard, policy, tools, .. } = run;
    let Phase::Acting(batch) = phase else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let mut asked = false;
    for open in batch.calls.iter_mut().filter(|open| open.fate != CallFate::Blocked) {
        let wanted = open.wanted().into_owned();
        let CallProgress::Finished(result) = &mut open.progress else { continue };
        asked = asked || (open.call.name == ASK_HUMAN && !result.is_error);
        let made = FinishedCall {
            tool: &open.call.name,
            arguments: &wanted,
            // To be refused in other words brings nothing new.
            result: if open.fate == CallFate::Denied { "" } else { &result.text },
            is_error: result.is_error,
            changes: tools.get(&open.call.name).is_some_and(|facts| facts.changes),
        };
        let Some(found) = guard.observe(&policy.guards, &made) else { continue };
        result.text.push_str("\n\n");
        result.text.push_str(&texts::warning(&found));
        notes.push(note(&found, GuardVerdict::Warn));
        if guard.step.is_none() {
            guard.step = Some(EscalationStep::Nudge);
            notes.push(escalation(EscalationStep::Nudge, None));
        }
    }
    if let Some((word, result)) = guard.word.take().zip(last_result(batch)) {
        result.push_str("\n\n");
        result.push_str(&word);
    }
    if asked && guard.under_force && guard.step == Some(EscalationStep::AskHuman) {
        guard.reset();
        guard.asked = true;
    }
    guard.under_force = false;
    notes
}

/// One step further (row B3).
fn escalate(run: &mut ActiveState, circle: &DetectedCircle, mut notes: Vec<Effect>) -> GuardOutcome {
    let step = match run.guard.step {
        None => EscalationStep::Nudge,
        Some(EscalationStep::Nudge) => EscalationStep::Directive,
        Some(EscalationStep::Directive | EscalationStep::AskHuman) => EscalationStep::AskHuman,
    };
    let nobody = run.guard.asked || run.input.order == RunKind::Heartbeat;
    if step == EscalationStep::AskHuman && nobody {
        notes.push(note(circle, GuardVerdict::Break));
        notes.extend(break_off(run, circle));
        return GuardOutcome::Stop(notes);
    }
    run.guard.step = Some(step);
    run.guard.forgive_one();
    match step {
        EscalationStep::Nudge => notes.push(escalation(step, None)),
        EscalationStep::Directive => {
            let tool = LOOK_AROUND
                .into_iter()
                .find(|tool| run.tools.contains_key(*tool) && circle.tool.as_deref() != Some(*tool));
            let choice = tool.map_or(ToolChoice::Any, |name| ToolChoice::Tool { name: name.to_owned() });
            run.guard.force = Some(choice);
            notes.push(escalation(step, tool));
        }
        EscalationStep::AskHuman => {
            run.guard.what = texts::what(circle);
            notes.push(escalation(step, Some(ASK_HUMAN)));
            if !run.tools.contains_key(ASK_HUMAN) {
                notes.extend(ask(run, ""));
                return GuardOutcome::Stop(notes);
            }
            run.guard.force = Some(ToolChoice::Tool { name: ASK_HUMAN.to_owned() });
        }
    }
    GuardOutcome::Pass(notes)
}

/// The machine asks by itself. What was wanted is not run, and the run stands where the model is to be asked.
fn ask(run: &mut ActiveState, words: &str) -> Vec<Effect> {
    run.guard.asked = true;
    give_back(run);
    run.phase = Phase::Calling(run.call_model());
    let (what, words) = (run.guard.what.clone(), words.to_owned());
    vec![Effect::AskHuman(Question::Circling { what, words })]
}

/// The loop ends with an honest word.
fn break_off(run: &mut ActiveState, circle: &DetectedCircle) -> Vec<Effect> {
    give_back(run);
    ending::close(run, texts::NOT_RUN);
    let text = texts::broken(&texts::what(circle), &run.ledger.summary_lines());
    vec![Effect::Reply(RunReply::Notice { text }), Effect::End(RunEnd::Failed { why: "circling".to_owned() })]
}

/// The open batch goes into the history, and nothing of it is run.
fn give_back(run: &mut ActiveState) {
    if let Phase::Acting(batch) = &mut run.phase {
        let waiting = batch.calls.iter_mut().filter(|open| open.progress == CallProgress::Queued);
        waiting.for_each(|open| open.block(texts::NOT_RUN.to_owned()));
        tools::close_batch(run, texts::NOT_RUN);
    }
}

fn is_ask(choice: &ToolChoice) -> bool {
    matches!(choice, ToolChoice::Tool { name } if name == ASK_HUMAN)
}

/// The text of the batch's last result.
fn last_result(batch: &mut Batch) -> Option<&mut String> {
    batch.calls.iter_mut().rev().find_map(|open| {
        let CallProgress::Finished(result) = &mut open.progress else { return None };
        Some(&mut result.text)
    })
}

fn note(found: &DetectedCircle, verdict: GuardVerdict) -> Effect {
    let DetectedCircle { circle, tool, seen } = found.clone();
    Effect::Note(Box::new(Event::LoopDetected(Detection { circle, tool, seen, verdict })))
}

fn escalation(step: EscalationStep, forced: Option<&str>) -> Effect {
    Effect::Note(Box::new(Event::Escalated(Escalation { step, forced: forced.map(str::to_owned) })))
}
