//! `${VAR}` in any string. It works on the parsed document, so that a variable's value is never read as TOML.

use crate::config::document::{Node, Table, Value};
use crate::config::environment::Environment;
use crate::config::place;

/// Why a string cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The variable is not set.
    Unset(String),
    /// The variable holds bytes that are not UTF-8.
    NotUtf8(String),
    /// A `${` that no name and `}` follow.
    Malformed,
}

impl Trouble {
    /// What is wrong, and what to do.
    pub(super) fn words(&self) -> (String, String) {
        match self {
            Self::Unset(name) => (
                format!("names the environment variable `{name}`, which is not set"),
                "set it where Hob is started, or write `$${` for a plain `${`".to_owned(),
            ),
            Self::NotUtf8(name) => (
                format!("names the environment variable `{name}`, which is not UTF-8 text"),
                "set it to text where Hob is started".to_owned(),
            ),
            Self::Malformed => (
                "has a `${` without the name of a variable and a `}`, expected `${NAME}`".to_owned(),
                "write `$${` for a plain `${`".to_owned(),
            ),
        }
    }
}

/// A string that cannot be expanded, and where it stands.
pub(super) struct Failure {
    pub(super) place: String,
    pub(super) line: usize,
    pub(super) trouble: Trouble,
}

/// Expands every string of the table; those that cannot be become `Broken`.
pub(super) fn table(at: &str, table: &mut Table, env: &Environment, failures: &mut Vec<Failure>) {
    for (key, (line, inner)) in table {
        node(&place::child(at, key), *line, inner, (env, failures));
    }
}

fn node(at: &str, line: usize, node: &mut Node, (env, failures): (&Environment, &mut Vec<Failure>)) {
    match &mut node.value {
        Value::Text(text) => match expand(text, env) {
            Ok(expanded) => *text = expanded,
            Err(trouble) => {
                node.value = Value::Broken;
                failures.push(Failure { place: at.to_owned(), line, trouble });
            }
        },
        Value::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                self::node(&place::item(at, index), item.line, item, (env, &mut *failures));
            }
        }
        Value::Table(inner) => table(at, inner, env, failures),
        Value::Integer(_) | Value::Float(_) | Value::Bool(_) | Value::Date | Value::Broken => {}
    }
}

/// Replaces each `${NAME}` by the variable's value and each `$${` by a plain `${`.
pub(super) fn expand(text: &str, env: &Environment) -> Result<String, Trouble> {
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
                after.split_once('}').filter(|(name, _)| is_variable(name)).ok_or(Trouble::Malformed)?;
            let value = env.get(name).ok_or_else(|| Trouble::Unset(name.to_owned()))?;
            out.push_str(value.to_str().ok_or_else(|| Trouble::NotUtf8(name.to_owned()))?);
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
            ("${NONE}", Err(Trouble::Unset("NONE".to_owned()))),
            ("${RAW}", Err(Trouble::NotUtf8("RAW".to_owned()))),
            ("${", Err(Trouble::Malformed)),
            ("${}", Err(Trouble::Malformed)),
            ("${A", Err(Trouble::Malformed)),
            ("${1A}", Err(Trouble::Malformed)),
            ("${A-default}", Err(Trouble::Malformed)),
        ] {
            assert_eq!(expand(text, &env), expected.map(str::to_owned), "{text}");
        }
    }
}
