//! The tools of this Hob, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::domain::principal::Role;
use crate::domain::tools::{CONTROL, ToolFacts};
use crate::model::provider::ToolSchema;
use crate::policy::access::Reach;
use crate::tool::{Outcome, TIMEOUT, Tool, ToolSpec};

/// All tools, sorted by name so that the prompt's prefix stays the same.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// Adds a tool; one of the same name is replaced.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(tool.spec().schema.name.clone(), tool);
        self
    }

    /// Those of them that are on offer to somebody (row C5).
    #[must_use]
    pub fn within(&self, reach: &Reach<'_>) -> Self {
        let covered = |tool: &Arc<dyn Tool>| reach.covers(&tool.spec().module, tool.spec().role);
        let tools = self.tools.iter().filter(|(_, tool)| covered(tool));
        Self { tools: tools.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect() }
    }

    /// The tool with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// What the model is offered.
    #[must_use]
    pub fn schemas(&self) -> Vec<ToolSchema> {
        self.tools.values().map(|tool| tool.spec().schema.clone()).collect()
    }

    /// The names of those that are safe to run twice.
    #[must_use]
    pub fn idempotent(&self) -> Vec<String> {
        self.tools.iter().filter(|(_, tool)| tool.spec().idempotent).map(|(name, _)| name.clone()).collect()
    }

    /// What runs have to know of each.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, ToolFacts> {
        self.tools.iter().map(|(name, tool)| (name.clone(), tool.spec().facts)).collect()
    }

    /// The names of all, for people and for a model that asked for one that is not there.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
    }
}

/// A built-in tool's spec, its arguments' schema derived from their type. It steers the run, unless [`ToolSpec::of`] says
/// otherwise.
#[must_use]
pub fn spec_of<A: JsonSchema>(name: &str, description: &str, idempotent: bool) -> ToolSpec {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut parameters = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Some(object) = parameters.as_object_mut() {
        object.remove("title");
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    let schema = ToolSchema { name: name.to_owned(), description: description.to_owned(), parameters };
    let facts = ToolFacts::default();
    ToolSpec { schema, idempotent, timeout: TIMEOUT, facts, module: CONTROL.to_owned(), role: Role::Guest }
}

/// The arguments as their type, or what is wrong with them, in words for the model.
///
/// # Errors
/// When they don't fit.
pub fn parse<A: DeserializeOwned>(spec: &ToolSpec, arguments: Value) -> Result<A, Outcome> {
    serde_json::from_value(arguments).map_err(|error| {
        Outcome::Error(format!(
            "The arguments do not fit {}: {error}. Its schema: {}",
            spec.schema.name, spec.schema.parameters
        ))
    })
}
