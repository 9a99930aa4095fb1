//! What of a config and its environment must never be seen: by the marks that its types carry, not by a list.

use schemars::generate::SchemaSettings;
use serde_json::Value as Json;
use url::{Url, form_urlencoded};

use crate::Config;
use crate::document::{DocumentNode, DocumentTable, DocumentValue};
use crate::environment::Environment;
use hob_core::domain::secret::{MARK, Secret};

/// Environment variables with names that end so hold secrets.
const NAMES: [&str; 8] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_CREDENTIALS", "_PAT"];
/// The shortest value of such a variable that is taken for a secret, in characters.
const VALUE_CHARS_MIN: usize = 8;

/// The secrets of a document whose references are resolved.
pub(super) fn in_document(table: &DocumentTable, schema: &Json) -> Vec<Secret> {
    let mut found = Vec::new();
    collect(schema, table, &mut found);
    found
}

/// The secrets of the environment itself.
pub fn of_environment(env: &Environment) -> Vec<Secret> {
    let secret = |(name, value): (&str, &str)| {
        let named = NAMES.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
        // A path to a key is none.
        let looks_so = value.chars().count() >= VALUE_CHARS_MIN && !value.starts_with(['/', '~', '.']);
        (named && looks_so).then(|| Secret::new(value.to_owned()))
    };
    env.texts().filter_map(secret).collect()
}

/// The config's schema, in which secrets are marked.
pub(super) fn schema() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}

/// Is what stands there a secret?
pub(super) fn is_secret(schema: &Json) -> bool {
    schema[MARK] == true || alternatives(schema).any(is_secret)
}

/// Is it a secret, or can one stand somewhere in it?
pub(super) fn holds_secret(schema: &Json) -> bool {
    match schema {
        Json::Object(words) => schema[MARK] == true || words.values().any(holds_secret),
        Json::Array(all) => all.iter().any(holds_secret),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// Is one of its own members a secret?
pub(super) fn has_own(schema: &Json) -> bool {
    let own = schema["properties"].as_object().is_some_and(|members| members.values().any(is_secret));
    own || alternatives(schema).any(has_own)
}

/// A place in a config, for whoever shows what stands there: what the types say of it. What they do not know may be anything,
/// such as a key under a mistyped name, and so may everything below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaPosition<'a>(Option<&'a Json>);

impl<'a> SchemaPosition<'a> {
    /// Of the whole config.
    pub(super) fn of(schema: &'a Json) -> Self {
        Self(Some(schema))
    }

    /// Of a key of what stands there.
    pub(super) fn key(self, key: &str) -> Self {
        Self(self.0.and_then(|schema| inner(schema, key)))
    }

    /// Of an item of what stands there.
    pub(super) fn item(self) -> Self {
        Self(self.0.and_then(items))
    }

    /// Must a single value that stands there not be seen? Where a section with a secret in it belongs, it may be that secret.
    pub(super) fn is_hidden(self) -> bool {
        self.0.is_none_or(holds_secret)
    }
}

/// The schema of a key in a table of this schema.
pub(super) fn inner<'a>(schema: &'a Json, key: &str) -> Option<&'a Json> {
    let own =
        schema["properties"].get(key).or_else(|| Some(&schema["additionalProperties"]).filter(|any| any.is_object()));
    own.or_else(|| alternatives(schema).find_map(|any| inner(any, key)))
}

/// The schema of the items of a list of this schema.
pub(super) fn items(schema: &Json) -> Option<&Json> {
    schema.get("items").or_else(|| alternatives(schema).find_map(items))
}

/// Those of a URL, as they stand in it and as they are: each may be seen without the rest.
fn passwords_in(text: &str) -> Vec<String> {
    let Ok(url) = Url::parse(text) else { return Vec::new() };
    let written = url.password().unwrap_or_default();
    let plain = format!("password={}", written.replace('+', "%2B").replace('&', "%26"));
    let plain = form_urlencoded::parse(plain.as_bytes());
    let all = plain.chain(url.query_pairs()).filter(|(key, _)| key == "password").map(|(_, value)| value.into_owned());
    all.chain([written.to_owned()]).filter(|password| !password.is_empty()).collect()
}

fn alternatives(schema: &Json) -> impl Iterator<Item = &Json> {
    ["anyOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten()
}

fn collect(schema: &Json, table: &DocumentTable, found: &mut Vec<Secret>) {
    for (key, (_, node)) in table {
        if let Some(schema) = inner(schema, key) {
            collect_node(schema, node, found);
        }
    }
}

fn collect_node(schema: &Json, node: &DocumentNode, found: &mut Vec<Secret>) {
    match &node.value {
        DocumentValue::Text(text) if is_secret(schema) => {
            found.extend(passwords_in(text).into_iter().map(Secret::new));
            found.push(Secret::new(text.clone()));
        }
        DocumentValue::Table(table) => collect(schema, table, found),
        DocumentValue::List(list) => {
            let Some(schema) = items(schema) else { return };
            list.iter().for_each(|node| collect_node(schema, node, found));
        }
        DocumentValue::Text(_)
        | DocumentValue::Integer(_)
        | DocumentValue::Float(_)
        | DocumentValue::Bool(_)
        | DocumentValue::Date
        | DocumentValue::Broken => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::load::load_text;

    #[test]
    fn every_secret_of_a_config_is_found_by_its_type() {
        let text = r#"
            [provider]
            kind = "openai"
            api_key = "${OPENAI}"
            [[provider.fallbacks]]
            kind = "anthropic"
            model = "x"
            api_key = "second-key"
            [telegram]
            bot_token = "12:AAA"
            [agent]
            system_prompt = "no secret"
            [state]
            url = "postgres://hob:a%2Fb+c@db/hob"
        "#;
        let env = [
            ("OPENAI", "first-key"),
            ("HOME", "/home/me/my_key"),
            ("GEMINI_API_KEY", "third-key"),
            ("SSH_KEY", "/home/me/.ssh/id"),
            ("SHORT_KEY", "yes"),
        ];
        let env = Environment::of("/w", env);
        let found = load_text(Path::new("/w/config.toml"), text, &env).unwrap().secrets(&env);
        let mut found: Vec<&str> = found.iter().map(Secret::expose).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            ["12:AAA", "a%2Fb+c", "a/b+c", "first-key", "postgres://hob:a%2Fb+c@db/hob", "second-key", "third-key"]
        );
    }
}
