//! Where keys go: a key that stands in the config was entered for one place, and never follows to another by itself.
//!
//! Looked at are the tables that have a key in them, by the marks that the config's types carry, so that a new kind of server
//! is covered by its type alone.
//! Start at [`strayed`].

use serde_json::Value as Json;
use toml_edit::{Item, TableLike, Value};

use crate::change::Edit;
use crate::environment::Environment;
use crate::{edit, key_path, secrets};

/// The mark of a member that says where the keys beside it go.
pub(super) const MARK: &str = "x-goes";

/// A key, and where it goes.
#[derive(Debug, PartialEq, Eq)]
struct KeyDestination {
    /// The key's own path; of one that the environment has, its table's.
    path: String,
    /// What tells it from another.
    key: String,
    /// Where it goes.
    to: Vec<(String, String)>,
}

/// The first key that would go to a place for which nobody has entered it: it stays, and the place changes.
pub(super) fn find_strayed_key(before: &str, after: &str, edits: &[Edit], env: &Environment) -> Option<String> {
    let (before, after) = (entrusted(before, env)?, entrusted(after, env)?);
    let strayed = after.iter().find(|one| !before.contains(one) && !edits.iter().any(|edit| enters(edit, &one.path)));
    strayed.map(|one| one.path.clone())
}

/// Does this edit enter the key anew: itself, or all that it is a part of?
fn enters(edit: &Edit, path: &str) -> bool {
    match edit {
        Edit::Set { key, .. } => {
            let set = edit::path(key).unwrap_or_default();
            let set = set.iter().fold(String::new(), |at, step| key_path::child(&at, step.get()));
            !set.is_empty() && key_path::contains(&set, path)
        }
        // Sections of their own come with their keys.
        Edit::Append { .. } => true,
        Edit::Unset { .. } => false,
    }
}

fn entrusted(text: &str, env: &Environment) -> Option<Vec<KeyDestination>> {
    let document = edit::parsed(text).ok()?;
    let schema = secrets::schema();
    let mut found = Vec::new();
    of_table(document.as_table(), &schema, "", env, &mut found);
    Some(found)
}

fn of_table(table: &dyn TableLike, schema: &Json, path: &str, env: &Environment, found: &mut Vec<KeyDestination>) {
    let own: Vec<(String, String)> = table
        .iter()
        .filter(|(name, _)| secrets::inner(schema, name).is_some_and(goes))
        .map(|(name, item)| (name.to_owned(), destination(item)))
        .collect();
    let mut has_key = false;
    for (name, item) in table.iter() {
        let Some(schema) = secrets::inner(schema, name) else { continue };
        let at = key_path::child(path, name);
        if let Some(text) = item.as_str().filter(|_| secrets::is_secret(schema)) {
            has_key = true;
            found.push(KeyDestination { path: at, key: text.to_owned(), to: own.clone() });
        } else if let Some(inner) = item.as_table_like() {
            // Headers and environments: tables of nothing but keys, which go where their table's do.
            if is_bundle(schema) {
                has_key = true;
                let keys = inner.iter().filter_map(|(name, item)| Some((key_path::child(&at, name), item.as_str()?)));
                found.extend(keys.map(|(path, key)| KeyDestination { path, key: key.to_owned(), to: own.clone() }));
            } else {
                of_table(inner, schema, &at, env, found);
            }
        } else {
            of_list(item, schema, &at, env, found);
        }
    }
    found.extend(implied(table, path, own, env).filter(|_| !has_key));
}

fn of_list(item: &Item, schema: &Json, path: &str, env: &Environment, found: &mut Vec<KeyDestination>) {
    let Some(schema) = secrets::items(schema) else { return };
    match item {
        Item::ArrayOfTables(tables) => {
            for (index, table) in tables.iter().enumerate() {
                of_table(table, schema, &key_path::item(path, index), env, found);
            }
        }
        Item::Value(Value::Array(values)) => {
            for (index, table) in
                values.iter().enumerate().filter_map(|(at, value)| Some((at, value.as_inline_table()?)))
            {
                of_table(table, schema, &key_path::item(path, index), env, found);
            }
        }
        Item::None | Item::Value(_) | Item::Table(_) => {}
    }
}

/// Does it say where the keys beside it go?
fn goes(schema: &Json) -> bool {
    schema[MARK] == true
}

/// A table whose every member is a key.
fn is_bundle(schema: &Json) -> bool {
    let any = &schema["additionalProperties"];
    any.is_object() && secrets::is_secret(any)
}

/// A provider without a key has that of the environment: at its own place nobody need enter it, at another somebody must.
fn implied(table: &dyn TableLike, path: &str, to: Vec<(String, String)>, env: &Environment) -> Option<KeyDestination> {
    let elsewhere = to.iter().any(|(name, _)| name == "base_url");
    let kind = table.get("kind").and_then(Item::as_str)?;
    let variable = format!("{}_API_KEY", kind.to_ascii_uppercase());
    let is_set = env.texts().any(|(name, value)| name == variable && !value.trim().is_empty());
    (elsewhere && is_set).then(|| KeyDestination { path: key_path::child(path, "api_key"), key: variable, to })
}

/// Where an address leads: of one with a path only the server counts.
fn destination(item: &Item) -> String {
    let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    match url::Url::parse(text.trim()) {
        Ok(url) if url.has_host() => url.origin().ascii_serialization(),
        Ok(_) | Err(_) => text.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const FILE: &str = r#"
[provider]
kind = "openai_compatible"
base_url = "https://api.example/v1"
api_key = "k1"
fallbacks = [{ kind = "openai", model = "x", api_key = "${SPARE}" }]

[mcp.notes]
url = "https://notes.example/mcp"
headers = { X-Key = "k2" }

[agent]
iterations_max = 7
"#;

    fn after(edits: &[Edit], variables: &[(&str, &str)]) -> Option<String> {
        let env = Environment::of("/", variables.iter().copied());
        let (text, _) = crate::change::apply(FILE, edits, crate::change::Secrets::Taken).unwrap();
        find_strayed_key(FILE, &text, edits, &env)
    }

    #[test]
    fn n6_a_key_does_not_follow_to_another_host() {
        let set = |key: &str, value: &str| Edit::set_value(key, value);
        let evil = "https://evil.example/v1";
        for (edits, strays) in [
            (vec![set("provider.base_url", evil)], Some("provider.api_key")),
            (vec![set("provider.base_url", "http://api.example/v1")], Some("provider.api_key")),
            (vec![set("provider.base_url", "https://api.example/v2")], None),
            (vec![set("provider.kind", "openai")], Some("provider.api_key")),
            (vec![set("provider.base_url", evil), set("provider.api_key", "k1")], None),
            (vec![Edit::unset("provider.api_key"), set("provider.base_url", evil)], None),
            (vec![set("mcp.notes.url", evil)], Some("mcp.notes.headers.X-Key")),
            (vec![set("provider.models.primary", "y")], None),
            (vec![Edit::set("agent.iterations_max", "9")], None),
            (vec![Edit::unset("provider.base_url")], Some("provider.api_key")),
        ] {
            assert_eq!(after(&edits, &[]).as_deref(), strays, "{edits:?}");
        }
        let spare = r#"[{ kind = "openai", model = "x", base_url = "https://evil.example", api_key = "${SPARE}" }]"#;
        assert_eq!(after(&[Edit::set("provider.fallbacks", spare)], &[]), None, "it is entered with its place");
    }

    /// Each table that has a key: its keys, where they go, and whatever else could say that.
    fn tables(schema: &Json, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
        if !schema.is_object() {
            return;
        }
        for word in ["anyOf", "oneOf"] {
            schema[word].as_array().into_iter().flatten().for_each(|any| tables(any, path, found));
        }
        for word in ["items", "additionalProperties"] {
            tables(&schema[word], path, found);
        }
        let members = || schema["properties"].as_object().into_iter().flatten();
        let is_key = |schema: &Json| secrets::is_secret(schema) || is_bundle(schema);
        for (name, inner) in members() {
            tables(inner, &key_path::child(path, name), found);
        }
        if !members().any(|(_, inner)| is_key(inner)) {
            return;
        }
        let named = |which: &dyn Fn(&Json) -> bool| {
            members().filter(|(_, inner)| which(inner)).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
        };
        let is_text =
            |inner: &Json| !inner.to_string().contains("\"type\":\"object\"") && inner.to_string().contains("string");
        let told = [named(&is_key), named(&goes), named(&|inner| !is_key(inner) && !goes(inner) && is_text(inner))];
        found.insert(path.to_owned(), told.to_vec());
    }

    /// Whoever adds a text to a table with a key says here whether it tells where the key goes: `x-goes` on its field.
    #[test]
    fn n6_of_each_table_with_a_key_it_is_known_what_says_where_that_goes() {
        let mut found = BTreeMap::new();
        tables(&secrets::schema(), "", &mut found);
        let line = |told: &[String]| format!("{} -> {}; not: {}", told[0], told[1], told[2]).trim_end().to_owned();
        let lines = found.iter().map(|(path, told)| format!("{path}: {}", line(told)));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
        dav: password -> url; not: addresses busy_for calendar for user
        discord: bot_token -> api_url; not: persona
        discord_accounts: bot_token -> api_url; not: persona
        email: imap_password smtp_password -> ca_file imap_host imap_port imap_tls smtp_host smtp_port smtp_tls; not: address admin_addresses aliases allowed_addresses answer_automatic_from authserv_ids folder guest_addresses imap_user name owner_addresses persona sent_folder smtp_user
        email_accounts: imap_password smtp_password -> ca_file imap_host imap_port imap_tls smtp_host smtp_port smtp_tls; not: address admin_addresses aliases allowed_addresses answer_automatic_from authserv_ids folder guest_addresses imap_user name owner_addresses persona sent_folder smtp_user
        home_assistant: access_token -> url; not: critical entities role
        http: secret -> hosts; not: header kind
        mail: password -> ca_file imap_host imap_port imap_tls smtp_host smtp_port smtp_tls; not: address archive drafts for name oauth sent trash user
        mail.oauth: client_secret -> device_url provider token_url; not: client_id scope
        matrix: password -> homeserver; not: admin_user_ids allowed_user_ids guest_user_ids owner_user_ids persona user
        matrix_accounts: password -> homeserver; not: admin_user_ids allowed_user_ids guest_user_ids owner_user_ids persona user
        mcp: bearer client_secret env headers -> command url working_dir; not: allow approval client_id deny read_dirs role write_dirs
        memory.embedding: api_key -> base_url kind; not: fetch_url model path
        provider: api_key -> base_url kind; not: api effort
        provider.fallbacks: api_key -> base_url kind; not: api effort model
        slack: app_token bot_token -> api_url; not: admin_user_ids allowed_user_ids guest_user_ids owner_user_ids persona
        slack_accounts: app_token bot_token -> api_url; not: admin_user_ids allowed_user_ids guest_user_ids owner_user_ids persona
        speech: api_key -> base_url; not: command model read_dirs voice
        state: url -> ; not: dir
        telegram: bot_token webhook_secret -> api_url webhook_url; not: persona
        telegram_accounts: bot_token webhook_secret -> api_url webhook_url; not: persona
        telemetry: headers -> otlp; not: service_name
        transcription: api_key -> base_url; not: language model
        web.search: api_key -> base_url kind; not:
        webhooks: secret -> ; not: header prompt signed to
        ");
        // What calls in brings its key along, and that goes nowhere. The state's URL is the place and the key to it.
        let nowhere = found.iter().filter(|(_, told)| told[1].is_empty()).map(|(path, _)| path.as_str());
        assert_eq!(nowhere.collect::<Vec<_>>(), ["state", "webhooks"]);
    }

    #[test]
    fn the_environments_key_goes_to_its_own_provider_alone() {
        let edits = |url: &str| {
            [
                Edit::unset("provider.api_key"),
                Edit::set_value("provider.kind", "openai"),
                Edit::set_value("provider.base_url", url),
            ]
        };
        let with = [("OPENAI_API_KEY", "k")];
        assert_eq!(after(&edits("https://evil.example"), &with).as_deref(), Some("provider.api_key"));
        assert_eq!(after(&edits("https://evil.example"), &[]), None);
        let own = [
            Edit::unset("provider.api_key"),
            Edit::set_value("provider.kind", "openai"),
            Edit::unset("provider.base_url"),
        ];
        assert_eq!(after(&own, &with), None);
    }
}
