//! The config file as text that is looked at key by key: secrets are not shown. `change` changes it.

use toml_edit::{DocumentMut, Key, TomlError};

use crate::problem::Problems;
use crate::{redacted_text, secrets};

/// What an admin may change; all else is the owner's, for by it somebody could get more power. So is each table that a key can
/// stand in, wherever it is: who says where a key goes has it. And so are words that are told to the model in everybody's name, and
/// where an owner is spoken to.
const ADMINS: [&str; 26] = [
    "provider.models",
    "provider.temperature",
    "provider.max_output_tokens",
    "provider.effort",
    "provider.context_tokens",
    "provider.first_event_timeout_secs",
    "provider.idle_timeout_secs",
    "models",
    "aliases",
    "budget",
    "agent.iterations_max",
    "agent.iterations_step",
    "agent.iterations_cap",
    "agent.soft_limit_secs",
    "agent.hard_limit_secs",
    "agent.history_messages_max",
    "agent.message_chars_max",
    "agent.tool_output_chars_max",
    "agent.tool_retries_ms",
    "agent.queue_mode",
    "agent.time_zone",
    "context",
    "memory",
    "guards",
    "heartbeat.every_secs",
    "delivery",
];

/// The file cannot be looked at or changed like that.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It is not TOML.
    #[error("the config file is not TOML; `hob config check` says where")]
    NotToml(#[source] TomlError),
    /// The key is none.
    #[error("{key:?} is not a valid key; write it like telegram.poll_timeout_secs")]
    Key {
        /// What was written.
        key: String,
    },
    /// No part of Hob has it.
    #[error("{key} is not a known key; `hob config example` has every key")]
    Unknown {
        /// What was written.
        key: String,
    },
    /// On the way stands something else than a section.
    #[error("{key}: {step} is not a section; set {step} as a whole")]
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
    /// A key would go where nobody has entered it for.
    #[error(
        "{key} would go along to another server, and it was not entered for that one, so nothing was changed: write \
         both into the file by hand, or take the key away (`hob config unset {key}`), make this change, and enter the key \
         again (`hob config set {key} -`)"
    )]
    Strays {
        /// The key.
        key: String,
    },
    /// There is nothing to take away.
    #[error("{key} is not set, so there is nothing to remove")]
    NotSet {
        /// The key.
        key: String,
    },
    /// A section that is to be added is there.
    #[error("{key} is already in the file: set its keys one by one")]
    Exists {
        /// Which.
        key: String,
    },
    /// The check refuses what would come of it.
    #[error("the config would be invalid, so nothing was changed:\n{0}")]
    Refused(#[from] Problems),
}

/// The whole file without its secrets.
pub fn shown(text: &str) -> Result<String, EditError> {
    let mut document = parsed(text)?;
    redacted_text::document(&mut document);
    Ok(redacted_text::comments(&document.to_string()))
}

/// What stands at a key, without secrets; none: nothing, so that the default holds.
///
/// # Errors
/// When the file is not TOML, or the key is none, or not known.
pub fn get(text: &str, key: &str) -> Result<Option<String>, EditError> {
    let path = path(key)?;
    let mut document = parsed(text)?;
    redacted_text::document(&mut document);
    match path.iter().try_fold(document.as_item(), |item, step| item.get(step.get())) {
        Some(item) => Ok(Some(redacted_text::comments(item.to_string().trim()))),
        None if is_known(&path) => Ok(None),
        None => Err(EditError::Unknown { key: key.to_owned() }),
    }
}

fn is_known(path: &[Key]) -> bool {
    let root = secrets::schema();
    path.iter().try_fold(&root, |schema, step| secrets::inner(schema, step.get())).is_some()
}

/// May only the owner change it? Whatever is not known to be harmless.
pub fn is_owners(key: &str) -> bool {
    let Ok(path) = path(key) else { return true };
    let admins =
        |below: &[&str]| path.len() >= below.len() && below.iter().zip(&path).all(|(name, step)| *name == step.get());
    let below = ADMINS.iter().map(|key| key.split('.').collect::<Vec<_>>()).find(|below| admins(below));
    is_secret(&path) || below.is_none_or(|below| is_in_endpoint(&path, below.len()))
}

/// Does one of the tables on the way, from the step `from` on, have a key of its own?
fn is_in_endpoint(path: &[Key], from: usize) -> bool {
    let root = secrets::schema();
    let mut schema = &root;
    for (at, step) in path.iter().enumerate() {
        if at >= from && secrets::has_own(schema) {
            return true;
        }
        match secrets::inner(schema, step.get()) {
            Some(inner) => schema = inner,
            None => return false,
        }
    }
    false
}

/// Is it a secret, or can one stand in it?
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
    fn the_file_is_shown_without_its_secrets_and_with_its_comments() {
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
    fn what_the_types_do_not_know_is_not_shown() {
        for text in [
            "[telegrm]\nbot_token = \"hunter2\"\n",
            "[provider]\napi_kye = \"hunter2\"\n",
            "[provider]\napi_kye = { one = [\"hunter2\"] }\n",
            "[provider.api_kye.one]\ntwo = 'hunter2'\n",
            "[[provider.api_kye]]\ntwo = 'hunter2'\n",
            "provider.api_kye = 'hunter2'\n",
            "[provider]\napi_key = [\"hunter2\"]\n",
            "[provider]\napi_key = { key = \"hunter2\" }\n",
            "[provider]\nfallbacks = [\"hunter2\"]\n",
            "[[provider.fallbacks]]\napi_kye = \"\"\"\nhunter2\"\"\"\n",
            "telegram = \"hunter2\"\n",
            "[mcp.notes]\nenv = { TOKEN = 'hunter2' }\n",
            "[agent]\nsystem_prompt = { token = 'hunter2' }\n",
            "[agent]\n# token = 'hunter2'\niterations_max = 7 # = \"hunter2\"\n",
        ] {
            let shown = shown(text).unwrap();
            assert!(!shown.contains("hunter2") && shown.contains("[redacted]"), "{text}: {shown}");
            for key in text.parse::<toml::Table>().unwrap().keys() {
                let got = get(text, key).unwrap().unwrap();
                assert!(!got.contains("hunter2"), "{text}: {got}");
            }
        }
        let at = |text: &str, key: &str| get(text, key).unwrap().unwrap();
        assert_eq!(at("[provider]\napi_kye = 'hunter2'", "provider.api_kye"), "\"[redacted]\"");
        assert_eq!(at("[telegrm]\nid = 123", "telegrm.id"), "\"[redacted]\"");
        assert_eq!(at("[telegrm]\ntoken = '${TOKEN}'", "telegrm.token"), "'${TOKEN}'");
    }

    #[test]
    fn c5_only_the_owner_may_set_what_gives_power() {
        for key in ["telegram.owner_user_ids", "people.ada.role", "tools.x.command", "workspace.dir", "hooks", "new.x"]
        {
            assert!(is_owners(key), "{key}");
        }
        assert!(is_owners("provider.api_key") && is_owners("") && is_owners("a..b"));
        for key in [
            "provider.kind",
            "provider.base_url",
            "provider.fallbacks",
            "provider",
            "memory.embedding.kind",
            "memory.embedding.base_url",
            "memory.embedding",
            "memory",
            "web.search.base_url",
            "web.search.kind",
            "mcp.notes.url",
            "mcp.notes.command",
            "transcription.base_url",
            "speech.command",
            "telemetry.otlp",
            "agent",
            "agent.system_prompt",
            "agent.persona",
            "agent.default_guest_modules",
            "heartbeat",
            "heartbeat.prompt",
            "heartbeat.file",
            "heartbeat.to",
            "heartbeat.telegram_chat",
        ] {
            assert!(is_owners(key), "{key}");
        }
        for key in [
            "agent.iterations_max",
            "provider.temperature",
            "memory.extract",
            "budget.day_usd",
            "provider.models.primary",
        ] {
            assert!(!is_owners(key), "{key}");
        }
    }
}
