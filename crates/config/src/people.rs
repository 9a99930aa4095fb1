//! `[people.NAME]`: who is one person under several names (row C1).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Finding;
use crate::{email, key_path, matrix, shape, slack, values};
use hob_core::domain::principal::Role;

/// One person under all of their names. From then on Hob knows them as one: what it remembers, their limits, their role.
///
/// What was remembered under a name that is added later stays where it was, and a name that has been theirs stays theirs
/// for as long as no other person here has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = shape::in_order::<PersonConfig>)]
pub struct PersonConfig {
    /// Their ids on Telegram.
    #[schemars(length(max = 100), inner(range(min = 1, max = 4_503_599_627_370_495_i64)))]
    pub telegram_user_ids: Vec<i64>,
    /// Their ids on Slack, in any of its workspaces.
    #[schemars(length(max = 100), inner(length(min = 1, max = 64)))]
    pub slack_user_ids: Vec<String>,
    /// Their ids on Discord.
    #[schemars(length(max = 100), inner(range(min = 1, max = 9_223_372_036_854_775_806_i64)))]
    pub discord_user_ids: Vec<i64>,
    /// Their ids on Matrix.
    #[schemars(length(max = 100), inner(length(min = 4, max = 255)))]
    pub matrix_user_ids: Vec<String>,
    /// Their e-mail addresses.
    #[schemars(length(max = 100), inner(length(min = 3, max = 254)))]
    pub email_addresses: Vec<String>,
    /// Whether it is they who sit at the terminal. Whoever does is an owner.
    pub terminal: bool,
    /// What they may do; where a platform's section lets one of their ids do more, that one may.
    pub role: Role,
}

/// Finds those whom the list at `key` names, and whom nobody knows.
pub(super) fn unknown(key: &str, names: &[String], known: &BTreeMap<String, PersonConfig>) -> Vec<Finding> {
    let unknown = names.iter().enumerate().filter(|(_, name)| !known.contains_key(*name));
    let told = unknown.map(|(index, name)| {
        let why = format!("names {name}, expected somebody under [people]");
        Finding::new(key_path::item(key, index), why, format!("add [people.{name}], or correct the name"))
    });
    told.collect()
}

/// Finds what keeps `name` from naming an account of somebody's.
pub(super) fn account_name(name: &str) -> Option<Finding> {
    let why = "cannot name an account, expected a letter, then up to 63 letters, digits, `_` or `-`";
    (!values::is_name(name)).then(|| Finding::new(key_path::key(name), why, "rename it"))
}

/// Finds what cannot be.
pub fn validate(people: &BTreeMap<String, PersonConfig>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ids: BTreeMap<(&str, i64), &str> = BTreeMap::new();
    let mut slack_ids: BTreeMap<&str, &str> = BTreeMap::new();
    let mut matrix_ids: BTreeMap<&str, &str> = BTreeMap::new();
    let mut addresses: BTreeMap<String, &str> = BTreeMap::new();
    let mut seated: Option<&str> = None;
    for (name, person) in people {
        let key = key_path::key(name);
        if !values::is_name(name) {
            let why = "cannot name a person, expected a letter, then up to 63 letters, digits, `_` or `-`";
            found.push(Finding::new(&key, why, "rename it"));
        }
        let lists = [("telegram_user_ids", &person.telegram_user_ids), ("discord_user_ids", &person.discord_user_ids)];
        for (list, index, id) in
            lists.iter().flat_map(|(list, all)| all.iter().enumerate().map(|(i, id)| (*list, i, *id)))
        {
            if let Some(other) = ids.insert((list, id), name).filter(|other| other != name) {
                let at = key_path::item(&format!("{key}.{list}"), index);
                found.push(Finding::new(at, format!("is also {other}'s, expected one person"), "remove it from one"));
            }
        }
        let on_slack = format!("{key}.slack_user_ids");
        found.extend(slack::validate_members(&on_slack, &person.slack_user_ids));
        for (index, id) in person.slack_user_ids.iter().enumerate() {
            if let Some(other) = slack_ids.insert(id, name).filter(|other| other != name) {
                let why = format!("is also {other}'s, expected one person");
                found.push(Finding::new(key_path::item(&on_slack, index), why, "remove it from one"));
            }
        }
        let on_matrix = format!("{key}.matrix_user_ids");
        found.extend(matrix::validate_users(&on_matrix, &person.matrix_user_ids));
        for (index, id) in person.matrix_user_ids.iter().enumerate() {
            if let Some(other) = matrix_ids.insert(id, name).filter(|other| other != name) {
                let why = format!("is also {other}'s, expected one person");
                found.push(Finding::new(key_path::item(&on_matrix, index), why, "remove it from one"));
            }
        }
        let by_letter = format!("{key}.email_addresses");
        found.extend(email::validate_addresses(&by_letter, &person.email_addresses));
        for (index, address) in person.email_addresses.iter().enumerate() {
            if let Some(other) = addresses.insert(address.to_lowercase(), name).filter(|other| other != name) {
                let why = format!("is also {other}'s, expected one person");
                found.push(Finding::new(key_path::item(&by_letter, index), why, "remove it from one"));
            }
        }
        if !person.terminal {
            continue;
        }
        let at = format!("{key}.terminal");
        if let Some(other) = seated.replace(name) {
            let why = format!("is also {other}'s, expected one person");
            found.push(Finding::new(&at, why, "remove it from one"));
        }
        if person.role != Role::Owner {
            let why = "makes them an owner, because whoever sits at this machine can do everything";
            found.push(Finding::new(&at, why, "set `role = \"owner\"`").with(&format!("{key}.role")));
        }
    }
    found
}
