//! `recall`: finds facts, and what the person said, again.

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::principal::Role;
use crate::memory::recall::{Recall, Recalled, Scope};
use crate::store::Store;
use crate::tool::registry::{parse, spec_of};
use crate::tool::{Invocation, Outcome, Tool, ToolSpec};

/// The most facts, and the most messages, in one answer.
const LIMIT: i64 = 10;
/// The most characters shown of one message.
const SHOWN_MAX: usize = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to look for, in a few words.
    query: String,
    /// Where to look: remembered facts, what the user said, or both.
    #[serde(default)]
    what: Scope,
}

/// The tool.
pub struct RecallTool {
    spec: ToolSpec,
    store: Store,
    zone: TimeZone,
}

impl RecallTool {
    /// Recalls from `store`, with dates in `zone`.
    #[must_use]
    pub fn new(store: Store, zone: TimeZone) -> Self {
        let about = "Looks up remembered facts and what the user said in earlier conversations.";
        Self { spec: spec_of::<Arguments>("recall", about, true).of("memory", Role::User), store, zone }
    }

    fn show(&self, recalled: &Recalled) -> String {
        let day = |at: i64| {
            let at = Timestamp::from_millisecond(at).unwrap_or(Timestamp::UNIX_EPOCH);
            at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d").to_string()
        };
        let facts = recalled.facts.iter().map(|fact| {
            // A key that only begins the value says nothing more.
            let named = fact.value.to_lowercase().starts_with(&fact.key.to_lowercase());
            let about = if named { String::new() } else { format!("{}: ", fact.key) };
            format!("- {about}{} ({})", fact.value, day(fact.created_at))
        });
        let messages = recalled.messages.iter().map(|message| {
            let shown: String = message.text.chars().take(SHOWN_MAX).collect();
            let dots = if shown.len() < message.text.len() { "…" } else { "" };
            format!("- {}: \"{}{dots}\"", day(message.at), shown.replace('\n', " "))
        });
        let lines: Vec<String> = facts.chain(messages).collect();
        if lines.is_empty() { "Nothing found.".to_owned() } else { lines.join("\n") }
    }
}

#[async_trait]
impl Tool for RecallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let arguments: Arguments = match parse(&self.spec, invocation.arguments) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let recall = Recall {
            user: invocation.principal.user,
            query: arguments.query,
            scope: arguments.what,
            limit: LIMIT,
            current_run: Some(invocation.run),
        };
        match self.store.read(recall).await {
            Ok(recalled) => Outcome::Text(self.show(&recalled)),
            Err(error) => Outcome::of_store(&error, format!("The memory could not be searched: {error}.")),
        }
    }
}
