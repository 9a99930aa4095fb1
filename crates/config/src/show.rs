//! `hob config show`: the config as Hob holds it, each value with where it comes from, and no secret (row N6).

use std::collections::BTreeMap;
use std::path::Path;

use crate::document::{DocumentNode, DocumentTable, DocumentValue};
use crate::environment::Environment;
use crate::example::{inline, toml};
use crate::expand::{Expansion, ValueOrigin};
use crate::load::{LoadError, LoadedConfig, load, resolved};
use crate::shape::{self, KeyShape, ValueShape};
use crate::{Config, key_path};
use hob_core::domain::redactor::{REDACTED, Redactor, RedactorError};

/// The config cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// It cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its secrets cannot be looked for.
    #[error(transparent)]
    Redactor(#[from] RedactorError),
}

/// The config that is loaded now; with `all`, defaults as well.
pub fn show(named: Option<&Path>, env: &Environment, all: bool) -> Result<String, ShowError> {
    let loaded = load(named, env)?;
    let redactor = Redactor::new(&loaded.secrets(env))?;
    // Over all of it once more: a key may stand where none belongs.
    Ok(redactor.redact(&text(&loaded, env, all)).into_owned())
}

fn text(loaded: &LoadedConfig, env: &Environment, all: bool) -> String {
    let (table, Expansion { origins, .. }) = match &loaded.path {
        Some(path) => resolved(path, loaded.source.expose(), env),
        None => (DocumentTable::new(), Expansion::default()),
    };
    let mut out = match &loaded.path {
        Some(path) => format!("# {}\n", path.display()),
        None => "# no config file: every setting has its default\n".to_owned(),
    };
    loaded.off.iter().for_each(|off| add(&mut out, &format!("# {off}\n")));
    loaded.notes.iter().for_each(|note| add(&mut out, &format!("# {note}\n")));
    let mut page = ConfigPage { out, origins: &origins, all };
    page.section("", &shape::of::<Config>(), Some(&table));
    page.out
}

struct ConfigPage<'a> {
    out: String,
    origins: &'a BTreeMap<String, ValueOrigin>,
    all: bool,
}

impl ConfigPage<'_> {
    /// The keys of a section, then the sections in it. What is not in the file has no table.
    fn section(&mut self, at: &str, fields: &[KeyShape], table: Option<&DocumentTable>) {
        let given = |field: &KeyShape| table.and_then(|table| table.get(&field.name));
        let (inner, keys): (Vec<&KeyShape>, Vec<&KeyShape>) =
            fields.iter().partition(|field| is_sections(&field.shape));
        for field in keys {
            let here = key_path::child(at, &field.name);
            match (given(field), &field.default) {
                (Some((line, node)), _) => self.given(&here, field, *line, node),
                (None, Some(default)) if self.all => {
                    let value = toml(default).map(|value| inline(&value)).unwrap_or_default();
                    self.line(&field.name, &value, "default");
                }
                _ => {}
            }
        }
        for field in inner {
            let here = key_path::child(at, &field.name);
            self.inner(&here, field, given(field).map(|(_, node)| &node.value));
        }
    }

    fn inner(&mut self, here: &str, field: &KeyShape, given: Option<&DocumentValue>) {
        match (&field.shape, given) {
            (ValueShape::Section(fields), Some(DocumentValue::Table(table))) => {
                self.headed(&format!("[{here}]"), here, fields, Some(table))
            }
            (ValueShape::Section(fields), None) if self.all && !field.optional => {
                self.headed(&format!("[{here}]"), here, fields, None);
            }
            (ValueShape::List { item, .. }, Some(DocumentValue::List(items))) => {
                let ValueShape::Section(fields) = &**item else { return };
                for (index, node) in items.iter().enumerate() {
                    if let DocumentValue::Table(table) = &node.value {
                        self.headed(&format!("[[{here}]]"), &key_path::item(here, index), fields, Some(table));
                    }
                }
            }
            (ValueShape::Map { item, .. }, Some(DocumentValue::Table(tables))) => {
                let ValueShape::Section(fields) = &**item else { return };
                for (name, (_, node)) in tables {
                    let here = key_path::child(here, name);
                    if let DocumentValue::Table(table) = &node.value {
                        self.headed(&format!("[{here}]"), &here, fields, Some(table));
                    }
                }
            }
            _ => {}
        }
    }

    fn headed(&mut self, header: &str, here: &str, fields: &[KeyShape], table: Option<&DocumentTable>) {
        let before = self.out.len();
        add(&mut self.out, &format!("\n{header}\n"));
        let empty = self.out.len();
        self.section(here, fields, table);
        // Nothing of it is set, and nothing is a default.
        if table.is_none() && self.out.len() == empty {
            self.out.truncate(before);
        }
    }

    fn given(&mut self, here: &str, field: &KeyShape, line: usize, node: &DocumentNode) {
        let within = |at: &String| key_path::contains(here, at);
        let origins: Vec<String> =
            self.origins.iter().filter(|(at, _)| within(at)).map(|(_, origin)| from(origin)).collect();
        let value = self.value(here, field.secret, node);
        let mut whence = format!("line {line}");
        origins.iter().for_each(|origin| add(&mut whence, &format!(", {origin}")));
        self.line(&key_path::key(&field.name), &value, &whence);
    }

    fn line(&mut self, name: &str, value: &str, whence: &str) {
        add(&mut self.out, &format!("{name} = {value}  # {whence}\n"));
    }

    /// A value in TOML: a secret is veiled, and what comes from a variable stands as it is written.
    fn value(&self, at: &str, secret: bool, node: &DocumentNode) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        match (&node.value, self.origins.get(at)) {
            (DocumentValue::Broken, _) => quoted("[missing]"),
            (DocumentValue::Text(_), _) if secret => quoted(REDACTED),
            (DocumentValue::Text(_), Some(ValueOrigin::Environment { written, .. })) => quoted(written),
            (DocumentValue::Text(text), _) => quoted(text),
            (DocumentValue::Integer(number), _) => number.unwrap_or_default().to_string(),
            (DocumentValue::Float(number), _) => toml::Value::Float(*number).to_string(),
            (DocumentValue::Bool(flag), _) => flag.to_string(),
            (DocumentValue::Date, _) => quoted("[date]"),
            (DocumentValue::List(items), _) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, item)| self.value(&key_path::item(at, index), secret, item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            (DocumentValue::Table(table), _) => {
                let pair = |(key, (_, node)): (&String, &(usize, DocumentNode))| {
                    format!("{} = {}", key_path::key(key), self.value(&key_path::child(at, key), secret, node))
                };
                format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn is_sections(shape: &ValueShape) -> bool {
    match shape {
        ValueShape::Section(_) => true,
        ValueShape::List { item, .. } | ValueShape::Map { item, .. } => matches!(**item, ValueShape::Section(_)),
        ValueShape::Text { .. }
        | ValueShape::Choice(_)
        | ValueShape::Integer { .. }
        | ValueShape::Number { .. }
        | ValueShape::Bool => false,
    }
}

fn from(origin: &ValueOrigin) -> String {
    match origin {
        ValueOrigin::Environment { names, .. } => format!("environment {}", names.join(", ")),
        ValueOrigin::Elsewhere(reference) => reference.to_string(),
    }
}

/// Adds a piece of text.
fn add(out: &mut String, text: &str) {
    out.push_str(text);
}
