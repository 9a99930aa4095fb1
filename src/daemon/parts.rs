//! From config sections to what the rooms take.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::agent::machine::policy::{GuardPolicy, Policy, TruthPolicy};
use crate::channel::telegram::settings::{Pace, Settings};
use crate::config::Config;
use crate::config::agent::QueueMode;
use crate::config::budget::BudgetConfig;
use crate::config::telegram::TelegramConfig;
use crate::daemon::StartError;
use crate::domain::money::Money;
use crate::policy::access::AccessList;
use crate::policy::budget::Budget;
use crate::router::command::Mode;
use crate::store::Store;
use crate::tool::ask_human::AskHuman;
use crate::tool::command::{CommandTool, Declaration};
use crate::tool::current_time::CurrentTime;
use crate::tool::leftovers::Leftovers;
use crate::tool::recall::RecallTool;
use crate::tool::registry::Registry;
use crate::tool::remember_fact::RememberFact;
use crate::tool::request_more_iterations::RequestMoreIterations;

/// The most tokens of a reply under a budget, where the owner sets no other limit.
pub(super) const REPLY_TOKENS: u64 = 4_096;

/// Who is let in.
pub(super) fn access(config: &Config) -> AccessList {
    let ids = |ids: &[i64]| ids.iter().map(i64::to_string).collect::<BTreeSet<_>>();
    match &config.telegram {
        Some(telegram) => AccessList {
            telegram_users: ids(&telegram.allowed_user_ids),
            telegram_owners: ids(&telegram.owner_user_ids),
        },
        None => AccessList::default(),
    }
}

/// The numbers and switches by which runs are decided.
pub(super) fn policy(config: &Config) -> Policy {
    let guards = &config.guards;
    Policy {
        guards: GuardPolicy {
            enabled: guards.enabled,
            window_calls: guards.window_calls,
            identical_max: guards.identical_max,
            pattern_max: guards.pattern_max,
            stall_max: guards.stall_max,
            ping_pong_max: guards.ping_pong_max,
            replies_max: guards.replies_max,
        },
        truth: TruthPolicy { ask_again: guards.check_claims },
        ..Policy::default()
    }
}

/// What happens to messages during a run.
pub(super) fn mode(mode: QueueMode) -> Mode {
    match mode {
        QueueMode::Queue => Mode::Queue,
        QueueMode::Steer => Mode::Steer,
        QueueMode::Interrupt => Mode::Interrupt,
    }
}

/// How much money models may cost.
pub(super) fn budget(config: &BudgetConfig) -> Budget {
    let BudgetConfig { run_usd, hour_usd, day_usd, month_usd, person_month_usd } = config;
    let money = |usd: &Option<f64>| usd.map(Money::from_usd);
    Budget {
        run: money(run_usd),
        hour: money(hour_usd),
        day: money(day_usd),
        month: money(month_usd),
        person_month: money(person_month_usd),
    }
}

/// The tokens of a reply that are set aside for each call: the most it may have, as far as that is set.
pub(super) fn reply_tokens(config: &Config) -> u64 {
    let Some(provider) = &config.provider else { return REPLY_TOKENS };
    let fallbacks = provider.fallbacks.iter().map(|fallback| fallback.max_output_tokens);
    let limits = fallbacks.chain([provider.max_output_tokens]).map(|limit| limit.unwrap_or(REPLY_TOKENS));
    limits.max().unwrap_or(REPLY_TOKENS)
}

/// Where the household lives; the machine's own zone unless the config names one.
pub(super) fn zone(name: Option<&str>) -> Result<TimeZone, StartError> {
    match name {
        Some(name) => TimeZone::get(name).map_err(|error| StartError::Config(format!("agent.time_zone: {error}"))),
        None => Ok(TimeZone::try_system().unwrap_or(TimeZone::UTC)),
    }
}

/// How Telegram is reached.
pub(super) fn telegram(config: &TelegramConfig) -> Result<Settings, StartError> {
    let api_url =
        url::Url::parse(&config.api_url).map_err(|error| StartError::Config(format!("telegram.api_url: {error}")))?;
    Ok(Settings {
        token: config.bot_token.clone(),
        api_url,
        poll_timeout: Duration::from_secs(config.poll_timeout_secs),
        pace: Pace::PRODUCTION,
    })
}

/// All tools: the built-in ones, then those that the operator declares.
pub(super) fn tools(config: &Config, store: &Store, zone: &TimeZone, data_dir: &Path) -> Registry {
    let built_in = Registry::default()
        .with(Arc::new(RememberFact::new(store.clone())))
        .with(Arc::new(RecallTool::new(store.clone(), zone.clone())))
        .with(Arc::new(CurrentTime::new(zone.clone())))
        .with(Arc::new(RequestMoreIterations::default()))
        .with(Arc::new(AskHuman::default()));
    let leftovers = Leftovers::of(data_dir);
    config.tools.iter().fold(built_in, |registry, (name, tool)| {
        registry.with(Arc::new(CommandTool::new(Declaration {
            name: name.clone(),
            description: tool.description.clone(),
            command: tool.command.clone(),
            parameters: tool.parameters.clone(),
            idempotent: tool.idempotent,
            timeout: Duration::from_secs(tool.timeout_secs),
            working_dir: tool.working_dir.clone().unwrap_or_else(|| data_dir.to_owned()),
            output_chars_max: config.agent.tool_output_chars_max,
            leftovers: leftovers.clone(),
        })))
    })
}
