//! Commands that the operator declares as tools (`[tools.NAME]`): a fixed argument vector, no shell in between.

use std::collections::BTreeMap;
use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::process::{self, ProcessOutput, ProcessSpec};
use crate::process_reaper::ProcessReaper;
use crate::results::BYTES_MAX;
use crate::sandbox::confinement::Confinement;
use crate::{Invocation, Outcome, Timeout, Tool, ToolResult, ToolSpec};
use hob_config::tools::{SESSION_ID, UNTRUSTED_SOURCE, is_injected, placeholder};
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::principal::Role;
use hob_core::domain::tools::ToolFacts;
use hob_core::policy::plan::is_content_by_name;
use hob_model::provider::ToolSchema;

/// The exit code by which a command says that its failure may pass (`EX_TEMPFAIL` of sysexits.h).
const MAY_PASS: i32 = 75;

/// A declaration, as configured and validated.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The tool's name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The argument vector; an element `{name}` is replaced by that argument, whole.
    pub command: Vec<String>,
    /// The arguments and what they mean: all are strings.
    pub parameters: BTreeMap<String, String>,
    /// The group that personas choose tools by.
    pub module: String,
    /// Who may have it called.
    pub role: Role,
    /// Safe to run twice.
    pub idempotent: bool,
    /// What it prints may instruct: the operator vouches for it (row N6).
    pub trusted_output: bool,
    /// What runs have to know of it.
    pub facts: ToolFacts,
    /// How long it may take.
    pub timeout: Timeout,
    /// Where it runs.
    pub working_dir: PathBuf,
    /// Whose mark its processes carry, so that they are found should Hob be killed.
    pub leftovers: ProcessReaper,
    /// Its sandbox, if it is to have one.
    pub confinement: Option<Confinement>,
}

pub struct CommandTool {
    declaration: Declaration,
    spec: ToolSpec,
}

impl CommandTool {
    /// A tool as declared.
    pub fn new(declaration: Declaration) -> Self {
        let properties: Map<String, Value> = declaration
            .parameters
            .iter()
            .filter(|(name, _)| !is_injected(name))
            .map(|(name, about)| {
                let property = Map::from_iter([
                    ("type".to_owned(), Value::from("string")),
                    ("description".to_owned(), Value::from(about.as_str())),
                ]);
                (name.clone(), Value::Object(property))
            })
            .collect();
        let required: Vec<Value> = properties.keys().map(|name| Value::from(name.as_str())).collect();
        let parameters = Value::Object(Map::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("properties".to_owned(), Value::Object(properties)),
            ("required".to_owned(), Value::Array(required)),
            ("additionalProperties".to_owned(), Value::Bool(false)),
        ]));
        let schema =
            ToolSchema { name: declaration.name.clone(), description: declaration.description.clone(), parameters };
        let spec = ToolSpec {
            schema,
            idempotent: declaration.idempotent,
            timeout: declaration.timeout,
            facts: declaration.facts,
            module: declaration.module.clone(),
            role: declaration.role,
            core: true,
            words_of: None,
        };
        Self { declaration, spec }
    }

    /// The argument vector with the model's arguments, and Hob's own, in their places.
    fn vector(&self, invocation: &Invocation) -> Result<Vec<String>, String> {
        let given = invocation.arguments.as_object().ok_or("the arguments must be an object")?;
        let fill = |element: &String| {
            let Some(name) = placeholder(element) else {
                return Ok(element.clone());
            };
            match injected(name, invocation).or_else(|| given.get(name)?.as_str().map(str::to_owned)) {
                Some(text) if text.contains('\0') => Err(format!("argument {name:?} contains a NUL character")),
                Some(text) => Ok(text),
                None => Err(format!("argument {name:?} is missing or not a string")),
            }
        };
        self.declaration.command.iter().map(fill).collect()
    }
}

/// The arguments that Hob fills in itself: the model neither sees nor sets them (row A10).
fn injected(name: &str, invocation: &Invocation) -> Option<String> {
    match name {
        SESSION_ID => Some(invocation.session.to_string()),
        UNTRUSTED_SOURCE => Some(untrusted(invocation)),
        _ => None,
    }
}

/// Whether the run has listened to words up to now that nobody vouches for: `1` or `0`.
fn untrusted(invocation: &Invocation) -> String {
    u8::from(invocation.is_tainted()).to_string()
}

#[async_trait]
impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_content(&self, argument: &str) -> bool {
        is_content_by_name(argument)
    }

    async fn call(&self, invocation: Invocation) -> ToolResult {
        let misfit = |why| Outcome::Error(format!("The call does not fit {}: {why}.", self.declaration.name));
        let vector = self.vector(&invocation).map_err(misfit)?;
        let program = vector.first().cloned().unwrap_or_default();
        let errand = ProcessSpec {
            vector,
            dir: self.declaration.working_dir.clone(),
            environment: vec![
                ("HOB_SESSION".to_owned(), invocation.session.to_string()),
                ("HOB_UNTRUSTED".to_owned(), untrusted(&invocation)),
            ],
            input: None,
            // Both outputs together are as much as is kept of one result.
            bytes_max: BYTES_MAX / 2,
            leftovers: self.declaration.leftovers.clone(),
            confinement: self.declaration.confinement.clone(),
        };
        match Box::pin(process::run(errand)).await {
            Ok(ended) if self.declaration.trusted_output || ended.printed().is_empty() => Ok(outcome(&ended)),
            Ok(ended) => Ok(outcome(&ended).from(OriginSource::new(Origin::Tool, &self.declaration.name))),
            Err(error) => Err(Outcome::Error(format!("{program} could not be run: {error}."))),
        }
    }
}

fn outcome(ended: &ProcessOutput) -> Outcome {
    let printed = ended.printed();
    let failed = || format!("{}\n{printed}", ended.status).trim_end().to_owned();
    match ended.status.code() {
        Some(0) if printed.is_empty() => Outcome::Exited { text: "Done; it printed nothing.".to_owned(), code: 0 },
        Some(0) => Outcome::Exited { text: printed, code: 0 },
        Some(MAY_PASS) => Outcome::Transient(failed()),
        Some(code) => Outcome::Exited { text: failed(), code },
        // Without a code, a signal ended it.
        None => Outcome::Error(failed()),
    }
}
