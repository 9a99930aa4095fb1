//! What tools say of the structured part of their answers (`outputSchema`), and whether an answer is so.
//!
//! It is no part of what a tool is known by: no model reads it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jsonschema::Validator;
use serde_json::Value;

use crate::mcp::answer::ToolAnswer;
use crate::mcp::listed::plain;
use crate::schema_check::validator;

/// The largest schema, in bytes.
const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// The most characters of what is wrong with an answer.
const WRONG_CHARS_MAX: usize = 200;

/// The tools that say so, by the server's own names.
#[derive(Default)]
pub(super) struct OutputSchemas(Mutex<BTreeMap<String, Validator>>);

impl OutputSchemas {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Validator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is what stands in this list. What is no schema is not looked at.
    pub(super) fn learn(&self, list: &[Value]) {
        let read = |tool: &Value| {
            let schema = tool.get("outputSchema").filter(|schema| schema.to_string().len() <= SCHEMA_BYTES_MAX)?;
            Some((tool["name"].as_str()?.to_owned(), validator(schema).ok()?))
        };
        *self.known() = list.iter().filter_map(read).collect();
    }

    /// The answer of a tool. Where it is not what the tool says, a word of Hob's says so, and nothing is done by it.
    pub(super) fn checked(&self, tool: &str, answer: ToolAnswer) -> ToolAnswer {
        let known = self.known();
        let Some(fits) = known.get(tool).filter(|_| !answer.failed) else { return answer };
        let wrong = match &answer.structured {
            None => "there is none".to_owned(),
            Some(structured) => match fits.validate(structured) {
                Ok(()) => return answer,
                Err(error) => plain(&error.masked().to_string(), WRONG_CHARS_MAX),
            },
        };
        let text = format!(
            "{}\n\n[Hob: this answer has not the structured part that its tool promises: {wrong}.]",
            answer.text
        );
        ToolAnswer { text, structured: None, ..answer }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_held_against_what_its_tool_says() {
        let outputs = OutputSchemas::default();
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let far = json!({ "$ref": "file:///etc/passwd" });
        outputs.learn(&[
            json!({ "name": "count", "outputSchema": schema }),
            json!({ "name": "odd", "outputSchema": { "type": 7 } }),
            json!({ "name": "far", "outputSchema": far }),
            json!({ "name": "plain" }),
        ]);
        let answer = |structured: Option<Value>| ToolAnswer {
            text: "Counted.".to_owned(),
            failed: false,
            files: Vec::new(),
            structured,
        };
        let checked = |tool: &str, structured: Option<Value>| outputs.checked(tool, answer(structured));
        for tool in ["count", "odd", "far", "plain", "new"] {
            let fits = Some(json!({ "n": 3 }));
            assert_eq!(checked(tool, fits.clone()), answer(fits), "{tool}");
        }
        let wrong = checked("count", Some(json!({ "n": "three" })));
        assert_eq!(wrong.structured, None);
        insta::assert_snapshot!(wrong.text, @r#"
        Counted.

        [Hob: this answer has not the structured part that its tool promises: value is not of type "integer".]
        "#);
        insta::assert_snapshot!(checked("count", None).text, @"
        Counted.

        [Hob: this answer has not the structured part that its tool promises: there is none.]
        ");
        let failed = ToolAnswer { failed: true, ..answer(None) };
        assert_eq!(outputs.checked("count", failed.clone()), failed, "a failure promises nothing");
    }
}
