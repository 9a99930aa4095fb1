//! From config sections to what the rooms take.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use crate::daemon::assembly::ProcessServices;
use crate::daemon::error::StartError;
use crate::daemon::toolset::own_programs::of_hook;
use crate::daemon::{Blueprint, account_access, declared_loops};
use hob_agent::machine::policy::{ContextPolicy, GatePolicy, GuardPolicy, Policy, ToolPolicy, TruthPolicy};
use hob_agent::persona::{Persona, Personas};
use hob_config::Config;
use hob_config::budget::BudgetConfig;
use hob_config::context::ContextConfig;
use hob_config::environment::Environment;
use hob_config::groups::{self, GroupsConfig};
use hob_config::guards::GuardsConfig;
use hob_config::hooks::{HookConfig, HookFailure};
use hob_config::persona::{ApprovalsMode, PersonaConfig};
use hob_config::provider::ProviderKind;
use hob_config::quotas::QuotaConfig;
use hob_config::transcription::TranscriptionConfig;
use hob_config::zone;
use hob_core::domain::money::Money;
use hob_core::domain::principal::Role;
use hob_core::domain::secret::Secret;
use hob_core::domain::text::hex;
use hob_core::policy::access::{AccessList, ToolAccess};
use hob_core::policy::budget::{Budget, CapsByPeriod, PeriodCaps};
use hob_core::policy::groups::GroupModes;
use hob_core::policy::quota::Quotas;
use hob_memory::extraction::{self, Extractor, Ports, Settings};
use hob_memory::recall::Memory;
use hob_model::budget_guard::BudgetGuard;
use hob_model::catalog::Catalog;
use hob_model::error::ModelError;
use hob_model::model_table::ModelTable;
use hob_model::transcription::{self, Transcriber};
use hob_tools::hook::{Hook, Hooks};
use hob_tools::registry::Registry;
use hob_tools::results::ResultStore;
use hob_tools::sandbox::program_sandbox::ProgramSandbox;
use hob_tools::{Timeouts, ToolRuntime};

/// The most tokens of a reply under a budget, where the owner sets no other limit.
pub(super) const REPLY_TOKENS: u64 = 4_096;

/// In what two daemons on one database have to agree: who is let in and as whom, and where Hob is reached. Secrets are not part of it.
pub(super) fn fingerprint(config: &Config) -> String {
    let Config { people, groups, destinations, personas, .. } = config;
    let Config { telegram, slack, discord, matrix, email, .. } = config;
    let Config { telegram_accounts, slack_accounts, discord_accounts, matrix_accounts, email_accounts, .. } = config;
    let channels = (telegram, slack, discord, matrix, email);
    let accounts = (telegram_accounts, slack_accounts, discord_accounts, matrix_accounts, email_accounts);
    hex(&Sha256::digest(format!("{:?}", (people, groups, destinations, personas, channels, accounts))))
}

/// How runs are decided.
pub(super) fn policy(config: &Config) -> Policy {
    let tools = ToolPolicy {
        retries_ms: config.agent.tool_retries_ms.clone(),
        approval_secs: config.approvals.expire_secs,
        ..ToolPolicy::default()
    };
    let truth = TruthPolicy { ask_again: config.guards.check_claims };
    Policy {
        guards: guards(&config.guards),
        context: context(&config.context),
        truth,
        tools,
        declared: None,
        run_usd: None,
    }
}

/// When a run goes in circles.
fn guards(config: &GuardsConfig) -> GuardPolicy {
    GuardPolicy {
        enabled: config.enabled,
        window_calls: config.window_calls,
        identical_max: config.identical_max,
        pattern_max: config.pattern_max,
        stall_max: config.stall_max,
        ..GuardPolicy::default()
    }
}

/// How a conversation is kept within the model's window.
fn context(config: &ContextConfig) -> ContextPolicy {
    ContextPolicy {
        strategy: config.strategy,
        compact_at_per_mille: config.compact_at_percent * 10,
        roll_at_per_mille: config.roll_at_percent * 10,
        keep_messages: config.keep_messages,
        prune_keep_messages: config.prune_keep_messages,
        recoveries_max: config.recoveries_max,
        recovery_span: config.recovery_span,
        summaries_max: config.summaries_max,
        window_tokens: config.window_tokens,
        summary_secs: config.summary_timeout_secs,
    }
}

/// Who is let in.
pub(super) fn access(config: &Config) -> AccessList {
    let mut list = AccessList::default();
    account_access::admit(config, &mut list);
    list.groups = groups(&config.groups);
    list
}

/// When Hob answers in which group.
fn groups(config: &GroupsConfig) -> GroupModes {
    let chats = config.chats.iter().filter_map(|(key, mode)| {
        let (channel, account, chat) = groups::parse(key)?;
        Some(((channel, account.to_owned(), chat.to_owned()), *mode))
    });
    GroupModes { usual: config.mode, chats: chats.collect() }
}

/// How many tools may be called for each person.
pub(super) fn quotas(config: &QuotaConfig) -> Quotas {
    Quotas { tool_calls_per_minute: Some(config.tool_calls_per_minute) }
}

/// Who Hob is where.
pub(super) fn personas(config: &Config, models: &Catalog, tools: &Registry) -> Result<Personas, StartError> {
    let mut personas = Personas::default();
    for (name, persona) in &config.personas {
        let model = match &persona.model {
            Some(word) => Some(named(&format!("personas.{name}.model"), word, models)?),
            None => None,
        };
        let modules: BTreeSet<String> = persona.modules.iter().cloned().collect();
        let looped = match &persona.declared {
            Some(looped) => {
                let chosen = Some(&modules).filter(|modules| !modules.is_empty());
                let reach = ToolAccess { role: Role::Owner, modules: chosen };
                let at = format!("personas.{name}.loop");
                declared_loops::check_tools(&at, looped, &tools.offered_within(&reach))?;
                Some(declared_loops::declared(looped))
            }
            None => None,
        };
        let (declared, strategy, window_tokens) = match looped {
            Some((declared, strategy, window_tokens)) => (Some(declared), strategy, window_tokens),
            None => (None, None, None),
        };
        let made = Persona {
            prompt: persona.prompt.clone(),
            model,
            modules,
            max_output_tokens: persona.max_output_tokens,
            iterations: persona.iterations_max,
            iterations_cap: persona.iterations_cap,
            history_messages_max: persona.history_messages_max.map(|max| i64::try_from(max).unwrap_or(i64::MAX)),
            gate: GatePolicy {
                always: persona.approvals == ApprovalsMode::Always,
                tools: persona.approval_tools.iter().cloned().collect(),
                protected_paths: persona.protected_paths.clone(),
            },
            run_usd: persona.declared.as_ref().and_then(|own| own.run_usd).or(persona.run_usd).map(Money::from_usd),
            declared,
            strategy,
            window_tokens,
        };
        personas.by_name.insert(name.clone(), made);
    }
    let assigned = &mut personas.assigned;
    assigned.known = config.personas.keys().cloned().collect();
    assigned.everywhere.clone_from(&config.agent.persona);
    account_access::assign(config, assigned);
    let guests = config.agent.default_guest_modules.as_ref();
    personas.guest_modules = guests.map(|modules| modules.iter().cloned().collect());
    Ok(personas)
}

/// The label of the model that a setting names.
fn named(setting: &str, word: &str, models: &Catalog) -> Result<String, StartError> {
    models.resolve(word).map(str::to_owned).ok_or_else(|| {
        let known: Vec<&str> = models.labels().map(|(_, label)| label).collect();
        let known = known.join(", ");
        StartError::Config(format!(
            "{setting}: there is no model {word:?}. You can choose from: {known}. [provider] can name more."
        ))
    })
}

/// How much models may cost, and read and write.
pub(super) fn budget(config: &Config) -> Budget {
    let BudgetConfig { run_usd, hour_usd, day_usd, month_usd, hour_tokens, month_tokens, .. } = config.budget;
    let BudgetConfig { person_hour_usd, person_month_usd, .. } = config.budget;
    let QuotaConfig { guest_month_tokens, user_month_tokens, hour_tokens: own_hour_tokens, .. } = config.quotas;
    let limits = |usd: Option<f64>, tokens| PeriodCaps { usd: usd.map(Money::from_usd), tokens };
    let of_persona = |persona: &PersonaConfig| CapsByPeriod {
        hour: limits(persona.hour_usd, persona.hour_tokens),
        month: limits(persona.month_usd, persona.month_tokens),
        ..CapsByPeriod::default()
    };
    Budget {
        run: run_usd.map(Money::from_usd),
        house: CapsByPeriod {
            hour: limits(hour_usd, hour_tokens),
            day: limits(day_usd, None),
            month: limits(month_usd, month_tokens),
        },
        person: CapsByPeriod {
            hour: limits(person_hour_usd, own_hour_tokens),
            month: limits(person_month_usd, None),
            ..CapsByPeriod::default()
        },
        guest_month: Some(guest_month_tokens),
        user_month: user_month_tokens,
        personas: config.personas.iter().map(|(name, persona)| (name.clone(), of_persona(persona))).collect(),
    }
}

/// The tokens of a reply that are set aside for each call: the most it may have, as far as that is set.
pub(super) fn reply_tokens(config: &Config) -> u64 {
    let Some(provider) = &config.provider else { return REPLY_TOKENS };
    let fallbacks = provider.fallbacks.iter().map(|fallback| fallback.max_output_tokens);
    let limits = fallbacks.chain([provider.max_output_tokens]).map(|limit| limit.unwrap_or(REPLY_TOKENS));
    limits.max().unwrap_or(REPLY_TOKENS)
}

/// Who puts recordings into words.
pub(super) fn transcriber(blueprint: &Blueprint) -> Result<Option<Transcriber>, StartError> {
    let Some(config) = &blueprint.config.transcription else { return Ok(None) };
    let settings = transcription::Settings {
        base_url: config.base_url.clone(),
        api_key: config.api_key.clone().or_else(|| openai_key(blueprint, &config.base_url)),
        model: config.model.clone(),
        language: config.language.clone(),
        bytes_max: config.bytes_max,
        timeout: Duration::from_secs(config.timeout_secs),
        minute: config.minute_usd.map(Money::from_usd),
    };
    let broken = |error: ModelError| StartError::Config(format!("[transcription]: {}", error.message));
    Transcriber::new(settings).map(Some).map_err(broken)
}

/// The key that is there for OpenAI anyway; it is sent nowhere else.
fn openai_key(blueprint: &Blueprint, base_url: &str) -> Option<Secret> {
    if base_url.trim_end_matches('/') != TranscriptionConfig::OPENAI {
        return None;
    }
    let provider = blueprint.config.provider.as_ref();
    let own = provider.filter(|provider| provider.kind == ProviderKind::Openai && provider.base_url.is_none());
    let found = || blueprint.environment.text("OPENAI_API_KEY").map(|key| Secret::new(key.to_owned()));
    own.and_then(|provider| provider.api_key.clone()).or_else(found)
}

/// Whoever draws facts from conversations that are over.
pub(super) fn extractor(
    blueprint: &Blueprint,
    memory: &Memory,
    models: &Arc<Catalog>,
    table: &Arc<ModelTable>,
    budget_guard: &Arc<BudgetGuard>,
) -> Result<Extractor, StartError> {
    let ports = Ports {
        store: memory.store.clone(),
        models: Arc::clone(models),
        table: Arc::clone(table),
        budget_guard: Arc::clone(budget_guard),
        clock: Arc::clone(&blueprint.clock),
    };
    let config = &blueprint.config.memory;
    let settings = Settings {
        idle: extraction::IDLE,
        consolidate_every: extraction::CONSOLIDATE_EVERY,
        model: config.extract_model.as_deref().map(|word| named("memory.extract_model", word, models)).transpose()?,
        zone: memory.zone.clone(),
    };
    Ok(Extractor { ports, settings })
}

/// The household's caps on money, and its calendar.
pub(super) fn budget_guard(config: &Config) -> Result<BudgetGuard, StartError> {
    Ok(BudgetGuard { budget: budget(config), zone: zone(config.agent.time_zone.as_deref())? })
}

/// Where the household lives; the machine's own zone unless the config names one.
pub(super) fn zone(name: Option<&str>) -> Result<TimeZone, StartError> {
    match name {
        Some(name) => zone::named(name).map_err(|error| StartError::Config(format!("agent.time_zone: {error}"))),
        None => Ok(zone::of_machine(&Environment::of_process()).unwrap_or(TimeZone::UTC)),
    }
}

/// How tools are run, whatever they are.
pub(super) fn toolbox(
    config: &Config,
    environment: &Environment,
    sandbox: &ProgramSandbox,
    roots: &ProcessServices,
) -> Result<ToolRuntime, StartError> {
    let data_dir = &sandbox.data_dir;
    let hooks = Hooks::new(config.hooks.iter().map(|config| hook(config, sandbox)).collect(), data_dir);
    Ok(ToolRuntime {
        timeouts: timeouts(environment)?,
        hooks,
        results: ResultStore::of(data_dir).shared_in(&roots.store),
        drafts: roots.drafts.clone(),
        classes: roots.classes.clone(),
        parked: roots.parked.clone(),
    })
}

fn hook(config: &HookConfig, sandbox: &ProgramSandbox) -> Hook {
    let HookConfig { when, tools, command, timeout_secs, on_failure, .. } = config;
    Hook {
        moment: *when,
        tools: tools.clone(),
        command: command.clone(),
        timeout: Duration::from_secs(*timeout_secs),
        allows_on_failure: *on_failure == HookFailure::Allow,
        confinement: of_hook(config).map(|own| sandbox.confine(&own, command)),
    }
}

/// Row E3: the environment goes before the usual timeouts; a tool's own goes before both.
fn timeouts(environment: &Environment) -> Result<Timeouts, StartError> {
    let seconds = |name: &str, usual: Duration| match environment.text(name) {
        None => Ok(usual),
        Some(text) => text.trim().parse().map(Duration::from_secs).map_err(|_not_a_number| {
            StartError::Config(format!(
                "${name} is {text:?}, expected whole seconds (0: no limit); set it right or unset it"
            ))
        }),
    };
    let Timeouts { usual, agent } = Timeouts::default();
    Ok(Timeouts {
        usual: seconds("HOB_TOOL_TIMEOUT_SECS", usual)?,
        agent: seconds("HOB_AGENT_TOOL_TIMEOUT_SECS", agent)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e3_the_environment_goes_before_the_usual_timeouts() {
        let read = |variables: &[(&str, &str)]| {
            let timeouts = timeouts(&Environment::of("/w", variables.iter().copied()));
            timeouts
                .map(|Timeouts { usual, agent }| (usual.as_secs(), agent.as_secs()))
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(&[]), Ok((120, 600)));
        assert_eq!(read(&[("HOB_TOOL_TIMEOUT_SECS", "7")]), Ok((7, 600)));
        assert_eq!(read(&[("HOB_AGENT_TOOL_TIMEOUT_SECS", "0"), ("HOB_TOOL_TIMEOUT_SECS", "")]), Ok((120, 0)));
        insta::assert_snapshot!(read(&[("HOB_TOOL_TIMEOUT_SECS", "2m")]).unwrap_err(), @r#"$HOB_TOOL_TIMEOUT_SECS is "2m", expected whole seconds (0: no limit); set it right or unset it"#);
        assert!(read(&[("HOB_AGENT_TOOL_TIMEOUT_SECS", "-1")]).is_err());
    }

    #[test]
    fn b1_the_waits_are_those_of_the_row_unless_configured() {
        let mut config = Config::default();
        assert_eq!(policy(&config).tools, ToolPolicy::default());
        assert_eq!(policy(&config).tools.retries_ms, [500, 2_000, 8_000]);
        config.agent.tool_retries_ms = vec![1];
        assert_eq!(policy(&config).tools.retries_ms, [1]);
    }
}
