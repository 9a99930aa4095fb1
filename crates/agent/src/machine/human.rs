//! Waiting for a person, and what their answer does (rows B10, B11, B15).

use crate::machine::batch::CallProgress;
use crate::machine::effect::Effect;
use crate::machine::event::{RunEnd, RunReply};
use crate::machine::question::{Answer, Question};
use crate::machine::state::{ActiveState, Phase, ResumePoint};
use crate::machine::{approval, compaction, elicitation, ending, guards, pause, resume, texts, tools};
use hob_core::domain::ids::CallId;
use hob_model::message::Message;

/// The run waits from here on.
pub(super) fn on_asked(run: &mut ActiveState, question: &Question) -> Vec<Effect> {
    run.told += u32::from(!matches!(question, Question::Paused { .. } | Question::Agents));
    let again = matches!(&run.phase, Phase::Waiting { question: open, .. } if open == question);
    if !again {
        run.questions += 1;
    }
    let paused = match std::mem::replace(&mut run.phase, Phase::Replied) {
        Phase::Calling(call) => ResumePoint::Call(call),
        Phase::Acting(batch) => ResumePoint::Batch(batch),
        Phase::Waiting { paused, .. } => paused,
        Phase::Replied | Phase::Done(_) => ResumePoint::Nothing,
    };
    run.phase = Phase::Waiting { question: question.clone(), paused };
    Vec::new()
}

/// A person answered the open question.
pub(super) fn on_answered(run: &mut ActiveState, answer: &Answer) -> Vec<Effect> {
    let Phase::Waiting { question, .. } = &run.phase else {
        return vec![Effect::Ignored { why: "nothing was asked" }];
    };
    if answer.question.is_some_and(|number| number != run.questions) {
        return vec![Effect::Ignored { why: "that question is no longer open" }];
    }
    let question = question.clone();
    run.reminders = 0;
    if !matches!(question, Question::PromptChanged { .. }) {
        // Somebody has looked at where it stands; a word about the prompt does not say so.
        run.crashes = 0;
    }
    let decision = Decision::parse(&answer.text, &question);
    match &question {
        Question::Asked { call, form: Some(form), .. } => elicitation::on_answered(run, call, form, &answer.text),
        Question::Asked { call, form: None, .. } => {
            unpause(run);
            settle_call(run, call, answer.text.clone(), false)
        }
        Question::UnsafeCall { call, .. } => on_unsafe(run, call, &question, decision),
        Question::Approval { .. } => approval::on_answered(run, &question, &answer.text),
        Question::ContextFull => {
            if decision == Some(Decision::Stop) {
                return give_up(run);
            }
            let words = (decision != Some(Decision::KeepGoing)).then(|| (answer.by, answer.text.clone()));
            unpause(run);
            compaction::on_direction(run, words)
        }
        Question::Circling { .. } => on_direction(run, answer, decision),
        Question::Paused { .. } | Question::Agents => {
            vec![Effect::Ignored { why: "nothing was asked" }]
        }
        Question::PromptChanged { .. } | Question::Mismatch(_) | Question::CrashLoop => {
            if decision == Some(Decision::GiveUp) {
                return give_up(run);
            }
            if decision != Some(Decision::CarryOn) {
                return vec![Effect::AskHuman(question)];
            }
            if let Question::PromptChanged { system } = question {
                run.system_seen = system;
            }
            unpause(run);
            resume::reopen(run)
        }
    }
}

/// A person says what became of a call that nobody knows of; anything else asks again.
fn on_unsafe(run: &mut ActiveState, call: &CallId, question: &Question, decision: Option<Decision>) -> Vec<Effect> {
    if decision == Some(Decision::Happened) {
        unpause(run);
        return settle_call(run, call, texts::HAPPENED.to_owned(), false);
    }
    if decision == Some(Decision::RunAgain) {
        return run_again(run, call);
    }
    if decision == Some(Decision::GiveUp) {
        return give_up(run);
    }
    vec![Effect::AskHuman(question.clone())]
}

/// What a person can decide about a run that stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The call took effect.
    Happened,
    /// Make the call again.
    RunAgain,
    /// Go on.
    CarryOn,
    /// End the run.
    GiveUp,
    /// Make this call, this once.
    Approve,
    /// Make it, and do not ask about this tool again.
    Always,
    /// Make it, and do not ask about this tool again in this run, until it reads something new (row N6).
    ThisRun,
    /// Make all of these calls, this once.
    All,
    /// Make the one with this number, from 1, and no other.
    Only(usize),
    /// Make those that are named, and no other.
    Named,
    /// Make it, and class all tools of its server as their server says (row N16).
    AsItSays,
    /// Do not make it.
    Deny,
    /// Go on with less of the context (row B5).
    KeepGoing,
    /// End the run that has no room left.
    Stop,
}

impl Decision {
    /// The decisions a question offers, in the order of their numbers.
    pub fn offered(question: &Question) -> &'static [Self] {
        match question {
            Question::Approval { beside, .. } if !beside.is_empty() => match beside.len() {
                1 => &[Self::Only(1), Self::Only(2), Self::All, Self::Deny],
                2 => &[Self::Only(1), Self::Only(2), Self::Only(3), Self::All, Self::Deny],
                3 => &[Self::Only(1), Self::Only(2), Self::Only(3), Self::Only(4), Self::All, Self::Deny],
                _ => {
                    &[Self::Only(1), Self::Only(2), Self::Only(3), Self::Only(4), Self::Only(5), Self::All, Self::Deny]
                }
            },
            Question::Approval { grantable, concern, .. } if concern.classing.is_some() => {
                match (*grantable, concern.this_run) {
                    (true, _) => &[Self::Approve, Self::Always, Self::AsItSays, Self::Deny],
                    (false, true) => &[Self::Approve, Self::ThisRun, Self::AsItSays, Self::Deny],
                    (false, false) => &[Self::Approve, Self::AsItSays, Self::Deny],
                }
            }
            Question::Approval { grantable: true, .. } => &[Self::Approve, Self::Always, Self::Deny],
            Question::Approval { concern, .. } if concern.this_run => &[Self::Approve, Self::ThisRun, Self::Deny],
            Question::Approval { .. } => &[Self::Approve, Self::Deny],
            Question::ContextFull => &[Self::KeepGoing, Self::Stop],
            Question::Asked { .. } | Question::Paused { .. } | Question::Agents => &[],
            Question::UnsafeCall { .. } => &[Self::Happened, Self::RunAgain, Self::GiveUp],
            Question::PromptChanged { .. }
            | Question::Mismatch(_)
            | Question::CrashLoop
            | Question::Circling { .. } => &[Self::CarryOn, Self::GiveUp],
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Happened => "it happened",
            Self::RunAgain => "run it again",
            Self::CarryOn => "carry on",
            Self::GiveUp => "give up",
            Self::Approve => "approve",
            Self::Always => "always",
            Self::ThisRun => "yes, for this run",
            Self::AsItSays => "as it says",
            Self::Deny => "deny",
            Self::All => "approve all",
            Self::Only(1) => "only 1",
            Self::Only(2) => "only 2",
            Self::Only(3) => "only 3",
            Self::Only(4) => "only 4",
            Self::Only(_) => "only 5",
            Self::Named => "some of them",
            Self::KeepGoing => "keep going",
            Self::Stop => "stop",
        }
    }

    /// Whether words that name none of the decisions are an answer too: a direction to take.
    pub fn takes_words(question: &Question) -> bool {
        match question {
            Question::Asked { .. } | Question::ContextFull | Question::Circling { .. } => true,
            Question::Paused { .. }
            | Question::Agents
            | Question::Approval { .. }
            | Question::UnsafeCall { .. }
            | Question::PromptChanged { .. }
            | Question::Mismatch(_)
            | Question::CrashLoop => false,
        }
    }

    /// The decision that `text` names: by label, by number, or, for an approval, in a few more words.
    pub fn parse(text: &str, question: &Question) -> Option<Self> {
        let offered = Self::offered(question);
        let labels: Vec<&str> = offered.iter().map(|decision| decision.label()).collect();
        let named = named(text, &labels).and_then(|index| offered.get(index)).copied();
        named.or_else(|| match question {
            Question::Approval { beside, .. } if !beside.is_empty() => {
                approval::words::of_several(text, beside.len() + 1)
            }
            Question::Approval { .. } => approval::words::decision(text),
            Question::Asked { .. }
            | Question::UnsafeCall { .. }
            | Question::PromptChanged { .. }
            | Question::Mismatch(_)
            | Question::CrashLoop
            | Question::ContextFull
            | Question::Circling { .. }
            | Question::Agents
            | Question::Paused { .. } => None,
        })
    }

    /// Would `text` have decided a question that is over, and of which is known what could be chosen?
    pub fn would_have_decided(text: &str, labels: &[&str]) -> bool {
        let in_words = || labels.contains(&Self::Approve.label()) && approval::words::decision(text).is_some();
        let of_several =
            || labels.contains(&Self::All.label()) && approval::words::of_several(text, labels.len()).is_some();
        named(text, labels).is_some() || in_words() || of_several()
    }
}

/// Which of these `text` names, by itself or by its number.
fn named(text: &str, labels: &[&str]) -> Option<usize> {
    let said = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    let by_number = said.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    by_number.filter(|index| *index < labels.len()).or_else(|| labels.iter().position(|label| *label == said))
}

/// Back to what was open when the question came up.
pub(super) fn unpause(run: &mut ActiveState) {
    run.phase = match std::mem::replace(&mut run.phase, Phase::Replied) {
        Phase::Waiting { paused: ResumePoint::Call(call), .. } => Phase::Calling(call),
        Phase::Waiting { paused: ResumePoint::Batch(batch), .. } => Phase::Acting(batch),
        Phase::Waiting { paused: ResumePoint::Nothing, .. } => Phase::Replied,
        other @ (Phase::Calling(_) | Phase::Acting(_) | Phase::Replied | Phase::Done(_)) => other,
    };
}

/// Row B3: a person says how a run goes on that went in circles.
fn on_direction(run: &mut ActiveState, answer: &Answer, decision: Option<Decision>) -> Vec<Effect> {
    if decision == Some(Decision::GiveUp) {
        return give_up(run);
    }
    if decision == Some(Decision::CarryOn) {
        run.transcript.push(Message::user(guards::CARRY_ON));
    } else {
        run.transcript.push_from(answer.by, answer.text.clone());
    }
    run.guard.reset();
    unpause(run);
    ending::go_on(run)
}

fn settle_call(run: &mut ActiveState, call: &CallId, text: String, is_error: bool) -> Vec<Effect> {
    if let Phase::Acting(batch) = &mut run.phase {
        batch.finish(call, text, is_error);
    }
    tools::settle(run)
}

/// A call that a person did not let through (row D6).
pub(super) fn deny_call(run: &mut ActiveState, call: &CallId, reason: String) -> Vec<Effect> {
    if let Phase::Acting(batch) = &mut run.phase {
        batch.deny(call, reason);
    }
    tools::settle(run)
}

/// The person wants the call made again.
fn run_again(run: &mut ActiveState, id: &CallId) -> Vec<Effect> {
    unpause(run);
    if let Some(by) = run.pause {
        // Nothing is started now: it is asked about again when the run goes on.
        return pause::stand_still(by);
    }
    if let Phase::Acting(batch) = &mut run.phase
        && let Some(open) = batch.find(id)
        && let CallProgress::Doubtful { attempt } = open.progress
    {
        let attempt = attempt + 1;
        open.progress = CallProgress::Started { attempt };
        return vec![Effect::RunTool { call: open.call.clone(), attempt, delay_ms: 0 }];
    }
    tools::settle(run)
}

fn give_up(run: &mut ActiveState) -> Vec<Effect> {
    ending::close(run, texts::GIVEN_UP_CALL);
    vec![Effect::Reply(RunReply::Notice { text: texts::GIVEN_UP.to_owned() }), Effect::End(RunEnd::GivenUp)]
}
