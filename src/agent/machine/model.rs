//! The model's replies and failures (rows A5, A7, E13).

use crate::agent::machine::effect::{Effect, ModelCall, Purpose};
use crate::agent::machine::ending;
use crate::agent::machine::event::{End, Reply};
use crate::agent::machine::state::{Active, Batch, Phase};
use crate::agent::machine::texts;
use crate::domain::ids::CallId;
use crate::model::error::ErrorClass;
use crate::model::message::{Completion, Message, ReplyPart, StopReason};

/// The longest wait that a provider may ask for (row A7).
const RETRY_AFTER_MAX_MS: u64 = 60_000;
/// The wait before a transient failure's one repetition (row A7).
const TRANSIENT_DELAY_MS: u64 = 2_000;

/// A whole reply came.
pub(super) fn on_answered(run: &mut Active, completion: &Completion) -> Vec<Effect> {
    let Phase::Calling(call) = &run.phase else {
        return vec![Effect::Ignored { why: "no model was asked" }];
    };
    let purpose = call.purpose;
    run.usage.add(completion.usage);
    let wants_tools = purpose == Purpose::Work && completion.calls().next().is_some();
    let text = completion.text();
    if text.trim().is_empty() && !wants_tools {
        return on_failed(run, ErrorClass::Malformed, texts::EMPTY_REPLY, None);
    }
    run.crashes = 0;
    run.cycles += 1;
    if wants_tools {
        return act(run, completion);
    }
    if !run.steering.is_empty() {
        run.transcript.push(Message::assistant(text, Vec::new()));
        return ending::go_on(run);
    }
    let reply = match text.trim() {
        "NO_REPLY" | "[SILENT]" => Reply::Silence,
        text => Reply::Answer { text: texts::answer(text, completion.stop == StopReason::MaxTokens) },
    };
    vec![Effect::Reply(reply), Effect::End(End::Completed)]
}

/// The reply wants tools: its calls get ids that are unique in the run, whatever the provider sent.
fn act(run: &mut Active, completion: &Completion) -> Vec<Effect> {
    run.iterations += 1;
    let mut reply = completion.parts.clone();
    let calls = reply.iter_mut().filter_map(|part| match part {
        ReplyPart::Call(call) => Some(call),
        ReplyPart::Text { .. } | ReplyPart::Sealed(_) => None,
    });
    for (index, call) in calls.enumerate() {
        call.id = CallId::new(run.cycles, index);
    }
    let batch = Batch::new(reply);
    let effects = batch.started().map(|(call, attempt)| Effect::RunTool { call: call.clone(), attempt }).collect();
    run.phase = Phase::Acting(batch);
    effects
}

/// The call failed: wait and repeat once, fall back, or tell the person.
pub(super) fn on_failed(
    run: &mut Active,
    class: ErrorClass,
    message: &str,
    retry_after_ms: Option<u64>,
) -> Vec<Effect> {
    let Phase::Calling(call) = &run.phase else {
        return vec![Effect::Ignored { why: "no model was asked" }];
    };
    let next = match remedy(class, call.failures) {
        Remedy::Wait => {
            let delay_ms = retry_after_ms.unwrap_or(TRANSIENT_DELAY_MS).min(RETRY_AFTER_MAX_MS);
            Some(ModelCall { delay_ms, failures: call.failures + 1, ..call.clone() })
        }
        Remedy::FallBack => fall_back(run, call.purpose),
        Remedy::Tell => None,
    };
    match next {
        Some(call) => {
            run.model = call.model;
            run.phase = Phase::Calling(call.clone());
            vec![Effect::CallModel(call)]
        }
        None => {
            ending::close(run, texts::INTERRUPTED);
            let text = texts::model_failed(class, message);
            vec![Effect::Reply(Reply::Notice { text }), Effect::End(End::Failed { why: texts::class_name(class) })]
        }
    }
}

enum Remedy {
    Wait,
    FallBack,
    Tell,
}

/// Row A7, as a table.
fn remedy(class: ErrorClass, failures: u32) -> Remedy {
    match class {
        ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Timeout
        | ErrorClass::Network
        | ErrorClass::Server
        | ErrorClass::Malformed => {
            if failures == 0 {
                Remedy::Wait
            } else {
                Remedy::FallBack
            }
        }
        ErrorClass::UnknownModel | ErrorClass::Resting => Remedy::FallBack,
        ErrorClass::Auth
        | ErrorClass::Billing
        | ErrorClass::ContextTooLong
        | ErrorClass::Refused
        | ErrorClass::BadRequest => Remedy::Tell,
    }
}

fn fall_back(run: &mut Active, purpose: Purpose) -> Option<ModelCall> {
    if run.model + 1 >= run.models.len() {
        return None;
    }
    run.model += 1;
    Some(run.call_for(purpose))
}
