//! `plan`: what a run intends, said before it has read what others wrote (row N16).
//!
//! Never: a question, or anything but words. What it is worth is the machine's to say.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::{CONTROL, PLAN, ToolFacts};

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Each with `tool` and `arguments`, as they will be; what is to be read first is {"from": "total in bill.txt"}, or {"from": tool, "with": its arguments}.
    #[serde(rename = "steps")]
    _steps: Vec<Map<String, Value>>,
}

pub struct PlanTool {
    spec: ToolSpec,
}

impl Default for PlanTool {
    fn default() -> Self {
        let about =
            "Before you read what others wrote: the calls with effects to follow. As planned, they need no approval.";
        // Whatever else the reply wants comes after it: what is read beside it must not come first.
        let facts = ToolFacts { exclusive: true, ..ToolFacts::default() };
        Self { spec: spec_of::<Arguments>(PLAN, about, true).of(CONTROL, Role::User).with(facts) }
    }
}

#[async_trait]
impl Tool for PlanTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        parse::<Arguments>(&self.spec, invocation.arguments)?;
        Ok(Outcome::Request(Request::Plan))
    }
}
