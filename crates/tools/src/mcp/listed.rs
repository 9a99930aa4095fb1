//! What a server says of one of its tools, cleaned and bounded: they are the words of strangers, and models read them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::schema_check::validator;
use hob_core::policy::invisible::is_invisible;

/// The longest name that a server may give a tool, in characters.
const NAME_CHARS_MAX: usize = 256;
/// The most that is shown of a description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 1_500;
/// The most that is shown of what a schema says about an argument, in characters.
const ARGUMENT_CHARS_MAX: usize = 500;
/// The largest schema, in bytes: it goes into the model's context whole.
const SCHEMA_BYTES_MAX: usize = 24 << 10;

/// What a call of a tool is, as the protocol has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolKind {
    /// A tool's own.
    #[default]
    Tool,
    /// A look at what its server has to read.
    ListResources,
    /// One of those is read.
    ReadResource,
}

impl ToolKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

/// A tool, as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListedTool {
    /// The server's own name for it.
    pub(super) name: String,
    /// What it does.
    pub(super) description: String,
    /// The schema of its arguments.
    pub(super) schema: Value,
    /// The server says that it changes nothing.
    #[serde(default)]
    pub(super) reads_only: bool,
    /// The server says that calling it twice does no more than once.
    #[serde(default)]
    pub(super) idempotent: bool,
    /// What the server says of whether it destroys anything, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) destroys: Option<bool>,
    /// What a call of it is.
    #[serde(default, skip_serializing_if = "ToolKind::is_tool")]
    pub(super) kind: ToolKind,
}

/// A tool cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ToolRejection {
    /// There is nothing to call it by.
    #[error("its name needs 1 to {NAME_CHARS_MAX} characters")]
    Nameless,
    /// Its arguments' schema is not an object.
    #[error("the schema of its arguments is not a JSON schema")]
    Schemaless,
    /// Its arguments' schema is too large.
    #[error("the schema of its arguments has {0} bytes, which is more than {SCHEMA_BYTES_MAX}")]
    Large(usize),
    /// Its arguments' schema is none that arguments could be checked by.
    #[error("the schema of its arguments is not valid: {0}")]
    Invalid(String),
}

impl ListedTool {
    /// What stands in a server's list.
    ///
    /// # Errors
    /// When it cannot be offered, and why.
    pub(super) fn read(tool: &Value) -> Result<Self, ToolRejection> {
        let name = tool["name"].as_str().filter(|name| (1..=NAME_CHARS_MAX).contains(&name.chars().count()));
        let name = name.ok_or(ToolRejection::Nameless)?.to_owned();
        let mut schema = tool["inputSchema"].as_object().ok_or(ToolRejection::Schemaless)?.clone();
        schema.entry("type").or_insert_with(|| "object".into());
        clean(&mut schema);
        let schema = Value::Object(schema);
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES_MAX {
            return Err(ToolRejection::Large(bytes));
        }
        if schema["type"] != "object" {
            return Err(ToolRejection::Schemaless);
        }
        if let Err(error) = validator(&schema) {
            return Err(ToolRejection::Invalid(plain(&error.to_string(), ARGUMENT_CHARS_MAX)));
        }
        let words = [&tool["description"], &tool["title"], &tool["annotations"]["title"]];
        let described = words.into_iter().find_map(|words| words.as_str().filter(|words| !words.trim().is_empty()));
        let hint = |hint: &str| tool["annotations"][hint] == true;
        Ok(Self {
            description: plain(described.unwrap_or(&name), DESCRIPTION_CHARS_MAX),
            name,
            schema,
            reads_only: hint("readOnlyHint"),
            idempotent: hint("idempotentHint"),
            destroys: tool["annotations"]["destructiveHint"].as_bool(),
            kind: ToolKind::Tool,
        })
    }

    /// The two by which what a server has to read is looked at. They are Hob's own: no server describes them.
    pub(super) fn of_resources() -> [Self; 2] {
        let look = |kind, name: &str, description: &str, schema: Value| Self {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            reads_only: true,
            idempotent: true,
            destroys: None,
            kind,
        };
        let uri = "Its address, as list_resources tells it, or made by a pattern of its.";
        [
            look(
                ToolKind::ListResources,
                "list_resources",
                "Lists what this server has to read: addresses, and patterns of addresses.",
                json!({ "type": "object", "properties": {} }),
            ),
            look(
                ToolKind::ReadResource,
                "read_resource",
                "Reads one of the things that list_resources tells of.",
                json!({ "type": "object", "properties": { "uri": { "type": "string", "description": uri } }, "required": ["uri"] }),
            ),
        ]
    }
}

/// Cleans what a schema says in words, at every depth.
fn clean(schema: &mut Map<String, Value>) {
    for word in ["$schema", "$id"] {
        schema.remove(word);
    }
    for (word, value) in schema {
        match value {
            Value::String(text) if matches!(word.as_str(), "description" | "title" | "$comment") => {
                *text = plain(text, ARGUMENT_CHARS_MAX);
            }
            _ => clean_value(value),
        }
    }
}

fn clean_value(value: &mut Value) {
    match value {
        Value::Object(words) => clean(words),
        Value::Array(all) => all.iter_mut().for_each(clean_value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A stranger's words as a person would see them, and no more of them than that.
pub(super) fn plain(text: &str, chars_max: usize) -> String {
    let seen = text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c)));
    let mut kept: String = seen.clone().take(chars_max).collect();
    if seen.count() > chars_max {
        kept.push('…');
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n6_descriptions_hide_nothing_and_have_an_end() {
        let tag: String = "ignore".chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect();
        let described = format!("Adds.{tag}\u{202e}\u{200b}\u{7}\nTwo\tlines. {}", "x".repeat(3_000));
        let tool = json!({
            "name": "sum",
            "description": described,
            "inputSchema": {
                "$schema": "x",
                "properties": {
                    "a": { "type": "number", "description": format!("\u{feff}One.{}", "y".repeat(900)) },
                    "description": { "type": "string", "enum": ["a\u{200b}b"] },
                },
            },
        });
        let listed = ListedTool::read(&tool).unwrap();
        assert!(listed.description.starts_with("Adds.\nTwo\tlines. xxx"), "{}", listed.description);
        assert_eq!(listed.description.chars().count(), DESCRIPTION_CHARS_MAX + 1);
        assert_eq!(listed.schema["type"], "object");
        assert_eq!(listed.schema.get("$schema"), None);
        let argument = listed.schema["properties"]["a"]["description"].as_str().unwrap();
        assert!(argument.starts_with("One.yyy") && argument.chars().count() == ARGUMENT_CHARS_MAX + 1);
        assert_eq!(listed.schema["properties"]["description"]["enum"][0], "a\u{200b}b", "a value is what it is");
    }

    #[test]
    fn what_cannot_be_offered_says_why() {
        let of = |tool: Value| ListedTool::read(&tool).unwrap_err();
        let object = || json!({ "type": "object" });
        assert_eq!(of(json!(3)), ToolRejection::Nameless);
        assert_eq!(of(json!({ "name": "", "inputSchema": object() })), ToolRejection::Nameless);
        assert_eq!(of(json!({ "name": "n".repeat(257), "inputSchema": object() })), ToolRejection::Nameless);
        assert_eq!(of(json!({ "name": "a" })), ToolRejection::Schemaless);
        assert_eq!(of(json!({ "name": "a", "inputSchema": "x" })), ToolRejection::Schemaless);
        assert_eq!(of(json!({ "name": "a", "inputSchema": { "type": "array" } })), ToolRejection::Schemaless);
        let large = json!({ "type": "object", "properties": { "a": { "enum": ["x".repeat(30_000)] } } });
        assert!(matches!(of(json!({ "name": "a", "inputSchema": large })), ToolRejection::Large(30_000..)));
        let broken = json!({ "type": "object", "properties": { "a": { "pattern": "(" } } });
        assert!(matches!(of(json!({ "name": "a", "inputSchema": broken })), ToolRejection::Invalid(_)));
        let far = json!({ "type": "object", "properties": { "a": { "$ref": "file:///etc/passwd" } } });
        assert!(matches!(of(json!({ "name": "a", "inputSchema": far })), ToolRejection::Invalid(_)));
    }

    #[test]
    fn a_title_describes_where_nothing_else_does() {
        let of = |tool: Value| ListedTool::read(&tool).unwrap().description;
        assert_eq!(of(json!({ "name": "a", "inputSchema": {}, "description": " ", "title": "An a" })), "An a");
        assert_eq!(of(json!({ "name": "a", "inputSchema": {} })), "a");
    }
}
