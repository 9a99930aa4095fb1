//! Checks by JSON schemas, which strangers may have written: held against a value, such a schema costs what it is long.
//!
//! Never: a reference that is followed while a value is looked at. A few lines of them may mean a billion, or have no end.
//! Start at [`validator`].

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

/// The most that a schema says once its references are followed.
const NODES_MAX: usize = 20_000;
/// How deep that may be; what would stand deeper, or within itself, may be anything.
const DEPTH_MAX: usize = 100;
/// So often a pattern may be tried in another way; then it does not fit.
const BACKTRACKS_MAX: usize = 10_000;

/// Nothing can be checked by a schema.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("it is too long once its references are followed")]
    TooLong,
    #[error(transparent)]
    Invalid(Box<ValidationError<'static>>),
}

/// What checks values by a schema.
pub(crate) fn validator(schema: &Value) -> Result<Validator, SchemaError> {
    let mut unfolding = Unfolding { root: schema, open: Vec::new(), left: NODES_MAX };
    let whole = unfolding.schema(schema, 0).ok_or(SchemaError::TooLong)?;
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
    let built = jsonschema::options().with_pattern_options(patterns).build(&whole);
    built.map_err(|error| SchemaError::Invalid(Box::new(error)))
}

/// A schema in which each reference becomes what it stands for.
struct Unfolding<'a> {
    root: &'a Value,
    /// The references that are being followed.
    open: Vec<&'a str>,
    left: usize,
}

impl<'a> Unfolding<'a> {
    /// None: it is too long.
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if depth >= DEPTH_MAX {
            return Some(Value::Bool(true));
        }
        match schema {
            Value::Object(words) => self.words(words, depth),
            Value::Array(all) => all.iter().map(|one| self.schema(one, depth + 1)).collect(),
            plain => Some(plain.clone()),
        }
    }

    fn words(&mut self, words: &'a Map<String, Value>, depth: usize) -> Option<Value> {
        let root = self.root;
        let reference = words.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| root.pointer(reference.strip_prefix('#')?));
        let mut said = Map::new();
        for (word, value) in words {
            let value = match (word.as_str(), value) {
                // They are there for the references.
                ("$defs" | "definitions", _) if depth == 0 => continue,
                ("$ref", _) if target.is_some() => continue,
                ("const" | "enum" | "default" | "examples", value) => value.clone(),
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                    let named = named.iter().map(|(name, value)| Some((name.clone(), self.schema(value, depth + 1)?)));
                    Value::Object(named.collect::<Option<_>>()?)
                }
                (_, value) => self.schema(value, depth + 1)?,
            };
            said.insert(word.clone(), value);
        }
        let (Some(reference), Some(target)) = (reference, target) else { return Some(Value::Object(said)) };
        if self.open.contains(&reference) {
            return Some(Value::Object(said));
        }
        self.open.push(reference);
        let meant = self.schema(target, depth + 1);
        self.open.pop();
        Some(if said.is_empty() { meant? } else { json!({ "allOf": [said, meant?] }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of so many levels says the next one twice.
    fn doubling(levels: usize) -> Value {
        let named = (0..levels).map(|level| {
            let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
            (level.to_string(), json!({ "allOf": [next, next] }))
        });
        let defs: Map<String, Value> = named.chain([(levels.to_string(), json!({ "type": "object" }))]).collect();
        json!({ "$defs": defs, "$ref": "#/$defs/0" })
    }

    #[test]
    fn references_are_followed_once_and_not_for_ever() {
        let fits = |schema: &Value, value: &Value| validator(schema).unwrap().is_valid(value);
        assert!(fits(&doubling(5), &json!({})) && !fits(&doubling(5), &json!(7)));
        assert!(matches!(validator(&doubling(40)), Err(SchemaError::TooLong)));
        // Without an end, and with one only where the value has its own.
        assert!(fits(&json!({ "$ref": "#" }), &json!(7)));
        let twice =
            json!({ "properties": { "a": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } }, "required": ["a"] });
        let deep = (0..60).fold(json!(7), |value, _| json!({ "a": value }));
        assert!(fits(&twice, &deep) && !fits(&twice, &json!({})) && !fits(&twice, &json!({ "a": {} })));
        // What only looks like a reference, and what leads elsewhere.
        let names = json!({ "properties": { "$ref": { "const": { "$ref": "#/x" } } } });
        assert!(fits(&names, &json!({ "$ref": { "$ref": "#/x" } })) && !fits(&names, &json!({ "$ref": 7 })));
        assert!(validator(&json!({ "$ref": "file:///etc/passwd" })).is_err());
        assert!(validator(&json!({ "$ref": "#/$defs/none" })).is_err() && validator(&json!({ "type": 7 })).is_err());
    }

    #[test]
    fn a_pattern_that_tries_for_ever_does_not_fit() {
        let checks = validator(&json!({ "pattern": "^(?=(a+)+b)(a*)*\\2c$" })).unwrap();
        assert!(!checks.is_valid(&json!("a".repeat(5_000))));
    }
}
