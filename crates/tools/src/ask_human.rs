//! `ask_human`: the run waits until a person answers, days and restarts later too (row B15).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The question, complete in itself: the user sees nothing else.
    question: String,
}

/// The tool. Asking is the machine's business; the question is part of the run's own record.
pub struct AskHuman {
    spec: ToolSpec,
}

impl Default for AskHuman {
    fn default() -> Self {
        let about = "Asks the user a question and waits for the answer. Use it when only they can decide or know.";
        Self { spec: spec_of::<Arguments>("ask_human", about, true) }
    }
}

#[async_trait]
impl Tool for AskHuman {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { question } = parse(&self.spec, invocation.arguments)?;
        if question.trim().is_empty() {
            return Err(Outcome::Error("The question is empty.".to_owned()));
        }
        Ok(Outcome::Request(Request::Ask { question, form: None }))
    }
}
