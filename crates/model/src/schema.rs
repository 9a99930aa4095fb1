//! A tool's JSON Schema in the words that every dialect's server reads, each definition in its place.
//!
//! Gemini's `parametersJsonSchema` documents a part of JSON Schema, in which nothing may stand beside a `$ref` (the
//! older `parameters` refuses a whole request for one unknown word). Ollama reads less still, and what hides behind a
//! `$ref` reaches no model. Never: I/O, or a root that is not an object.
//! Start at [`cleaned`].

use serde_json::{Map, Value, json};

/// The words that are documented and stay as they are.
const KEPT: &[&str] =
    &["type", "format", "title", "description", "enum", "required", "minItems", "maxItems", "minimum", "maximum"];
/// The words that hold one schema.
const SCHEMA: &[&str] = &["items", "additionalProperties"];
/// The words that hold a list of schemas.
const SCHEMAS: &[&str] = &["anyOf", "oneOf", "prefixItems"];
/// How many definitions are put in place: those that name each other could grow without end.
const DEFINITIONS_MAX: usize = 256;

/// The schema with an object at its root and every definition in its place, without the words that nobody reads.
pub(crate) fn cleaned(schema: &Value) -> Value {
    let mut cleaner = SchemaInliner { root: schema, open: Vec::new(), placed: 0 };
    let mut clean = cleaner.clean(schema);
    clean.insert("type".to_owned(), json!("object"));
    Value::Object(clean)
}

struct SchemaInliner<'a> {
    root: &'a Value,
    /// The definitions that are being put in place.
    open: Vec<&'a str>,
    placed: usize,
}

impl<'a> SchemaInliner<'a> {
    /// One schema; `true` and what else is not an object allows anything.
    fn clean(&mut self, schema: &'a Value) -> Map<String, Value> {
        let Value::Object(words) = schema else { return Map::new() };
        let mut clean = match words.get("$ref").and_then(Value::as_str) {
            Some(name) => self.definition(name),
            None => Map::new(),
        };
        // One schema under `allOf` is how a definition gets a description.
        for part in words.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            clean.extend(self.clean(part));
        }
        for (word, value) in words {
            if let Some(value) = self.word(word, value) {
                clean.insert(word.clone(), value);
            }
        }
        if let Some(only) = words.get("const") {
            clean.insert("enum".to_owned(), json!([only]));
        }
        clean
    }

    /// What stands under a word; none if the word has no place.
    fn word(&mut self, word: &str, value: &'a Value) -> Option<Value> {
        match value {
            Value::Object(properties) if word == "properties" => {
                let clean = properties.iter().map(|(name, schema)| (name.clone(), Value::Object(self.clean(schema))));
                Some(Value::Object(clean.collect()))
            }
            Value::Array(schemas) if SCHEMAS.contains(&word) => {
                Some(schemas.iter().map(|schema| Value::Object(self.clean(schema))).collect())
            }
            Value::Bool(_) if word == "additionalProperties" => Some(value.clone()),
            _ if SCHEMA.contains(&word) => Some(Value::Object(self.clean(value))),
            _ if KEPT.contains(&word) => Some(value.clone()),
            _ => None,
        }
    }

    /// The definition behind a `$ref`; one that contains itself ends in anything.
    fn definition(&mut self, name: &'a str) -> Map<String, Value> {
        let definition = name.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(definition) = definition.filter(|_| !self.open.contains(&name) && self.placed < DEFINITIONS_MAX)
        else {
            return Map::new();
        };
        self.placed += 1;
        self.open.push(name);
        let clean = self.clean(definition);
        self.open.pop();
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let with = |property: Value| json!({"type": "object", "properties": {"p": property}});
        let cases = [
            ("nothing", json!({}), json!({"type": "object"})),
            ("no object", json!(true), json!({"type": "object"})),
            (
                "words of the draft",
                json!({"$schema": "x", "$id": "y", "$comment": "z", "type": "object", "additionalProperties": false}),
                json!({"type": "object", "additionalProperties": false}),
            ),
            ("const", with(json!({"const": "a", "type": "string"})), with(json!({"enum": ["a"], "type": "string"}))),
            (
                "limits",
                with(json!({"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "format": "uint8"})),
                with(json!({"type": "integer", "minimum": 1, "format": "uint8"})),
            ),
            ("kinds", with(json!({"type": ["string", "null"]})), with(json!({"type": ["string", "null"]}))),
            (
                "either",
                with(json!({"oneOf": [{"const": 1}, {"type": "string", "pattern": "^a"}]})),
                with(json!({"oneOf": [{"enum": [1]}, {"type": "string"}]})),
            ),
            (
                "a property called like a word",
                json!({"properties": {"const": {"type": "string"}, "$ref": {"type": "string"}}}),
                json!({"type": "object", "properties": {"const": {"type": "string"}, "$ref": {"type": "string"}}}),
            ),
            (
                "definitions",
                json!({
                    "properties": {
                        "a": {"$ref": "#/$defs/A"},
                        "b": {"allOf": [{"$ref": "#/$defs/A"}], "description": "B."},
                        "c": {"type": "array", "items": {"$ref": "#/$defs/none"}},
                    },
                    "$defs": {"A": {"type": "string", "description": "A."}},
                }),
                json!({
                    "type": "object",
                    "properties": {
                        "a": {"type": "string", "description": "A."},
                        "b": {"type": "string", "description": "B."},
                        "c": {"type": "array", "items": {}},
                    },
                }),
            ),
            (
                "a definition within itself",
                json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"next": {"$ref": "#/$defs/A"}}}}}),
                json!({"type": "object", "properties": {"next": {}}}),
            ),
        ];
        for (name, schema, clean) in cases {
            assert_eq!(cleaned(&schema), clean, "{name}");
            assert_eq!(cleaned(&clean), clean, "{name}, again");
        }
    }

    #[test]
    fn definitions_that_grow_without_end_are_cut() {
        let twice = |next: u32| {
            let next = json!({"$ref": format!("#/$defs/{next}")});
            json!({"properties": {"a": next, "b": next}})
        };
        let definitions: Map<_, _> = (0..40).map(|at| (at.to_string(), twice(at + 1))).collect();
        let clean = cleaned(&json!({"$ref": "#/$defs/0", "$defs": definitions}));
        assert!(clean.to_string().len() < 100_000);
    }
}
