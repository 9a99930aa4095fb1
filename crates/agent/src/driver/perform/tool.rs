//! One call of a tool: its wait, its arguments, its hooks, its deadline, and what the model is shown of its result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::activity_text;
use crate::driver::drafts::{self, DraftContext};
use crate::driver::perform::{tool_files, undo_offer};
use crate::driver::redaction;
use crate::machine::compaction::fit::head_and_tail;
use crate::machine::event::ToolOutcome;
use crate::ports::Ports;
use hob_core::domain::channel::Progress;
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::elicitation::ElicitReply;
use hob_core::domain::ids::{RunId, SessionKey};
use hob_core::domain::origin::{OriginSource, Taint};
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::Principal;
use hob_core::domain::undo::{InverseCall, UndoOffer};
use hob_core::policy::arguments as written;
use hob_core::policy::memory::SpeakingPlace;
use hob_model::message::{Pictures, ToolCall};
use hob_tools::dialogue::{ActivityListener, Dialogue};
use hob_tools::registry::Registry;
use hob_tools::results::ResultId;
use hob_tools::{Invocation, Outcome, OutputFile, Request, Tool};

/// The most characters of a number that is told of.
const NUMBER_CHARS_MAX: usize = 60;
/// The most characters of what a reader gets.
const READ_CHARS_MAX: usize = 40_000;
/// For the model: its call cannot be shown to a person line by line.
const TOO_DEEP: &str = "The arguments are nested too deep. The call was not made. Send it with flatter ones.";

/// A tool call about to be run.
pub(in crate::driver) struct ToolJob {
    pub(in crate::driver) principal: Principal,
    pub(in crate::driver) persona: Option<String>,
    pub(in crate::driver) session: SessionKey,
    pub(in crate::driver) place: SpeakingPlace,
    pub(in crate::driver) destination: Destination,
    pub(in crate::driver) taint: Taint,
    pub(in crate::driver) run: RunId,
    /// Where it works, if it can work in a draft.
    pub(in crate::driver) draft: DraftContext,
    /// What the run was offered, as far as it is still there.
    pub(in crate::driver) tools: Registry,
    pub(in crate::driver) call: ToolCall,
    pub(in crate::driver) attempt: u32,
    pub(in crate::driver) delay_ms: u64,
    /// What a person has answered its server, which waits for that.
    pub(in crate::driver) answer: Option<ElicitReply>,
    /// A reader gets what it answers, and the model never does.
    pub(in crate::driver) is_read: bool,
    /// No person waits for what this run says.
    pub(in crate::driver) mute: bool,
}

/// Runs a tool to its end.
pub(super) async fn run(ports: &Ports, job: ToolJob) -> ToolJobOutcome {
    if job.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(job.delay_ms)).await;
        ports.store.until_certain().await;
    }
    let error = |text: String| ToolJobOutcome::of(ToolOutcome::Text { text, is_error: true });
    let Some(tool) = job.tools.get(&job.call.name) else {
        let names = job.tools.names().join(", ");
        return error(format!("There is no tool {:?}. There are: {names}.", job.call.name));
    };
    let name = job.call.name.clone();
    let arguments = match arguments(&job.call.arguments) {
        Ok(arguments) => arguments,
        Err(wrong) => return error(wrong),
    };
    if let Some(wrong) = job.tools.argument_errors(&name, &arguments) {
        // It quotes the schema.
        let (outcome, source) = (ToolOutcome::Text { text: wrong, is_error: true }, tool.spec().words_of.clone());
        return ToolJobOutcome { outcome, source, draft: None, undo: None };
    }
    let activity = activity_listener(ports, &job);
    let invocation = Invocation {
        principal: job.principal,
        persona: job.persona,
        session: job.session,
        place: job.place,
        destination: job.destination,
        taint: job.taint,
        run: job.run,
        call: job.call.id,
        attempt: job.attempt,
        arguments,
        draft: job.draft.place,
        dialogue: Dialogue { answer: job.answer, activity },
        now: ports.clock.now(),
    };
    // What goes on with an answer was let through when it began.
    if invocation.dialogue.answer.is_none()
        && let Some(reason) = ports.toolbox.hooks.block_reason(&name, &invocation).await
    {
        return ToolJobOutcome::of(ToolOutcome::Denied { reason });
    }
    let limit = ports.toolbox.timeouts.limit(tool.spec().timeout);
    let working = call(&*tool, invocation.clone(), limit);
    let (outcome, draft) = drafts::run_in_draft(&ports.toolbox.drafts, &invocation, &job.draft, working).await;
    let SplitOutcome { outcome, source, files, inverse } =
        split_outcome(redaction::redact_outcome(&ports.redactor, outcome));
    let effect = undo_offer::Effect { tool: &name, invocation: &invocation, outcome: &outcome };
    let undo = inverse.and_then(|inverse| undo_offer::offer(ports, &job.tools, &effect, inverse));
    let (outcome, pictures) = tool_files::keep_files(ports, &invocation, outcome, source.as_ref(), files).await;
    let asked = (!pictures.is_empty()).then(|| outcome.clone());
    let outcome = apply_after_hooks(ports, &name, &invocation, outcome).await;
    // Whoever withholds the words withholds what came with them.
    let pictures = asked.filter(|asked| *asked == outcome).map_or_else(Pictures::default, |_| pictures);
    let (outcome, chars_max) =
        if job.is_read { (cut(outcome), usize::MAX) } else { (outcome, ports.limits.tool_output_chars_max) };
    let id = ResultId { run: invocation.run, call: invocation.call };
    let outcome = shorten_result(ports, id, chars_max, outcome).await;
    let outcome = tool_files::with_pictures(outcome, pictures);
    ToolJobOutcome { outcome, source, draft: draft.map(Box::new), undo }
}

/// What came of a call.
pub(super) struct ToolJobOutcome {
    pub(super) outcome: ToolOutcome,
    /// Where its words come from, if nobody vouches for them.
    pub(super) source: Option<OriginSource>,
    /// What the run's draft holds after it.
    pub(super) draft: Option<Box<WorkspaceDraft>>,
    /// How its effect is taken back.
    pub(super) undo: Option<Box<UndoOffer>>,
}

impl ToolJobOutcome {
    /// Nothing but this.
    pub(super) fn of(outcome: ToolOutcome) -> Self {
        Self { outcome, source: None, draft: None, undo: None }
    }
}

/// Whoever watches the run hears what the call is at, in its server's words.
fn activity_listener(ports: &Ports, job: &ToolJob) -> ActivityListener {
    let (watcher, redactor) = (Arc::clone(&ports.watcher), ports.redactor.clone());
    let (destination, run, doing) = (job.destination.clone(), job.run, activity_text::call_running_text(&job.call));
    let told = if job.mute { Progress::Doing } else { Progress::Step };
    ActivityListener::new(move |words| {
        let step = told(redactor.redact(&format!("{doing}: {words}")).into_owned());
        watcher.progress(&destination, run, step);
    })
}

/// The arguments as the model wrote them; nothing at all stands for none.
pub(in crate::driver) fn arguments(written: &str) -> Result<Value, String> {
    let written = if written.trim().is_empty() { "{}" } else { written };
    match serde_json::from_str::<Value>(written) {
        Ok(arguments @ Value::Object(_)) => match written::parse(written) {
            // Nobody could be shown what steers it.
            None => Err(TOO_DEEP.to_owned()),
            // Another number would arrive: better none.
            Some(written) => written::inexact(&written).map_or(Ok(arguments), |number| {
                Err(format!(
                    "The number {} cannot be passed on as it is: it has too many digits. The call was not made. Write it as \
                     text if the tool takes that, or with fewer digits.",
                    number.chars().take(NUMBER_CHARS_MAX).collect::<String>()
                ))
            }),
        },
        Ok(_) => Err("The arguments must be a JSON object.".to_owned()),
        Err(why) => Err(format!("The arguments are not valid JSON ({why}). Send the call again.")),
    }
}

/// Row E3: a tool that takes too long is stopped. That may pass by itself (row B1).
async fn call(tool: &dyn Tool, invocation: Invocation, limit: Option<Duration>) -> Outcome {
    let Some(limit) = limit else {
        return Outcome::of(tool.call(invocation).await);
    };
    match tokio::time::timeout(limit, tool.call(invocation)).await {
        Ok(ended) => Outcome::of(ended),
        Err(_elapsed) => Outcome::Transient(format!(
            "Stopped after {} s without a result; it may have had a part of its effect.",
            limit.as_secs()
        )),
    }
}

/// What a tool answered.
struct SplitOutcome {
    outcome: Outcome,
    /// Where its words come from: the innermost knows best.
    source: Option<OriginSource>,
    /// What it brought along.
    files: Vec<OutputFile>,
    /// The call that takes its effect back.
    inverse: Option<InverseCall>,
}

fn split_outcome(mut outcome: Outcome) -> SplitOutcome {
    let (mut source, mut files, mut inverse) = (None, Vec::new(), None);
    loop {
        match outcome {
            Outcome::From(from, inner) => (outcome, source) = (*inner, Some(from)),
            Outcome::Along(brought, inner) => {
                files.extend(brought);
                outcome = *inner;
            }
            Outcome::Undoable(call, inner) => (outcome, inverse) = (*inner, Some(*call)),
            outcome => return SplitOutcome { outcome, source, files, inverse },
        }
    }
}

/// Row E7: hooks after the call may withhold its words; whether it failed stays as it was, for the record tells that
/// (row E10). What only the machine can do has no words yet.
async fn apply_after_hooks(ports: &Ports, name: &str, invocation: &Invocation, outcome: Outcome) -> Outcome {
    let result = match &outcome {
        Outcome::Text(text) => (text.as_str(), false),
        Outcome::Exited { text, code } => (text.as_str(), *code != 0),
        Outcome::Error(text) | Outcome::Transient(text) => (text.as_str(), true),
        Outcome::Request(_) | Outcome::From(..) | Outcome::Along(..) | Outcome::Undoable(..) => return outcome,
    };
    match ports.toolbox.hooks.withhold_reason(name, invocation, result).await {
        None => outcome,
        Some(withheld) if result.1 => Outcome::Error(withheld),
        Some(withheld) => Outcome::Text(withheld),
    }
}

/// What a reader gets. Nothing of it is kept beside the record: the model could read it there.
fn cut(outcome: Outcome) -> Outcome {
    let ends = |text: String| head_and_tail(&text, READ_CHARS_MAX);
    match outcome {
        Outcome::Text(text) => Outcome::Text(ends(text)),
        Outcome::Exited { text, code } => Outcome::Exited { text: ends(text), code },
        Outcome::Error(text) => Outcome::Error(ends(text)),
        Outcome::Transient(text) => Outcome::Transient(ends(text)),
        Outcome::Request(_) | Outcome::From(..) | Outcome::Along(..) | Outcome::Undoable(..) => outcome,
    }
}

/// Row C9: of a long result the model sees head and tail; the whole is in a file before anything refers to it.
async fn shorten_result(ports: &Ports, id: ResultId, chars_max: usize, outcome: Outcome) -> ToolOutcome {
    let results = &ports.toolbox.results;
    match outcome {
        Outcome::Text(text) => ToolOutcome::Text { text: results.shorten(id, text, chars_max).await, is_error: false },
        Outcome::Exited { text, code } => {
            ToolOutcome::Exited { text: results.shorten(id, text, chars_max).await, code }
        }
        Outcome::Error(text) => ToolOutcome::Text { text: results.shorten(id, text, chars_max).await, is_error: true },
        Outcome::Transient(text) => ToolOutcome::Transient { text: results.shorten(id, text, chars_max).await },
        Outcome::From(_, inner) | Outcome::Along(_, inner) | Outcome::Undoable(_, inner) => {
            Box::pin(shorten_result(ports, id, chars_max, *inner)).await
        }
        Outcome::Request(Request::Notebook(change)) => ToolOutcome::Notebook { change },
        Outcome::Request(Request::Plan) => ToolOutcome::Plan,
        Outcome::Request(Request::MoreIterations { reason }) => ToolOutcome::MoreIterations { reason },
        Outcome::Request(Request::Spawn(mission)) => ToolOutcome::Spawn { mission },
        Outcome::Request(Request::Tell { agent, text }) => ToolOutcome::Tell { agent, text },
        Outcome::Request(Request::Ask { question, form }) => ToolOutcome::Ask { question, form },
        Outcome::Request(Request::CutOff) => ToolOutcome::Interrupted,
        Outcome::Request(Request::Deliver(delivery)) => ToolOutcome::Deliver { delivery: *delivery },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d5_what_could_not_be_shown_to_a_person_is_not_called() {
        let nested = |depth: usize| format!(r#"{{"to":"eve","x":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(arguments(&nested(20)).is_ok());
        for depth in [40, 100] {
            assert_eq!(arguments(&nested(depth)).unwrap_err(), TOO_DEEP, "{depth}");
        }
        assert!(arguments(r#"{"n":123456789012345678901234567890}"#).unwrap_err().contains("too many digits"));
    }
}
