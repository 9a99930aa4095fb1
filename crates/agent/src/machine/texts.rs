//! Every sentence that a run itself says, to people and to the model, in one place.

use serde::{Deserialize, Serialize};

use crate::machine::accepted_input::SteeringMessage;
use crate::machine::approval::words;
use crate::machine::event::JournalMismatch;
use crate::machine::question::Question;
use crate::machine::run_start::IterationLimits;
use crate::machine::state::ModelFailure;
use crate::machine::stop::{BudgetStop, CancelReason, QuotaScope, QuotaStop};
use hob_core::domain::ids::UserId;
use hob_core::domain::money::Money;
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::text::head;
use hob_core::policy::arguments::display::shown;
use hob_model::error::ErrorClass;
use hob_model::message::{Message, ToolResult};

/// How many tool calls a hand-off lists.
const HANDOFF_CALLS_MAX: usize = 20;

/// For the model: a call that the run's end cut off.
pub(crate) const STOPPED: &str = "Stopped by the user before it finished; it may have had a part of its effect.";
/// For the model: a call that was cut off otherwise.
pub const INTERRUPTED: &str = "Interrupted before it finished; it may have had a part of its effect.";
/// For the model: a call that the run's end left unstarted.
pub(crate) const NOT_STARTED: &str = "Not run: the task ended before its turn came.";
/// For the model: a person vouches for a call whose record was lost.
pub(crate) const HAPPENED: &str = "This call took effect; a person confirmed it. Its output was lost.";
/// For the model, before the pictures that a result brought.
pub fn pictures(tool: &str) -> String {
    format!("[The pictures in what {tool} answered, which nobody here has said:]")
}

/// For the person: a file that was to be sent.
pub(crate) const FILE_GONE: &str = "(A file was to be sent here, but it has been deleted meanwhile.)";

/// For the person: a file that was to be sent, and that is more than its channel takes, with the words under it.
pub(crate) fn file_too_big(name: &str, under: &str, bytes: i64, most: Option<u64>) -> String {
    let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000);
    let why = match most {
        Some(most) => {
            format!("it has {}, and a file may have {} here", megabytes(bytes.unsigned_abs()), megabytes(most))
        }
        None => "files cannot be sent here".to_owned(),
    };
    let told = format!("({name} was to be sent here, but {why}.)");
    if under.trim().is_empty() { told } else { format!("{under}\n{told}") }
}

/// For the model: a call of a run that was given up.
pub(crate) const GIVEN_UP_CALL: &str = "Given up; whether it took effect is not known.";
/// For the model: a second question in one reply.
pub(crate) const ONE_QUESTION: &str =
    "Only one question can be asked at a time. Ask again after the first is answered.";
/// For the person: the model chose to say nothing, and something has to be told all the same.
pub(super) const NOTHING_TO_ADD: &str = "I have nothing to add.";
/// In the history: the model chose to say nothing (row E13).
pub(crate) const SILENCE: &str = "[no reply needed]";
/// What a model says that has nothing to say (row E13).
pub const SILENT: [&str; 2] = ["NO_REPLY", "[SILENT]"];
/// The model sent neither words nor calls.
pub(crate) const EMPTY_REPLY: &str = "the model answered nothing";
/// For the model: its reply was cut off by the output limit (row E4).
pub(crate) const GO_ON_TALKING: &str = "[Your reply was cut off by the output limit. Go on exactly where it stopped: repeat \
     nothing, and say nothing about the interruption.]";
/// For the model: under what failed (row E9).
pub(crate) const AFTER_FAILURE: &str = "[It failed. Don't make results up: try another way, or say plainly what is not known or not \
     done.]";
/// For the model: under what was denied (row E9).
pub(crate) const AFTER_DENIAL: &str = "[It was denied. Don't try it again unless the user asks for it; say plainly that it was not \
     done.]";
/// For the person: the hard limit.
pub(crate) const HARD_LIMIT: &str = "I ran out of time on this and stopped. What was done so far is in our conversation; \
     send a message to go on from there.";
/// For the person: this Hob cannot read the run's record.
pub(crate) const PARKED: &str = "My record of this message cannot be read by the version of me that runs now, so I have put it \
     aside; the log has the details. I go on with it as soon as a version runs that can read it. To give it up, say /stop.";
/// For the person: they gave a run up.
pub const GIVEN_UP: &str = "Given up. Nothing more happens for that message.";
/// Above a question that is put again.
pub(crate) const STILL_OPEN: &str = "I am still waiting for an answer to this.";
/// Below a question that only an owner may answer.
pub(crate) const FOR_OWNERS: &str = "Only an owner can answer this.";
/// For the model: the last turn, because of time.
pub(crate) const WRAP_UP_TIME: &str = "The time for this task is up. Tools are no longer available. Tell the user plainly what \
     has been done, what has not, and what should happen next.";
/// For the model: the last turn, because of iterations.
pub(crate) const WRAP_UP_ITERATIONS: &str = "The steps for this task are used up. Tools are no longer available. Tell the user \
     plainly what has been done, what has not, and what should happen next.";

/// For the model: below the result of a call that nobody was asked about, because it was planned (row N16).
pub(super) fn spared(told: &str) -> String {
    format!("[Done as planned, without a question. {told}. The user is told so below your answer.]")
}

/// For the model: what it wanted delivered stands in the outbox, and whether it arrives is not known yet.
pub fn queued(delivery: &DeliveryRequest) -> String {
    let what = if delivery.file.is_some() { "The file" } else { "The message" };
    format!("{what} is queued for delivery to {}; it is sent as soon as the platform takes it.", delivery.name)
}

/// Whether words that are still coming may turn out to be silence (row E13).
pub(crate) fn may_be_silence(words: &str) -> bool {
    let begun = words.trim_start();
    SILENT.iter().any(|word| word.starts_with(begun) || begun.trim_end() == *word)
}

/// For the model: what cut a call off, when somebody or a limit ended the run.
pub(super) fn stopped(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Stopped { .. }
        | CancelReason::StoppedNow { .. }
        | CancelReason::Interrupted { .. }
        | CancelReason::Reset { .. } => STOPPED,
        CancelReason::HardLimit => INTERRUPTED,
    }
}

/// The answer, with a word about it if it was cut off.
pub(super) fn answer(text: &str, cut: AnswerEnding) -> String {
    match cut {
        AnswerEnding::Whole => text.to_owned(),
        AnswerEnding::Limit => format!("{text}\n\n(The model's output limit cut this answer off here.)"),
        AnswerEnding::Circling => format!("{text}\n\n(The model began to repeat itself here, so I stopped it.)"),
    }
}

/// Whether an answer came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerEnding {
    Whole,
    /// The output limit cut it off.
    Limit,
    /// It only repeated itself (row A11).
    Circling,
}

impl AnswerEnding {
    /// Cut off, or not.
    pub(super) fn of(cut_off: bool) -> Self {
        if cut_off { Self::Limit } else { Self::Whole }
    }
}

/// Words with what the record adds to them, if anything, in a paragraph of its own.
pub(super) fn with_record(text: String, record: Option<String>) -> String {
    match record {
        Some(record) => format!("{text}\n\n{record}"),
        None => text,
    }
}

/// An answer without what Hob has added below it, each in a paragraph of its own and in parentheses.
pub(super) fn without_record(text: &str) -> &str {
    let added = |(_, last): &(&str, &str)| last.starts_with('(') && last.ends_with(')');
    std::iter::successors(Some(text), |text| text.rsplit_once("\n\n").filter(added).map(|(above, _)| above))
        .last()
        .unwrap_or(text)
}

/// Row A6: the words and the new limit.
pub(super) fn more_iterations(limits: &IterationLimits) -> (String, u32) {
    let raised = limits.iterations.saturating_add(limits.iterations_step).min(limits.iterations_cap);
    let granted = raised.max(limits.iterations);
    let text = if granted > limits.iterations {
        format!("Granted: up to {granted} steps in all.")
    } else {
        format!("Not granted: {granted} steps are the most. Finish with what you have.")
    };
    (text, granted)
}

/// Row B1: the last failure of a tool that was run more than once.
pub(super) fn tried(text: &str, attempts: u32) -> String {
    if attempts > 1 { format!("{text}\n(Tried {attempts} times.)") } else { text.to_owned() }
}

/// A message that joined on the way; another person's carries their name.
pub fn steered(steered: &SteeringMessage, requester: UserId) -> String {
    if steered.principal.user == requester {
        steered.text.clone()
    } else {
        format!("[{}] {}", steered.principal.name, steered.text)
    }
}

/// What the person is told when no model could answer: what happened, and who can do what.
pub(super) fn model_failed(class: ErrorClass, message: &str) -> String {
    let advice = match class {
        ErrorClass::Auth => "Whoever runs me has to mend the key in config.toml or in the environment.",
        ErrorClass::Billing => "Whoever runs me has to look at the account's balance.",
        ErrorClass::RateLimit | ErrorClass::Overloaded | ErrorClass::Resting => "Please send it again in a while.",
        ErrorClass::UnknownModel => {
            "Whoever runs me has to name another model in config.toml; /model shows the one in use."
        }
        ErrorClass::ContextTooLong => {
            "Our conversation has grown too long for it: /compact sums it up, /reset starts afresh."
        }
        ErrorClass::Refused => "Put in other words, it may go through.",
        ErrorClass::BadRequest => "This looks like a fault of mine or of the provider; the log has the details.",
        ErrorClass::Timeout | ErrorClass::Network | ErrorClass::Server | ErrorClass::Malformed => {
            "I tried again without luck. Please send it again in a while."
        }
    };
    let message = message.trim().trim_end_matches('.');
    format!("I could not get an answer from the model: {message}. {advice}")
}

/// A model that answers for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackModel {
    /// The one that should.
    pub first: String,
    pub by: String,
}

/// What the chat is told when another model answers than the one that should, and when that is over.
///
/// `told` is the stand-in that it knows of. Once for each change, not with each answer, and not where another model is
/// wanted first.
pub fn stand_in(first: &str, by: &str, failure: Option<&ModelFailure>, told: Option<&FallbackModel>) -> Option<String> {
    match told {
        Some(told) if told.by == by => None,
        Some(told) if first == by => (told.first == first).then(|| format!("({first} answers again.)")),
        None if first == by => None,
        Some(_) | None => {
            let why = failure.map(|failure| format!(": {}", failure.message.trim().trim_end_matches('.')));
            Some(format!("({first} does not answer{}. Until it does, {by} stands in.)", why.unwrap_or_default()))
        }
    }
}

/// What the person is told when a budget stops their message before it began.
pub(super) fn budget_before(stop: &BudgetStop) -> String {
    format!("{} So I have not begun with this. {}", used_up(stop), how_to_go_on(stop))
}

/// The hand-off at a cap: what was done, by the record, and how to go on.
pub(super) fn budget_reached(stop: &BudgetStop, unfinished: &str, transcript: &[Message]) -> String {
    handed_back(&used_up(stop), unfinished, transcript, how_to_go_on(stop))
}

/// What the person is told when a quota stops their message before it began.
pub(super) fn quota_before(stop: &QuotaStop) -> String {
    format!("{} So I have not begun with this. {}", quota_used_up(stop), after_quota(stop))
}

/// The hand-off at a quota.
pub(super) fn quota_reached(stop: &QuotaStop, unfinished: &str, transcript: &[Message]) -> String {
    handed_back(&quota_used_up(stop), unfinished, transcript, after_quota(stop))
}

fn quota_used_up(stop: &QuotaStop) -> String {
    let QuotaStop { name, cap, used, whose, .. } = stop;
    let tokens = match whose {
        QuotaScope::Person => "Your tokens",
        QuotaScope::House => "The house's tokens",
        QuotaScope::Persona(_) => "The tokens",
    };
    if used < cap {
        return format!(
            "{tokens} for {name} do not allow the next step: {used} of {cap} are used, and it would take more than what \
             is left."
        );
    }
    format!("{tokens} for {name} are used up: {used} of {cap}.")
}

fn after_quota(stop: &QuotaStop) -> String {
    let QuotaStop { key, resets, whose, .. } = stop;
    let section = match whose {
        QuotaScope::Person => "quotas".to_owned(),
        QuotaScope::House => "budget".to_owned(),
        QuotaScope::Persona(name) => format!("personas.{name}"),
    };
    if stop.used == 0 {
        return format!(
            "Waiting does not help here: whoever runs me has to raise {key} under [{section}] in config.toml."
        );
    }
    format!("They begin anew on {resets}; or whoever runs me raises {key} under [{section}] in config.toml.")
}

fn handed_back(why: &str, unfinished: &str, transcript: &[Message], how_to_go_on: String) -> String {
    let results: Vec<&ToolResult> = transcript
        .iter()
        .filter_map(|message| if let Message::Tool(result) = message { Some(result) } else { None })
        .collect();
    let mut lines = vec![format!("{why} So I have stopped here.")];
    if results.is_empty() {
        lines.push("Done so far: nothing that changes anything.".to_owned());
    } else {
        lines.push("Done so far:".to_owned());
        let told = results.iter().rev().take(HANDOFF_CALLS_MAX).rev();
        let left_out = results.len().saturating_sub(HANDOFF_CALLS_MAX);
        lines.extend((left_out > 0).then(|| format!("- {left_out} earlier calls")));
        lines.extend(told.map(|result| format!("- {}{}", result.name, if result.is_error { ": failed" } else { "" })));
    }
    if !unfinished.trim().is_empty() {
        lines.push(format!("What I had to say so far:\n{}", unfinished.trim()));
    }
    lines.push(how_to_go_on);
    lines.join("\n")
}

fn used_up(stop: &BudgetStop) -> String {
    let BudgetStop { scope, cap, used, persona, .. } = stop;
    let scope = scope.words(persona.as_deref());
    if used < cap {
        return format!(
            "The budget for {scope} does not allow the next step: {used} of {cap} are spent or set aside, and it may cost \
             more than what is left."
        );
    }
    format!("The budget for {scope} is used up: {used} of {cap} are spent or set aside.")
}

fn how_to_go_on(stop: &BudgetStop) -> String {
    let (key, section) = (stop.scope.usd_key(), stop.scope.section(stop.persona.as_deref()));
    if stop.used == Money::ZERO {
        return format!(
            "Waiting does not help here: whoever runs me has to raise {key} under [{section}] in config.toml."
        );
    }
    match &stop.resets {
        Some(when) => format!(
            "To go on, write to me again after {when}; or whoever runs me raises {key} under [{section}] in config.toml."
        ),
        None => format!(
            "To go on, write to me again: a new message has a budget of its own. Whoever runs me can raise {key} under \
             [{section}] in config.toml."
        ),
    }
}

/// What the person is told after a panic.
pub(super) fn panicked(message: &str) -> String {
    let first = head(message.lines().next().unwrap_or_default(), 200);
    format!("Something broke inside me while I worked on this, and I stopped: {first}. The log has the details.")
}

/// What the person is told when the record of a run's beginning is lost.
pub(super) fn lost_beginning(mismatch: &JournalMismatch) -> String {
    format!(
        "I was interrupted on this, and my record of it does not add up ({mismatch}). I can't tell what was done, so I \
         have stopped. Please look, and send it again if it is still needed."
    )
}

/// The words of a question; the decisions it offers are listed by number beneath.
pub fn question(question: &Question) -> String {
    match question {
        Question::Asked { text, .. } => text.clone(),
        Question::UnsafeCall { name, arguments, attempt, .. } => {
            let shown = shown(arguments).text;
            // Two questions about one call are two questions: the second must not look like the first, sent twice.
            let again = if *attempt > 1 { format!(" again (try {attempt})") } else { String::new() };
            format!(
                "I was interrupted{again} while this call was under way, and I can't tell whether it took effect:\n\
                 {name}\n{shown}\nWhat shall I do?"
            )
        }
        Question::Approval { name, arguments, concern, beside, .. } if !beside.is_empty() => {
            words::questions(name, arguments, concern, beside)
        }
        Question::Approval { name, arguments, grantable, concern, .. } => {
            words::question(name, arguments, *grantable, concern)
        }
        Question::ContextFull => "I have made progress, but my memory of this task fills faster than I can empty it. \
             Shall I keep going with less of it in mind, or stop? Or tell me in your own words what to do instead."
            .to_owned(),
        Question::Circling { what, words } => {
            let words = if words.is_empty() { String::new() } else { format!("\n\n{words}\n\n") };
            let dot = if words.is_empty() { " " } else { "" };
            format!(
                "I am going in circles: I have {what}.{words}{dot}How shall I go on? Say it in your own words, or choose:"
            )
        }
        Question::Paused { .. } => "Paused.".to_owned(),
        Question::Agents => "Waiting for my agents.".to_owned(),
        Question::PromptChanged { .. } => "I was interrupted on this, and my instructions have been changed since. \
             Shall I carry on with those I began with?"
            .to_owned(),
        Question::Mismatch(mismatch) => format!(
            "I was interrupted on this, and my record of it does not add up ({mismatch}). \
             Shall I carry on from what is recorded?"
        ),
        Question::CrashLoop => {
            "I was cut off three times in a row at the same step of this, so I have stopped trying by myself. \
             Shall I carry on?"
                .to_owned()
        }
    }
}
