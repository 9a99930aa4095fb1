//! `request_more_iterations`: a larger budget for a task that needs it (row A6).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What remains to be done, and why it needs more steps.
    reason: String,
}

/// The tool. The machine decides; granting is part of the run's own record.
pub struct RequestMoreIterations {
    spec: ToolSpec,
}

impl Default for RequestMoreIterations {
    fn default() -> Self {
        let about = "Asks for more steps when the task cannot be finished within the current limit.";
        Self { spec: spec_of::<Arguments>("request_more_iterations", about, true).shown_on_need() }
    }
}

#[async_trait]
impl Tool for RequestMoreIterations {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { reason } = parse(&self.spec, invocation.arguments)?;
        Ok(Outcome::Request(Request::MoreIterations { reason }))
    }
}
