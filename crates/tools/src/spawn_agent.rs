//! `spawn_agent`: hands a task to an agent, a run of its own (rows A12, B8). The machine decides and waits.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::agents::Mission;
use hob_core::domain::principal::Role;
use hob_core::domain::rng::Rng;
use hob_core::domain::tools::ToolFacts;

/// The longest mission or task, in characters.
const CHARS_MAX: usize = 20_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Who the agent is and what it keeps to.
    mission: String,
    /// What it is to do, complete in itself: it sees nothing of this conversation.
    task: String,
}

/// The tool.
pub struct SpawnAgent {
    spec: ToolSpec,
    rng: Arc<dyn Rng>,
}

impl SpawnAgent {
    /// The tool; agents' names come from `rng`.
    pub fn new(rng: Arc<dyn Rng>) -> Self {
        let about = "Hands a task to an agent with your tools and waits for its report. Call it several times in one reply \
                     and they work side by side.";
        // Nothing is begun before the machine has taken the answer in: a call that was cut off has had no effect.
        // An agent finds the workspace as it is, and not what is in this run's draft.
        let facts = ToolFacts { workspace: true, ..ToolFacts::default() };
        let spec = spec_of::<Arguments>("spawn_agent", about, true).of("agents", Role::Guest).with(facts);
        Self { spec, rng }
    }

    fn id(&self) -> String {
        let (high, low) = (self.rng.next_u64(), self.rng.next_u64());
        uuid::Builder::from_random_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
            .into_uuid()
            .to_string()
    }
}

#[async_trait]
impl Tool for SpawnAgent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { mission, task } = parse(&self.spec, invocation.arguments)?;
        for (name, words) in [("mission", &mission), ("task", &task)] {
            if words.trim().is_empty() {
                return Err(Outcome::Error(format!("The {name} is empty.")));
            }
            if words.chars().count() > CHARS_MAX {
                return Err(Outcome::Error(format!("The {name} is longer than {CHARS_MAX} characters.")));
            }
        }
        Ok(Outcome::Request(Request::Spawn(Mission { mission, task, id: self.id() })))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use hob_core::domain::rng::SystemRng;

    #[tokio::test]
    async fn a12_an_agent_has_a_name_of_its_own_and_a_task() {
        let tool = SpawnAgent::new(Arc::new(SystemRng));
        let call = async |arguments| Outcome::of(tool.call(Invocation::for_trial(arguments)).await);
        let good = json!({ "mission": "You find trains.", "task": "Find one." });
        let (Outcome::Request(Request::Spawn(one)), Outcome::Request(Request::Spawn(other))) =
            (call(good.clone()).await, call(good).await)
        else {
            panic!("both are missions");
        };
        assert_ne!(one.id, other.id);
        assert_eq!(uuid::Uuid::parse_str(&one.id).unwrap().get_version_num(), 4);
        assert_eq!((one.mission.as_str(), one.task.as_str()), ("You find trains.", "Find one."));
        for (mission, task, wrong) in [
            (" ", "Find one.", "The mission is empty."),
            ("You find trains.", "", "The task is empty."),
            ("You find trains.", &"x".repeat(20_001), "The task is longer than 20000 characters."),
        ] {
            let told = call(json!({ "mission": mission, "task": task })).await;
            assert_eq!(told, Outcome::Error(wrong.to_owned()));
        }
    }
}
