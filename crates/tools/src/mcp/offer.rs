//! A server's tool as a tool of Hob's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::mcp::error::McpError;
use crate::mcp::link::Call;
use crate::mcp::listed::Listed;
use crate::mcp::server::Server;
use crate::mcp::settings::Settings;
use crate::{Heard, Invocation, Outcome, Timeout, Tool, ToolSpec};
use hob_core::domain::origin::{Origin, Source};
use hob_core::domain::tools::{Approval, Assessment, Grade, Risk, ToolFacts};
use hob_core::policy::arguments::shown::names_money;
use hob_core::policy::plan::Content;
use hob_model::provider::ToolSchema;

/// The module of these tools.
const MODULE: &str = "mcp";
/// The keys of what a server learns beside a call's arguments: whose conversation it is …
const SESSION: &str = "hob/session";
/// … and whether its run has read what nobody vouches for.
const UNTRUSTED: &str = "hob/untrusted";
/// The whole call has so much longer than the server's part of it.
const MARGIN: Duration = Duration::from_secs(15);

/// The most characters of what a tool is for.
const ABOUT_CHARS_MAX: usize = 160;

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

    /// What it is for; as its server's word, where nobody vouches for that.
    fn about(&self) -> String {
        let first = self.listed.description.lines().next().unwrap_or_default();
        let first: String = first.chars().take(ABOUT_CHARS_MAX).collect();
        if self.settings().trusted_output { first } else { format!("its server says: \"{}\"", first.replace('"', "'")) }
    }

    /// What the server says of what it does: nobody vouches for that, so a person is told whose word it is.
    fn says_of_itself(&self) -> &'static str {
        match (self.listed.reads_only, self.listed.destroys) {
            (true, _) => "; it says that it only looks",
            (false, Some(true)) => "; it says that it may delete or overwrite something",
            (false, Some(false)) => "; it says that it adds something and destroys nothing",
            (false, None) => "; it does not say what that changes",
        }
    }

    fn failure(&self, error: &McpError) -> Outcome {
        let text = format!("The MCP server {} did not answer this call: {error}.", self.settings().name);
        if error.may_pass() { Outcome::Transient(text) } else { Outcome::Error(text) }
    }
}

fn spec(settings: &Settings, name: String, listed: &Listed) -> ToolSpec {
    // What a server says of itself is believed of those alone that somebody vouches for.
    let believed = settings.trusted_annotations;
    let reads_only = believed && listed.reads_only;
    let idempotent = reads_only || believed && listed.idempotent;
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
            risk: if reads_only { Risk::Read } else { Risk::Send },
            workspace: false,
            by_state: false,
        },
        module: MODULE.to_owned(),
        role: settings.role,
        core: false,
        words_of: (!settings.trusted_output).then(|| stranger(settings)),
    }
}

/// Whose words a server's are.
fn stranger(settings: &Settings) -> Source {
    Source::new(Origin::Tool, &format!("MCP server {}", settings.name))
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn content(&self) -> Content {
        Content::ByName
    }

    async fn assess(&self, invocation: &Invocation, _heard: &Heard<'_>) -> Assessment {
        let (settings, name) = (self.settings(), &self.settings().name);
        let mut known = Assessment { about: self.about(), ..Assessment::usual(self.spec.facts.risk) };
        if known.risk.is_read() {
            return known;
        }
        // That it is about money is no proof of anything; that a person is told so costs nothing.
        if names_money(&invocation.arguments.to_string()) {
            known.risk = Risk::Spend;
        }
        known.reasons.push(format!("the MCP server {name} does it{}", self.says_of_itself()));
        // What was allowed for good was another tool.
        if self.server.changed(&self.listed.name).is_some() && !settings.trusted_output {
            known.grade = Grade::High;
            known.reasons.push(format!("the MCP server {name} says something else of this tool than it did at first"));
        }
        known
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let meta = if self.settings().meta { meta(&invocation) } else { Map::new() };
        let Value::Object(arguments) = invocation.arguments else {
            return Outcome::Error(format!("The arguments of {} are no object.", self.spec.schema.name));
        };
        let outcome = match Box::pin(self.server.call(&self.listed, Call { arguments, meta })).await {
            Ok(said) if said.failed => Outcome::Error(said.text).along(said.files),
            Ok(said) => Outcome::Text(said.text).along(said.files),
            Err(error) => self.failure(&error),
        };
        if self.settings().trusted_output {
            return outcome;
        }
        // Its errors are its words as well.
        outcome.from(stranger(self.settings()))
    }
}

/// What a server learns of the call beside its arguments: whose conversation it is, and whether its run has read what nobody
/// vouches for (row A10).
fn meta(invocation: &Invocation) -> Map<String, Value> {
    let session = Value::String(invocation.session.0.clone());
    let untrusted = Value::Bool(invocation.is_tainted());
    Map::from_iter([(SESSION.to_owned(), session), (UNTRUSTED.to_owned(), untrusted)])
}
