//! Loops that a persona declares (rows D1, D2, D7): they end by their own conditions, not when the model falls silent.
//!
//! | after | then |
//! |---|---|
//! | a batch of tool calls | the conditions in their order: the first that holds ends the run |
//! | a reply without calls | the same; if none holds, a nudge (row D7) |
//! | the last cycle, or all the money that the run may cost | the end, told as what it is: completed, for this was declared |
//!
//! The money is a ceiling for runs without a loop as well, where a persona says so.
//!
//! What somebody said meanwhile is heard before the loop may end. `max_cycles` stands in the place of the iterations.

use crate::machine::accepted_input::RunKind;
use crate::machine::batch::OpenCall;
use crate::machine::effect::{Effect, ModelCallPurpose};
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::note::{DeclaredEnd, LoopCeiling};
use crate::machine::policy::{DeclaredLoop, Termination};
use crate::machine::state::{ActiveState, PartialReply, Phase};
use crate::machine::texts::AnswerEnding;
use crate::machine::{draft, ending, model, texts};
use hob_core::domain::money::Money;
use hob_model::message::{Completion, Message, ReplyPart, StopReason, reply_text};

/// For the model: it stopped without having come to a declared end (row D7).
pub(crate) const NUDGE: &str = "[This task is not at its end yet, and your reply called no tool. Go on with the next step; say \
     that it is done, in the words agreed upon, only when it is.]";
/// For the person: a tool's result ended the loop, and neither it nor the model had words.
const ENDED: &str = "The task has come to its declared end.";

/// What a cycle brought.
pub(super) struct CycleOutput {
    words: String,
    results: Vec<CycleToolResult>,
}

struct CycleToolResult {
    tool: String,
    text: String,
    exit_code: Option<i32>,
}

/// Which condition ended the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MetCondition {
    /// By the model's words.
    Words(usize),
    Result(usize, String),
    /// A ceiling is reached; where that is a condition of its own, its number.
    Exhausted(LoopCeiling, Option<usize>),
}

/// The loop that the run goes by, if it is a declared one.
pub(super) fn declared_loop(run: &ActiveState) -> Option<&DeclaredLoop> {
    run.policy.declared.as_ref()
}

/// What the open batch brought; none where no loop is declared.
pub(super) fn cycle_output(run: &ActiveState) -> Option<CycleOutput> {
    declared_loop(run)?;
    let Phase::Acting(batch) = &run.phase else { return None };
    let result = |open: &OpenCall| {
        let result = open.progress.result()?;
        Some(CycleToolResult { tool: result.name.clone(), text: result.text.clone(), exit_code: open.exit_code })
    };
    Some(CycleOutput {
        words: reply_text(&batch.reply).into_owned(),
        results: batch.calls.iter().filter_map(result).collect(),
    })
}

/// Does what a batch brought end the loop?
pub(super) fn is_end(run: &ActiveState, seen: &CycleOutput) -> bool {
    let met = declared_loop(run).and_then(|declared| met(run, declared, seen));
    met.is_some_and(|met| run.steering.is_empty() || matches!(met, MetCondition::Exhausted(..)))
}

/// A batch is done and in the transcript: is this the end?
pub(super) fn after_batch(run: &mut ActiveState, seen: &CycleOutput) -> Option<Vec<Effect>> {
    let met = met(run, declared_loop(run)?, seen)?;
    let ends = run.steering.is_empty() || matches!(met, MetCondition::Exhausted(..));
    ends.then(|| end(run, &met, &seen.words))
}

/// The model said something and called no tool: `whole` is all of it.
pub(super) fn on_reply(run: &mut ActiveState, completion: &Completion, whole: &str) -> Option<Vec<Effect>> {
    let declared = declared_loop(run)?;
    let works = matches!(&run.phase, Phase::Calling(call) if call.purpose == ModelCallPurpose::Work);
    // A look whether there is something to do ends by its own silence, in any loop.
    let idle = run.input.order == RunKind::Heartbeat && model::is_silence(whole);
    if !works || idle {
        return None;
    }
    let seen = CycleOutput { words: whole.to_owned(), results: Vec::new() };
    let met = met(run, declared, &seen);
    let exhausted = matches!(met, Some(MetCondition::Exhausted(..)));
    let cut_off = completion.stop == StopReason::MaxTokens && model::may_continue(run);
    if !exhausted && (cut_off || !run.steering.is_empty()) {
        return None;
    }
    if let Some(met) = met {
        if let Some(settling) = draft::before_last_word(run, completion) {
            return Some(settling);
        }
        run.sealed = completion.parts.iter().filter(|part| matches!(part, ReplyPart::Sealed(_))).cloned().collect();
        return Some(end(run, &met, whole));
    }
    run.unfinished = PartialReply::default();
    run.transcript.push(Message::Assistant { parts: model::spoken(completion) });
    run.transcript.push(Message::user(NUDGE));
    Some(ending::go_on(run))
}

/// Is the money spent that the run may cost?
fn is_spent(run: &ActiveState) -> bool {
    run.policy.run_usd.is_some_and(|cap| run.cost.plus(run.agents_cost) >= cap)
}

/// Before a model is asked again: where the money is spent that the run may cost, that is its end.
pub(super) fn ceiling(run: &mut ActiveState) -> Option<Vec<Effect>> {
    if !is_spent(run) {
        return None;
    }
    // A reply that was to be looked at again is the last word; nobody looks any more.
    let told = model::tell_unchecked_reply(run);
    Some(told.unwrap_or_else(|| end(run, &MetCondition::Exhausted(LoopCeiling::Money, None), "")))
}

/// The first condition that holds; without one, whether a ceiling is reached.
fn met(run: &ActiveState, declared: &DeclaredLoop, seen: &CycleOutput) -> Option<MetCondition> {
    let (cycles_up, spent) = (run.cycles >= declared.max_cycles, is_spent(run));
    let holds = |(index, condition): (usize, &Termination)| match condition {
        Termination::TextIncludes { text } => seen.words.contains(text.as_str()).then_some(MetCondition::Words(index)),
        Termination::ToolResult { tool, exit_code, contains } => {
            let fits = |result: &&CycleToolResult| {
                tool.as_ref().is_none_or(|tool| result.tool == *tool)
                    && exit_code.is_none_or(|code| result.exit_code == Some(code))
                    && contains.as_ref().is_none_or(|words| result.text.contains(words.as_str()))
            };
            seen.results.iter().find(fits).map(|result| MetCondition::Result(index, result.text.clone()))
        }
        Termination::BudgetExhausted => spent.then_some(MetCondition::Exhausted(LoopCeiling::Money, Some(index))),
    };
    let first = declared.terminate.iter().enumerate().find_map(holds);
    let ceiling = || match (spent, cycles_up) {
        (true, _) => Some(LoopCeiling::Money),
        (false, true) => Some(LoopCeiling::Cycles),
        (false, false) => None,
    };
    first.or_else(|| ceiling().map(|ceiling| MetCondition::Exhausted(ceiling, None)))
}

fn end(run: &mut ActiveState, met: &MetCondition, words: &str) -> Vec<Effect> {
    let words = words.trim();
    let ceiling = match met {
        MetCondition::Exhausted(ceiling, _) => Some(*ceiling),
        MetCondition::Words(_) | MetCondition::Result(..) => None,
    };
    let (condition, reply, end) = match met {
        MetCondition::Words(index) => (Some(*index), answer(run, words), RunEnd::Completed),
        MetCondition::Result(index, text) => {
            let said = [words, text.trim(), ENDED].into_iter().find(|said| !said.is_empty());
            (Some(*index), answer(run, said.unwrap_or(ENDED)), RunEnd::Completed)
        }
        MetCondition::Exhausted(ceiling, index) => {
            let told = match ceiling {
                LoopCeiling::Cycles => cycles_used_up(declared_loop(run).map_or(0, |declared| declared.max_cycles)),
                LoopCeiling::Money => money_spent(run.policy.run_usd.unwrap_or_default()),
            };
            let text = run.notebook.below(&with_last_words(told, words));
            (*index, RunReply::Notice { text }, RunEnd::Completed)
        }
    };
    if ceiling.is_some() {
        // It has come to an end, and its task perhaps has not: what it noted is kept.
        run.last_turn = Some(ModelCallPurpose::WrapUpIterations);
    }
    ending::close(run, texts::INTERRUPTED);
    let condition = condition.and_then(|index| u32::try_from(index).ok());
    let note = Event::Terminated(DeclaredEnd { condition, ceiling });
    vec![Effect::Note(Box::new(note)), Effect::Reply(reply), Effect::End(end)]
}

fn answer(run: &ActiveState, words: &str) -> RunReply {
    RunReply::Answer { text: texts::with_record(texts::answer(words, AnswerEnding::of(false)), run.ledger.shortfall()) }
}

/// For the person: the loop has run its course without reaching its end.
fn cycles_used_up(cycles: u32) -> String {
    if cycles == 1 {
        "The one step that this task may take is used up, and it has not come to its end.".to_owned()
    } else {
        format!("All {cycles} steps that this task may take are used up, and it has not come to its end.")
    }
}

/// For the person: the run has cost what it may.
fn money_spent(cap: Money) -> String {
    format!("The {cap} that this task may cost are spent, and it has not come to its end.")
}

fn with_last_words(told: String, words: &str) -> String {
    if words.is_empty() { told } else { format!("{told} My last words on it were:\n{words}") }
}

/// For the model: a declared loop has as many cycles as it has.
pub(super) fn cycles_exhausted_text(declared: &DeclaredLoop) -> String {
    format!("Not granted: this task has {} steps in all. Finish with what you have.", declared.max_cycles)
}
