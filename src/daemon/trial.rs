//! A daemon that is only tried, in a data directory that is thrown away (`hob eval`): its tools do not reach the outside.

use std::sync::Arc;

use async_trait::async_trait;

use hob_core::domain::tools::{Assessment, Risk};
use hob_model::provider::Provider;
use hob_tools::audience::Audience;
use hob_tools::registry::Registry;
use hob_tools::{Invocation, MentionCheck, Outcome, Tool, ToolResult, ToolSpec};

/// What a trial is made with.
#[derive(Clone, Default)]
pub struct Trial {
    /// Who answers instead of the configured models.
    pub model: Option<Arc<dyn Provider>>,
}

/// What a tool answers that would reach the outside.
pub const REFUSED: &str = "This is a trial: nothing reaches the outside, so the call was not made.";

/// The modules of the tools that look at the network: a look tells its server something as well.
const NETWORK: [&str; 4] = ["calendar", "home", "mail", "web"];

/// The same tools; those that could reach the outside are on offer as ever, and refuse.
pub(super) fn without_outside_tools(registry: Registry) -> Registry {
    let reaching = registry.specs().filter(|spec| reaches_out(spec)).map(|spec| spec.schema.name.clone());
    let reaching: Vec<Arc<dyn Tool>> = reaching.filter_map(|name| registry.get(&name)).collect();
    reaching.into_iter().fold(registry, |registry, tool| registry.with(Arc::new(InertTool(tool))))
}

fn reaches_out(spec: &ToolSpec) -> bool {
    spec.facts.most() > Risk::Write || NETWORK.contains(&spec.module.as_str())
}

/// A tool that is assessed as ever, and not run.
struct InertTool(Arc<dyn Tool>);

#[async_trait]
impl Tool for InertTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn audience(&self) -> Option<&dyn Audience> {
        self.0.audience()
    }

    async fn assess(&self, invocation: &Invocation, is_mentioned: &MentionCheck<'_>) -> Assessment {
        self.0.assess(invocation, is_mentioned).await
    }

    async fn call(&self, _invocation: Invocation) -> ToolResult {
        Err(Outcome::Error(REFUSED.to_owned()))
    }
}
