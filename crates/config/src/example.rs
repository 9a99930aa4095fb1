//! `config.example.toml`, written from the types: every key with its docs, its limits and its default or an example.

use serde_json::Value as Json;
use toml::Value as Toml;

use crate::shape::{KeyShape, ValueShape};
use crate::{Config, key_path, shape};

/// The first lines of the file.
const HEAD: &str = "\
# Hob's configuration: every key there is. Copy what you need to config.toml; what is left out has its default.
#
# Looked for at --config, $HOB_CONFIG, ./config.toml, ~/.config/hob/config.toml; `hob config check` says what is wrong.
# `${NAME}` in any text stands for that environment variable, `$${` for a plain `${`. A secret may also be `file:/path`,
# `cred:NAME` (systemd) or `keychain:NAME`: docs/secrets.md. All keys in tables: docs/config.md.
# Lines that begin with `#` and no space are settings that are off; their values are examples.
#
# Made from the types by `hob config example`: do not edit.
";

/// The text of `config.example.toml`.
pub fn example() -> String {
    let mut out = HEAD.to_owned();
    section(&mut out, "", &shape::of::<Config>(), false);
    out
}

/// A setting as it is written, with its default or an example, in backticks.
pub(super) fn setting(field: &KeyShape) -> String {
    field
        .sample()
        .and_then(toml)
        .map_or_else(|| format!("`{}`", field.name), |value| format!("`{} = {}`", field.name, inline(&value)))
}

/// The TOML value for a JSON one; `null` has none.
pub(super) fn toml(json: &Json) -> Option<Toml> {
    match json {
        Json::Bool(flag) => Some(Toml::Boolean(*flag)),
        Json::Number(number) => number.as_i64().map(Toml::Integer).or_else(|| number.as_f64().map(Toml::Float)),
        Json::String(text) => Some(Toml::String(text.clone())),
        Json::Array(items) => items.iter().map(toml).collect::<Option<_>>().map(Toml::Array),
        Json::Object(items) => {
            items.iter().map(|(key, value)| Some((key.clone(), toml(value)?))).collect::<Option<_>>().map(Toml::Table)
        }
        Json::Null => None,
    }
}

/// A value on one line.
pub(super) fn inline(value: &Toml) -> String {
    match value {
        Toml::Table(table) if table.is_empty() => "{}".to_owned(),
        Toml::Table(table) => {
            let items: Vec<String> =
                table.iter().map(|(key, value)| format!("{} = {}", key_path::key(key), inline(value))).collect();
            format!("{{ {} }}", items.join(", "))
        }
        Toml::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Writes the settings of a section, then the sections in it; `off` ones are commented out.
fn section(out: &mut String, at: &str, fields: &[KeyShape], off: bool) {
    let is_table = |field: &&KeyShape| inner(field).is_some() || (at.is_empty() && pairs(field).is_some());
    let (tables, settings): (Vec<&KeyShape>, Vec<&KeyShape>) = fields.iter().partition(is_table);
    for field in settings {
        meaning(out, field);
        let off = off || field.required || field.optional || field.default.is_none();
        line(out, off, setting(field).trim_matches('`'));
    }
    for field in tables {
        if let Some(pairs) = pairs(field) {
            out.push('\n');
            comment(out, &field.doc);
            line(out, true, &format!("[{}]", key_path::child(at, &field.name)));
            pairs
                .iter()
                .for_each(|(name, value)| line(out, true, &format!("{} = {}", key_path::key(name), inline(value))));
            continue;
        }
        let Some((header, fields, named)) = inner(field) else { continue };
        let path = key_path::child(at, &field.name);
        let header = header.replace("{}", &path);
        let off = off || field.optional || named;
        out.push('\n');
        comment(out, &field.doc);
        line(out, off, &header);
        let path = header.trim_matches(['[', ']']);
        section(out, path, fields, off);
    }
}

/// The example of a table of texts: at the top of the file it is a section, as nothing may follow it there.
fn pairs(field: &KeyShape) -> Option<toml::Table> {
    match (&field.shape, field.sample().and_then(toml)) {
        (ValueShape::Map { .. }, Some(Toml::Table(table))) => Some(table),
        _ => None,
    }
}

/// The header and the keys of a field that is a section, or several; and whether there are none of them by default.
fn inner(field: &KeyShape) -> Option<(String, &[KeyShape], bool)> {
    match &field.shape {
        ValueShape::Section(fields) => Some(("[{}]".to_owned(), fields, false)),
        ValueShape::List { item, .. } => match &**item {
            // One that is shown whole is written on one line.
            ValueShape::Section(fields) if field.example.is_none() => Some(("[[{}]]".to_owned(), fields, true)),
            _ => None,
        },
        ValueShape::Map { item, name } => match &**item {
            ValueShape::Section(fields) => Some((format!("[{{}}.{}]", key_path::key(name)), fields, true)),
            _ => None,
        },
        ValueShape::Text { .. }
        | ValueShape::Choice(_)
        | ValueShape::Integer { .. }
        | ValueShape::Number { .. }
        | ValueShape::Bool => None,
    }
}

/// Writes what a key is for, and what its docs cannot say: its limits and words.
fn meaning(out: &mut String, field: &KeyShape) {
    let KeyShape { doc, shape, .. } = field;
    match shape {
        ValueShape::Integer { min, max } => comment(out, &format!("{doc} From {min} to {max}.")),
        ValueShape::Number { min, max } => comment(out, &format!("{doc} From {min} to {max}.")),
        ValueShape::Choice(words) => {
            comment(out, doc);
            for (word, doc) in words {
                comment(out, &format!("  {word}: {doc}"));
            }
        }
        _ => comment(out, doc),
    }
}

fn comment(out: &mut String, text: &str) {
    for line in text.lines() {
        out.push_str("# ");
        out.push_str(line);
        out.push('\n');
    }
}

fn line(out: &mut String, off: bool, text: &str) {
    if off {
        out.push('#');
    }
    out.push_str(text);
    out.push('\n');
}
