//! What changed between two texts of a config, key by key, for people: without a secret (row K5).
//!
//! It goes by the texts, as they say what their writer meant: a default that is written out is a change, and a value under
//! `${NAME}` is that name.

use std::collections::BTreeSet;
use std::fmt;

use toml::{Table, Value};

use crate::key_path;
use crate::secrets::{self, SchemaPosition};
use hob_core::domain::text::{cut, one_line};

/// The most characters of a value that are shown.
const SHOWN_CHARS_MAX: usize = 60;

/// One key, or a section as a whole, that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub section: String,
    /// Its dotted path.
    pub key: String,
    /// What stood there; none: nothing.
    pub before: Option<ShownValue>,
    /// What stands there; none: nothing.
    pub after: Option<ShownValue>,
}

/// A value, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownValue {
    /// In TOML, cut short.
    Value(String),
    /// It is a secret, or has some in it.
    Secret,
    Section,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key)?;
        let words = |shown: &Option<ShownValue>| match shown {
            None => "not set".to_owned(),
            Some(ShownValue::Value(value)) => value.clone(),
            Some(ShownValue::Secret) => "a secret".to_owned(),
            Some(ShownValue::Section) => "a section".to_owned(),
        };
        match (&self.before, &self.after) {
            (None, Some(ShownValue::Section)) => f.write_str("added"),
            (Some(ShownValue::Section), None) => f.write_str("removed"),
            (Some(ShownValue::Secret), Some(ShownValue::Secret)) => f.write_str("changed"),
            (before, after) => write!(f, "{} → {}", words(before), words(after)),
        }
    }
}

/// All changes from `before` to `after`, in the order of their keys. A text that is not TOML has no keys.
pub fn changes_between(before: &str, after: &str) -> Vec<Change> {
    let (before, after) = (before.parse::<Table>().unwrap_or_default(), after.parse::<Table>().unwrap_or_default());
    let mut changes = Vec::new();
    let schema = secrets::schema();
    tables(
        &DiffPosition { path: String::new(), schema_at: SchemaPosition::of(&schema) },
        &before,
        &after,
        &mut changes,
    );
    changes
}

/// Where it is looked, and what may be seen there.
struct DiffPosition<'a> {
    path: String,
    schema_at: SchemaPosition<'a>,
}

impl DiffPosition<'_> {
    fn shown(&self, value: &Value) -> ShownValue {
        if value.is_table() {
            return ShownValue::Section;
        }
        if self.schema_at.is_hidden() || hides(self.schema_at, value) {
            return ShownValue::Secret;
        }
        ShownValue::Value(cut(&one_line(&value.to_string()), SHOWN_CHARS_MAX))
    }
}

/// Whether something in it must not be seen.
fn hides(schema_at: SchemaPosition<'_>, value: &Value) -> bool {
    match value {
        Value::Table(table) => table.iter().any(|(key, value)| hides(schema_at.key(key), value)),
        Value::Array(array) => array.iter().any(|value| hides(schema_at.item(), value)),
        _ => schema_at.is_hidden(),
    }
}

fn tables(way: &DiffPosition<'_>, before: &Table, after: &Table, changes: &mut Vec<Change>) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let name = key_path::key(key);
        let path = if way.path.is_empty() { name } else { format!("{}.{name}", way.path) };
        let inner = DiffPosition { path, schema_at: way.schema_at.key(key) };
        match (before.get(key), after.get(key)) {
            (before, after) if before == after => {}
            (Some(Value::Table(before)), Some(Value::Table(after))) => tables(&inner, before, after, changes),
            (before, after) => changes.push(Change {
                section: inner.path.split('.').next().unwrap_or_default().to_owned(),
                before: before.map(|value| inner.shown(value)),
                after: after.map(|value| inner.shown(value)),
                key: inner.path,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(before: &str, after: &str) -> String {
        changes_between(before, after).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn k5_each_key_is_told_and_no_secret() {
        let before = "
            [provider]
            kind = 'openai'
            api_key = 'sk-one'
            [telegram]
            bot_token = '12:AAA'
            allowed_user_ids = [1]
            [agent]
            iterations_max = 10
            [tools.light]
            description = 'x'
            command = ['/bin/true']
            [mcp.notes]
            command = ['notes']
            env = { TOKEN = 'hunter2' }
            [[schedule]]
            name = 'a'
            when = 'every day at 7:00'
            task = 'x'";
        let after = "
            [provider]
            kind = 'openai'
            api_key = 'sk-two'
            [telegram]
            allowed_user_ids = [1, 2]
            bot_token = '${TOKEN}'
            [agent]
            iterations_max = 20
            system_prompt = '''
one
two'''
            [budget]
            day_usd = 1.0
            [mcp.notes]
            command = ['notes']
            env = { TOKEN = 'hunter3', MORE = 'x' }
            [[schedule]]
            name = 'a'
            when = 'every day at 8:00'
            task = 'x'";
        let told = told(before, after);
        for secret in ["sk-", "12:", "hunter"] {
            assert!(!told.contains(secret), "{told}");
        }
        insta::assert_snapshot!(told, @r#"
        agent.iterations_max: 10 → 20
        agent.system_prompt: not set → """ one two"""
        budget: added
        mcp.notes.env.MORE: not set → a secret
        mcp.notes.env.TOKEN: changed
        provider.api_key: changed
        schedule: [{ name = "a", task = "x", when = "every day at 7:00" }] → [{ name = "a", task = "x", when = "every day at 8:00" }]
        telegram.allowed_user_ids: [1] → [1, 2]
        telegram.bot_token: changed
        tools: removed
        "#);
    }

    #[test]
    fn what_the_types_do_not_know_is_told_as_a_secret() {
        let schedule = "[[schedule]]\nname = 'a'\nwhen = 'every day at 7:00'\ntask = 'x'\n";
        for (after, expected) in [
            ("telegram = 'hunter2'", "telegram: not set → a secret"),
            ("api_kye = 'hunter2'", "api_kye: not set → a secret"),
            ("api_kye = ['hunter2']", "api_kye: not set → a secret"),
            ("[agent]\n[agent.api_kye]\nkey = 'hunter2'", "agent.api_kye: added"),
            ("[agent]\napi_kye = 'hunter2'", "agent.api_kye: not set → a secret"),
            ("[agent]\nsystem_prompt = { key = 'hunter2' }", "agent.system_prompt: added"),
            (&format!("{schedule}api_kye = 'hunter2'"), "schedule: not set → a secret"),
            (&format!("{schedule}where = {{ api_key = 'hunter2' }}"), "schedule: not set → a secret"),
        ] {
            let before = if after.starts_with("[agent]") { "[agent]" } else { "" };
            assert_eq!(told(before, after), expected, "{after}");
        }
    }

    #[test]
    fn what_is_written_otherwise_and_means_the_same_is_no_change() {
        assert_eq!(told("[agent]\niterations_max = 10 # ten\n", "agent = { iterations_max = 10 }"), "");
        assert_eq!(told("not = = toml", ""), "");
    }
}
