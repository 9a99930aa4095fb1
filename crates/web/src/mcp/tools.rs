//! Hob's own tools that clients have: what is remembered, and what is to be done later.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool as Described, ToolAnnotations};
use serde_json::{Map, Value};

use hob_core::domain::draft::DraftUse;
use hob_core::domain::ids::{CallId, RunId, SessionId};
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::Taint;
use hob_core::domain::outgoing::Destination;
use hob_core::domain::principal::Principal;
use hob_core::policy::memory::SpeakingPlace;
use hob_model::provider::ToolSchema;
use hob_router::intake::Router;
use hob_tools::dialogue::Dialogue;
use hob_tools::forget::ForgetTool;
use hob_tools::recall::RecallTool;
use hob_tools::remember_fact::RememberFact;
use hob_tools::schedule::{ScheduleKeeper, ScheduleTool};
use hob_tools::{Invocation, Outcome, Tool};

/// Whether nobody vouches for what is told.
const UNTRUSTED: &str = "hob/untrusted";

/// What a client may call besides `ask`, as the house is now.
pub(super) fn house_tools(router: &Router) -> [Arc<dyn Tool>; 4] {
    let (store, memory) = (router.store.clone(), router.config().services.memory.clone());
    let zone = memory.zone.clone();
    let keeper = ScheduleKeeper { store: store.clone(), zone: zone.clone(), alarm: Arc::clone(&router.alarm) };
    [
        Arc::new(RecallTool::new(memory.clone())),
        Arc::new(RememberFact::new(store, zone)),
        Arc::new(ForgetTool::new(memory)),
        Arc::new(ScheduleTool::new(keeper)),
    ]
}

/// As a client is told of it. `looks`: it changes nothing, whatever it is called with.
pub(super) fn described(schema: &ToolSchema, looks: bool) -> Described {
    let parameters: JsonObject = schema.parameters.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(looks);
    Described::new(schema.name.clone(), schema.description.clone(), parameters).with_annotations(hints)
}

/// A call of one of them, which belongs to no run.
pub(super) fn invocation(
    router: &Router,
    principal: Principal,
    conversation: Conversation,
    arguments: Value,
) -> Invocation {
    let session = conversation.session_key();
    Invocation {
        principal,
        persona: None,
        session,
        // What is said there is between the client and Hob.
        place: SpeakingPlace { session: SessionId(0), private: true },
        destination: Destination { conversation, reply_to: None },
        taint: Taint::default(),
        run: RunId::NONE,
        call: CallId::new(0, 0),
        attempt: 1,
        arguments,
        draft: DraftUse::AtOnce,
        dialogue: Dialogue::default(),
        now: router.clock.now(),
    }
}

/// What a client is told of what came of it.
pub(super) fn told(outcome: Outcome, router: &Router) -> CallToolResult {
    match outcome {
        Outcome::Text(text) => answer(&router.redactor.redact(&text)),
        Outcome::Error(text) | Outcome::Transient(text) => refusal(&router.redactor.redact(&text)),
        Outcome::From(_, inner) => {
            let mut result = told(*inner, router);
            result.meta = Some(MetaObject(Map::from_iter([(UNTRUSTED.to_owned(), Value::Bool(true))])));
            result
        }
        Outcome::Along(_, inner) | Outcome::Undoable(_, inner) => told(*inner, router),
        Outcome::Exited { .. } | Outcome::Request(_) => refusal("That cannot be done from here."),
    }
}

/// Words.
pub(super) fn answer(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Words about what was not done.
pub(super) fn refusal(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
