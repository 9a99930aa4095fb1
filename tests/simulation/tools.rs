//! Tools with and without side effects; the effect happens somewhere between two waits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::outgoing::DeliveryRequest;
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, ToolFacts};
use hob_core::domain::undo::InverseCall;
use hob_model::provider::ToolSchema;
use hob_tools::{Invocation, MentionCheck, Outcome, Request, Timeout, Tool, ToolResult, ToolSpec};
use serde_json::Value;
use tokio::time::sleep;

use crate::plan::GROUP;
use crate::world::{ToolEffect, World};

pub(crate) struct WorldTool {
    world: Arc<World>,
    spec: ToolSpec,
    /// The longest it takes before and after its effect, in milliseconds.
    slow_ms: u64,
}

impl WorldTool {
    pub(crate) fn new(world: &Arc<World>, name: &str, idempotent: bool, slow_ms: u64) -> Arc<Self> {
        Self::careful(world, name, idempotent, slow_ms, Approval::Free)
    }

    /// One that a person has to approve, perhaps.
    pub(crate) fn careful(
        world: &Arc<World>,
        name: &str,
        idempotent: bool,
        slow_ms: u64,
        approval: Approval,
    ) -> Arc<Self> {
        let schema = ToolSchema {
            name: name.to_owned(),
            description: "A tool of the simulation.".to_owned(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
        };
        let facts = ToolFacts { changes: !idempotent, approval, ..ToolFacts::default() };
        let spec = ToolSpec {
            schema,
            idempotent,
            timeout: Timeout::Usual,
            facts,
            module: "core".to_owned(),
            role: Role::Guest,
            core: true,
            words_of: None,
        };
        Arc::new(Self { world: Arc::clone(world), spec, slow_ms })
    }
}

/// How an effect is called that is to be taken back.
pub(crate) fn effect_name(run: i64, call: &str) -> String {
    format!("{run} {call}")
}

impl WorldTool {
    /// Is it the tool whose effect can be taken back?
    fn sticks(&self) -> bool {
        self.spec.schema.name == "stick"
    }

    /// Where words go that this tool wants delivered: here, or into the chat of everybody; none: it wants nothing of it.
    fn delivers(&self, here: &Conversation) -> Option<Option<Conversation>> {
        match self.spec.schema.name.as_str() {
            "post" => Some(None),
            "cry" => {
                let everybody = self.world.conversation(GROUP);
                Some((everybody != *here).then_some(everybody))
            }
            _ => None,
        }
    }
}

#[async_trait]
impl Tool for WorldTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn undoable(&self, _arguments: &Value) -> bool {
        self.sticks()
    }

    async fn assess(&self, _invocation: &Invocation, _heard: &MentionCheck<'_>) -> Assessment {
        let world = &self.world;
        if !world.is_calm() && world.chance(10) {
            panic!("simulated: while it looks");
        }
        if !world.is_calm() && world.chance(10) {
            std::future::pending::<()>().await;
        }
        let grade = if self.sticks() { DangerGrade::Medium } else { DangerGrade::Safe };
        Assessment { grade, ..Assessment::usual(self.spec.facts.risk) }
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let world = &self.world;
        let (run, call) = (invocation.run.0, invocation.call.0);
        sleep(Duration::from_millis(world.below(self.slow_ms))).await;
        if self.spec.schema.name == "bomb" || !world.is_calm() && world.chance(10) {
            panic!("simulated: before its effect");
        }
        world.note(format!("{} takes effect: run {run} call {call}", self.spec.schema.name));
        if let Some(to) = self.delivers(&invocation.destination.conversation) {
            sleep(Duration::from_millis(world.below(self.slow_ms))).await;
            let text = format!("Post {run} {call}");
            let name = self.spec.schema.name.clone();
            return Ok(Outcome::Request(Request::Deliver(Box::new(DeliveryRequest { to, name, text, file: None }))));
        }
        let idempotent = self.spec.idempotent;
        world.state().effects.push(ToolEffect {
            run,
            call: call.clone(),
            user: invocation.principal.user.0,
            idempotent,
        });
        sleep(Duration::from_millis(world.below(self.slow_ms))).await;
        if !world.is_calm() && world.chance(10) {
            panic!("simulated: after its effect");
        }
        if !world.is_calm() && world.chance(30) {
            return Err(Outcome::Transient("not now".to_owned()));
        }
        let outcome = if world.chance(50) { Outcome::Error("no".to_owned()) } else { Outcome::Text("yes".to_owned()) };
        // Whoever reads a page has listened to whoever wrote it.
        let page = OriginSource::new(Origin::Web, "https://page.example/");
        Ok(match self.spec.schema.name.as_str() {
            "page" => outcome.from(page),
            // Now and then there is no way back, though there should be.
            "stick" if !world.chance(100) => {
                let arguments = serde_json::json!({ "of": effect_name(run, &call) }).to_string();
                outcome.undone_by(InverseCall { tool: "unstick".to_owned(), arguments })
            }
            _ => outcome,
        })
    }
}
