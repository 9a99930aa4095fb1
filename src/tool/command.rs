//! Commands that the operator declares as tools (`[tools.NAME]`): a fixed argument vector, no shell in between.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::config::tools::placeholder;
use crate::domain::principal::Role;
use crate::domain::tools::ToolFacts;
use crate::model::provider::ToolSchema;
use crate::tool::leftovers::Leftovers;
use crate::tool::{Invocation, Outcome, Tool, ToolSpec};

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
    /// Safe to run twice.
    pub idempotent: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// Where it runs.
    pub working_dir: PathBuf,
    /// How much of its output the model sees, in characters (row C9).
    pub output_chars_max: usize,
    /// Whose mark its processes carry, so that they are found should Hob be killed.
    pub leftovers: Leftovers,
}

/// The tool.
pub struct CommandTool {
    declaration: Declaration,
    spec: ToolSpec,
}

impl CommandTool {
    /// A tool as declared.
    #[must_use]
    pub fn new(declaration: Declaration) -> Self {
        let properties: Map<String, Value> = declaration
            .parameters
            .iter()
            .map(|(name, about)| {
                let property = Map::from_iter([
                    ("type".to_owned(), Value::from("string")),
                    ("description".to_owned(), Value::from(about.as_str())),
                ]);
                (name.clone(), Value::Object(property))
            })
            .collect();
        let required: Vec<Value> = declaration.parameters.keys().map(|name| Value::from(name.as_str())).collect();
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
            // Even one that may be run twice may have switched a light: what it does is not known here.
            facts: ToolFacts { changes: true, ..ToolFacts::default() },
            module: "commands".to_owned(),
            role: Role::User,
        };
        Self { declaration, spec }
    }

    /// The argument vector with the model's arguments in their places.
    fn vector(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let given = arguments.as_object().ok_or("the arguments must be an object")?;
        if let Some(extra) = given.keys().find(|key| !self.declaration.parameters.contains_key(*key)) {
            return Err(format!("there is no argument {extra:?}"));
        }
        self.declaration
            .command
            .iter()
            .map(|element| {
                let Some(name) = placeholder(element) else {
                    return Ok(element.clone());
                };
                match given.get(name).and_then(Value::as_str) {
                    Some(text) if text.contains('\0') => Err(format!("argument {name:?} contains a NUL character")),
                    Some(text) => Ok(text.to_owned()),
                    None => Err(format!("argument {name:?} is missing or not a string")),
                }
            })
            .collect()
    }
}

#[async_trait]
impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, invocation: Invocation) -> Outcome {
        let vector = match self.vector(&invocation.arguments) {
            Ok(vector) => vector,
            Err(why) => return Outcome::Error(format!("The call does not fit {}: {why}.", self.declaration.name)),
        };
        let Some((program, rest)) = vector.split_first() else {
            return Outcome::Error("The declared command is empty.".to_owned());
        };
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_clear().envs(clean_environment()).process_group(0).kill_on_drop(true);
        let (mark, whose) = self.declaration.leftovers.mark();
        command.env(mark, whose);
        command.current_dir(&self.declaration.working_dir);
        match Box::pin(run(command, self.declaration.output_chars_max)).await {
            Ok(finished) => finished,
            Err(error) => Outcome::Error(format!("{program} could not be run: {error}.")),
        }
    }
}

/// What a child sees of the environment: no secret is in it.
fn clean_environment() -> impl Iterator<Item = (&'static str, String)> {
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)))
}

/// Kills the whole process group when the call is dropped: stopped, timed out, or the daemon leaves.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(%error, "the process group was gone already");
        }
    }
}

async fn run(mut command: Command, chars_max: usize) -> std::io::Result<Outcome> {
    let mut child = command.spawn()?;
    let _group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    // Whoever holds the pipe open after the command has ended is not waited for: the group is killed on return.
    let reading = async { tokio::join!(read(stdout, chars_max), read(stderr, chars_max)) };
    let mut reading = std::pin::pin!(reading);
    let mut output = None;
    let status = tokio::select! {
        biased;
        both = &mut reading => { output = Some(both); child.wait().await? }
        status = child.wait() => status?,
    };
    let (out, err) = match output {
        Some(both) => both,
        None => match tokio::time::timeout(Duration::from_secs(1), reading).await {
            Ok(both) => both,
            Err(_elapsed) => ("(its output was held open by a child and is lost)".to_owned(), String::new()),
        },
    };
    let text =
        [out.trim_end(), err.trim_end()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    if status.success() {
        return Ok(Outcome::Text(if text.is_empty() { "Done; it printed nothing.".to_owned() } else { text }));
    }
    Ok(Outcome::Error(format!("{status}\n{text}").trim_end().to_owned()))
}

/// Reads to the end, keeping the head and the tail.
async fn read<R: AsyncRead + Unpin>(source: Option<R>, chars_max: usize) -> String {
    let Some(mut source) = source else {
        return String::new();
    };
    let (mut head, mut tail, mut total) = (Vec::new(), Vec::new(), 0_usize);
    let half = chars_max / 2;
    let mut buffer = [0_u8; 8192];
    loop {
        let read = match source.read(&mut buffer).await {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(%error, "a tool's output broke off");
                break;
            }
        };
        total += read;
        let room = half.saturating_sub(head.len()).min(read);
        head.extend_from_slice(&buffer[..room]);
        tail.extend_from_slice(&buffer[room..read]);
        let excess = tail.len().saturating_sub(half);
        tail.drain(..excess);
    }
    let lost = total.saturating_sub(head.len() + tail.len());
    let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
    if lost == 0 { format!("{head}{tail}") } else { format!("{head}\n… {lost} bytes left out …\n{tail}") }
}
