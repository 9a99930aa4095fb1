//! A server's tool as a tool of Hob's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use url::Url;

use crate::dialogue::Dialogue;
use crate::mcp::classes::ClassStatus;
use crate::mcp::connection::call::CallParams;
use crate::mcp::error::McpError;
use crate::mcp::listed::{ListedTool, ToolKind};
use crate::mcp::parked::{CallKey, CallStep};
use crate::mcp::server::Server;
use crate::mcp::settings::Settings;
use crate::mcp::tool_table::ServerTools;
use crate::mention::Mention;
use crate::{Invocation, MentionCheck, Outcome, Request, Timeout, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::{Principal, Role, Trust};
use hob_core::domain::tool_class::ToolClass;
use hob_core::domain::tools::{Approval, Assessment, DangerGrade, Risk, ToolFacts};
use hob_core::policy::arguments::display::{last_word, names_money};
use hob_core::policy::sources::is_link;
use hob_core::policy::undo::UndoRule;
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

/// Last words of names of arguments that are pages' addresses.
const NAMES_PAGES: [&str; 9] = ["domain", "host", "hostname", "link", "page", "site", "uri", "url", "website"];

/// The tool.
pub(super) struct McpTool {
    server: Arc<Server>,
    listed: ListedTool,
    class: ClassStatus,
    spec: ToolSpec,
    /// How its effect is taken back, by tools that the server has.
    undo: Option<UndoRule>,
}

impl McpTool {
    /// What `server` lists, under this name and as it is classed.
    pub(super) fn new(server: &Arc<Server>, name: String, class: ClassStatus, listed: ListedTool) -> Self {
        let spec = spec(&server.settings, name, class.holds(), &listed);
        Self { server: Arc::clone(server), listed, class, spec, undo: None }
    }

    /// The same, whose effect is taken back so.
    pub(super) fn with_undo(self, undo: Option<UndoRule>) -> Self {
        // Nobody has said what an unclassed tool does.
        let undo = undo.filter(|_| self.class.holds() == Some(ToolClass::Changes));
        Self { undo, ..self }
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

    /// What it does, as an owner says; else what the server says of that: nobody vouches for it, so a person is told whose word
    /// it is.
    fn claimed_class(&self) -> &'static str {
        match self.class.holds() {
            Some(ToolClass::Critical) => return "; an owner has classed it as critical",
            Some(ToolClass::Looks | ToolClass::Changes | ToolClass::Off) => {
                return "; an owner has classed it as one that changes something";
            }
            None => {}
        }
        match (self.listed.reads_only, self.listed.destroys) {
            (true, _) => "; it says that it only looks",
            (false, Some(true)) => "; it says that it may delete or overwrite something",
            (false, Some(false)) => "; it says that it adds something and destroys nothing",
            (false, None) => "; it does not say what that changes",
        }
    }

    /// What is to be asked of it all the same, as nobody has said what it does.
    fn assess_unclassified(&self, invocation: &Invocation, known: &mut Assessment) {
        let (settings, name) = (self.settings(), &self.settings().name);
        if let ClassStatus::Stale(class) = self.class {
            let class = class.as_str();
            known
                .reasons
                .push(format!("the MCP server {name} says something else of it since it was classed as {class}"));
        }
        // What was allowed for good was another tool.
        if self.server.changed(&self.listed.name).is_some() && !settings.trusted_output {
            known.grade = DangerGrade::High;
            known.reasons.push(format!("the MCP server {name} says something else of this tool than it did at first"));
        }
        let Principal { role, trust, .. } = invocation.principal;
        // What the config says of all its tools stands.
        if role == Role::Owner && trust == Trust::Trusted && settings.approval.is_none() {
            known.classing = self.server.tools().and_then(ServerTools::unclassed).map(Box::new);
        }
    }

    fn failure(&self, error: &McpError) -> Outcome {
        let text = format!("The MCP server {} did not answer this call: {error}.", self.settings().name);
        if error.may_pass() { Outcome::Transient(text) } else { Outcome::Error(text) }
    }
}

fn spec(settings: &Settings, name: String, class: Option<ToolClass>, listed: &ListedTool) -> ToolSpec {
    // What a server says of itself is believed of those alone that somebody vouches for.
    let believed = settings.trusted_annotations;
    let reads_only = match class {
        Some(class) => class == ToolClass::Looks,
        None => believed && listed.reads_only,
    };
    let idempotent = reads_only || believed && listed.idempotent;
    let usual = ToolFacts {
        changes: !reads_only,
        exclusive: false,
        approval: if reads_only { Approval::Free } else { Approval::Ask },
        risk: if reads_only { Risk::Read } else { Risk::Send },
        workspace: false,
        by_state: false,
    };
    let classed = class.map_or(usual, |class| class.facts(usual));
    // What the config says of all its tools stands, unless an owner wants more.
    let approval = settings.approval.filter(|_| classed.approval != Approval::Critical).unwrap_or(classed.approval);
    ToolSpec {
        schema: ToolSchema { name, description: listed.description.clone(), parameters: listed.schema.clone() },
        idempotent,
        // Twice the time to start: it connects, and asks for the tools.
        timeout: Timeout::Own(settings.start_within * 2 + settings.call_within + MARGIN),
        facts: ToolFacts { approval, ..classed },
        module: MODULE.to_owned(),
        role: settings.role,
        core: false,
        // Whoever has said what a tool does has said it of these very words.
        words_of: (!settings.trusted_output && class.is_none()).then(|| stranger(settings)),
    }
}

/// Whose words a server's are.
fn stranger(settings: &Settings) -> OriginSource {
    OriginSource::new(Origin::Tool, &format!("MCP server {}", settings.name))
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        // What was said was said of a tool that was described otherwise.
        let is_stale = matches!(self.class, ClassStatus::Stale(_));
        !is_stale && self.settings().is_content(&self.listed.name, argument)
    }

    fn undoable(&self, _arguments: &Value) -> bool {
        self.undo.is_some()
    }

    async fn assess(&self, invocation: &Invocation, is_mentioned: &MentionCheck<'_>) -> Assessment {
        let name = &self.settings().name;
        let mut known = Assessment { about: self.about(), ..Assessment::usual(self.spec.facts.risk) };
        if known.risk.is_read() {
            // A look at an address tells its host what is in it.
            let is_own = self.listed.kind == ToolKind::ReadResource && is_servers_own(&invocation.arguments);
            let address = unmentioned_address("", &invocation.arguments, is_mentioned).filter(|_| !is_own);
            if let Some(url) = address {
                known.risk = Risk::Send;
                known.reasons.push(format!("it may go to an address that nobody has told me: {url}"));
            }
            return known;
        }
        // That it is about money is not proof of anything; that a person is told so costs nothing.
        if names_money(&invocation.arguments.to_string()) {
            known.risk = Risk::Spend;
        }
        known.reasons.push(format!("the MCP server {name} does it{}", self.claimed_class()));
        if self.class.holds().is_none() {
            self.assess_unclassified(invocation, &mut known);
        }
        known
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let meta = if self.settings().meta { meta(&invocation) } else { Map::new() };
        let Value::Object(arguments) = invocation.arguments else {
            return Err(Outcome::Error(format!("The arguments of {} are no object.", self.spec.schema.name)));
        };
        let written = Value::Object(arguments.clone()).to_string();
        let key = CallKey { run: invocation.run, call: invocation.call };
        let Dialogue { answer, activity } = invocation.dialogue;
        let step = match answer {
            None => Box::pin(self.server.call(&self.listed, CallParams { arguments, meta, activity })).await,
            Some(reply) => match self.server.parked().take(&key) {
                Some(parked) => Box::pin(parked.answered(reply)).await,
                None => return Ok(Outcome::Request(Request::CutOff)),
            },
        };
        let outcome = match step {
            Ok(CallStep::Asks(form, parked)) => {
                if self.server.parked().park(key, parked) {
                    return Ok(Outcome::Request(Request::Ask { question: form.question.clone(), form: Some(form) }));
                }
                Outcome::Error("Too many questions of servers wait for people. The call was broken off.".to_owned())
            }
            Ok(CallStep::Answered(said)) if said.failed => Outcome::Error(said.text).with_files(said.files),
            Ok(CallStep::Answered(said)) => {
                let inverse = self.undo.as_ref().and_then(|rule| rule.resolve(&written, &said.for_machines()));
                let outcome = Outcome::Text(said.text).with_files(said.files);
                inverse.into_iter().fold(outcome, Outcome::undone_by)
            }
            Err(error) => self.failure(&error),
        };
        // Its errors are its words as well.
        let is_trusted = self.settings().trusted_output;
        Ok(if is_trusted { outcome } else { outcome.from(stranger(self.settings())) })
    }
}

/// Is what is to be read called by a name that its server alone knows, rather than by an address of the web's?
fn is_servers_own(arguments: &Value) -> bool {
    let uri = arguments["uri"].as_str().unwrap_or_default().trim();
    let scheme = uri.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| !matches!(scheme.as_str(), "http" | "https"))
}

/// The first address among a call's arguments that nobody has told the run. Without a scheme it is one where its beginning or the
/// argument's name says so: `report.md` is a file.
fn unmentioned_address(name: &str, argument: &Value, is_mentioned: &MentionCheck<'_>) -> Option<Url> {
    match argument {
        Value::String(text) => {
            let text = text.trim();
            let is_named = last_word(name).is_some_and(|word| NAMES_PAGES.contains(&word.as_str()));
            let is_bare = is_link(text) && (is_named || text.to_ascii_lowercase().starts_with("www."));
            let read = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            let mut url = read.or_else(|| is_bare.then(|| Url::parse(&format!("https://{text}")).ok()).flatten())?;
            url.set_fragment(None);
            (!is_mentioned(&Mention::Address(&url))).then_some(url)
        }
        Value::Array(all) => all.iter().find_map(|one| unmentioned_address(name, one, is_mentioned)),
        Value::Object(all) => all.iter().find_map(|(name, one)| unmentioned_address(name, one, is_mentioned)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What a server learns of the call beside its arguments: whose conversation it is, and whether its run has read what nobody
/// vouches for (row A10).
fn meta(invocation: &Invocation) -> Map<String, Value> {
    let session = Value::String(invocation.session.0.clone());
    let untrusted = Value::Bool(invocation.is_tainted());
    Map::from_iter([(SESSION.to_owned(), session), (UNTRUSTED.to_owned(), untrusted)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_alone_knows_by_a_name_is_nowhere_else() {
        for (uri, own) in [
            ("file:///etc/passwd", true),
            ("notes://x", true),
            ("HTTPS://a.example", false),
            ("a.example/x", false),
            ("a.example:80/x", false),
            ("", false),
        ] {
            assert_eq!(is_servers_own(&json!({ "uri": uri })), own, "{uri}");
        }
    }

    #[test]
    fn a_look_may_only_go_to_addresses_that_somebody_has_told() {
        let told = |said: &Mention<'_>| said.stands_in("see https://a.example/x and go");
        let of = |arguments: Value| unmentioned_address("", &arguments, &told).map(|url| url.to_string());
        assert_eq!(of(json!({ "url": "https://a.example/x#part", "n": 1, "q": "https: what is that?" })), None);
        assert_eq!(of(json!({ "url": "https://a.example/x?q=secret" })).unwrap(), "https://a.example/x?q=secret");
        assert_eq!(of(json!({ "all": [{ "at": " HTTP://b.example" }] })).unwrap(), "http://b.example/");
        assert_eq!(of(json!({ "path": "file:///etc/passwd", "x": null })), None);
        assert_eq!(of(json!({ "q": "www.b.example" })).unwrap(), "https://www.b.example/");
        assert_eq!(of(json!({ "page_url": "b.example/x?q=secret" })).unwrap(), "https://b.example/x?q=secret");
        assert_eq!(of(json!({ "url": "a.example/x", "file": "b.example", "q": "www. what?" })), None);
    }
}
