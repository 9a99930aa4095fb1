//! `use_tool`: the further tools, whose schemas are not in every request.
//!
//! It names them and tells what one of them takes. With arguments a call of it *is* a call of that tool
//! (`machine::disclosed`), and never comes here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::origin::OriginSource;
use hob_core::domain::tools::USE_TOOL;
use hob_model::provider::ToolSchema;

/// So many tools of one family are named each; of more only the family is.
const FAMILY_NAMED_MAX: usize = 12;
/// The most characters about a tool in a list.
const LINE_CHARS_MAX: usize = 120;

const ABOUT: &str = "Further tools. Without `arguments` it tells what one does and takes; with them it calls it.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Which tool.
    name: String,
    /// For that tool.
    #[serde(rename = "arguments")]
    _arguments: Option<Map<String, Value>>,
}

/// A tool that is shown on need.
#[derive(Debug, Clone)]
pub(super) struct DeferredTool {
    /// What the model is shown.
    pub(super) schema: ToolSchema,
    /// Whose it is, if it came while Hob ran.
    pub(super) family: Option<Arc<str>>,
    /// Whose words it is, if nobody vouches for them.
    pub(super) words_of: Option<OriginSource>,
}

pub struct UseTool {
    spec: ToolSpec,
    further: BTreeMap<String, DeferredTool>,
    /// What is at hand without it.
    core: BTreeSet<String>,
}

impl Default for UseTool {
    fn default() -> Self {
        Self::of(Vec::new(), BTreeSet::new())
    }
}

impl UseTool {
    /// One that knows these. Its description says the same as long as they are the same.
    pub(super) fn of(further: Vec<DeferredTool>, core: BTreeSet<String>) -> Self {
        let further: BTreeMap<_, _> = further.into_iter().map(|tool| (tool.schema.name.clone(), tool)).collect();
        let about = format!("{ABOUT} There are: {}.", listing(&further).join(", "));
        Self { spec: spec_of::<Arguments>(USE_TOOL, &about, true), further, core }
    }

    fn answer(&self, name: &str) -> Outcome {
        if let Some(DeferredTool { schema, words_of, .. }) = self.further.get(name) {
            let ToolSchema { name, description, parameters } = schema;
            let told = Outcome::Text(format!(
                "{name}: {description}\nThe schema of its arguments: {parameters}\nCall it by {USE_TOOL} with \
                 \"name\": \"{name}\" and \"arguments\"."
            ));
            return attributed_to(told, words_of.as_ref());
        }
        if self.core.contains(name) {
            return Outcome::Error(format!("{name} is at hand without {USE_TOOL}: call it by its name."));
        }
        let tools: Vec<&DeferredTool> = self.further.values().filter(|tool| is_of(tool, name)).collect();
        let family: Vec<String> = tools.iter().map(|tool| line(tool)).collect();
        if family.is_empty() {
            let all = listing(&self.further).join(", ");
            return Outcome::Error(format!("There is no further tool {name:?}. There are: {all}."));
        }
        let told = Outcome::Text(format!("The tools of {name}:\n{}", family.join("\n")));
        attributed_to(told, tools.iter().find_map(|tool| tool.words_of.as_ref()))
    }
}

#[async_trait]
impl Tool for UseTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let Arguments { name, .. } = parse(&self.spec, invocation.arguments)?;
        Ok(self.answer(name.trim()))
    }
}

/// What a stranger says of their own tool is a stranger's word.
fn attributed_to(told: Outcome, stranger: Option<&OriginSource>) -> Outcome {
    match stranger {
        Some(stranger) => told.from(stranger.clone()),
        None => told,
    }
}

fn is_of(tool: &DeferredTool, family: &str) -> bool {
    tool.family.as_deref() == Some(family)
}

/// Each by its name, sorted; those of a large family by the family's.
fn listing(further: &BTreeMap<String, DeferredTool>) -> Vec<String> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for family in further.values().filter_map(|tool| tool.family.as_deref()) {
        *sizes.entry(family).or_default() += 1;
    }
    sizes.retain(|_, size| *size > FAMILY_NAMED_MAX);
    let named = further.iter().filter(|(_, tool)| tool.family.as_deref().is_none_or(|of| !sizes.contains_key(of)));
    let mut names: Vec<String> = named.map(|(name, _)| name.clone()).collect();
    names.extend(sizes.iter().map(|(family, size)| format!("{family} ({size} tools)")));
    names.sort();
    names
}

fn line(tool: &DeferredTool) -> String {
    let about = tool.schema.description.lines().next().unwrap_or_default();
    let about: String = about.chars().take(LINE_CHARS_MAX).collect();
    format!("- {}: {about}", tool.schema.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;
    use crate::registry::tests::{hidden, strangers, tool};
    use crate::registry_handle::ToolRegistryHandle;
    use hob_core::domain::origin::Origin;

    fn shed() -> ToolRegistryHandle {
        let number = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        ToolRegistryHandle::new(
            Registry::default()
                .with(Arc::new(UseTool::default()))
                .with(tool("recall", json!({ "type": "object" })))
                .with(hidden("forget", number)),
        )
    }

    async fn ask(registry: &Registry, name: &str) -> Outcome {
        let invocation = Invocation::for_trial(json!({ "name": name }));
        Outcome::of(registry.get(USE_TOOL).unwrap().call(invocation).await)
    }

    #[tokio::test]
    async fn a_small_prompt_names_further_tools_and_shows_one_on_need() {
        let registry = Registry::clone(&shed().now()).with_use_tool();
        let offered: Vec<String> = registry.schemas().into_iter().map(|schema| schema.name).collect();
        assert_eq!(offered, ["recall", "use_tool"]);
        insta::assert_snapshot!(registry.schemas()[1].description, @"Further tools. Without `arguments` it tells what one does and takes; with them it calls it. There are: forget.");
        let Outcome::Text(shown) = ask(&registry, "forget").await else { panic!("it is shown") };
        insta::assert_snapshot!(shown, @r#"
        forget: It is hidden.
        The schema of its arguments: {"properties":{"n":{"type":"integer"}},"type":"object"}
        Call it by use_tool with "name": "forget" and "arguments".
        "#);
        let Outcome::Error(core) = ask(&registry, "recall").await else { panic!("it needs no showing") };
        insta::assert_snapshot!(core, @"recall is at hand without use_tool: call it by its name.");
        let Outcome::Error(none) = ask(&registry, "fly").await else { panic!("there is none") };
        insta::assert_snapshot!(none, @r#"There is no further tool "fly". There are: forget."#);
        let wrong = registry.argument_errors("forget", &json!({ "n": "x" })).unwrap();
        insta::assert_snapshot!(wrong, @r#"
        The arguments do not fit forget; the call was not made.
        - n: value is not of type "integer"
        Its schema: {"properties":{"n":{"type":"integer"}},"type":"object"}
        "#);
    }

    #[tokio::test]
    async fn a_large_family_is_one_word_until_it_is_asked_for() {
        let shed = shed();
        let family = |count: usize| {
            (0..count).map(|n| hidden(&format!("zoo_{n:02}"), json!({ "type": "object" }))).collect::<Vec<_>>()
        };
        shed.publish("zoo", family(12));
        let named = Registry::clone(&shed.now()).with_use_tool().schemas()[1].description.clone();
        assert!(named.ends_with("forget, zoo_00, zoo_01, zoo_02, zoo_03, zoo_04, zoo_05, zoo_06, zoo_07, zoo_08, zoo_09, zoo_10, zoo_11."), "{named}");
        shed.publish("zoo", family(13));
        let registry = Registry::clone(&shed.now()).with_use_tool();
        let named = registry.schemas()[1].description.clone();
        assert!(named.ends_with("There are: forget, zoo (13 tools)."), "{named}");
        let Outcome::Text(list) = ask(&registry, "zoo").await else { panic!("it is listed") };
        assert!(list.starts_with("The tools of zoo:\n- zoo_00: It is hidden.\n") && list.lines().count() == 14);
    }

    #[tokio::test]
    async fn n6_what_a_stranger_says_of_their_tool_taints_whoever_reads_it() {
        let shed = shed();
        shed.publish("bank", vec![strangers("bank__pay")]);
        let registry = Registry::clone(&shed.now()).with_use_tool();
        for asked in ["bank__pay", "bank"] {
            let Outcome::From(source, told) = ask(&registry, asked).await else { panic!("{asked}: nobody's word") };
            assert_eq!(source, OriginSource::new(Origin::Tool, "MCP server bank"), "{asked}");
            assert!(matches!(*told, Outcome::Text(text) if text.contains("pay Mallory")), "{asked}");
        }
        assert!(matches!(ask(&registry, "forget").await, Outcome::Text(_)), "Hob's own words taint nobody");
        assert!(registry.description_taint().is_clean(), "they are in no request");
        let shown = Registry::default().with(strangers("bank__pay"));
        assert!(!shown.description_taint().is_clean(), "these are in each request");
    }

    #[test]
    fn a_small_prompt_has_no_use_tool_where_nothing_is_hidden() {
        let object = || json!({ "type": "object" });
        let registry = Registry::default().with(Arc::new(UseTool::default())).with(tool("recall", object()));
        assert_eq!(registry.with_use_tool().names(), ["recall"]);
        let without = Registry::default().with(hidden("forget", object())).with_use_tool();
        assert_eq!(without.schemas().len(), 1, "what could not be asked for is shown");
    }
}
