//! What the three programs say in like ways: people, servers, models, times. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::cli::import::foreign_folder::TextFile;
use crate::cli::import::plan::{
    ImportPlan, ImportedMemory, ImportedModel, ImportedSchedule, ImportedServer, Platform, PlatformAccess, SkippedItem,
};
use crate::cli::import::text::entries;
use crate::cli::init::providers::ProviderInfo;
use hob_config::provider::ProviderKind;
use hob_core::domain::secret::Secret;
use hob_core::policy::schedule::read::read;

const DAY_MINUTES: i64 = 1_440;
/// The longest task of a schedule, and its longest name.
const TASK_CHARS_MAX: usize = 4_000;
const NAME_CHARS_MAX: usize = 64;
/// The longest name of an MCP server.
const SERVER_CHARS_MAX: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct ReadContext {
    /// The household's zone.
    pub(super) zone: TimeZone,
    pub(super) now: Timestamp,
}

impl ReadContext {
    /// Noon of that day, where only the day is known.
    pub(super) fn noon(&self, day: Date) -> Option<Timestamp> {
        day.at(12, 0, 0, 0).to_zoned(self.zone.clone()).ok().map(|zoned| zoned.timestamp())
    }

    /// The entries of a note. `day`: which its name says.
    pub(super) fn notes(&self, file: &TextFile, day: Option<Date>) -> Vec<ImportedMemory> {
        let entries = entries(&file.text).into_iter();
        let remembered = entries.map(|entry| {
            let said = entry.day.or(day).and_then(|day| self.noon(day));
            ImportedMemory { text: entry.text, at: said.unwrap_or(file.changed), is_dated: said.is_some() }
        });
        remembered.collect()
    }
}

/// A text that is not empty, at this pointer.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Texts, or numbers as text; one text may hold several, with commas between them.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let split = |text: &str| text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect();
    match value {
        Some(Value::Array(all)) => all.iter().flat_map(|one| texts(Some(one))).collect(),
        Some(Value::String(text)) => split(text),
        Some(Value::Number(number)) => vec![number.to_string()],
        _ => Vec::new(),
    }
}

/// A secret that stands there as it is: what refers to another place is none.
pub(super) fn secret(value: &Value, pointer: &str) -> Option<Secret> {
    text(value, pointer).filter(|text| !text.starts_with("${")).map(|text| Secret::new(text.to_owned()))
}

/// Who was let in on a platform; `said` is how the other program writes it.
pub(super) fn platform_access(
    plan: &mut ImportPlan,
    platform: Platform,
    said: &[String],
    tokens: Vec<(&'static str, Secret)>,
) {
    let mut ids = BTreeSet::new();
    let section = platform.section();
    for id in said {
        let bare = ["tg:", "telegram:", "discord:", "slack:", "user:"].iter().find_map(|start| id.strip_prefix(start));
        let bare = bare.unwrap_or(id);
        let bare = bare.split_once('|').map_or(bare, |(number, _name)| number);
        let is_id = if platform.has_numbers() {
            bare.parse::<i64>().is_ok_and(|number| number > 0)
        } else {
            bare.len() > 1 && bare.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        };
        if is_id {
            ids.insert(bare.to_owned());
        } else if bare == "*" {
            let why = "lets everybody in; Hob is closed by default, and `/pair` lets people in one by one";
            plan.left.push(SkippedItem::new(format!("`*` on {section}"), why));
        } else {
            let why = "is a name, not an id, and names can become somebody else's; `/pair` lets its owner in";
            plan.left.push(SkippedItem::new(format!("{id} on {section}"), why));
        }
    }
    if !ids.is_empty() || !tokens.is_empty() {
        plan.platforms.push(PlatformAccess { platform, ids, tokens });
    }
}

/// What the other program says of whoever runs a model.
pub(super) struct ForeignProvider<'a> {
    pub(super) key: &'a dyn Fn(&str) -> Option<Secret>,
    /// The address of a server that speaks OpenAI's API.
    pub(super) server: &'a dyn Fn(&str) -> Option<String>,
}

/// The model, if Hob knows who runs it, or where. `named` is `provider/model`, `provider` who runs it where that is said apart.
pub(super) fn model(plan: &mut ImportPlan, named: &str, provider: Option<&str>, by: &ForeignProvider<'_>) {
    let (first, rest) = named.split_once('/').unwrap_or(("", named));
    let (kind, model) = match provider {
        Some(kind) if kind == first => (kind, rest),
        Some(kind) => (kind, named),
        None => (first, rest),
    };
    let known = ProviderInfo::named(provider_name(kind)).map(|found| (found.kind, None));
    let own = || (by.server)(kind).map(|server| (ProviderKind::OpenaiCompatible, Some(server)));
    match known.or_else(own) {
        Some((found, base_url)) => {
            let api_key = (by.key)(kind);
            plan.model = Some(ImportedModel { kind: found, base_url, model: model.to_owned(), api_key });
        }
        None => {
            let why = "is run by somebody whom Hob has no name for; `hob init` sets a model up";
            plan.left.push(SkippedItem::new(format!("the model {named}"), why));
        }
    }
}

/// What Hob calls a provider.
fn provider_name(provider: &str) -> &str {
    match provider {
        "google" => "gemini",
        "lmstudio" | "lmStudio" => "lm_studio",
        "llamacpp" | "llama.cpp" => "llama_cpp",
        other => other,
    }
}

/// The MCP servers of a table.
pub(super) fn servers(plan: &mut ImportPlan, table: Option<&Value>) {
    for (name, value) in table.and_then(Value::as_object).into_iter().flatten() {
        server(plan, name, value);
    }
}

/// An MCP server, as all three write them.
fn server(plan: &mut ImportPlan, name: &str, value: &Value) {
    let what = format!("the MCP server {name}");
    let is_name = name.len() <= SERVER_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && !name.contains("__")
        && !name.ends_with(['_', '-']);
    let is_off = value.pointer("/enabled").and_then(Value::as_bool) == Some(false)
        || value.pointer("/disabled").and_then(Value::as_bool) == Some(true);
    let kind = text(value, "/type").or_else(|| text(value, "/transport"));
    let (command, url) = (text(value, "/command"), text(value, "/url"));
    let why = match () {
        () if !is_name => Some("has a name that Hob cannot give tools; add it under [mcp.NAME]"),
        () if is_off => Some("is switched off there"),
        () if kind == Some("sse") => Some("speaks SSE, which MCP has given up; ask it for streamable HTTP"),
        () if text(value, "/auth") == Some("oauth") => Some("is logged in to by OAuth, which Hob cannot take over"),
        () if command.is_some() == url.is_some() => Some("has neither a command nor an address alone"),
        () => None,
    };
    if let Some(why) = why {
        plan.left.push(SkippedItem::new(what, why));
        return;
    }
    let command = command.map(|first| [vec![first.to_owned()], arguments(value)].concat()).unwrap_or_default();
    let (named, headers): (Vec<_>, Vec<_>) =
        pairs(value.pointer("/headers")).into_iter().partition(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let token = |(_, said): &(String, Secret)| Some(Secret::new(said.expose().strip_prefix("Bearer ")?.to_owned()));
    plan.servers.push(ImportedServer {
        name: name.to_owned(),
        command,
        url: url.map(str::to_owned),
        working_dir: text(value, "/cwd").filter(|dir| dir.starts_with('/')).map(str::to_owned),
        env: pairs(value.pointer("/env")),
        bearer: named.iter().find_map(token),
        headers,
    });
}

/// As they are: a comma in one is its own.
fn arguments(value: &Value) -> Vec<String> {
    let all = value.pointer("/args").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn pairs(value: Option<&Value>) -> Vec<(String, Secret)> {
    let all = value.and_then(Value::as_object);
    let texts = all.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    texts.map(|(key, value)| (key, Secret::new(value))).collect()
}

/// When something is done, as the other programs say it.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobTiming<'a> {
    /// The five fields.
    Cron(&'a str),
    /// So many minutes apart, counted from then.
    Every(i64, Option<Timestamp>),
    /// Once.
    At(Timestamp),
}

/// A job: its name, its task and whose wall clock it goes by.
pub(super) struct ForeignJob<'a> {
    pub(super) name: &'a str,
    pub(super) task: &'a str,
    pub(super) zone: Option<&'a str>,
}

/// A schedule, if Hob can keep it.
pub(super) fn schedule(plan: &mut ImportPlan, job: &ForeignJob<'_>, when: Option<JobTiming<'_>>, here: &ReadContext) {
    let what = format!("the schedule {}", job.name);
    let named = job.zone.map(TimeZone::get);
    let zone = match named {
        Some(Err(_)) => return plan.left.push(SkippedItem::new(what, "names a time zone that there is not")),
        Some(Ok(zone)) => zone,
        None => here.zone.clone(),
    };
    let Some(when) = when else {
        return plan.left.push(SkippedItem::new(what, "says no time that Hob can read"));
    };
    if job.task.is_empty() || job.task.chars().count() > TASK_CHARS_MAX {
        return plan.left.push(SkippedItem::new(what, format!("has no task of 1 to {TASK_CHARS_MAX} characters")));
    }
    let when = timing_text(when, &zone);
    if let Err(error) = read(&when, &zone, here.now) {
        return plan.left.push(SkippedItem::new(what, format!("`{when}`: {error}")));
    }
    let name = plan.free_name(job.name);
    plan.schedules.push(ImportedSchedule { name, when, task: job.task.to_owned(), zone: job.zone.map(str::to_owned) });
}

/// As Hob reads it.
fn timing_text(when: JobTiming<'_>, zone: &TimeZone) -> String {
    match when {
        JobTiming::Cron(fields) => fields.to_owned(),
        JobTiming::At(at) => at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        JobTiming::Every(minutes, from) if minutes > 0 && minutes % DAY_MINUTES == 0 => {
            let at = from.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone());
            format!("every {} days at {}", minutes / DAY_MINUTES, at.strftime("%H:%M"))
        }
        JobTiming::Every(minutes, _) => format!("every {minutes} minutes"),
    }
}

impl ImportPlan {
    /// A name for a schedule: letters, digits, `_` and `-`, and no other's.
    fn free_name(&self, wanted: &str) -> String {
        let mut name = String::new();
        for c in wanted.chars().take(NAME_CHARS_MAX / 2) {
            if c.is_ascii_alphanumeric() {
                name.push(c.to_ascii_lowercase());
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = name.trim_matches('-');
        let name =
            if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name.to_owned() } else { format!("job-{name}") };
        let name = name.trim_end_matches('-').to_owned();
        let is_free = |name: &str| self.schedules.iter().all(|one| one.name != name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| is_free(name)).unwrap_or(name)
    }
}

/// `NAME=value` lines.
pub(super) fn variables(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (name, value) = line.trim().trim_start_matches("export ").split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!name.starts_with('#') && !value.is_empty()).then(|| (name.trim().to_owned(), value.to_owned()))
    };
    text.lines().filter_map(line).collect()
}
