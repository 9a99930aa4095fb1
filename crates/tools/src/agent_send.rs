//! `agent_send`: says something to an agent that is still at work, and waits for its report (row E3). The machine does both.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;

/// The longest message, in characters.
const CHARS_MAX: usize = 20_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The agent's number, as you were told it.
    agent: u32,
    /// What it is to hear at its next step.
    message: String,
}

/// The tool.
pub struct AgentSend {
    spec: ToolSpec,
}

impl Default for AgentSend {
    fn default() -> Self {
        let about = "Says something to an agent of yours that is still at work, and waits for its report.";
        // Nothing is said before the machine has taken the answer in: a call that was cut off has had no effect.
        Self { spec: spec_of::<Arguments>("agent_send", about, true).of("agents", Role::Guest).shown_on_need() }
    }
}

#[async_trait]
impl Tool for AgentSend {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { agent, message } = parse(&self.spec, invocation.arguments)?;
        if message.trim().is_empty() {
            return Err(Outcome::Error("The message is empty.".to_owned()));
        }
        if message.chars().count() > CHARS_MAX {
            return Err(Outcome::Error(format!("The message is longer than {CHARS_MAX} characters.")));
        }
        Ok(Outcome::Request(Request::Tell { agent, text: message }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn e3_a_message_has_words_and_an_end() {
        let tool = AgentSend::default();
        for (message, expected) in [
            ("Hurry.".to_owned(), Outcome::Request(Request::Tell { agent: 2, text: "Hurry.".to_owned() })),
            (" ".to_owned(), Outcome::Error("The message is empty.".to_owned())),
            ("x".repeat(20_001), Outcome::Error("The message is longer than 20000 characters.".to_owned())),
        ] {
            let told = Outcome::of(tool.call(Invocation::for_trial(json!({ "agent": 2, "message": message }))).await);
            assert_eq!(told, expected);
        }
    }
}
