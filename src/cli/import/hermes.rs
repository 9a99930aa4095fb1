//! hermes's folder, `~/.hermes`: `config.yaml`, `.env`, a SOUL.md, two files of memory, and jobs as JSON. Pure.

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::Value;

use crate::cli::import::Program;
use crate::cli::import::foreign_folder::ForeignFolder;
use crate::cli::import::plan::{ImportPlan, ImportedMemory, Persona, Platform, SkippedItem};
use crate::cli::import::read::{
    ForeignJob, ForeignProvider, JobTiming, ReadContext, model, platform_access, schedule, servers, text, texts,
    variables,
};
use crate::cli::next_step::refusal;
use hob_core::domain::secret::Secret;

/// What stands between two entries of its memory.
const BETWEEN: &str = "\n§\n";

/// What is taken.
pub(super) fn plan(foreign: &ForeignFolder, here: &ReadContext) -> anyhow::Result<ImportPlan> {
    let file = foreign
        .text("config.yaml")
        .context(refusal!("there is no config.yaml in it"; "name the folder that has it"))?;
    let config: Value = serde_saphyr::from_str(file)
        .context(refusal!("config.yaml cannot be read"; "mend it, or have hermes write it anew"))?;
    let mut plan = ImportPlan::of(Program::Hermes);
    let soul = foreign.text("SOUL.md").map(str::trim).filter(|soul| !soul.is_empty());
    plan.persona = soul.map(|soul| Persona { prompt: format!("{soul}\n"), from: "SOUL.md" });
    for path in ["memories/MEMORY.md", "memories/USER.md"] {
        let Some(file) = foreign.texts.get(path) else { continue };
        let entries = file.text.split(BETWEEN).map(str::trim).filter(|entry| !entry.is_empty());
        let entry = |text: &str| ImportedMemory { text: text.to_owned(), at: file.changed, is_dated: false };
        plan.memories.extend(entries.map(entry));
    }
    plan.skills.clone_from(&foreign.skills);
    let variables = foreign.text(".env").map(variables).unwrap_or_default();
    channels(&mut plan, &config, &variables);
    if let Some(file) = foreign.text("cron/jobs.json") {
        let file: Value =
            serde_json::from_str(file).context(refusal!("cron/jobs.json is not JSON"; "mend it, or move it away"))?;
        for job in file.pointer("/jobs").and_then(Value::as_array).into_iter().flatten() {
            one_job(&mut plan, job, here);
        }
    }
    servers(&mut plan, config.pointer("/mcp_servers"));
    let key = |kind: &str| variable_value(&variables, &format!("{}_API_KEY", kind.to_uppercase())).map(Secret::new);
    let chosen = text(&config, "/model/default").or_else(|| text(&config, "/model"));
    let provider = text(&config, "/model/provider").filter(|provider| *provider != "auto");
    // Without a word on who runs it, hermes asks OpenRouter where it has a key for that.
    let provider = provider.or_else(|| key("openrouter").map(|_| "openrouter"));
    if let Some(chosen) = chosen {
        let server = |_: &str| text(&config, "/model/base_url").map(str::to_owned);
        model(&mut plan, chosen, provider, &ForeignProvider { key: &key, server: &server });
    }
    Ok(plan)
}

fn variable_value(variables: &[(String, String)], name: &str) -> Option<String> {
    variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.clone())
}

fn channels(plan: &mut ImportPlan, config: &Value, variables: &[(String, String)]) {
    for platform in Platform::ALL {
        let (section, upper) = (platform.section(), platform.section().to_uppercase());
        let allowed = format!("{upper}_ALLOWED_USERS");
        let mut said = texts(config.pointer(&format!("/{section}/allowed_users")));
        said.extend(texts(config.pointer(&format!("/{section}/allow_from"))));
        said.extend(texts(config.pointer(&format!("/{allowed}"))));
        said.extend(texts(variable_value(variables, &allowed).map(Value::String).as_ref()));
        let tokens = platform.tokens().iter();
        let tokens =
            tokens.filter_map(|(key, variable)| Some((*key, Secret::new(variable_value(variables, variable)?))));
        let tokens = tokens.collect();
        platform_access(plan, platform, &said, tokens);
    }
}

fn one_job(plan: &mut ImportPlan, job: &Value, here: &ReadContext) {
    let name = text(job, "/name").or_else(|| text(job, "/id")).unwrap_or("job");
    let what = format!("the schedule {name}");
    if job.pointer("/enabled").and_then(Value::as_bool) == Some(false) {
        return plan.left.push(SkippedItem::new(what, "is switched off there"));
    }
    if text(job, "/script").is_some() {
        let why = "runs a script of hermes's own; put it under [tools] and let a schedule call it";
        return plan.left.push(SkippedItem::new(what, why));
    }
    let instant = |pointer: &str| text(job, pointer).and_then(|at| at.parse::<Timestamp>().ok());
    let when = match text(job, "/schedule/kind") {
        Some("cron") => text(job, "/schedule/expr").map(JobTiming::Cron),
        Some("interval") => {
            let minutes = job.pointer("/schedule/minutes").and_then(Value::as_i64);
            minutes.map(|minutes| JobTiming::Every(minutes, instant("/created_at")))
        }
        Some("once") => instant("/schedule/run_at").map(JobTiming::At),
        _ => None,
    };
    schedule(plan, &ForeignJob { name, task: text(job, "/prompt").unwrap_or_default(), zone: None }, when, here);
}
