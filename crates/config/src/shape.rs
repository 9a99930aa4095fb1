//! The form of a config, read off the JSON schema of its types: names, docs, defaults, limits, examples.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value as Json;

use crate::secrets;

/// The longest text of any key that sets no limit of its own, in characters.
const TEXT_CHARS_MAX: usize = 4000;

/// The most items of any list that sets no limit of its own.
const ITEMS_MAX: usize = 1000;

/// What may stand somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ValueShape {
    /// Text of so many characters.
    Text {
        min: usize,
        max: usize,
    },
    /// One of a few words, each with what it means.
    Choice(Vec<(String, String)>),
    /// A whole number within limits.
    Integer {
        min: i64,
        max: i64,
    },
    /// A number within limits, with a point or without.
    Number {
        min: f64,
        max: f64,
    },
    /// True or false.
    Bool,
    List {
        item: Box<Self>,
        min: usize,
        max: usize,
    },
    /// A table whose keys the user names; `name` is an example.
    Map {
        item: Box<Self>,
        name: String,
    },
    /// A table with known keys, in the order of the type.
    Section(Vec<KeyShape>),
}

/// A known key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeyShape {
    pub(super) name: String,
    pub(super) doc: String,
    /// The section is nothing without it.
    pub(super) required: bool,
    /// It may be absent and then has no value.
    pub(super) optional: bool,
    pub(super) default: Option<Json>,
    pub(super) example: Option<Json>,
    /// Its texts are secrets.
    pub(super) secret: bool,
    pub(super) shape: ValueShape,
}

impl KeyShape {
    /// A value that shows how it is written.
    pub(super) fn sample(&self) -> Option<&Json> {
        self.example.as_ref().or(self.default.as_ref())
    }
}

/// The keys of the section `T`.
pub(super) fn of<T: JsonSchema>() -> Vec<KeyShape> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    fields(settings.into_generator().into_root_schema_for::<T>().as_value())
}

/// Those of the section of this schema.
pub(super) fn fields(section: &Json) -> Vec<KeyShape> {
    let names = |key: &str| section[key].as_array().into_iter().flatten().filter_map(Json::as_str);
    let field = |name: &str| {
        let schema = &section["properties"][name];
        let inner = not_null(schema);
        let default = schema.get("default").filter(|default| !default.is_null()).cloned();
        let shape = shape(inner);
        let secret = !is_sections(&shape) && secrets::holds_secret(schema);
        KeyShape {
            name: name.to_owned(),
            doc: schema["description"].as_str().unwrap_or_default().to_owned(),
            required: names("required").any(|required| required == name),
            optional: allows_null(schema),
            default,
            example: schema["examples"].get(0).cloned(),
            secret,
            shape,
        }
    };
    names(ORDER).map(field).collect()
}

/// Whether it is a section, or several: those hold secrets, and are none.
fn is_sections(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::Section(_) => true,
        ValueShape::List { item, .. } | ValueShape::Map { item, .. } => is_sections(item),
        ValueShape::Text { .. }
        | ValueShape::Choice(_)
        | ValueShape::Integer { .. }
        | ValueShape::Number { .. }
        | ValueShape::Bool => false,
    }
}

fn allows_null(schema: &Json) -> bool {
    let nullable = |schema: &Json| is_type(schema, "null");
    nullable(schema) || schema["anyOf"].as_array().into_iter().flatten().any(nullable)
}

/// The schema of what an option holds.
fn not_null(schema: &Json) -> &Json {
    let some = |any: &'_ Json| !is_type(any, "null");
    schema["anyOf"].as_array().and_then(|any| any.iter().find(|any| some(any))).unwrap_or(schema)
}

fn is_type(schema: &Json, name: &str) -> bool {
    match &schema["type"] {
        Json::String(one) => one == name,
        Json::Array(several) => several.iter().any(|one| one == name),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => false,
    }
}

fn shape(schema: &Json) -> ValueShape {
    let size = |key: &str, or: usize| schema[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(or);
    let choices = choices(schema);
    if !choices.is_empty() {
        ValueShape::Choice(choices)
    } else if is_type(schema, "string") {
        ValueShape::Text { min: size("minLength", 0), max: size("maxLength", TEXT_CHARS_MAX) }
    } else if is_type(schema, "integer") {
        let limit = |key: &str, or| schema[key].as_i64().unwrap_or(or);
        ValueShape::Integer { min: limit("minimum", i64::MIN), max: limit("maximum", i64::MAX) }
    } else if is_type(schema, "number") {
        let limit = |key: &str, or| schema[key].as_f64().unwrap_or(or);
        ValueShape::Number { min: limit("minimum", f64::MIN), max: limit("maximum", f64::MAX) }
    } else if is_type(schema, "boolean") {
        ValueShape::Bool
    } else if is_type(schema, "array") {
        let item = Box::new(shape(&schema["items"]));
        ValueShape::List { item, min: size("minItems", 0), max: size("maxItems", ITEMS_MAX) }
    } else if schema.get(ORDER).is_some() {
        ValueShape::Section(fields(schema))
    } else if schema["additionalProperties"].is_object() {
        let name = schema["x-name"].as_str().unwrap_or("name").to_owned();
        ValueShape::Map { item: Box::new(shape(&schema["additionalProperties"])), name }
    } else {
        unreachable!("the config's types use a form that `shape` has no word for: {schema}")
    }
}

/// The words of an enum, with the docs of its variants.
fn choices(schema: &Json) -> Vec<(String, String)> {
    let documented = schema["oneOf"].as_array().into_iter().flatten().map(|one| (&one["const"], &one["description"]));
    let plain = schema["enum"].as_array().into_iter().flatten().map(|one| (one, &Json::Null));
    let word = |(word, doc): (&Json, &Json)| {
        word.as_str().map(|word| (word.to_owned(), doc.as_str().unwrap_or_default().to_owned()))
    };
    documented.chain(plain).filter_map(word).collect()
}

/// Where the schema keeps the order of a type's fields: JSON objects are sorted.
const ORDER: &str = "x-order";

/// Notes the order of `T`'s fields in its schema: `#[schemars(transform = in_order::<T>)]` on every section.
pub(super) fn in_order<T: for<'de> Deserialize<'de>>(schema: &mut Schema) {
    let mut names: &[&str] = &[];
    if T::deserialize(FieldNames(&mut names)).is_err() {
        schema.insert(ORDER.to_owned(), names.into());
    }
}

/// A deserializer that has nothing to give, but hears which fields a type asks for.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("there is nothing here"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn walk(at: &str, fields: &[KeyShape], visit: &mut impl FnMut(&str, &KeyShape)) {
        assert!(!fields.is_empty(), "{at}: a section needs `#[schemars(transform = shape::in_order::<…>)]`");
        for field in fields {
            visit(&format!("{at}.{}", field.name), field);
            let inner = match &field.shape {
                ValueShape::List { item, .. } | ValueShape::Map { item, .. } => item,
                other => other,
            };
            if let ValueShape::Section(inner) = inner {
                walk(&format!("{at}.{}", field.name), inner, visit);
            }
        }
    }

    #[test]
    fn every_key_has_docs_limits_and_a_value_to_show() {
        walk("", &of::<Config>(), &mut |at, field| {
            assert!(!field.doc.is_empty(), "{at} has no docs");
            match &field.shape {
                ValueShape::Integer { min, max } => {
                    assert!(*min > i64::MIN && *max < i64::MAX, "{at} needs `range(min, max)`");
                    assert!(field.sample().is_some(), "{at} has no default or example");
                }
                ValueShape::Number { min, max } => {
                    assert!(*min > f64::MIN && *max < f64::MAX, "{at} needs `range(min, max)`");
                    assert!(field.sample().is_some(), "{at} has no default or example");
                }
                ValueShape::Text { .. } | ValueShape::Choice(_) | ValueShape::Bool => {
                    assert!(field.sample().is_some(), "{at} has no default or example");
                }
                ValueShape::List { .. } | ValueShape::Map { .. } | ValueShape::Section(_) => {}
            }
            if field.required {
                assert!(field.sample().is_some(), "{at} is required and needs an example");
            }
        });
    }

    #[test]
    fn fields_keep_the_order_of_their_type() {
        let names: Vec<String> = of::<Config>().into_iter().map(|field| field.name).collect();
        assert_eq!(
            names,
            [
                "provider",
                "models",
                "aliases",
                "transcription",
                "speech",
                "budget",
                "quotas",
                "telegram",
                "telegram_accounts",
                "slack",
                "slack_accounts",
                "discord",
                "discord_accounts",
                "matrix",
                "matrix_accounts",
                "email",
                "email_accounts",
                "people",
                "groups",
                "destinations",
                "personas",
                "agent",
                "context",
                "memory",
                "guards",
                "heartbeat",
                "schedule",
                "server",
                "webhooks",
                "workspace",
                "terminal",
                "web",
                "http",
                "dav",
                "mail",
                "home_assistant",
                "skills",
                "tools",
                "mcp",
                "cli_agents",
                "approvals",
                "hooks",
                "state",
                "backup",
                "upkeep",
                "delivery",
                "daemon",
                "telemetry",
            ]
        );
    }
}
