//! Whose words a message of the history holds: only what people said is remembered, and what answers them is found again.

use std::borrow::Cow;

use crate::machine::accepted_input::{RunKind, SteeringMessage};
use crate::machine::event::{Event, RunReply};
use crate::machine::question::Question;
use crate::machine::state::{ActiveState, Phase, State};
use crate::machine::transcript::TranscriptEntry;
use crate::machine::{Step, texts};
use hob_core::domain::ids::UserId;
use hob_core::domain::origin::OriginSource;
use hob_core::domain::principal::{Principal, Trust};
use hob_model::message::{Message, ToolResult};

/// A person's words, as they said them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributedWords {
    /// Who said them.
    pub by: UserId,
    /// With which authority; none: they answered a question of the run, and are as known as the house knows them.
    pub principal: Option<Principal>,
    pub text: String,
    /// What the run had asked them, where that is known.
    pub asked: Option<String>,
}

/// The words of an entry of `run`'s transcript, its `at`th, that `step` has added.
///
/// Hob's own words are nobody's, and neither is what a heartbeat or `/compact` puts into a person's mouth.
pub(super) fn attributed_words(
    before: &State,
    step: &Step,
    run: &ActiveState,
    at: usize,
    entry: &TranscriptEntry<'_>,
) -> Option<AttributedWords> {
    // What is said in an agent's session belongs to its task, and to nobody's memory.
    if run.input.agent.is_some() {
        return None;
    }
    if let Message::Tool(result) = entry.message {
        return answer_words(before, step, result);
    }
    let by = entry.author?;
    if at == 0 && run.input.order != RunKind::Answer {
        return None;
    }
    let around = run.input.around.as_deref().filter(|_| at == 0);
    // What somebody hands on is another's words, and that other is nobody here.
    if around.is_some_and(|around| around.forwarded_from.is_some()) {
        return None;
    }
    let told = match around {
        Some(_) => Cow::Borrowed(run.input.text.as_str()),
        None => entry.message.text(),
    };
    let requester = run.input.principal.user;
    let (principal, text) = match joined(before, step, run, at, entry) {
        Some(steered) => (Some(steered.principal.clone()), steered.text.clone()),
        None => ((by == requester).then(|| run.input.principal.clone()), told.into_owned()),
    };
    (!text.trim().is_empty()).then_some(AttributedWords { by, principal, text, asked: None })
}

/// The message that an entry is which joined the run on its way.
fn joined<'a>(
    before: &'a State,
    step: &'a Step,
    run: &ActiveState,
    at: usize,
    entry: &TranscriptEntry<'_>,
) -> Option<&'a SteeringMessage> {
    let (by, told) = (entry.author?, entry.message.text());
    let now = step.events.iter().filter_map(|event| match event {
        Event::Steered(steered) => Some(steered),
        _ => None,
    });
    let waiting = before.active().map_or(&[][..], |active| &active.steering);
    let requester = run.input.principal.user;
    let stands =
        |steered: &&SteeringMessage| steered.principal.user == by && texts::steered(steered, requester) == told;
    (at > 0).then(|| waiting.iter().chain(now).find(stands)).flatten()
}

/// Is an entry what a person of the house said themselves, without anything that is anybody else's? That holds whatever the run had
/// read by then (row N16).
pub(super) fn is_own(before: &State, step: &Step, run: &ActiveState, at: usize, entry: &TranscriptEntry<'_>) -> bool {
    let input = &run.input;
    if entry.author.is_none() || input.agent.is_some() || input.order != RunKind::Answer {
        return false;
    }
    let (principal, taint, pictures) = match joined(before, step, run, at, entry) {
        Some(joined) => (&joined.principal, &joined.taint, &joined.pictures),
        None if at == 0 => (&input.principal, &input.taint, &input.pictures),
        // Of it nothing is known any more.
        None => return false,
    };
    let channel = input.destination.conversation.channel;
    taint.is_clean() && pictures.is_empty() && OriginSource::of_speaker(principal, channel).is_none()
}

/// The words with which a person answers what the model asked them: they stand in the history as the result of its call.
fn answer_words(before: &State, step: &Step, result: &ToolResult) -> Option<AttributedWords> {
    let run = before.active()?;
    let Phase::Waiting { question: Question::Asked { call, text: question, form: None }, .. } = &run.phase else {
        return None;
    };
    let answer = step.events.iter().find_map(|event| match event {
        Event::HumanAnswered(answer) => Some(answer),
        _ => None,
    })?;
    if *call != result.call || answer.text != result.text || answer.text.trim().is_empty() {
        return None;
    }
    let requester = &run.input.principal;
    let principal = (answer.by == requester.user).then(|| requester.clone());
    // What Hob asks because of untrusted content is not remembered in a person's name.
    let asked = (requester.trust == Trust::Trusted && run.taint.is_clean()).then(|| question.clone());
    Some(AttributedWords { by: answer.by, principal, text: answer.text.clone(), asked })
}

/// Whom the run's message at this place answers: its last one, with what it told somebody who had said something.
///
/// What an agent or a schedule tells is nobody's answer, and neither are notices.
pub(super) fn answered_by(step: &Step, run: &ActiveState, at: usize) -> Option<Principal> {
    let replied = step.events.iter().any(|event| matches!(event, Event::Replied(RunReply::Answer { .. })));
    let is_last = at + 1 == run.transcript.messages().len();
    let is_asked = run.input.order == RunKind::Answer && run.input.agent.is_none();
    (replied && is_last && is_asked).then(|| run.input.principal.clone())
}
