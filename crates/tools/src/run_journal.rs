//! `get_run_journal`, `update_run_journal`, `append_run_journal_entry`: a run's notes for itself (row B12).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Request, Tool, ToolResult, ToolSpec};
use hob_core::domain::notebook::{NotebookChange, Section};

/// The group that personas choose these tools by.
const MODULE: &str = "journal";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// What is to be reached.
    objective: Option<String>,
    /// Where it stands.
    current_state: Option<String>,
    /// What should be done next.
    handoff_next_action: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    section: Section,
    /// One line.
    entry: String,
}

/// One of the three tools. The notes belong to the run, so that the machine carries it out.
pub struct RunJournal {
    spec: ToolSpec,
    read: fn(&ToolSpec, Value) -> Result<NotebookChange, Outcome>,
}

impl RunJournal {
    /// `get_run_journal`.
    pub fn get() -> Self {
        let read = |spec: &ToolSpec, arguments| parse::<NoArguments>(spec, arguments).map(|_| NotebookChange::Read);
        Self { spec: spec::<NoArguments>("get_run_journal", "Shows your notes on this task."), read }
    }

    /// `update_run_journal`.
    pub fn update() -> Self {
        let about = "Sets the heads of your notes on a long task: they outlive it if it is cut off.";
        let read = |spec: &ToolSpec, arguments| {
            let Fields { objective, current_state, handoff_next_action } = parse(spec, arguments)?;
            Ok(NotebookChange::Update { objective, current_state, handoff_next_action })
        };
        Self { spec: spec::<Fields>("update_run_journal", about), read }
    }

    /// `append_run_journal_entry`.
    pub fn append() -> Self {
        let read = |spec: &ToolSpec, arguments| {
            let Entry { section, entry } = parse(spec, arguments)?;
            Ok(NotebookChange::Append { section, entry })
        };
        Self { spec: spec::<Entry>("append_run_journal_entry", "Adds a line to your notes on this task."), read }
    }
}

fn spec<A: JsonSchema>(name: &str, about: &str) -> ToolSpec {
    ToolSpec { module: MODULE.to_owned(), ..spec_of::<A>(name, about, true).shown_on_need() }
}

#[async_trait]
impl Tool for RunJournal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        Ok(Outcome::Request(Request::Notebook((self.read)(&self.spec, invocation.arguments)?)))
    }
}
