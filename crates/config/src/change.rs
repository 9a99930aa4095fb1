//! Changes of the config's text, key by key: comments and order stay.
//!
//! Never: a file, or a check of what comes of it; that is the writer's.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use crate::edit::{self, EditError, is_reference, is_secret, parsed, path};
use crate::environment::Environment;
use crate::{Config, load};
use hob_core::domain::redactor::REDACTED;

/// One change.
#[derive(Debug, Clone)]
pub enum Edit {
    /// A key gets a value.
    Set {
        /// Such as `agent.iterations_max`.
        key: String,
        /// What it gets.
        value: Value,
    },
    /// A key, or a whole section, is taken away, so that the default holds.
    Unset { key: String },
    /// Sections of their own, with their comments, are put at the end.
    Append {
        /// As they are to stand there.
        text: String,
    },
}

impl Edit {
    /// A key gets what is written as TOML: `7`, `true`, `["a"]`; what is no TOML is taken as text.
    pub fn set(key: &str, value: &str) -> Self {
        Self::set_value(key, value.trim().parse().unwrap_or_else(|_not_toml| Value::from(value)))
    }

    /// A key gets this value: a text stays one, whatever it looks like.
    pub fn set_value(key: &str, value: impl Into<Value>) -> Self {
        Self::Set { key: key.to_owned(), value: value.into() }
    }

    /// A key is taken away.
    pub fn unset(key: &str) -> Self {
        Self::Unset { key: key.to_owned() }
    }

    /// Sections of their own are put at the end.
    pub fn append(text: &str) -> Self {
        Self::Append { text: text.to_owned() }
    }
}

/// Whether a secret may be written as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// It was said where words are kept: only a reference such as `${NAME}` is taken.
    Refused,
    /// It came on a way of its own.
    Taken,
}

/// The text after all edits, and a line for each that says what it does, without secrets.
///
/// # Errors
/// When the text is not TOML, or an edit cannot be made.
pub(super) fn apply(text: &str, edits: &[Edit], secrets: Secrets) -> Result<(String, Vec<String>), EditError> {
    let (mut text, mut told) = (text.to_owned(), Vec::new());
    for edit in edits {
        let (next, words) = match edit {
            Edit::Set { key, value } => set(&text, key, value, secrets)?,
            Edit::Unset { key } => unset(&text, key)?,
            Edit::Append { text: more } => append(&text, more)?,
        };
        text = next;
        told.push(words);
    }
    Ok((text, told))
}

/// Those that can be made: what is not there need not be taken away.
pub fn possible(text: &str, edits: &[Edit]) -> Vec<Edit> {
    let is_there = |edit: &&Edit| match edit {
        Edit::Unset { key } => matches!(edit::get(text, key), Ok(Some(_))),
        Edit::Set { .. } | Edit::Append { .. } => true,
    };
    edits.iter().filter(is_there).cloned().collect()
}

/// The whole file after the edits, and what it says then, for whoever tries it before anything is written. What is to be
/// taken away need not be there, and secrets are taken.
///
/// # Errors
/// When an edit cannot be made, or the check would refuse what comes of it.
pub fn tried(file: &Path, text: &str, edits: &[Edit], env: &Environment) -> Result<(String, Config), EditError> {
    let (text, _) = apply(text, &possible(text, edits), Secrets::Taken)?;
    let config = load::parse(file, &text, env)?;
    Ok((text, config))
}

fn set(text: &str, key: &str, value: &Value, secrets: Secrets) -> Result<(String, String), EditError> {
    let path = path(key)?;
    let is_hidden = is_secret(&path) && !value.as_str().is_some_and(is_reference);
    if is_hidden && secrets == Secrets::Refused {
        return Err(EditError::Secret { key: key.to_owned() });
    }
    let before = edit::get(text, key)?.unwrap_or_else(|| "not set".to_owned());
    let after = if is_hidden { REDACTED.to_owned() } else { value.to_string().trim().to_owned() };
    let mut document = parsed(text)?;
    put(document.as_table_mut(), key, &path, value.clone())?;
    Ok((document.to_string(), format!("{key}: {before} → {after}")))
}

fn put(root: &mut Table, key: &str, path: &[Key], value: Value) -> Result<(), EditError> {
    let Some((last, sections)) = path.split_last() else {
        return Err(EditError::Key { key: key.to_owned() });
    };
    let not_a_section = |step: &Key| EditError::NotASection { key: key.to_owned(), step: step.get().to_owned() };
    let mut table: &mut dyn TableLike = root;
    for section in sections {
        let item = table.entry(section.get()).or_insert_with(|| {
            let mut new = Table::new();
            // A header that nothing stands under is none.
            new.set_implicit(true);
            Item::Table(new)
        });
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

fn unset(text: &str, key: &str) -> Result<(String, String), EditError> {
    let path = path(key)?;
    let Some(before) = edit::get(text, key)? else {
        return Err(EditError::NotSet { key: key.to_owned() });
    };
    let mut document = parsed(text)?;
    let Some((last, sections)) = path.split_last() else {
        return Err(EditError::Key { key: key.to_owned() });
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for section in sections {
        let inner = table.get_mut(section.get()).and_then(Item::as_table_like_mut);
        table = inner.ok_or_else(|| EditError::NotASection { key: key.to_owned(), step: section.get().to_owned() })?;
    }
    table.remove(last.get());
    let before = if before.contains('\n') { "a section".to_owned() } else { before };
    Ok((document.to_string(), format!("{key}: {before} → not set")))
}

fn append(text: &str, more: &str) -> Result<(String, String), EditError> {
    let new = parsed(more)?;
    let mut names = Vec::new();
    for (key, item) in new.iter() {
        // At the end of the file it would become a key of the last section.
        if !matches!(item, Item::Table(_) | Item::ArrayOfTables(_)) {
            return Err(EditError::NotASection { key: key.to_owned(), step: key.to_owned() });
        }
        names.push(key.to_owned());
    }
    parsed(text)?;
    let gap = if text.trim().is_empty() { "" } else { "\n\n" };
    let joined = format!("{}{gap}{}\n", text.trim_end(), more.trim());
    // What stands there already cannot stand there twice.
    let clash = |_source| EditError::Exists { key: names.join(", ") };
    joined.parse::<DocumentMut>().map_err(clash)?;
    Ok((joined, format!("[{}] is added", names.join("], ["))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# Ours.
[telegram]
bot_token = "12:AA" # the bot
owner_user_ids = [1]

[agent]
iterations_max = 7   # enough
"#;

    fn changed(edits: &[Edit]) -> Result<(String, Vec<String>), String> {
        apply(FILE, edits, Secrets::Taken).map_err(|error| error.to_string())
    }

    #[test]
    fn many_keys_are_changed_at_once_and_the_rest_stays() {
        let edits = [
            Edit::set("agent.iterations_max", "9"),
            Edit::set_value("agent.system_prompt", "7"),
            Edit::unset("telegram.owner_user_ids"),
            Edit::set_value("telegram.bot_token", "13:BB"),
            Edit::set("provider.models.primary", "fake"),
            Edit::append("# Who speaks.\n[slack]\n# From the app's page.\nbot_token = 'xoxb-1'\n"),
        ];
        let (text, told) = changed(&edits).unwrap();
        insta::assert_snapshot!(text, @r#"
        # Ours.
        [telegram]
        bot_token = "13:BB" # the bot

        [agent]
        iterations_max = 9   # enough
        system_prompt = "7"

        [provider.models]
        primary = "fake"

        # Who speaks.
        [slack]
        # From the app's page.
        bot_token = 'xoxb-1'
        "#);
        insta::assert_snapshot!(told.join("\n"), @r#"
        agent.iterations_max: 7   # enough → 9
        agent.system_prompt: not set → "7"
        telegram.owner_user_ids: [1] → not set
        telegram.bot_token: "[redacted]" # the bot → [redacted]
        provider.models.primary: not set → "fake"
        [slack] is added
        "#);
    }

    #[test]
    fn the_person_at_the_machine_writes_secrets_too_and_the_rest_stays() {
        let edits = [
            Edit::set_value("agent.iterations_max", 9),
            Edit::unset("provider.fallbacks"),
            Edit::unset("telegram.owner_user_ids"),
            Edit::set_value("telegram.bot_token", "14:CC"),
            Edit::set_value("discord.bot_token", "abc.def"),
        ];
        let env = Environment::default();
        let (text, config) = tried(Path::new("/c.toml"), FILE, &edits, &env).unwrap();
        insta::assert_snapshot!(text, @r#"
        # Ours.
        [telegram]
        bot_token = "14:CC" # the bot

        [agent]
        iterations_max = 9   # enough

        [discord]
        bot_token = "abc.def"
        "#);
        assert_eq!(config.discord.unwrap().bot_token.expose(), "abc.def");
        let bad = [Edit::set_value("agent.iterations_max", "many")];
        assert!(tried(Path::new("/c.toml"), FILE, &bad, &env).unwrap_err().to_string().contains("/c.toml:7"));
    }

    #[test]
    fn a_section_goes_as_a_whole() {
        let (text, told) = changed(&[Edit::unset("telegram")]).unwrap();
        assert_eq!(told, ["telegram: a section → not set"]);
        assert!(!text.contains("telegram") && text.contains("[agent]\niterations_max = 7   # enough\n"), "{text}");
    }

    #[test]
    fn what_cannot_be_changed_says_why() {
        for (edit, expected) in [
            (Edit::unset("agent.persona"), "agent.persona is not set, so there is nothing to remove"),
            (Edit::unset("agent.nothing"), "agent.nothing is not a known key; `hob config example` has every key"),
            (Edit::append("[agent]\nx = 1\n"), "agent is already in the file: set its keys one by one"),
            (Edit::append("x = 1\n"), "x: x is not a section; set x as a whole"),
            (Edit::append("[a"), "the config file is not TOML; `hob config check` says where"),
            (Edit::set("agent", "1"), "agent is a section: set a key in it"),
        ] {
            assert_eq!(changed(&[edit]).unwrap_err(), expected);
        }
        let secret = [Edit::set("telegram.bot_token", "13:BB")];
        assert!(matches!(apply(FILE, &secret, Secrets::Refused), Err(EditError::Secret { .. })));
    }
}
