//! A config's text without its secrets: those that its types mark, whatever they do not know, and keys that were commented out.
//!
//! Start at [`document`] and [`comments`]; what may be seen is said by [`SchemaPosition`].

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::edit::is_reference;
use crate::secrets::{self, SchemaPosition};
use hob_core::domain::redactor::REDACTED;

/// How texts begin and end in TOML, and whether a backslash escapes in them; the longer marks first.
const QUOTES: [(&str, bool); 4] = [("\"\"\"", true), ("'''", false), ("\"", true), ("'", false)];

/// Puts a sign in the place of every value that must not be seen.
pub(super) fn document(document: &mut DocumentMut) {
    let schema = secrets::schema();
    table(SchemaPosition::of(&schema), document.as_table_mut());
}

fn table(schema_at: SchemaPosition<'_>, table: &mut dyn TableLike) {
    for (key, inner) in table.iter_mut() {
        item(schema_at.key(key.get()), inner);
    }
}

fn item(schema_at: SchemaPosition<'_>, item: &mut Item) {
    match item {
        Item::Value(inner) => value(schema_at, inner),
        Item::Table(inner) => table(schema_at, inner),
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|inner| table(schema_at.item(), inner)),
        Item::None => {}
    }
}

fn value(schema_at: SchemaPosition<'_>, place: &mut Value) {
    match place {
        Value::InlineTable(inner) => table(schema_at, inner),
        Value::Array(array) => array.iter_mut().for_each(|inner| value(schema_at.item(), inner)),
        Value::String(text) if is_reference(text.value()) => {}
        single => {
            if schema_at.is_hidden() {
                let decor = single.decor().clone();
                *single = Value::from(REDACTED);
                *single.decor_mut() = decor;
            }
        }
    }
}

/// TOML, whole or a piece of it, in whose comments no value of a key is left: what was commented out has no type that tells of
/// it.
pub(super) fn comments(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['"', '\'', '#']) {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        let is_comment = here.starts_with('#');
        let end = if is_comment { here.find('\n').unwrap_or(here.len()) } else { quoted(here) };
        let (piece, after) = here.split_at(end);
        out.push_str(&if is_comment { veiled(piece) } else { piece.to_owned() });
        rest = after;
    }
    out + rest
}

/// How long the text in quotes is that stands at the beginning.
fn quoted(text: &str) -> usize {
    let Some((mark, escapes)) = QUOTES.into_iter().find(|(mark, _)| text.starts_with(mark)) else { return text.len() };
    let mut at = mark.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(mark) {
            // Before the three at the end may stand two more.
            let own = |sign: &char| mark.starts_with(*sign);
            return at + if mark.len() == 1 { 1 } else { rest.chars().take(5).take_while(own).count() };
        }
        let signs = if escapes && rest.starts_with('\\') { 2 } else { 1 };
        at += rest.chars().take(signs).map(char::len_utf8).sum::<usize>();
    }
    text.len()
}

/// A comment without the value that may stand in it: behind a `=`, or as an item of a list.
fn veiled(comment: &str) -> String {
    if let Some((key, value)) = comment.split_once('=') {
        return if is_plain(value) { comment.to_owned() } else { format!("{key}= {REDACTED}") };
    }
    let words = comment.trim_start_matches(|sign: char| "#[{".contains(sign) || sign.is_whitespace());
    if words.starts_with(['"', '\'']) { format!("# {REDACTED}") } else { comment.to_owned() }
}

/// Numbers, flags and references are no secrets, and ids are numbers.
fn is_plain(value: &str) -> bool {
    let value = value.trim();
    let is_number = value.chars().all(|sign| sign.is_ascii_digit() || "[], _-+.".contains(sign));
    is_number || matches!(value, "true" | "false") || is_reference(value.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_key_that_is_commented_out_only_its_name_is_left() {
        for (text, expected) in [
            (r#"# api_key = "hunter2""#, "# api_key = [redacted]"),
            ("#api_key='hunter2' # old", "#api_key= [redacted]"),
            ("x = 1 # = \"hunter2\"\ny = 2", "x = 1 # = [redacted]\ny = 2"),
            ("# keys = [\n#   \"hunter2\",\n# ]", "# keys = [\n# [redacted]\n# ]"),
            ("# token = hunter2\r\n", "# token = [redacted]\n"),
            ("# iterations_max = 7\n# extract = true\n# key = \"${KEY}\"", ""),
            ("# the \"big\" one; it's \"cheap\"", ""),
            ("a = \"# b = 'c'\"\nd = '# e = f'\n", ""),
            (r##"a = "\"# b = c" # d = e"##, r##"a = "\"# b = c" # d = [redacted]"##),
            (r"a = '\' # b = 'hunter2'", r"a = '\' # b = [redacted]"),
            ("a = \"\"\"\n# b = \"c\"\n\"\"\"\"\" # d = e", "a = \"\"\"\n# b = \"c\"\n\"\"\"\"\" # d = [redacted]"),
            ("a = '''\n# b = 'c'\n''' # d = e", "a = '''\n# b = 'c'\n''' # d = [redacted]"),
            ("a = \"\" # b = c", "a = \"\" # b = [redacted]"),
            ("\"ä#\" = 'ö' # ü = ß", "\"ä#\" = 'ö' # ü = [redacted]"),
        ] {
            let expected = if expected.is_empty() { text } else { expected };
            assert_eq!(comments(text), expected, "{text}");
        }
    }
}
