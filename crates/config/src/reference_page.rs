//! `docs/config.md`: every key as a table, written from the types (row N7).

use crate::Config;
use crate::check::expected;
use crate::example::{inline, toml};
use crate::key_path;
use crate::shape::{self, KeyShape, ValueShape};
use hob_core::domain::text::one_line;

const HEAD: &str = "\
# The keys of config.toml

Made from the types by `UPDATE_EXAMPLE=1 cargo nextest run --lib what_the_types_say`: do not edit. `config.example.toml`
says the same as a file that can be copied from. `hob config check` says what is wrong with yours, `hob config show` what holds,
`hob config schema` makes a schema for editors. [Secrets](secrets.md) may stand elsewhere: `${NAME}`, `file:/path`, `cred:NAME`,
`keychain:NAME`.
";

/// The text of `docs/config.md`.
pub(crate) fn page() -> String {
    let mut out = HEAD.to_owned();
    sections(&mut out, "", &shape::of::<Config>());
    out
}

/// The sections among the fields, each with its keys, then those in it.
fn sections(out: &mut String, at: &str, fields: &[KeyShape]) {
    for field in fields {
        let path = key_path::child(at, &field.name);
        let Some((header, inner)) = header(&path, &field.shape) else {
            if at.is_empty() {
                add(out, &format!("\n## `[{path}]`\n\n{}\n", prose(&field.doc)));
                add(out, &format!("\n{}, such as `{}`.\n", capital(&expected(&field.shape)), value(field)));
            }
            continue;
        };
        add(out, &format!("\n## `{header}`\n\n{}\n", prose(&field.doc)));
        let keys: Vec<&KeyShape> = inner.iter().filter(|field| header_of(field).is_none()).collect();
        if !keys.is_empty() {
            out.push_str("\n| key | what | default | meaning |\n|---|---|---|---|\n");
            keys.into_iter().for_each(|field| row(out, field));
        }
        sections(out, header.trim_matches(['[', ']']), inner);
    }
}

fn header_of(field: &KeyShape) -> Option<(String, &[KeyShape])> {
    header("", &field.shape)
}

/// The header of a field that is a section or several, with its keys.
fn header<'a>(path: &str, shape: &'a ValueShape) -> Option<(String, &'a [KeyShape])> {
    match shape {
        ValueShape::Section(fields) => Some((format!("[{path}]"), fields)),
        ValueShape::List { item, .. } => match &**item {
            ValueShape::Section(fields) => Some((format!("[[{path}]]"), fields)),
            _ => None,
        },
        ValueShape::Map { item, name } => match &**item {
            ValueShape::Section(fields) => Some((format!("[{path}.{}]", key_path::key(name)), fields)),
            _ => None,
        },
        ValueShape::Text { .. }
        | ValueShape::Choice(_)
        | ValueShape::Integer { .. }
        | ValueShape::Number { .. }
        | ValueShape::Bool => None,
    }
}

fn row(out: &mut String, field: &KeyShape) {
    let KeyShape { name, doc, required, secret, shape, .. } = field;
    let secret = if *secret { "secret: " } else { "" };
    let what = match shape {
        ValueShape::Choice(_) => "a word".to_owned(),
        other => expected(other),
    };
    let default = match &field.default {
        _ if *required => "needed".to_owned(),
        Some(_) => format!("`{}`", cell(&value(field))),
        None => "not set".to_owned(),
    };
    let mut meaning = cell(&prose(doc));
    if let ValueShape::Choice(words) = shape {
        let words = words
            .iter()
            .map(|(word, doc)| if doc.is_empty() { format!("`{word}`") } else { format!("`{word}`: {doc}") });
        add(&mut meaning, &format!(" {}.", cell(&words.collect::<Vec<_>>().join("; "))));
    }
    add(out, &format!("| `{name}` | {secret}{what} | {default} | {meaning} |\n"));
}

/// The default, else the example.
fn value(field: &KeyShape) -> String {
    let shown = field.default.as_ref().or(field.example.as_ref());
    shown.and_then(toml).map(|value| inline(&value)).unwrap_or_default()
}

/// Lines of a doc comment as one.
fn prose(doc: &str) -> String {
    one_line(doc)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Adds a piece of text.
fn add(out: &mut String, text: &str) {
    out.push_str(text);
}
