//! The model's replies and failures (rows A5, A7, E2, E4, E13).
//!
//! | failure | then | and then |
//! |---|---|---|
//! | rate limit, overloaded | the wait that the provider names (≤ 60 s), once; without one 1, 2, 4 s | the next model |
//! | rate limit, overloaded, with a longer wait | the next model | |
//! | timeout, network, server, malformed | 2 s, once | the next model |
//! | auth, billing, unknown model, resting, bad request | the next model | |
//! | too long | less of the context, up to three times ([`compaction`]) | the next model |
//! | refused | told | |
//! | refused or a bad request, with pictures shown | the same without the pictures, once | as above |
//!
//! Each request goes through all models, beginning with the one that answered last. If none answers and some only rest,
//! they are asked all the same: nobody is told of an outage that nobody has looked at. The chat is told when another
//! model answers (`projection.rs`), and what went wrong if none does.

use std::ops::RangeInclusive;

use crate::machine::batch::Batch;
use crate::machine::claims::{self, ClaimCheck};
use crate::machine::effect::{Effect, FallbackChain, ModelCall, ModelCallPurpose};
use crate::machine::ending;
use crate::machine::event::{Event, RunEnd, RunReply};
use crate::machine::note::UnfoundedClaim;
use crate::machine::state::{ActiveState, ModelFailure, PartialReply, Phase};
use crate::machine::texts::AnswerEnding;
use crate::machine::{
    approval, compaction, declared_loop, draft, guards, outbound_allowance, plan, texts, tools, undo,
};
use hob_core::domain::ids::CallId;
use hob_model::error::ErrorClass;
use hob_model::message::{Completion, Message, ReplyPart, StopReason};

/// The longest wait that a provider may ask for (row A7).
const RETRY_AFTER_MAX_MS: u64 = 60_000;
/// The wait before a transient failure's one repetition (row A7).
const TRANSIENT_DELAY_MS: u64 = 2_000;
/// How often a busy provider is asked again (row E2).
const BUSY_RETRIES: u32 = 3;
/// The first wait for a busy provider; each is twice the one before (row E2). The driver adds jitter.
const BUSY_DELAY_MS: u64 = 1_000;
/// How often a reply that was cut off is continued (row E4).
const CONTINUATIONS_MAX: u32 = 5;
/// The shortest and the longest repetition at a seam that is taken for one.
const OVERLAP_CHARS: RangeInclusive<usize> = 20..=400;

/// A whole reply came.
pub(super) fn on_answered(run: &mut ActiveState, completion: &Completion) -> Vec<Effect> {
    let Phase::Calling(call) = &run.phase else {
        return vec![Effect::Ignored { why: "no model was asked" }];
    };
    let purpose = call.purpose;
    if purpose == ModelCallPurpose::Summary {
        return vec![Effect::Ignored { why: "a summary was asked for" }];
    }
    let billed = run.billed(call, completion);
    run.cost = run.cost.plus(run.price(call.model, &billed).unwrap_or_default());
    run.usage.add(billed);
    let wants_tools = purpose == ModelCallPurpose::Work && completion.calls().next().is_some();
    let text = completion.text();
    // A model that has nothing to add to what was cut off has said it all.
    let nothing = text.trim().is_empty() && run.unfinished.text.trim().is_empty();
    if nothing && !wants_tools {
        return on_failed(run, ErrorClass::Malformed, texts::EMPTY_REPLY, None);
    }
    run.crashes = 0;
    run.course.too_long = 0;
    run.cycles += 1;
    // What was cut off before goes on after the tools, or after what joins: nothing of it is left untold.
    if wants_tools {
        if run.truth.is_open() {
            // What the model goes by from here on has been said.
            run.truth.aside().into_iter().for_each(|message| run.transcript.push(message));
            run.truth.settle();
        }
        return start_calls(run, completion);
    }
    let choice = call.choice.clone();
    if let Some(effects) = guards::overrule(run, &choice, spoken(completion)) {
        return effects;
    }
    match run.truth.settle() {
        Some(first) if claims::confirms_reply(&text) => conclude(run, &first, ReplyCheck::Kept),
        // What is written anew stands for all that was said before.
        Some(_) => {
            run.unfinished = PartialReply::default();
            conclude(run, completion, ReplyCheck::Fresh)
        }
        None => conclude(run, completion, ReplyCheck::Fresh),
    }
}

/// Whether a reply has been looked at once more, and may stand (row E10).
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyCheck {
    Fresh,
    Kept,
}

/// A reply without calls: it goes on, or is looked at again, or is the last word.
fn conclude(run: &mut ActiveState, completion: &Completion, look: ReplyCheck) -> Vec<Effect> {
    let text = completion.text();
    let mut effects: Vec<Effect> = match look {
        ReplyCheck::Fresh => guards::on_words(run, &text).into_iter().collect(),
        ReplyCheck::Kept => Vec::new(),
    };
    let circling = !effects.is_empty();
    let whole = joined(&run.unfinished.text, &text);
    if !circling && let Some(next) = declared_loop::on_reply(run, completion, &whole) {
        return next;
    }
    if !run.steering.is_empty() || run.long_agents.has_news() {
        run.transcript.push(Message::Assistant { parts: spoken(completion) });
        effects.extend(ending::go_on(run));
        return effects;
    }
    let cut_off = completion.stop == StopReason::MaxTokens;
    let silent = is_silence(&whole);
    if cut_off && !silent && may_continue(run) && !circling {
        effects.extend(go_on_talking(run, completion));
        return effects;
    }
    if let Some(settling) = draft::before_last_word(run, completion) {
        effects.extend(settling);
        return effects;
    }
    if !silent && !cut_off && claims::must_look(run, &whole) {
        let said = Completion { parts: spoken(completion), ..completion.clone() };
        effects.push(Effect::Note(Box::new(Event::PhantomCaught(UnfoundedClaim { text: whole }))));
        run.truth = ClaimCheck::Open(Box::new(said));
        effects.extend(ending::ask(run, run.call_for(ModelCallPurpose::Work)));
        return effects;
    }
    let cut = if cut_off && circling { AnswerEnding::Circling } else { AnswerEnding::of(cut_off) };
    effects.extend(last_word(run, completion, whole.trim(), cut, look));
    effects
}

/// The reply is told: `text` is all of it.
fn last_word(
    run: &mut ActiveState,
    completion: &Completion,
    text: &str,
    cut: AnswerEnding,
    look: ReplyCheck,
) -> Vec<Effect> {
    // What nobody was asked about is told in any case.
    let reply = match plan::unasked_calls_text(run).filter(|_| is_silence(text)) {
        Some(told) => RunReply::Answer { text: texts::with_record(texts::NOTHING_TO_ADD.to_owned(), Some(told)) },
        None if is_silence(text) => RunReply::Silence,
        None => answer(run, text, cut, look),
    };
    run.sealed = completion.parts.iter().filter(|part| matches!(part, ReplyPart::Sealed(_))).cloned().collect();
    vec![Effect::Reply(reply), Effect::End(RunEnd::Completed)]
}

/// The last word, with what the record has to add to it.
fn answer(run: &ActiveState, text: &str, cut: AnswerEnding, look: ReplyCheck) -> RunReply {
    let told = texts::answer(text, cut);
    let phantom = look == ReplyCheck::Fresh && claims::still_claims(run, text);
    let phantom = phantom.then(|| claims::NOTHING_CHANGED.to_owned());
    let told = texts::with_record(told, claims::shortfall(run, text).or(phantom));
    let told = texts::with_record(told, plan::unasked_calls_text(run));
    RunReply::Answer { text: texts::with_record(told, undo::offer_text(run)) }
}

/// May a reply that was cut off be continued once more (row E4)?
pub(super) fn may_continue(run: &ActiveState) -> bool {
    run.unfinished.times < CONTINUATIONS_MAX
}

/// Row E13: exactly one of the two words.
pub(super) fn is_silence(text: &str) -> bool {
    texts::SILENT.contains(&text.trim())
}

/// Row E4: the words so far stand in the history, and the model is asked for the rest.
fn go_on_talking(run: &mut ActiveState, completion: &Completion) -> Vec<Effect> {
    run.unfinished.text = joined(&run.unfinished.text, &completion.text());
    run.unfinished.times += 1;
    run.transcript.push(Message::Assistant { parts: spoken(completion) });
    run.transcript.push(Message::user(texts::GO_ON_TALKING));
    let purpose = match &run.phase {
        Phase::Calling(call) => call.purpose,
        Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => ModelCallPurpose::Work,
    };
    ending::ask(run, run.call_for(purpose))
}

/// The reply without the calls that nobody carries out.
pub(super) fn spoken(completion: &Completion) -> Vec<ReplyPart> {
    completion.parts.iter().filter(|part| !matches!(part, ReplyPart::Call(_))).cloned().collect()
}

/// Two pieces of one reply; what the second repeats of the first is said once.
pub(super) fn joined(before: &str, more: &str) -> String {
    let ends = more.char_indices().map(|(at, _)| at).chain([more.len()]).enumerate();
    let ends = ends.skip(*OVERLAP_CHARS.start()).take_while(|(chars, _)| OVERLAP_CHARS.contains(chars));
    let repeated = ends.map(|(_, end)| end).filter(|&end| before.ends_with(&more[..end])).last();
    format!("{before}{}", &more[repeated.unwrap_or(0)..])
}

/// The reply wants tools: its calls get ids that are unique in the run, whatever the provider sent.
fn start_calls(run: &mut ActiveState, completion: &Completion) -> Vec<Effect> {
    run.iterations += 1;
    let mut reply = completion.parts.clone();
    let calls = reply.iter_mut().filter_map(|part| match part {
        ReplyPart::Call(call) => Some(call),
        ReplyPart::Text { .. } | ReplyPart::Sealed(_) => None,
    });
    for (index, call) in calls.enumerate() {
        call.id = CallId::new(run.cycles, index);
    }
    let batch = Batch::new(reply, std::mem::take(&mut run.assessed));
    let batch = outbound_allowance::charge_batch(run, batch);
    run.phase = Phase::Acting(batch.resolve_disclosed(&run.tools));
    plan::assign(run);
    match guards::before(run) {
        guards::GuardOutcome::Stop(effects) => effects,
        guards::GuardOutcome::Pass(mut effects) => {
            draft::before_batch(run);
            approval::hold(run);
            effects.extend(tools::settle(run));
            effects
        }
    }
}

/// Pictures were shown, and they may be why it was refused: what a provider does not take must not end the conversation in
/// which it was sent. From here on words stand for them in what this model is asked, the same request first of all; that is a
/// call of its own, on record and on the bill like any other.
pub(super) fn without_pictures(run: &mut ActiveState, class: ErrorClass, pictures: bool) -> Option<Vec<Effect>> {
    let Phase::Calling(call) = &run.phase else { return None };
    let may_be_why = pictures && matches!(class, ErrorClass::BadRequest | ErrorClass::Refused);
    if !may_be_why || call.purpose == ModelCallPurpose::Summary || call.blind {
        return None;
    }
    let call = call.clone();
    run.blind.insert(call.model);
    let chain = FallbackChain { blinded: true, ..call.chain };
    Some(ending::ask(run, ModelCall { chain, ..run.call_for(call.purpose) }))
}

/// The call failed: wait and repeat, ask the next model, or tell the person.
pub(super) fn on_failed(
    run: &mut ActiveState,
    class: ErrorClass,
    message: &str,
    retry_after_ms: Option<u64>,
) -> Vec<Effect> {
    let Phase::Calling(call) = &run.phase else {
        return vec![Effect::Ignored { why: "no model was asked" }];
    };
    if call.purpose == ModelCallPurpose::Summary {
        return vec![Effect::Ignored { why: "a summary was asked for" }];
    }
    let call = call.clone();
    if class == ErrorClass::ContextTooLong
        && let Some(trimmed) = compaction::on_too_long(run)
    {
        // The same model: with less to read it may take it.
        let mut effects = vec![trimmed];
        effects.extend(ending::ask(run, ModelCall { chain: call.chain, ..run.call_for(call.purpose) }));
        return effects;
    }
    if run.failure.is_none() || is_more_telling(&call, class) {
        run.failure = Some(ModelFailure { class, message: message.to_owned() });
    }
    let next = match remedy(class, call.failures, retry_after_ms) {
        FailureRemedy::Wait(delay_ms) => Some(ModelCall { delay_ms, failures: call.failures + 1, ..call }),
        FailureRemedy::FallBack => next_model(run, &call, class),
        FailureRemedy::Tell => None,
    };
    match next {
        Some(call) => ending::ask(run, call),
        None => give_up(run),
    }
}

/// Whether this failure is what a person should hear of, rather than the one before: of the model that was to answer, not
/// of those that stood in for it, and of why it rests, not that it does. What is refused is told whoever refuses it.
fn is_more_telling(call: &ModelCall, class: ErrorClass) -> bool {
    let decides = call.model == 0 || class == ErrorClass::Refused;
    decides && class != ErrorClass::Resting
}

/// The reply that was to be looked at again, where nobody can look at it any more: it is told, with what the record says.
pub(super) fn tell_unchecked_reply(run: &mut ActiveState) -> Option<Vec<Effect>> {
    let first = run.truth.settle()?;
    ending::close(run, texts::INTERRUPTED);
    let whole = joined(&run.unfinished.text, &first.text());
    Some(last_word(run, &first, whole.trim(), AnswerEnding::Whole, ReplyCheck::Fresh))
}

/// No model answers: the person gets what there is, or what went wrong.
fn give_up(run: &mut ActiveState) -> Vec<Effect> {
    if let Some(told) = tell_unchecked_reply(run) {
        return told;
    }
    ending::close(run, texts::INTERRUPTED);
    let (class, message) =
        run.failure.as_ref().map_or((ErrorClass::Server, ""), |failure| (failure.class, failure.message.as_str()));
    let told = run.notebook.below(&texts::model_failed(class, message));
    let reply = if run.unfinished.text.trim().is_empty() {
        RunReply::Notice { text: told }
    } else {
        RunReply::Answer { text: format!("{}\n\n({told})", run.unfinished.text.trim()) }
    };
    vec![Effect::Reply(reply), Effect::End(RunEnd::Failed { why: class.name().to_owned() })]
}

enum FailureRemedy {
    Wait(u64),
    FallBack,
    Tell,
}

/// The table above.
fn remedy(class: ErrorClass, failures: u32, retry_after_ms: Option<u64>) -> FailureRemedy {
    match class {
        ErrorClass::RateLimit | ErrorClass::Overloaded => match retry_after_ms {
            Some(wait) if wait > RETRY_AFTER_MAX_MS || failures > 0 => FailureRemedy::FallBack,
            Some(wait) => FailureRemedy::Wait(wait),
            None if failures < BUSY_RETRIES => FailureRemedy::Wait(BUSY_DELAY_MS << failures),
            None => FailureRemedy::FallBack,
        },
        ErrorClass::Timeout | ErrorClass::Network | ErrorClass::Server | ErrorClass::Malformed => {
            if failures == 0 {
                FailureRemedy::Wait(TRANSIENT_DELAY_MS)
            } else {
                FailureRemedy::FallBack
            }
        }
        ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::UnknownModel
        | ErrorClass::Resting
        | ErrorClass::BadRequest
        | ErrorClass::ContextTooLong => FailureRemedy::FallBack,
        ErrorClass::Refused => FailureRemedy::Tell,
    }
}

/// The next of the run's models for this same request, round and round but each once; then all again, if some rest.
fn next_model(run: &mut ActiveState, call: &ModelCall, class: ErrorClass) -> Option<ModelCall> {
    let chain = FallbackChain {
        passed: call.chain.passed + 1,
        rested: call.chain.rested || class == ErrorClass::Resting,
        forced: call.chain.forced,
        blinded: false,
    };
    if chain.passed < run.models.len() {
        run.model = (call.model + 1) % run.models.len();
        return Some(ModelCall { chain, ..run.call_for(call.purpose) });
    }
    if !chain.rested || chain.forced || run.models.is_empty() {
        return None;
    }
    run.model = 0;
    Some(ModelCall { chain: FallbackChain { forced: true, ..FallbackChain::default() }, ..run.call_for(call.purpose) })
}
