//! The config file as text that is looked at key by key: secrets are not shown. `change` changes it.

use toml_edit::{DocumentMut, Item, Key, TableLike, TomlError, Value};

use crate::config::problem::Problems;
use crate::config::secrets;
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
    /// There is nothing to take away.
    #[error("{key} is not set, so there is nothing to take away")]
    NotSet {
        /// The key.
        key: String,
    },
    /// A section that is to be added is there.
    #[error("{key} stands in the file already: set its keys one by one")]
    Exists {
        /// Which.
        key: String,
    },
    /// The check refuses what would come of it.
    #[error("that would not be a good config, so nothing was changed:\n{0}")]
    Refused(#[from] Problems),
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

/// May only the owner change it? Whatever is not known to be harmless.
#[must_use]
pub fn is_owners(key: &str) -> bool {
    let Ok(path) = path(key) else { return true };
    is_secret(&path) || path.first().is_none_or(|section| !ADMINS.contains(&section.get()))
}

/// Is it a secret, or can one stand in it?
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    path(key).is_ok_and(|path| is_secret(&path))
}

pub(super) fn parsed(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(EditError::NotToml)
}

pub(super) fn path(key: &str) -> Result<Vec<Key>, EditError> {
    Key::parse(key.trim()).map_err(|_none| EditError::Key { key: key.to_owned() })
}

/// Whether the value comes from the environment, whole.
pub(super) fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains(['$', '{', '}']))
}

pub(super) fn is_secret(path: &[Key]) -> bool {
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
