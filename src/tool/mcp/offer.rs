//! A server's tool as a tool of Hob's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::domain::origin::{Origin, Source};
use crate::domain::tools::{Approval, Assessment, Grade, Risk, ToolFacts};
use crate::model::provider::ToolSchema;
use crate::tool::mcp::error::McpError;
use crate::tool::mcp::listed::Listed;
use crate::tool::mcp::server::Server;
use crate::tool::mcp::settings::Settings;
use crate::tool::{Heard, Invocation, Outcome, Timeout, Tool, ToolSpec};

/// The module of these tools.
const MODULE: &str = "mcp";
/// The whole call has so much longer than the server's part of it.
const MARGIN: Duration = Duration::from_secs(15);

/// The tool.
pub(super) struct McpTool {
    server: Arc<Server>,
    listed: Listed,
    spec: ToolSpec,
}

impl McpTool {
    /// What `server` lists, under this name.
    pub(super) fn new(server: &Arc<Server>, name: String, listed: Listed) -> Self {
        let spec = spec(&server.settings, name, &listed);
        Self { server: Arc::clone(server), listed, spec }
    }

    fn settings(&self) -> &Settings {
        &self.server.settings
    }

    fn failure(&self, error: &McpError) -> Outcome {
        let text = format!("The MCP server {} did not answer this call: {error}.", self.settings().name);
        if error.may_pass() { Outcome::Transient(text) } else { Outcome::Error(text) }
    }
}

fn spec(settings: &Settings, name: String, listed: &Listed) -> ToolSpec {
    // What a server says of itself is believed of those alone that somebody vouches for.
    let reads_only = settings.trusted && listed.reads_only;
    let idempotent = reads_only || settings.trusted && listed.idempotent;
    let usual = if reads_only { Approval::Free } else { Approval::Ask };
    ToolSpec {
        schema: ToolSchema { name, description: listed.description.clone(), parameters: listed.schema.clone() },
        idempotent,
        // Twice the time to start: it connects, and asks for the tools.
        timeout: Timeout::Own(settings.start_within * 2 + settings.call_within + MARGIN),
        facts: ToolFacts {
            changes: !reads_only,
            exclusive: false,
            approval: settings.approval.unwrap_or(usual),
            risk: if reads_only { Risk::Read } else { Risk::Execute },
            workspace: false,
        },
        module: MODULE.to_owned(),
        role: settings.role,
        core: false,
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn assess(&self, _invocation: &Invocation, _heard: &Heard<'_>) -> Assessment {
        let usual = Assessment::usual(self.spec.facts.risk);
        match self.server.changed(&self.listed.name).filter(|_| !self.settings().trusted) {
            // What was allowed for good was another tool.
            Some(_) => Assessment {
                grade: Grade::High,
                reasons: vec![format!(
                    "the MCP server {} says something else of this tool than it did at first",
                    self.settings().name
                )],
                ..usual
            },
            None => usual,
        }
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let Value::Object(arguments) = invocation.arguments else {
            return Outcome::Error(format!("The arguments of {} are no object.", self.spec.schema.name));
        };
        let outcome = match Box::pin(self.server.call(&self.listed, arguments)).await {
            Ok(said) if said.failed => Outcome::Error(said.text),
            Ok(said) => Outcome::Text(said.text),
            Err(error) => self.failure(&error),
        };
        if self.settings().trusted {
            return outcome;
        }
        // Its errors are its words as well.
        outcome.from(Source::new(Origin::Tool, &format!("MCP server {}", self.settings().name)))
    }
}
