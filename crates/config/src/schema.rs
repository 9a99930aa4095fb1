//! The JSON schema of a config file, for editors (row N7): what the types say, and what may stand for a text besides.

use serde_json::{Map, Value as Json, json};

use crate::{key_destinations, secrets};
use hob_core::domain::secret::MARK;

/// Marks of Hob's own, and what TOML has no word for.
const STRANGE: [&str; 5] = [MARK, key_destinations::MARK, "x-order", "x-name", "format"];
/// What restricts a text.
const LIMITS: [&str; 5] = ["minLength", "maxLength", "enum", "oneOf", "pattern"];
/// A text with a variable in it.
const VARIABLE: &str = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}";
/// A secret that stands elsewhere.
const REFERENCE: &str = "^(file|cred|keychain):.+";

/// The schema, as JSON in the draft of 2020-12.
pub fn schema() -> String {
    let mut schema = plain(secrets::schema());
    schema["title"] = "Hob's config.toml".into();
    format!("{schema:#}\n")
}

/// The same without what editors do not know, and with what may stand for a text.
fn plain(schema: Json) -> Json {
    let Json::Object(mut words) = merged(schema) else { return Json::Bool(true) };
    let is_secret = words.get(MARK).is_some_and(|mark| mark == true);
    STRANGE.iter().for_each(|word| drop(words.remove(*word)));
    if words.get("default").is_some_and(Json::is_null) {
        words.remove("default");
    }
    if let Some(Json::Object(properties)) = words.get_mut("properties") {
        properties.values_mut().for_each(|inner| *inner = plain(inner.take()));
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = words.get_mut(word).filter(|inner| inner.is_object()) {
            *inner = plain(inner.take());
        }
    }
    if is_text(&words) { Json::Object(text(words, is_secret)) } else { Json::Object(words) }
}

/// An option as what it holds: what is not set is left out in TOML.
fn merged(schema: Json) -> Json {
    let Json::Object(mut words) = schema else { return schema };
    if let Some(Json::Array(types)) = words.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            words.insert("type".to_owned(), one);
        }
    }
    if let Some(Json::Array(any)) = words.remove("anyOf") {
        let some = any.into_iter().find(|any| any["type"] != "null");
        if let Some(Json::Object(some)) = some.map(merged) {
            // What is said of the key goes before what is said of its type.
            for (word, value) in some {
                words.entry(word).or_insert(value);
            }
        }
    }
    Json::Object(words)
}

fn is_text(words: &Map<String, Json>) -> bool {
    words.get("type").is_some_and(|one| one == "string") || words.contains_key("oneOf") || words.contains_key("enum")
}

/// A text within its limits, or one whose value is known only when Hob starts.
fn text(mut words: Map<String, Json>, is_secret: bool) -> Map<String, Json> {
    let mut limits: Map<String, Json> = Map::new();
    for word in LIMITS {
        if let Some(limit) = words.remove(word) {
            limits.insert(word.to_owned(), limit);
        }
    }
    words.insert("type".to_owned(), "string".into());
    if limits.is_empty() {
        return words;
    }
    let mut any = vec![Json::Object(limits), json!({ "pattern": VARIABLE })];
    if is_secret {
        any.push(json!({ "pattern": REFERENCE }));
    }
    words.insert("anyOf".to_owned(), Json::Array(any));
    words
}
