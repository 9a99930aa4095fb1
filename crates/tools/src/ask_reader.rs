//! `ask_reader`: a question about what another tool finds, for a reader without tools (row N16).
//!
//! A call of it that can be read *is* a call of that tool, whose result the reader gets (`machine::reading`), and never comes here.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::registry::{parse, spec_of};
use crate::{Invocation, Outcome, Tool, ToolResult, ToolSpec};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::ASK_READER;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Number,
    Date,
    YesNo,
    Choice,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The tool that finds it: one of yours.
    #[serde(rename = "from")]
    _from: String,
    /// Its arguments.
    #[serde(rename = "with")]
    _with: Option<Map<String, Value>>,
    /// The question.
    #[serde(rename = "question")]
    _question: String,
    /// What the answer is.
    #[serde(rename = "answer")]
    _answer: Answer,
    /// Of a choice: 2 to 12 answers of letters, digits, spaces and hyphens, up to 40 characters each.
    #[serde(rename = "choices")]
    _choices: Option<Vec<String>>,
}

/// The tool.
pub struct AskReader {
    spec: ToolSpec,
}

impl Default for AskReader {
    fn default() -> Self {
        let about = "Has a reader answer one question about what a tool finds, instead of you reading it: a number, a date, yes or \
                     no, or one of your choices. So a stranger's words never reach you.";
        Self { spec: spec_of::<Arguments>(ASK_READER, about, true).of("agents", Role::Guest).shown_on_need() }
    }
}

#[async_trait]
impl Tool for AskReader {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        parse::<Arguments>(&self.spec, invocation.arguments)?;
        Err(Outcome::Error(
            "Nothing was read: `from` must be one of your tools, the question one of up to 1000 characters, and a choice needs \
             2 to 12 different `choices` of letters, digits, spaces and hyphens."
                .to_owned(),
        ))
    }
}
