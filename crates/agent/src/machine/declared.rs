//! Loops that a persona declares (rows D1, D2, D7): they end by their own conditions, not when the model falls silent.
//!
//! | after | then |
//! |---|---|
//! | a batch of tool calls | the conditions in their order: the first that holds ends the run |
//! | a reply without calls | the same; if none holds, a nudge (row D7) |
//! | the last cycle | the end, told as what it is |
//!
//! What somebody said meanwhile is heard before the loop may end. `max_cycles` stands in the place of the iterations.

use crate::machine::accepted::Order;
use crate::machine::batch::{OpenCall, Progress};
use crate::machine::begun::Rules;
use crate::machine::effect::{Effect, Purpose};
use crate::machine::event::{End, Event, Reply};
use crate::machine::note::Terminated;
use crate::machine::policy::{DeclaredLoop, Termination};
use crate::machine::state::{Active, Phase, Unfinished};
use crate::machine::texts::Cut;
use crate::machine::{draft, ending, model, texts};
use hob_model::message::{Completion, Message, ReplyPart, StopReason, reply_text};

/// For the model: it stopped without having come to a declared end (row D7).
pub const NUDGE: &str = "[This task is not at its end yet, and your reply called no tool. Go on with the next step; say \
     that it is done, in the words agreed upon, only when it is.]";
/// For the person: a tool's result ended the loop, and neither it nor the model had words.
const ENDED: &str = "The task has come to its declared end.";

/// What a cycle brought.
pub(super) struct Seen {
    words: String,
    results: Vec<SeenResult>,
}

/// A tool's result.
struct SeenResult {
    tool: String,
    text: String,
    exit_code: Option<i32>,
}

/// Which condition ended the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Met {
    /// By the model's words.
    Words(usize),
    /// By this result.
    Result(usize, String),
    /// The cycles are used up; where that is a condition of its own, its number.
    Exhausted(Option<usize>),
}

/// The loop that the run goes by, if it is a declared one.
pub(super) fn of(run: &Active) -> Option<&DeclaredLoop> {
    run.policy.declared.as_ref().filter(|_| run.rules >= Rules::THIRD)
}

/// What the open batch brought; none where no loop is declared.
pub(super) fn seen(run: &Active) -> Option<Seen> {
    of(run)?;
    let Phase::Acting(batch) = &run.phase else { return None };
    let result = |open: &OpenCall| match &open.progress {
        Progress::Finished(result) => {
            Some(SeenResult { tool: result.name.clone(), text: result.text.clone(), exit_code: open.exit_code })
        }
        Progress::Queued
        | Progress::Held
        | Progress::Started { .. }
        | Progress::Doubtful { .. }
        | Progress::Asks { .. }
        | Progress::Child => None,
    };
    Some(Seen {
        words: reply_text(&batch.reply).into_owned(),
        results: batch.calls.iter().filter_map(result).collect(),
    })
}

/// Does what a batch brought end the loop?
pub(super) fn is_end(run: &Active, seen: &Seen) -> bool {
    let met = of(run).and_then(|declared| met(declared, run.cycles, seen));
    met.is_some_and(|met| run.steering.is_empty() || matches!(met, Met::Exhausted(_)))
}

/// A batch is done and in the transcript: is this the end?
pub(super) fn after_batch(run: &mut Active, seen: &Seen) -> Option<Vec<Effect>> {
    let met = met(of(run)?, run.cycles, seen)?;
    let ends = run.steering.is_empty() || matches!(met, Met::Exhausted(_));
    ends.then(|| end(run, &met, &seen.words))
}

/// The model said something and called no tool: `whole` is all of it.
pub(super) fn on_reply(run: &mut Active, completion: &Completion, whole: &str) -> Option<Vec<Effect>> {
    let declared = of(run)?;
    let works = matches!(&run.phase, Phase::Calling(call) if call.purpose == Purpose::Work);
    // A look whether there is something to do ends by its own silence, in any loop.
    let idle = run.input.order == Order::Heartbeat && model::is_silence(whole);
    if !works || idle {
        return None;
    }
    let seen = Seen { words: whole.to_owned(), results: Vec::new() };
    let met = met(declared, run.cycles, &seen);
    let exhausted = matches!(met, Some(Met::Exhausted(_)));
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
    run.unfinished = Unfinished::default();
    run.transcript.push(Message::Assistant { parts: model::spoken(completion) });
    run.transcript.push(Message::user(NUDGE));
    Some(ending::go_on(run))
}

/// The first condition that holds; without one, whether the cycles are used up.
fn met(declared: &DeclaredLoop, cycles: u32, seen: &Seen) -> Option<Met> {
    let exhausted = cycles >= declared.max_cycles;
    let holds = |(index, condition): (usize, &Termination)| match condition {
        Termination::TextIncludes { text } => seen.words.contains(text.as_str()).then_some(Met::Words(index)),
        Termination::ToolResult { tool, exit_code, contains } => {
            let fits = |result: &&SeenResult| {
                tool.as_ref().is_none_or(|tool| result.tool == *tool)
                    && exit_code.is_none_or(|code| result.exit_code == Some(code))
                    && contains.as_ref().is_none_or(|words| result.text.contains(words.as_str()))
            };
            seen.results.iter().find(fits).map(|result| Met::Result(index, result.text.clone()))
        }
        Termination::BudgetExhausted => exhausted.then_some(Met::Exhausted(Some(index))),
    };
    let first = declared.terminate.iter().enumerate().find_map(holds);
    first.or_else(|| exhausted.then_some(Met::Exhausted(None)))
}

fn end(run: &mut Active, met: &Met, words: &str) -> Vec<Effect> {
    let words = words.trim();
    let (condition, reply, end) = match met {
        Met::Words(index) => (Some(*index), answer(run, words), End::Completed),
        Met::Result(index, text) => {
            let said = [words, text.trim(), ENDED].into_iter().find(|said| !said.is_empty());
            (Some(*index), answer(run, said.unwrap_or(ENDED)), End::Completed)
        }
        Met::Exhausted(index) => {
            let cycles = of(run).map_or(0, |declared| declared.max_cycles);
            let text = run.notebook.below(&cycles_used_up(cycles, words));
            (*index, Reply::Notice { text }, End::Failed { why: "cycles".to_owned() })
        }
    };
    ending::close(run, texts::INTERRUPTED);
    let condition = condition.and_then(|index| u32::try_from(index).ok());
    let note = Event::Terminated(Terminated { condition });
    vec![Effect::Note(Box::new(note)), Effect::Reply(reply), Effect::End(end)]
}

fn answer(run: &Active, words: &str) -> Reply {
    Reply::Answer { text: texts::with_record(texts::answer(words, Cut::of(false)), run.ledger.shortfall()) }
}

/// For the person: the loop has run its course without reaching its end.
fn cycles_used_up(cycles: u32, words: &str) -> String {
    let told = if cycles == 1 {
        "The one step that this task may take is used up, and it has not come to its end.".to_owned()
    } else {
        format!("All {cycles} steps that this task may take are used up, and it has not come to its end.")
    };
    if words.is_empty() { told } else { format!("{told} My last words on it were:\n{words}") }
}

/// For the model: a declared loop has as many cycles as it has.
pub(super) fn no_more(declared: &DeclaredLoop) -> String {
    format!("Not granted: this task has {} steps in all. Finish with what you have.", declared.max_cycles)
}
