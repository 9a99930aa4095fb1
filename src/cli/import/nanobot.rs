//! nanobot's folder, `~/.nanobot`: `config.json`, a workspace of Markdown, and jobs as JSON. Pure.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::Value;

use crate::cli::import::Program;
use crate::cli::import::foreign_folder::ForeignFolder;
use crate::cli::import::plan::{ImportPlan, ImportedMemory, Persona, Platform, SkippedItem};
use crate::cli::import::read::{
    ForeignJob, ForeignProvider, JobTiming, ReadContext, model, platform_access, schedule, secret, servers, text, texts,
};
use crate::cli::next_step::refusal;
use hob_core::domain::secret::Secret;

pub(super) fn config(foreign: &ForeignFolder) -> anyhow::Result<Value> {
    let file = foreign
        .text("config.json")
        .context(refusal!("there is no config.json in it"; "name the folder that has it"))?;
    serde_json::from_str(file).context(refusal!("config.json is not JSON"; "mend it, or have nanobot write it anew"))
}

/// What is taken.
pub(super) fn plan(foreign: &ForeignFolder, here: &ReadContext) -> anyhow::Result<ImportPlan> {
    let config = config(foreign)?;
    let mut plan = ImportPlan::of(Program::Nanobot);
    let soul = foreign.text("workspace/SOUL.md").map(str::trim).filter(|soul| !soul.is_empty());
    plan.persona = soul.map(|soul| Persona { prompt: format!("{soul}\n"), from: "SOUL.md" });
    for path in ["workspace/memory/MEMORY.md", "workspace/USER.md"] {
        plan.memories.extend(foreign.texts.get(path).into_iter().flat_map(|file| here.notes(file, None)));
    }
    let history = foreign.text("workspace/memory/history.jsonl").unwrap_or_default();
    plan.memories.extend(history.lines().filter_map(|line| history_line(line, here)));
    plan.skills.clone_from(&foreign.skills);
    channels(&mut plan, &config, foreign);
    for folder in ["workspace/cron", "cron"] {
        for job in jobs(foreign, folder)? {
            one_job(&mut plan, &job, here);
        }
    }
    servers(&mut plan, config.pointer("/tools/mcpServers"));
    read_model(&mut plan, &config);
    let heartbeat = foreign.text("workspace/HEARTBEAT.md").map(crate::cli::import::text::entries).unwrap_or_default();
    if !heartbeat.is_empty() {
        let why = "is a list that is looked at from time to time: name it as `file` under [heartbeat]";
        plan.left.push(SkippedItem::new("HEARTBEAT.md", why));
    }
    Ok(plan)
}

/// A line of the history: `{"timestamp": "2026-11-25 06:17", "content": …}`.
fn history_line(line: &str, here: &ReadContext) -> Option<ImportedMemory> {
    let value: Value = serde_json::from_str(line).ok()?;
    let at: DateTime = text(&value, "/timestamp")?.parse().ok()?;
    let at = at.to_zoned(here.zone.clone()).ok()?.timestamp();
    Some(ImportedMemory { text: text(&value, "/content")?.to_owned(), at, is_dated: true })
}

fn channels(plan: &mut ImportPlan, config: &Value, foreign: &ForeignFolder) {
    let paired = foreign.text("pairing.json").and_then(|file| serde_json::from_str::<Value>(file).ok());
    for (name, value) in config.pointer("/channels").and_then(Value::as_object).into_iter().flatten() {
        if value.pointer("/enabled").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let Some(platform) = Platform::ALL.into_iter().find(|platform| platform.section() == name) else {
            // It is its own page.
            if name != "websocket" {
                let why = if name == "email" { "`hob init` sets a mailbox up" } else { "Hob does not speak there" };
                plan.left.push(SkippedItem::new(format!("the channel {name}"), why));
            }
            continue;
        };
        let keys = [("/token", "bot_token"), ("/botToken", "bot_token"), ("/appToken", "app_token")];
        let tokens = keys.into_iter().filter_map(|(key, ours)| secret(value, key).map(|token| (ours, token))).collect();
        let mut said = texts(value.pointer("/allowFrom"));
        said.extend(texts(value.pointer("/dm/allowFrom")));
        said.extend(texts(paired.as_ref().and_then(|file| file.pointer(&format!("/approved/{name}")))));
        platform_access(plan, platform, &said, tokens);
    }
}

/// What it holds, and then what was asked of it while its gateway did not run, which takes that over at its next start.
fn jobs(foreign: &ForeignFolder, folder: &str) -> anyhow::Result<Vec<Value>> {
    let kept = foreign.text(&format!("{folder}/jobs.json"));
    let kept: Option<Value> = kept
        .map(serde_json::from_str)
        .transpose()
        .with_context(|| refusal!("{folder}/jobs.json is not JSON"; "mend it, or move it away"))?;
    let kept = kept.as_ref().and_then(|file| file.pointer("/jobs")).and_then(Value::as_array);
    let mut jobs = kept.cloned().unwrap_or_default();
    let asked = foreign.text(&format!("{folder}/action.jsonl")).unwrap_or_default();
    // A line that cannot be read is passed over, as by nanobot itself.
    for action in asked.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Some(about) = action.pointer("/params") else { continue };
        let id = text(about, "/job_id").or_else(|| text(about, "/id"));
        let known = jobs.iter().position(|job| text(job, "/id") == id);
        match (text(&action, "/action"), known.and_then(|place| jobs.get_mut(place))) {
            (Some("del"), _) => jobs.retain(|job| text(job, "/id") != id),
            (_, Some(job)) => job.clone_from(about),
            (_, None) => jobs.push(about.clone()),
        }
    }
    Ok(jobs)
}

fn one_job(plan: &mut ImportPlan, job: &Value, here: &ReadContext) {
    let name = text(job, "/name").or_else(|| text(job, "/id")).unwrap_or("job");
    if text(job, "/payload/kind") == Some("system_event") {
        return;
    }
    if job.pointer("/enabled").and_then(Value::as_bool) == Some(false) {
        return plan.left.push(SkippedItem::new(format!("the schedule {name}"), "is switched off there"));
    }
    // As it stands in the one file, and in the other.
    let number = |names: [&str; 2]| names.into_iter().find_map(|name| job.pointer(name).and_then(Value::as_i64));
    let instant = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let when = match text(job, "/schedule/kind") {
        Some("cron") => text(job, "/schedule/expr").map(JobTiming::Cron),
        Some("every") => {
            let begun = instant(number(["/createdAtMs", "/created_at_ms"]));
            number(["/schedule/everyMs", "/schedule/every_ms"]).map(|ms| JobTiming::Every(ms / 60_000, begun))
        }
        Some("at") => instant(number(["/schedule/atMs", "/schedule/at_ms"])).map(JobTiming::At),
        _ => None,
    };
    let task = text(job, "/payload/message").unwrap_or_default();
    schedule(plan, &ForeignJob { name, task, zone: text(job, "/schedule/tz") }, when, here);
}

/// `provider` is `auto` until somebody chooses; then the model is only what nanobot begins with.
fn read_model(plan: &mut ImportPlan, config: &Value) {
    let Some(named) = text(config, "/agents/defaults/model") else { return };
    let key = |kind: &str| -> Option<Secret> { secret(config, &format!("/providers/{kind}/apiKey")) };
    let said = text(config, "/agents/defaults/provider").filter(|provider| *provider != "auto");
    let first = named.split_once('/').map(|(first, _)| first);
    if said.is_some() || first.is_some_and(|first| key(first).is_some()) {
        let server = |kind: &str| text(config, &format!("/providers/{kind}/apiBase")).map(str::to_owned);
        model(plan, named, said, &ForeignProvider { key: &key, server: &server });
    }
}
