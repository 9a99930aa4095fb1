//! What is to be known of a reply's calls before any of them is made (row N6): each tool says it of its own.
//!
//! Never: a call that nobody has looked at. One whose tool does not say anything in time, or panics, is taken for a
//! dangerous one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use serde_json::Value;

use crate::driver::perform::tool::arguments;
use crate::driver::plan_sources;
use crate::driver::provenance::{self, RunSources};
use crate::machine::digest::Digest;
use crate::machine::event::Event;
use crate::machine::state::{ActiveState, State};
use crate::machine::tool_disclosure;
use crate::machine::transcript::TranscriptEntry;
use crate::ports::Ports;
use crate::prompt::PromptInputs;
use hob_core::domain::draft::DraftUse;
use hob_core::domain::ids::{CallId, RunId};
use hob_core::domain::plan::PlannedCall;
use hob_core::domain::text::head;
use hob_core::domain::tools::{Assessment, DangerGrade, GrantScope, PLAN, Risk};
use hob_core::policy::memory::SpeakingPlace;
use hob_core::policy::undo::can_be_taken_back;
use hob_model::message::{Completion, Message, ToolCall};
use hob_tools::dialogue::Dialogue;
use hob_tools::mention::Mention;
use hob_tools::{Invocation, Tool, ToolSpec};

/// No tool looks longer at a call.
const ASSESS_MAX: Duration = Duration::from_secs(2);
/// The most characters of what a tool is for.
const ABOUT_CHARS_MAX: usize = 160;
/// Why a call is dangerous of which nothing is known.
const UNKNOWN: &str = "nobody could say in time what it would do";

/// A call of which nothing is known.
fn unknown_assessment(most: Risk) -> Assessment {
    Assessment { risk: most, grade: DangerGrade::High, reasons: vec![UNKNOWN.to_owned()], ..Assessment::default() }
}

/// By which the very same call is known again: all that its tool gets, whatever the model's order and spaces.
fn digest(arguments: &Value) -> String {
    Digest::of("call1", &[arguments.to_string().as_bytes()]).0
}

/// What a tool is for: the first sentence that it says of itself.
fn tool_summary(spec: &ToolSpec) -> String {
    let first = spec.schema.description.lines().next().unwrap_or_default();
    let sentence = first.split_once(". ").map_or(first, |(sentence, _)| sentence);
    head(sentence.trim().trim_end_matches('.'), ABOUT_CHARS_MAX).to_owned()
}

/// A run as it was when its model was asked: all that the model can go by.
pub(super) struct AssessmentContext {
    pub(super) ports: Arc<Ports>,
    pub(super) state: Arc<State>,
    pub(super) material: Arc<PromptInputs>,
    pub(super) place: SpeakingPlace,
    pub(super) run: RunId,
}

impl AssessmentContext {
    /// What is known of the reply's calls, in their order; none: it has no calls.
    pub(super) async fn assess_reply(&self, completion: &Completion) -> Option<Event> {
        let run = self.state.active()?;
        let calls = completion.calls().enumerate().map(|(index, call)| {
            let meant = tool_disclosure::resolve_call(call, &run.tools).0;
            self.assess_call(run, ToolCall { id: CallId::new(run.cycles + 1, index), ..meant })
        });
        let calls = join_all(calls).await;
        (!calls.is_empty()).then_some(Event::Assessed { calls })
    }

    /// What is known of a call of the open reply, as things stand now.
    pub(super) async fn reassess(&self, call: &ToolCall) -> Assessment {
        match self.state.active() {
            Some(run) => self.assess_call(run, call.clone()).await,
            None => unknown_assessment(Risk::Execute),
        }
    }

    async fn assess_call(&self, run: &ActiveState, call: ToolCall) -> Assessment {
        let most = run.tools.get(&call.name).map_or(Risk::Read, |facts| facts.most());
        // What cannot be made as it stands is not made, and its model is told why: nobody need be asked.
        let Some((tool, invocation)) = self.invocation(run, &call) else {
            return Assessment::usual(if self.is_malformed(&call) { Risk::Read } else { most });
        };
        let is_mentioned = |said: &Mention<'_>| self.is_mentioned(run, said);
        let look = AssertUnwindSafe(tool.assess(&invocation, &is_mentioned)).catch_unwind();
        match tokio::time::timeout(ASSESS_MAX, look).await {
            Ok(Ok(known)) => Assessment {
                plan: self.planned(run, &call),
                risk: self.at_least(&*tool, known.risk),
                undoable: tool.undoable(&invocation.arguments)
                    && can_be_taken_back(&call.name, &call.arguments, self.at_least(&*tool, known.risk)),
                about: if known.about.is_empty() { tool_summary(tool.spec()) } else { known.about },
                always: match known.always {
                    GrantScope::SameArguments => GrantScope::Call(digest(&invocation.arguments)),
                    said => said,
                },
                ..known
            },
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(run = %self.run, tool = call.name, "tool.unassessed: it is taken for a dangerous call");
                Assessment { about: tool_summary(tool.spec()), ..unknown_assessment(most) }
            }
        }
    }

    /// Of a call that plans: the calls that it names, with who has said what steers them.
    fn planned(&self, run: &ActiveState, call: &ToolCall) -> Vec<PlannedCall> {
        if call.name != PLAN {
            return Vec::new();
        }
        plan_sources::of(&self.ports.tools.now(), run, &self.material, &call.arguments)
    }

    /// A tool that is only known to change something is not harmless because it says nothing of a call.
    fn at_least(&self, tool: &dyn Tool, risk: Risk) -> Risk {
        let facts = tool.spec().facts;
        if risk == facts.risk { facts.most() } else { risk }
    }

    /// Will its tool never get the call, because the arguments do not fit?
    fn is_malformed(&self, call: &ToolCall) -> bool {
        let tools = self.ports.tools.now();
        let fits =
            arguments(&call.arguments).is_ok_and(|arguments| tools.argument_errors(&call.name, &arguments).is_none());
        tools.get(&call.name).is_some() && !fits
    }

    /// The call as its tool would get it.
    fn invocation(&self, run: &ActiveState, call: &ToolCall) -> Option<(Arc<dyn Tool>, Invocation)> {
        let tools = self.ports.tools.now();
        let tool = tools.get(&call.name)?;
        let arguments = arguments(&call.arguments).ok()?;
        if tools.argument_errors(&call.name, &arguments).is_some() {
            return None;
        }
        let destination = run.input.destination.clone();
        let invocation = Invocation {
            principal: run.input.principal.clone(),
            persona: run.persona.as_ref().map(|persona| persona.name.clone()),
            session: run.input.session_key(),
            place: self.place,
            destination,
            taint: run.taint.clone(),
            run: self.run,
            call: call.id.clone(),
            attempt: 1,
            arguments,
            dialogue: Dialogue::default(),
            draft: DraftUse::AtOnce,
            now: self.ports.clock.now(),
        };
        Some((tool, invocation))
    }

    /// Whether somebody told the run this.
    fn is_mentioned(&self, run: &ActiveState, said: &Mention<'_>) -> bool {
        // What Hob itself put among a person's words, such as what became of a draft, names what the model has made.
        let by_somebody =
            |entry: &TranscriptEntry<'_>| entry.author.is_some() || !matches!(entry.message, Message::User { .. });
        let open = run.transcript.entries().filter(by_somebody).map(|entry| entry.message);
        let messages = self.material.past.messages.iter().chain(open);
        let is_handed_on = run.input.agent.is_some() && !run.input.taint.is_clean();
        provenance::is_mentioned(
            RunSources { messages, tail: &self.material.tail, tools: &run.tools, is_handed_on },
            said,
        )
    }
}
