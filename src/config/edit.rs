//! The config file as text that is looked at and changed key by key: comments stay, secrets are not shown, and nothing is
//! written that the check would refuse.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, TomlError, Value};

use crate::config::environment::Environment;
use crate::config::problem::Problems;
use crate::config::{load, secrets};
use crate::domain::redactor::REDACTED;

/// Sections that an admin may change; all others are the owner's, for by them somebody could get more power.
const ADMINS: [&str; 10] =
    ["provider", "models", "aliases", "budget", "agent", "context", "memory", "guards", "heartbeat", "delivery"];

/// The file cannot be looked at or changed like that.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not TOML.
    #[error("the config file is not TOML; `hob config check` says where")]
    NotToml(#[source] TomlError),
    /// The key is none.
    #[error("{key:?} is no key; write it like telegram.poll_timeout_secs")]
    Key {
        /// What was written.
        key: String,
    },
    /// On the way stands something else than a section.
    #[error("{key}: {step} is not a section that single keys can be set in; set {step} as a whole")]
    NotASection {
        /// The key.
        key: String,
        /// Where the way ends.
        step: String,
    },
    /// A whole section cannot be set.
    #[error("{key} is a section: set a key in it")]
    Section {
        /// The key.
        key: String,
    },
    /// A secret is not for a conversation.
    #[error(
        "{key} is a secret, and what is said here is kept: write it into the config file by hand, or set it to \
         \"${{NAME}}\" and NAME where Hob is started"
    )]
    Secret {
        /// The key.
        key: String,
    },
    /// The check refuses what would come of it.
    #[error("that would not be a good config, so nothing was changed:\n{0}")]
    Refused(#[from] Problems),
}

/// A change that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The whole file after it.
    pub text: String,
    /// In words: the key, what was there, what will be.
    pub told: String,
}

/// The whole file without its secrets.
///
/// # Errors
/// When it is not TOML.
pub fn shown(text: &str) -> Result<String, EditError> {
    let mut document = parsed(text)?;
    veil_table(&secrets::schema(), document.as_table_mut());
    Ok(document.to_string())
}

/// What stands at a key, without secrets; none: nothing, so that the default holds.
///
/// # Errors
/// When the file is not TOML, or the key is none.
pub fn get(text: &str, key: &str) -> Result<Option<String>, EditError> {
    let path = path(key)?;
    let mut document = parsed(text)?;
    veil_table(&secrets::schema(), document.as_table_mut());
    let mut item = document.as_item();
    for step in &path {
        match item.get(step.get()) {
            Some(inner) => item = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(item.to_string().trim().to_owned()))
}

/// The change that sets a key to a value in TOML; what is no TOML is taken as text.
///
/// # Errors
/// When it cannot be made, or the check would refuse what comes of it.
pub fn set(file: &Path, text: &str, (key, value): (&str, &str), env: &Environment) -> Result<Change, EditError> {
    let path = path(key)?;
    let value: Value = value.trim().parse().unwrap_or_else(|_not_toml| Value::from(value));
    if is_secret(&path) && !value.as_str().is_some_and(is_reference) {
        return Err(EditError::Secret { key: key.to_owned() });
    }
    let before = get(text, key)?.unwrap_or_else(|| "not set".to_owned());
    let told = format!("{key}: {before} → {}", value.to_string().trim());
    let mut document = parsed(text)?;
    put(document.as_table_mut(), key, &path, value)?;
    let text = document.to_string();
    load::parse(file, &text, env)?;
    Ok(Change { text, told })
}

/// May only the owner change it? Whatever is not known to be harmless.
#[must_use]
pub fn is_owners(key: &str) -> bool {
    let Ok(path) = path(key) else { return true };
    is_secret(&path) || path.first().is_none_or(|section| !ADMINS.contains(&section.get()))
}

fn parsed(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(EditError::NotToml)
}

fn path(key: &str) -> Result<Vec<Key>, EditError> {
    Key::parse(key.trim()).map_err(|_none| EditError::Key { key: key.to_owned() })
}

fn put(root: &mut Table, key: &str, path: &[Key], value: Value) -> Result<(), EditError> {
    let Some((last, sections)) = path.split_last() else {
        return Err(EditError::Key { key: key.to_owned() });
    };
    let not_a_section = |step: &Key| EditError::NotASection { key: key.to_owned(), step: step.get().to_owned() };
    let mut table: &mut dyn TableLike = root;
    for section in sections {
        let item = table.entry(section.get()).or_insert_with(|| Item::Table(Table::new()));
        table = item.as_table_like_mut().ok_or_else(|| not_a_section(section))?;
    }
    match table.get_mut(last.get()) {
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        Some(Item::Table(_) | Item::ArrayOfTables(_)) => return Err(EditError::Section { key: key.to_owned() }),
        Some(Item::None) | None => {
            table.insert(last.get(), Item::Value(value));
        }
    }
    Ok(())
}

/// Whether the value comes from the environment, whole.
fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains(['$', '{', '}']))
}

fn is_secret(path: &[Key]) -> bool {
    let root = secrets::schema();
    let mut schema = &root;
    for step in path {
        match secrets::inner(schema, step.get()) {
            Some(inner) => schema = inner,
            None => return false,
        }
    }
    // A whole section or list may have one in it.
    secrets::holds_secret(schema)
}

fn veil_table(schema: &serde_json::Value, table: &mut dyn TableLike) {
    for (key, item) in table.iter_mut() {
        if let Some(inner) = secrets::inner(schema, key.get()) {
            veil(inner, item);
        }
    }
}

fn veil(schema: &serde_json::Value, item: &mut Item) {
    match item {
        Item::Value(value) => veil_value(schema, value),
        Item::Table(table) => veil_table(schema, table),
        Item::ArrayOfTables(tables) => {
            if let Some(schema) = secrets::items(schema) {
                tables.iter_mut().for_each(|table| veil_table(schema, table));
            }
        }
        Item::None => {}
    }
}

fn veil_value(schema: &serde_json::Value, value: &mut Value) {
    match value {
        Value::String(text) if secrets::is_secret(schema) && !is_reference(text.value()) => {
            let decor = value.decor().clone();
            *value = Value::from(REDACTED);
            *value.decor_mut() = decor;
        }
        Value::InlineTable(table) => veil_table(schema, table),
        Value::Array(array) => {
            if let Some(schema) = secrets::items(schema) {
                array.iter_mut().for_each(|value| veil_value(schema, value));
            }
        }
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# Ours.
[provider]
kind = "openai" # the big one
api_key = "sk-1234567890" # the key
fallbacks = [{ kind = "anthropic", model = "x", api_key = "${SPARE}" }, { kind = "gemini", model = "y", api_key = "g-key" }]

[telegram]
bot_token = "12:AA"
owner_user_ids = [1]

[agent]
iterations_max = 7   # enough
"#;

    fn env() -> Environment {
        Environment::of("/w", [("SPARE", "spare-key"), ("OTHER", "other-key"), ("HOME", "/h")])
    }

    fn change(key: &str, value: &str) -> Result<Change, String> {
        set(Path::new("/c.toml"), FILE, (key, value), &env()).map_err(|error| error.to_string())
    }

    #[test]
    fn n6_the_file_is_shown_without_its_secrets_and_with_its_comments() {
        insta::assert_snapshot!(shown(FILE).unwrap(), @r#"
        # Ours.
        [provider]
        kind = "openai" # the big one
        api_key = "[redacted]" # the key
        fallbacks = [{ kind = "anthropic", model = "x", api_key = "${SPARE}" }, { kind = "gemini", model = "y", api_key = "[redacted]" }]

        [telegram]
        bot_token = "[redacted]"
        owner_user_ids = [1]

        [agent]
        iterations_max = 7   # enough
        "#);
        let at = |key: &str| get(FILE, key).unwrap();
        assert_eq!(at("provider.api_key").as_deref(), Some("\"[redacted]\" # the key"));
        assert_eq!(at("telegram.owner_user_ids").as_deref(), Some("[1]"));
        assert_eq!(at("agent.system_prompt"), None);
        assert!(at("telegram").unwrap().contains("[redacted]"));
        assert!(get(FILE, "a..b").is_err());
    }

    #[test]
    fn a_change_keeps_the_rest_of_the_file_and_says_what_it_changes() {
        let Change { text, told } = change("agent.iterations_max", "9").unwrap();
        assert_eq!(text, FILE.replace("= 7 ", "= 9 "));
        assert_eq!(told, "agent.iterations_max: 7   # enough → 9");
        let told = change("memory.extract", "false").unwrap();
        assert!(told.text.ends_with("[memory]\nextract = false\n"), "{}", told.text);
        assert_eq!(told.told, "memory.extract: not set → false");
        let plain = change("agent.system_prompt", "You are Hob: be brief.").unwrap();
        assert!(plain.text.contains("system_prompt = \"You are Hob: be brief.\"\n"));
    }

    #[test]
    fn what_the_check_refuses_is_not_written() {
        insta::assert_snapshot!(change("agent.iterations_max", "many").unwrap_err(), @"
        that would not be a good config, so nothing was changed:
        /c.toml:12: agent.iterations_max: is text, expected a whole number from 1 to 1000; for example `iterations_max = 10`
        ");
        assert!(change("agent.nothing", "1").unwrap_err().contains("agent.nothing"));
        assert_eq!(change("agent", "1").unwrap_err(), "agent is a section: set a key in it");
        let secret = change("telegram.bot_token", "13:BB").unwrap_err();
        insta::assert_snapshot!(secret, @r#"telegram.bot_token is a secret, and what is said here is kept: write it into the config file by hand, or set it to "${NAME}" and NAME where Hob is started"#);
        assert!(change("provider.fallbacks", "[]").unwrap_err().contains("is a secret"), "one may stand in it");
        assert!(change("telegram.bot_token", "${OTHER}").unwrap().text.contains("bot_token = \"${OTHER}\"\n"));
    }

    #[test]
    fn c5_only_the_owner_may_set_what_gives_power() {
        for key in ["telegram.owner_user_ids", "people.ada.role", "tools.x.command", "workspace.dir", "hooks", "new.x"]
        {
            assert!(is_owners(key), "{key}");
        }
        assert!(is_owners("provider.api_key") && is_owners("") && is_owners("a..b"));
        for key in ["agent.iterations_max", "memory.extract", "budget.day_usd", "provider.models.primary"] {
            assert!(!is_owners(key), "{key}");
        }
    }
}
