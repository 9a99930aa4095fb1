//! `recall`: finds facts, and what the person said, again.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::principal::Role;
use crate::memory::facts::SearchFacts;
use crate::memory::recall::{Fragment, Memory, Question, RecallLimits};
use crate::policy::memory::visible;
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::tool::registry::{parse, spec_of};
use crate::tool::{Invocation, Outcome, Tool, ToolSpec};

/// The most facts, and the most messages, in one answer.
const LIMIT: usize = 10;
/// The most tokens of what people said, in one answer.
const TOKENS: u64 = 2_000;
/// The most characters shown of one message.
const SHOWN_MAX: usize = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to look for, in a few words.
    query: String,
    /// Where to look: remembered facts, what the user said, or both.
    #[serde(default)]
    what: What,
}

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
enum What {
    /// Remembered facts.
    Facts,
    /// What the person said.
    Messages,
    /// Both.
    #[default]
    All,
}

/// The tool.
pub struct RecallTool {
    spec: ToolSpec,
    memory: Memory,
}

impl RecallTool {
    /// Recalls from `memory`.
    #[must_use]
    pub fn new(memory: Memory) -> Self {
        let about = "Looks up remembered facts and what the user said in earlier conversations.";
        Self { spec: spec_of::<Arguments>("recall", about, true).of("memory", Role::User), memory }
    }

    async fn look_up(&self, invocation: &Invocation, arguments: Arguments) -> Result<String, StoreError> {
        let scopes = visible(&invocation.principal, invocation.place);
        let facts = match arguments.what {
            What::Facts | What::All => {
                let search = SearchFacts { scopes: scopes.clone(), query: arguments.query.clone(), limit: LIMIT };
                self.memory.store.read(search).await?
            }
            What::Messages => Vec::new(),
        };
        let messages = match arguments.what {
            What::Messages | What::All => {
                let limits = RecallLimits { fragments: LIMIT, tokens: TOKENS, ..self.memory.limits };
                let question = Question { text: arguments.query, scopes, window: None, limits, now: invocation.now };
                self.memory.recall(&question).await?.fragments
            }
            What::Facts => Vec::new(),
        };
        Ok(self.show(&facts, &messages))
    }

    fn show(&self, facts: &[FactRow], messages: &[Fragment]) -> String {
        let day = |at: Timestamp| at.to_zoned(self.memory.zone.clone()).strftime("%Y-%m-%d").to_string();
        let facts = facts.iter().map(|fact| {
            let at = Timestamp::from_millisecond(fact.created_at).unwrap_or(Timestamp::UNIX_EPOCH);
            // A key that only begins the value says nothing more.
            let named = fact.value.to_lowercase().starts_with(&fact.key.to_lowercase());
            let about = if named { String::new() } else { format!("{}: ", fact.key) };
            format!("- {about}{} ({})", fact.value, day(at))
        });
        let messages = messages.iter().map(|message| {
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
        let arguments: Arguments = match parse(&self.spec, invocation.arguments.clone()) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        match self.look_up(&invocation, arguments).await {
            Ok(found) => Outcome::Text(found),
            Err(error) => Outcome::of_store(&error, format!("The memory could not be searched: {error}.")),
        }
    }
}
