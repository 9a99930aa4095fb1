//! `remember_fact`: keeps what the person wants kept.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::principal::Role;
use crate::domain::tools::ToolFacts;
use crate::memory::facts::Remember;
use crate::policy::memory::kept_in;
use crate::store::Store;
use crate::tool::registry::{parse, spec_of};
use crate::tool::{Invocation, Outcome, Tool, ToolSpec};

/// The longest category, key or value, in characters.
const CHARS_MAX: usize = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What it is about, broadly: `person`, `preference`, `home`, `work`, `general` …
    category: String,
    /// What it is about, in a few words: `sister's birthday`. The same key again replaces the value.
    key: String,
    /// What is to be remembered.
    value: String,
}

/// The tool. Remembering the same thing twice leaves one fact: it is idempotent.
pub struct RememberFact {
    spec: ToolSpec,
    store: Store,
}

impl RememberFact {
    /// Remembers in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        let about = "Remembers a fact about the user or the household, for all later conversations.";
        let spec = spec_of::<Arguments>("remember_fact", about, true).of("memory", Role::User);
        let facts = ToolFacts { changes: true, ..spec.facts };
        Self { spec: ToolSpec { facts, ..spec }, store }
    }
}

#[async_trait]
impl Tool for RememberFact {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let arguments: Arguments = match parse(&self.spec, invocation.arguments) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let clean = |text: &str| text.trim().to_owned();
        let (category, key, value) =
            (clean(&arguments.category).to_lowercase(), clean(&arguments.key), clean(&arguments.value));
        if [&category, &key, &value].iter().any(|text| text.is_empty() || text.chars().count() > CHARS_MAX) {
            return Outcome::Error(format!("category, key and value need 1 to {CHARS_MAX} characters each."));
        }
        let Some(scope) = kept_in(&invocation.principal, invocation.place) else {
            return Outcome::Error("What strangers write is not remembered.".to_owned());
        };
        let remember = Remember {
            scope,
            user: invocation.principal.user,
            category,
            key: key.clone(),
            value: value.clone(),
            person: None,
            valid_until: None,
            run: invocation.run,
            at: invocation.now,
        };
        match self.store.write(remember).await {
            Ok(remembered) => Outcome::Text(match remembered.before() {
                Some(before) => format!("Remembered: {key}: {value} (before: {before})."),
                None => format!("Remembered: {key}: {value}."),
            }),
            Err(error) => Outcome::of_store(&error, format!("Could not be remembered: {error}.")),
        }
    }
}
