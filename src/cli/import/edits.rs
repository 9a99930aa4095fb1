//! What a plan would change in a config that is there already: what it says of its own stays. Pure.

use std::collections::BTreeSet;

use toml::{Table, Value as Toml};
use toml_edit::{Array, InlineTable, Value};

use crate::cli::import::plan::{ImportPlan, ImportedModel, ImportedSchedule, ImportedServer, Platform, PlatformAccess};
use crate::cli::init::providers::ProviderInfo;
use hob_config::change::Edit;
use hob_core::domain::secret::Secret;

/// How something stands to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepStatus {
    /// It is not there yet.
    New,
    /// It is there, as it is here.
    There,
    /// Something else of that name is there, and stays.
    Yours,
}

/// Something that the config would get.
#[derive(Debug)]
pub(super) struct ConfigStep {
    /// What it is, in a word or two.
    pub(super) what: &'static str,
    /// It, for people.
    pub(super) told: String,
    pub(super) standing: StepStatus,
    pub(super) edits: Vec<Edit>,
    /// Keys that name a file with a secret, which is kept first.
    pub(super) kept: Vec<SecretFile>,
}

/// A secret on its way into a file of its own.
#[derive(Debug, Clone)]
pub(super) struct SecretFile {
    /// The key of the config.
    pub(super) key: String,
    /// The file's name.
    pub(super) file: String,
    pub(super) secret: Secret,
}

/// All of them, for a config that says this.
pub(super) fn steps(plan: &ImportPlan, config: &Table) -> Vec<ConfigStep> {
    let mut steps = Vec::new();
    steps.extend(persona(plan, config));
    steps.extend(plan.model.as_ref().map(|chosen| model(chosen, config)));
    steps.extend(plan.platforms.iter().map(|one| platform_access(one, config)));
    steps.extend(plan.servers.iter().map(|one| server(one, config)));
    steps.extend(plan.schedules.iter().map(|one| schedule(one, config)));
    steps
}

fn value_at<'a>(config: &'a Table, path: &[&str]) -> Option<&'a Toml> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(config.get(*first)?, |value, step| value.get(step))
}

fn same<T>(there: Option<T>, is_same: bool) -> StepStatus {
    match (there, is_same) {
        (None, _) => StepStatus::New,
        (Some(_), true) => StepStatus::There,
        (Some(_), false) => StepStatus::Yours,
    }
}

fn persona(plan: &ImportPlan, config: &Table) -> Option<ConfigStep> {
    let persona = plan.persona.as_ref()?;
    let name = plan.program.name();
    let there = value_at(config, &["personas", name]);
    let is_same = there.and_then(|there| there.get("prompt")?.as_str()) == Some(persona.prompt.as_str());
    let count = persona.prompt.chars().count();
    Some(ConfigStep {
        what: "persona",
        told: format!("{name}: {count} characters from {}; `/persona {name}` takes it", persona.from),
        standing: same(there, is_same),
        edits: vec![Edit::set_value(&format!("personas.{name}.prompt"), persona.prompt.as_str())],
        kept: Vec::new(),
    })
}

fn model(chosen: &ImportedModel, config: &Table) -> ConfigStep {
    let kind = ProviderInfo::of(chosen.kind).map_or("", |kind| kind.name);
    let there = value_at(config, &["provider"]);
    let says = |path: &[&str]| value_at(config, path).and_then(Toml::as_str);
    let is_same = says(&["provider", "kind"]) == Some(kind)
        && says(&["provider", "base_url"]) == chosen.base_url.as_deref()
        && says(&["provider", "models", "primary"]) == Some(chosen.model.as_str());
    let mut edits = vec![Edit::set_value("provider.kind", kind)];
    edits.extend(chosen.base_url.as_deref().map(|url| Edit::set_value("provider.base_url", url)));
    edits.push(Edit::set_value("provider.models.primary", chosen.model.as_str()));
    let needs_key = is_same && value_at(config, &["provider", "api_key"]).is_none() && chosen.api_key.is_some();
    let kept = chosen.api_key.iter().map(|secret| SecretFile {
        key: "provider.api_key".to_owned(),
        file: format!("{kind}-api-key"),
        secret: secret.clone(),
    });
    ConfigStep {
        what: "model",
        told: [kind, &chosen.model].into_iter().chain(chosen.base_url.as_deref()).collect::<Vec<_>>().join(", "),
        standing: if needs_key { StepStatus::New } else { same(there, is_same) },
        edits,
        kept: kept.collect(),
    }
}

/// Who is let in as what makes no difference here: whoever stands in one of the lists is known.
fn admitted_ids(section: &Toml) -> BTreeSet<String> {
    let lists = ["allowed_user_ids", "owner_user_ids", "admin_user_ids", "guest_user_ids"];
    let lists = lists.into_iter().filter_map(|key| section.get(key)?.as_array());
    lists.flatten().map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned)).collect()
}

fn platform_access(access: &PlatformAccess, config: &Table) -> ConfigStep {
    let section = access.platform.section();
    let there = value_at(config, &[section]);
    let known = there.map(admitted_ids).unwrap_or_default();
    let mut kept = Vec::new();
    let mut edits = Vec::new();
    for (key, variable) in access.platform.tokens() {
        let reference = format!("${{{variable}}}");
        let set = there.and_then(|there| there.get(key)?.as_str());
        // Its own reference, from an import without secrets, may be replaced.
        let is_open = set.is_none_or(|set| set == reference);
        let token = access.tokens.iter().find(|(name, _)| name == key).filter(|_| is_open);
        if let Some((_, secret)) = token {
            let file = format!("{section}-{}", key.replace('_', "-"));
            kept.push(SecretFile { key: format!("{section}.{key}"), file, secret: secret.clone() });
        } else if set.is_none() {
            edits.push(Edit::set_value(&format!("{section}.{key}"), reference));
        }
    }
    let missing: Vec<&String> = access.ids.iter().filter(|id| !known.contains(*id)).collect();
    if !missing.is_empty() {
        let before = there.and_then(|there| there.get("allowed_user_ids")?.as_array());
        let before = before.into_iter().flatten().map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
        let all: Vec<String> = before.chain(missing.iter().map(|id| (*id).clone())).collect();
        edits.push(Edit::set_value(&format!("{section}.allowed_user_ids"), ids(access.platform, &all)));
    }
    let told = access.ids.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let told = if told.is_empty() { "nobody by id".to_owned() } else { told };
    let standing = if edits.is_empty() && kept.is_empty() { StepStatus::There } else { StepStatus::New };
    ConfigStep { what: "people", told: format!("{section}: {told}"), standing, edits, kept }
}

fn ids(platform: Platform, all: &[String]) -> Array {
    if platform.has_numbers() {
        all.iter().filter_map(|id| id.parse::<i64>().ok()).collect()
    } else {
        all.iter().map(String::as_str).collect()
    }
}

fn server(server: &ImportedServer, config: &Table) -> ConfigStep {
    let there = value_at(config, &["mcp", &server.name]);
    let command = there
        .and_then(|there| there.get("command")?.as_array())
        .map(|all| all.iter().filter_map(Toml::as_str).map(str::to_owned).collect::<Vec<_>>());
    let url = there.and_then(|there| there.get("url")?.as_str());
    let is_same = command.unwrap_or_default() == server.command && url == server.url.as_deref();
    let key = |last: &str| format!("mcp.{}.{last}", server.name);
    let mut edits = Vec::new();
    if !server.command.is_empty() {
        edits.push(Edit::set_value(&key("command"), server.command.iter().map(String::as_str).collect::<Array>()));
    }
    edits.extend(server.url.as_deref().map(|url| Edit::set_value(&key("url"), url)));
    edits.extend(server.working_dir.as_deref().map(|dir| Edit::set_value(&key("working_dir"), dir)));
    let kept = |table: &str, pairs: &[(String, Secret)]| -> Vec<SecretFile> {
        let is_set = |name: &str| there.and_then(|there| there.get(table)?.get(name)).is_some();
        let missing = pairs.iter().filter(|(name, _)| !is_set(name));
        let missing = missing.map(|(name, secret)| SecretFile {
            key: format!("{}.\"{name}\"", key(table)),
            file: format!("mcp-{}-{}", server.name, file_name(name)),
            secret: secret.clone(),
        });
        missing.collect()
    };
    let bearer = server.bearer.iter().filter(|_| there.and_then(|there| there.get("bearer")).is_none());
    let bearer = bearer.map(|secret| SecretFile {
        key: key("bearer"),
        file: format!("mcp-{}-bearer", server.name),
        secret: secret.clone(),
    });
    let kept = [kept("env", &server.env), bearer.collect(), kept("headers", &server.headers)].concat();
    let told =
        if server.command.is_empty() { server.url.clone().unwrap_or_default() } else { server.command.join(" ") };
    let standing = same(there, is_same);
    let standing = if standing == StepStatus::There && !kept.is_empty() { StepStatus::New } else { standing };
    ConfigStep { what: "MCP server", told: format!("{}: {told}", server.name), standing, edits, kept }
}

fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

fn schedule(scheduled: &ImportedSchedule, config: &Table) -> ConfigStep {
    let all = value_at(config, &["schedule"]).and_then(Toml::as_array);
    let there = all.into_iter().flatten().find(|one| one.get("name").and_then(Toml::as_str) == Some(&scheduled.name));
    let says = |key: &str| there.and_then(|there| there.get(key)?.as_str());
    let is_same = says("when") == Some(&scheduled.when) && says("task") == Some(&scheduled.task);
    let mut row = InlineTable::new();
    row.insert("name", Value::from(scheduled.name.as_str()));
    row.insert("when", Value::from(scheduled.when.as_str()));
    row.insert("task", Value::from(scheduled.task.as_str()));
    row.extend(scheduled.zone.as_deref().map(|zone| ("zone", Value::from(zone))));
    let zone = scheduled.zone.as_deref().map(|zone| format!(" ({zone})")).unwrap_or_default();
    let lines: String = row.iter().map(|(key, value)| format!("{key} = {}\n", value.to_string().trim())).collect();
    ConfigStep {
        what: "schedule",
        told: format!("{}: {}{zone}", scheduled.name, scheduled.when),
        standing: same(there, is_same),
        edits: vec![Edit::append(&format!("[[schedule]]\n{lines}"))],
        kept: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::import::Program;

    #[test]
    fn what_stands_in_the_config_stays() {
        let mut plan = ImportPlan::of(Program::Openclaw);
        let ids = ["5", "7"].map(str::to_owned).into();
        plan.platforms.push(PlatformAccess { platform: Platform::Telegram, ids, tokens: Vec::new() });
        let row = |name: &str| ImportedSchedule {
            name: name.to_owned(),
            when: "30 8 * * 1-5".to_owned(),
            task: "Say hello.".to_owned(),
            zone: None,
        };
        plan.schedules = vec![row("morning"), row("noon"), row("evening")];
        let kind = hob_config::provider::ProviderKind::Anthropic;
        plan.model = Some(ImportedModel { kind, base_url: None, model: "claude-9".to_owned(), api_key: None });
        let config = "[provider]\nkind = 'openai'\n[telegram]\nbot_token = 'x'\nowner_user_ids = [5]\n[[schedule]]\n\
                      name = 'noon'\nwhen = 'x'\ntask = 'y'\n[[schedule]]\nname = 'evening'\nwhen = '30 8 * * 1-5'\n\
                      task = 'Say hello.'\n";
        let steps = steps(&plan, &config.parse().unwrap());
        let told = steps.iter().map(|step| format!("{:?} {} {:?}\n", step.standing, step.told, step.edits));
        let told: String = told.collect();
        assert!(told.starts_with("Yours anthropic, claude-9"), "{told}");
        let own = ImportedModel {
            kind: hob_config::provider::ProviderKind::OpenaiCompatible,
            base_url: Some("http://box/v1".to_owned()),
            model: "m".to_owned(),
            api_key: Some(Secret::new("k".to_owned())),
        };
        let standing = |url: &str| {
            let said =
                format!("[provider]\nkind = 'openai_compatible'\nbase_url = '{url}'\nmodels = {{ primary = 'm' }}");
            model(&own, &said.parse().unwrap()).standing
        };
        assert_eq!(standing("http://box/v1"), StepStatus::New, "its key is missing");
        assert_eq!(standing("http://other/v1"), StepStatus::Yours, "no other server is given the key");
        let telegram = steps.iter().find(|step| step.what == "people").unwrap();
        assert_eq!(telegram.edits.len(), 1, "the token that is there stays: {told}");
        let standings: Vec<StepStatus> =
            steps.iter().filter(|step| step.what == "schedule").map(|step| step.standing).collect();
        assert_eq!(standings, [StepStatus::New, StepStatus::Yours, StepStatus::There]);
    }
}
