//! `${VAR}` in any string, and what a secret key refers to. It works on the parsed document, so that a variable's value is
//! never read as TOML, nor as a reference.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::document::{DocumentNode, DocumentTable, DocumentValue};
use crate::environment::Environment;
use crate::key_path::{self, PathStep};
use crate::secret_reference::{Reference, SecretError, SecretSources};
use crate::secrets;

/// Why a string cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpansionTrouble {
    /// The variable is not set.
    Unset(String),
    /// The variables that a secret comes from hold nothing.
    Empty(String),
    /// The variable holds bytes that are not UTF-8.
    NotUtf8(String),
    /// A `${` that no name and `}` follow.
    Malformed,
    /// What it refers to cannot be had.
    Missing(SecretError),
}

impl ExpansionTrouble {
    /// Whether the file is right, and only what it names is not there.
    pub(super) fn is_absence(&self) -> bool {
        match self {
            Self::Unset(_) | Self::Empty(_) | Self::NotUtf8(_) | Self::Missing(_) => true,
            Self::Malformed => false,
        }
    }

    /// What is wrong, and what to do.
    pub(super) fn words(&self) -> (String, String) {
        match self {
            Self::Unset(name) => (
                format!("names the environment variable `{name}`, which is not set"),
                "set it where Hob is started, or write `$${` for a plain `${`".to_owned(),
            ),
            Self::Empty(name) => (
                format!("names the environment variable `{name}`, which is empty"),
                "set it where Hob is started".to_owned(),
            ),
            Self::NotUtf8(name) => (
                format!("names the environment variable `{name}`, which is not UTF-8 text"),
                "set it to text where Hob is started".to_owned(),
            ),
            Self::Malformed => (
                "has a `${` without the name of a variable and a `}`, expected `${NAME}`".to_owned(),
                "write `$${` for a plain `${`".to_owned(),
            ),
            Self::Missing(missing) => missing.words(),
        }
    }
}

/// A string that cannot be expanded, and where it stands.
pub(super) struct ExpansionFailure {
    pub(super) steps: Vec<PathStep>,
    pub(super) line: usize,
    pub(super) trouble: ExpansionTrouble,
}

/// Where the value of a key comes from, if not from the file alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueOrigin {
    /// From these variables, in whole or in part; with the text as it is written.
    Environment { names: Vec<String>, written: String },
    /// From where the key refers to.
    Elsewhere(Reference),
}

/// What came of expanding a document.
#[derive(Default)]
pub(super) struct Expansion {
    pub(super) failures: Vec<ExpansionFailure>,
    /// By place.
    pub(super) origins: BTreeMap<String, ValueOrigin>,
    /// Whether a secret stands in the file itself.
    pub(super) has_plain_secret: bool,
}

/// Expands every string of the table; those that cannot be become `Broken`.
pub(super) fn document(table: &mut DocumentTable, schema: &Json, sources: &SecretSources<'_>) -> Expansion {
    let mut walk = Expander { sources, at: Vec::new(), done: Expansion::default() };
    walk.table(table, Some(schema));
    walk.done
}

struct Expander<'a> {
    sources: &'a SecretSources<'a>,
    at: Vec<PathStep>,
    done: Expansion,
}

impl Expander<'_> {
    fn table(&mut self, table: &mut DocumentTable, schema: Option<&Json>) {
        for (key, (line, inner)) in table {
            self.at.push(PathStep::Key(key.clone()));
            self.node(*line, inner, schema.and_then(|schema| secrets::inner(schema, key)));
            self.at.pop();
        }
    }

    fn node(&mut self, line: usize, node: &mut DocumentNode, schema: Option<&Json>) {
        match &mut node.value {
            DocumentValue::Text(text) => match self.text(text, schema.is_some_and(secrets::is_secret)) {
                Ok(expanded) => *text = expanded,
                Err(trouble) => {
                    node.value = DocumentValue::Broken;
                    self.done.failures.push(ExpansionFailure { steps: self.at.clone(), line, trouble });
                }
            },
            DocumentValue::List(items) => {
                let schema = schema.and_then(secrets::items);
                for (index, item) in items.iter_mut().enumerate() {
                    self.at.push(PathStep::Item(index));
                    self.node(item.line, item, schema);
                    self.at.pop();
                }
            }
            DocumentValue::Table(inner) => self.table(inner, schema),
            DocumentValue::Integer(_)
            | DocumentValue::Float(_)
            | DocumentValue::Bool(_)
            | DocumentValue::Date
            | DocumentValue::Broken => {}
        }
    }

    fn text(&mut self, text: &str, is_secret: bool) -> Result<String, ExpansionTrouble> {
        let env = self.sources.env();
        // As it is written: what a variable holds is never taken for a reference.
        if let Some(reference) = Reference::of(text).filter(|_| is_secret) {
            let reference = match reference {
                Reference::File(path) => {
                    let path = path.to_str().map_or_else(|| Ok(String::new()), |path| expand(path, env))?;
                    Reference::File(path.into())
                }
                other => other,
            };
            self.done.origins.insert(key_path::of(&self.at), ValueOrigin::Elsewhere(reference.clone()));
            return self.sources.fetch(&reference).map_err(ExpansionTrouble::Missing);
        }
        let names = variables(text);
        self.done.has_plain_secret |= is_secret && names.is_empty() && !text.is_empty();
        let expanded = expand(text, env);
        let Some(first) = names.first().cloned() else { return expanded };
        let origin = ValueOrigin::Environment { names, written: text.to_owned() };
        self.done.origins.insert(key_path::of(&self.at), origin);
        if is_secret && expanded.as_ref().is_ok_and(String::is_empty) {
            return Err(ExpansionTrouble::Empty(first));
        }
        expanded
    }
}

/// The variables that a text names.
fn variables(text: &str) -> Vec<String> {
    // What stands for a plain `${` names nothing.
    let text = text.replace("$${", "");
    let parts = text.split("${").skip(1);
    let named = parts.filter_map(|part| part.split_once('}')).map(|(name, _)| name).filter(|name| is_variable(name));
    named.map(str::to_owned).collect()
}

/// Replaces each `${NAME}` by the variable's value and each `$${` by a plain `${`.
pub(super) fn expand(text: &str, env: &Environment) -> Result<String, ExpansionTrouble> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        rest = &rest[dollar..];
        if let Some(after) = rest.strip_prefix("$${") {
            out.push_str("${");
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${") {
            let (name, after) =
                after.split_once('}').filter(|(name, _)| is_variable(name)).ok_or(ExpansionTrouble::Malformed)?;
            let value = env.get(name).ok_or_else(|| ExpansionTrouble::Unset(name.to_owned()))?;
            out.push_str(value.to_str().ok_or_else(|| ExpansionTrouble::NotUtf8(name.to_owned()))?);
            rest = after;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether `name` is letters, digits and `_`, the first not a digit, and not so long that it is something else.
fn is_variable(name: &str) -> bool {
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    word && !name.is_empty() && name.len() <= 128 && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn variables_and_escapes() {
        let bytes = OsString::from_vec(vec![0xff]);
        let env = Environment::of("", [("A", "1".into()), ("B", "${A}".into()), ("EMPTY", "".into()), ("RAW", bytes)]);
        for (text, expected) in [
            ("", Ok("")),
            ("plain $ and $A and {A}", Ok("plain $ and $A and {A}")),
            ("${A}${A}", Ok("11")),
            ("<${B}>", Ok("<${A}>")),
            ("<${EMPTY}>", Ok("<>")),
            ("$${A}", Ok("${A}")),
            ("$$${A}", Ok("$${A}")),
            ("$$", Ok("$$")),
            ("ä${A}ö", Ok("ä1ö")),
            ("${NONE}", Err(ExpansionTrouble::Unset("NONE".to_owned()))),
            ("${RAW}", Err(ExpansionTrouble::NotUtf8("RAW".to_owned()))),
            ("${", Err(ExpansionTrouble::Malformed)),
            ("${}", Err(ExpansionTrouble::Malformed)),
            ("${A", Err(ExpansionTrouble::Malformed)),
            ("${1A}", Err(ExpansionTrouble::Malformed)),
            ("${A-default}", Err(ExpansionTrouble::Malformed)),
        ] {
            assert_eq!(expand(text, &env), expected.map(str::to_owned), "{text}");
        }
    }
}
