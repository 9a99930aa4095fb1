//! openclaw's folder, `~/.openclaw`: `openclaw.json`, a workspace of Markdown, and jobs in a database. Pure.

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;

use crate::cli::import::Program;
use crate::cli::import::foreign_folder::ForeignFolder;
use crate::cli::import::plan::{ImportPlan, Persona, Platform, SkippedItem};
use crate::cli::import::read::{
    ForeignJob, ForeignProvider, JobTiming, ReadContext, model, platform_access, schedule, secret, servers, text,
    texts, variables,
};
use crate::cli::next_step::refusal;
use hob_core::domain::secret::Secret;

/// Channels that Hob has, but sets up in another way.
const MAIL: &str = "email";

/// The config, which openclaw writes as JSON.
pub(super) fn config(foreign: &ForeignFolder) -> anyhow::Result<Value> {
    let file = foreign
        .text("openclaw.json")
        .context(refusal!("there is no openclaw.json in it"; "name the folder that has it"))?;
    serde_json::from_str(file).context(refusal!(
        "openclaw.json is not plain JSON (comments?)";
        "`openclaw config set wizard.lastRunMode local` writes it anew"
    ))
}

/// What is taken.
pub(super) fn plan(foreign: &ForeignFolder, here: &ReadContext) -> anyhow::Result<ImportPlan> {
    let config = config(foreign)?;
    let mut plan = ImportPlan::of(Program::Openclaw);
    plan.persona = persona(foreign);
    memories(&mut plan, foreign, here);
    plan.skills.clone_from(&foreign.skills);
    channels(&mut plan, &config);
    let jobs = foreign.jobs.iter().filter_map(|job| serde_json::from_str::<Value>(job).ok());
    let older = foreign.text("cron/jobs.json").and_then(|file| serde_json::from_str::<Value>(file).ok());
    let older = older.and_then(|file| file.pointer("/jobs").and_then(Value::as_array).cloned()).unwrap_or_default();
    for job in jobs.chain(older) {
        one_job(&mut plan, &job, here);
    }
    servers(&mut plan, config.pointer("/mcp/servers"));
    read_model(&mut plan, &config, foreign);
    if foreign.text("workspace/AGENTS.md").is_some() {
        let why = "says mostly how openclaw works; put what is yours in it under agent.system_prompt";
        plan.left.push(SkippedItem::new("AGENTS.md", why));
    }
    Ok(plan)
}

/// SOUL.md, with what is filled in of IDENTITY.md before it.
fn persona(foreign: &ForeignFolder) -> Option<Persona> {
    let soul = foreign.text("workspace/SOUL.md")?.trim();
    let identity = foreign.texts.get("workspace/IDENTITY.md");
    let filled: Vec<String> = identity
        .into_iter()
        .flat_map(|file| crate::cli::import::text::entries(&file.text))
        .filter(|entry| entry.text.starts_with("**"))
        .map(|entry| format!("- {}", entry.text))
        .collect();
    let from = if filled.is_empty() { "SOUL.md" } else { "SOUL.md and IDENTITY.md" };
    let head = if filled.is_empty() { String::new() } else { format!("{}\n\n", filled.join("\n")) };
    (!soul.is_empty()).then(|| Persona { prompt: format!("{head}{soul}\n"), from })
}

fn memories(plan: &mut ImportPlan, foreign: &ForeignFolder, here: &ReadContext) {
    for (path, file) in &foreign.texts {
        let day = path.strip_prefix("workspace/memory/").and_then(|name| name.get(..10)?.parse().ok());
        let is_note = path.starts_with("workspace/memory/");
        if is_note || ["workspace/MEMORY.md", "workspace/USER.md"].contains(&path.as_str()) {
            plan.memories.extend(here.notes(file, day));
        }
    }
}

fn channels(plan: &mut ImportPlan, config: &Value) {
    for (name, value) in config.pointer("/channels").and_then(Value::as_object).into_iter().flatten() {
        if value.pointer("/enabled").and_then(Value::as_bool) == Some(false) || !value.is_object() {
            continue;
        }
        let platform = Platform::ALL.into_iter().find(|platform| platform.section() == name);
        let Some(platform) = platform else {
            if name != "defaults" {
                let why = if name == MAIL { "`hob init` sets a mailbox up" } else { "Hob does not speak there" };
                plan.left.push(SkippedItem::new(format!("the channel {name}"), why));
            }
            continue;
        };
        let keys = ["/botToken", "/appToken", "/token"].into_iter();
        let tokens = keys.filter_map(|key| {
            let ours = if key == "/appToken" { "app_token" } else { "bot_token" };
            secret(value, key).map(|token| (ours, token))
        });
        let tokens = tokens.collect();
        let dm = [value.pointer("/allowFrom"), value.pointer("/dm/allowFrom")];
        let said: Vec<String> = dm.into_iter().flat_map(texts).collect();
        platform_access(plan, platform, &said, tokens);
    }
}

fn one_job(plan: &mut ImportPlan, job: &Value, here: &ReadContext) {
    // What openclaw declares itself is its own upkeep.
    if text(job, "/declarationKey").is_some() {
        return;
    }
    let name = text(job, "/name").or_else(|| text(job, "/id")).unwrap_or("job");
    if job.pointer("/enabled").and_then(Value::as_bool) == Some(false) {
        return plan.left.push(SkippedItem::new(format!("the schedule {name}"), "is switched off there"));
    }
    let number = |pointer: &str| job.pointer(pointer).and_then(Value::as_i64);
    let instant = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let when = match text(job, "/schedule/kind") {
        Some("cron") => text(job, "/schedule/expr").map(JobTiming::Cron),
        Some("every") => number("/schedule/everyMs")
            .map(|ms| JobTiming::Every(ms / 60_000, instant(number("/schedule/anchorMs").or(number("/createdAtMs"))))),
        Some("at") => {
            let said = text(job, "/schedule/at").and_then(|at| at.parse::<Timestamp>().ok());
            said.or_else(|| instant(number("/schedule/atMs"))).map(JobTiming::At)
        }
        _ => None,
    };
    let task = text(job, "/payload/message").or_else(|| text(job, "/payload/text")).unwrap_or_default();
    schedule(plan, &ForeignJob { name, task, zone: text(job, "/schedule/tz") }, when, here);
}

fn read_model(plan: &mut ImportPlan, config: &Value, foreign: &ForeignFolder) {
    let named = text(config, "/agents/defaults/model/primary").or_else(|| text(config, "/agents/defaults/model"));
    let Some(named) = named else { return };
    let variables = foreign.text(".env").map(variables).unwrap_or_default();
    let key = |kind: &str| {
        let name = format!("{}_API_KEY", kind.to_uppercase());
        let said = variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone());
        let said = said.map(Secret::new).or_else(|| secret(config, &format!("/env/{name}")));
        said.or_else(|| secret(config, &format!("/models/providers/{kind}/apiKey")))
    };
    let server = |kind: &str| {
        let own = config.pointer(&format!("/models/providers/{kind}"))?;
        let is_ours = text(own, "/api").is_none_or(|api| api == "openai-completions" || api == "openai-responses");
        text(own, "/baseUrl").filter(|_| is_ours).map(str::to_owned)
    };
    model(plan, named, None, &ForeignProvider { key: &key, server: &server });
    if config.pointer("/auth/profiles").and_then(Value::as_object).is_some_and(|all| !all.is_empty()) {
        let why = "are in openclaw's own keeping; give Hob a key by `hob init`, or in the environment";
        plan.left.push(SkippedItem::new("keys of model providers", why));
    }
}
