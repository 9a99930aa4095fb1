//! What begins by itself: the config's schedules, the timer of all schedules, and what calls in over HTTP.

use std::path::Path;
use std::sync::Arc;

use axum::Router as Routes;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::daemon::error::StartError;
use crate::daemon::restartable_task::RestartableTask;
use crate::daemon::shutdown::ShutdownStages;
use crate::daemon::toolset::home::HomeHandle;
use crate::daemon::trigger_target::{TriggerTarget, trigger_owner};
use crate::daemon::{Blueprint, background, config_mapping, terminal_notice, toolset};
use hob_config::Config;
use hob_config::heartbeat::HeartbeatConfig;
use hob_config::problem::Finding;
use hob_config::schedule::{CatchUp, ScheduleConfig};
use hob_config::webhooks::{SignedConfig, WebhookConfig};
use hob_config::zone;
use hob_core::domain::channel::Adapter;
use hob_core::domain::clock::{Clock as _, SystemClock};
use hob_core::domain::inbound::{ChannelKind, Conversation};
use hob_core::domain::origin::Taint;
use hob_core::domain::principal::Role;
use hob_core::policy::access::AccessList;
use hob_core::policy::pairing::Code;
use hob_core::policy::schedule::RuleError;
use hob_core::policy::schedule::check::LookTarget;
use hob_core::policy::schedule::read::{ReadError, read};
use hob_router::heartbeat::{Heartbeat, HeartbeatList};
use hob_router::intake::Router;
use hob_router::pairing;
use hob_router::schedules::sync::DeclaredSchedule;
use hob_router::webhook_runs::WebhookTask;
use hob_store::error::StoreError;
use hob_store::schedules::Timing;
use hob_store::{Store, Tx, members, private_chats};
use hob_tools::workspace::Workspace;
use hob_web::hooks::{self, Webhook, Webhooks};
use hob_web::limit::PerMinuteLimit;
use hob_web::signature::SignatureScheme;
use hob_web::telegram::{self, UpdateSinks};

/// What is ready to begin.
pub(super) struct PreparedTriggers {
    pub(super) declared: Vec<DeclaredSchedule>,
    webhooks: Vec<Webhook>,
    heartbeat: Option<Heartbeat>,
    /// Something would begin, and there is nobody yet in whose name.
    pub(super) waits_for_owner: bool,
}

/// Reads the config. A Hob that is there for a moment only has no schedules of its own, and is not called.
pub(super) async fn prepare(blueprint: &Blueprint, store: &Store) -> Result<PreparedTriggers, StartError> {
    let mut begins =
        PreparedTriggers { declared: Vec::new(), webhooks: Vec::new(), heartbeat: None, waits_for_owner: false };
    if !blueprint.stays {
        return Ok(begins);
    }
    let config = &blueprint.config;
    let owners = store.read(async |tx| owners(tx, &config_mapping::access(config)).await).await?;
    begins.declared = declared(blueprint, &owners)?;
    begins.webhooks = webhooks(config, &owners);
    begins.heartbeat = heartbeat(config, &blueprint.data_dir, &owners).filter(|_| blueprint.serves.is_configured());
    let is_wanted = !config.schedule.is_empty() || !config.webhooks.is_empty() || config.heartbeat.is_some();
    begins.waits_for_owner = is_wanted && trigger_owner(config, &owners, TriggerTarget::default()).is_none();
    Ok(begins)
}

/// What has begun, and can be exchanged.
#[derive(Default)]
pub(super) struct RunningTriggers {
    heartbeat: Option<Heartbeat>,
    beats: RestartableTask,
    home: HomeHandle,
    followed: RestartableTask,
    webhooks: Arc<Webhooks>,
    sinks: Arc<UpdateSinks>,
}

impl RunningTriggers {
    /// From now on this begins by itself, and these are called. A heartbeat of which nothing has changed goes on.
    pub(super) fn exchange(
        &mut self,
        begins: PreparedTriggers,
        adapters: impl IntoIterator<Item = Arc<dyn Adapter>>,
        shutdown: &ShutdownStages,
        router: &Arc<Router>,
    ) {
        self.webhooks.store(Arc::new(hooks::by_name(begins.webhooks)));
        self.sinks.store(Arc::new(telegram::by_name(adapters.into_iter().filter_map(<dyn Adapter>::sink))));
        if self.heartbeat == begins.heartbeat {
            return;
        }
        self.heartbeat.clone_from(&begins.heartbeat);
        let router = Arc::clone(router);
        self.beats.begin("heartbeats", &shutdown.channels, &shutdown.drain, |stop| async move {
            if let Some(heartbeat) = begins.heartbeat {
                background::beat(heartbeat, router, stop).await;
            }
        });
    }

    /// From now on what schedules wait for is followed in this home. One that is the same goes on.
    pub(super) fn follow(&mut self, home: &HomeHandle, shutdown: &ShutdownStages, router: &Arc<Router>) {
        if self.home.is(home) {
            return;
        }
        self.home = home.clone();
        let (home, router) = (home.clone(), Arc::clone(router));
        self.followed.begin("home", &shutdown.channels, &shutdown.drain, |stop| home.follow(router, stop));
    }

    /// Where others call in.
    pub(super) fn routes(&self, router: &Arc<Router>) -> Routes {
        let hooks = hooks::routes(Arc::clone(router), Arc::clone(&self.webhooks));
        hooks.merge(telegram::routes(Arc::clone(&self.sinks), Arc::clone(&router.clock)))
    }
}

/// The timer of all schedules.
pub(super) fn keep_schedules(shutdown: &ShutdownStages, router: &Arc<Router>) {
    let (timer, alarm) = (Arc::clone(router), Arc::clone(&router.alarm));
    shutdown.keep("schedules", timer.run_schedule_timer(alarm, shutdown.drain.clone()));
}

/// Where owners, by this config and by having been paired, have talked with Hob by themselves, the latest first: their ids there,
/// and the chats.
pub(super) async fn owners(tx: &mut Tx, access: &AccessList) -> Result<Vec<(String, Conversation)>, StoreError> {
    let mut owners = Vec::new();
    for chat in private_chats::of_owners(tx).await? {
        let Some(place) = chat.conversation() else { continue };
        let role = members::role_of(tx, access, &place, &chat.external_id).await?;
        if role == Some(Role::Owner) && place.channel != ChannelKind::Terminal {
            owners.push((chat.external_id, place));
        }
    }
    Ok(owners)
}

/// What whoever is to own this Hob does with their code.
pub fn how_to_own(code: &str) -> String {
    format!("Send `/pair {code}` to the bot to become its owner; on Slack and Matrix, `!pair {code}`.")
}

/// While no owner is known, there is a code: its sender becomes the owner, and nobody by being first. It is told at the terminal,
/// or by `hob pair`: whoever reads the log is not let in by it.
pub(super) async fn tell_first_owner(blueprint: &Blueprint, router: &Router) -> Result<(), StartError> {
    let code = Code::new(|| blueprint.rng.next_u64());
    let is_served = blueprint.stays && blueprint.serves.is_configured() && blueprint.config.has_channel();
    let is_wanted = is_served && !router.config().access.has_owner();
    let first = code.clone();
    if router.store.write(async move |tx| pairing::codes::set_first_owner_code(tx, &first, is_wanted).await).await? {
        tracing::info!("Nobody owns this Hob yet. `hob pair` shows what to send to the bot to become its owner.");
        terminal_notice::tell_terminal(&how_to_own(&code.shown()));
    }
    Ok(())
}

/// How Hob looks by itself whether there is something to do.
fn heartbeat(config: &Config, data_dir: &Path, owners: &[(String, Conversation)]) -> Option<Heartbeat> {
    let heartbeat = config.heartbeat.as_ref()?;
    let (owner, conversation) =
        trigger_owner(config, owners, TriggerTarget::of(heartbeat.to.as_deref(), heartbeat.telegram_chat))?;
    let HeartbeatConfig { every_secs, prompt, file, .. } = heartbeat.clone();
    let Workspace { root, write, .. } = toolset::workspace(config, data_dir);
    let written_by_tools =
        if config.workspace.trusted { Vec::new() } else { [root].into_iter().chain(write).collect() };
    let list = file.map(|path| HeartbeatList { path, written_by_tools });
    Some(Heartbeat { every_secs, prompt, conversation, owner, list, taint: Taint::default() })
}

/// The words under `[[schedule]]` that are no rule: the config knows nothing of rules.
pub fn unreadable(config: &Config, now: Timestamp) -> Vec<Finding> {
    let Ok(household_zone) = config_mapping::zone(config.agent.time_zone.as_deref()) else { return Vec::new() };
    let found = config.schedule.iter().enumerate().filter_map(|(index, schedule)| {
        let error = timing(schedule, &household_zone, now).err()?;
        let fix = "`hob schedule next \"WHEN\"` tries words out";
        Some(Finding::new(format!("schedule[{}].when", index + 1), error.to_string(), fix))
    });
    found.collect()
}

/// What is looked at of a config beyond its own checks, now: for its writer.
pub fn check_beyond_schema(config: &Config) -> Vec<Finding> {
    unreadable(config, SystemClock.now())
}

fn declared(blueprint: &Blueprint, owners: &[(String, Conversation)]) -> Result<Vec<DeclaredSchedule>, StartError> {
    let config = &blueprint.config;
    let household_zone = config_mapping::zone(config.agent.time_zone.as_deref())?;
    let all = config.schedule.iter().enumerate().filter_map(|(index, schedule)| {
        let (owner, conversation) =
            trigger_owner(config, owners, TriggerTarget::of(schedule.to.as_deref(), schedule.telegram_chat))?;
        let ScheduleConfig { name, task, grace_secs, catch_up, .. } = schedule.clone();
        let timing = timing(schedule, &household_zone, blueprint.clock.now())
            .map_err(|error| StartError::Config(format!("schedule[{}].when: {error}", index + 1)));
        Some(timing.map(|timing| DeclaredSchedule {
            name,
            task,
            timing,
            conversation,
            owner,
            grace_secs: i64::try_from(grace_secs).unwrap_or(i64::MAX),
            coalesces: catch_up == CatchUp::Newest,
            looks_at: look_target(schedule),
        }))
    });
    all.collect()
}

/// What is looked at before it is run.
fn look_target(schedule: &ScheduleConfig) -> Option<LookTarget> {
    let command = || LookTarget::Command { command: schedule.check.clone(), network: schedule.network };
    let page = schedule.watch.as_ref().map(|url| LookTarget::Page { url: url.clone() });
    let looks_first = page.or_else(|| (!schedule.check.is_empty()).then(command));
    looks_first.or_else(|| LookTarget::of_task(&schedule.task))
}

/// When, as it is stored; none: it is past.
fn timing(schedule: &ScheduleConfig, household_zone: &TimeZone, now: Timestamp) -> Result<Option<Timing>, ReadError> {
    let named = schedule.zone.as_deref().and_then(|zone| zone::named(zone).ok());
    let zone =
        named.unwrap_or_else(|| household_zone.iana_name().map_or(TimeZone::UTC, |_named| household_zone.clone()));
    let rule = match read(&schedule.when, &zone, now) {
        Ok(rule) => rule,
        // A file that was right yesterday does not stop Hob from starting.
        Err(ReadError::Rule(RuleError::Past)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(stored) = serde_json::to_string(&rule) else { return Ok(None) };
    let next = rule.next(&zone, now);
    let zone = zone.iana_name().unwrap_or("UTC").to_owned();
    Ok(Some(Timing { rule: stored, zone, asked: schedule.when.clone(), next }))
}

fn webhooks(config: &Config, owners: &[(String, Conversation)]) -> Vec<Webhook> {
    let all = config.webhooks.iter().filter_map(|(name, webhook)| {
        let (owner, conversation) =
            trigger_owner(config, owners, TriggerTarget::of(webhook.to.as_deref(), webhook.telegram_chat))?;
        let WebhookConfig { secret, prompt, header, signed, tolerance_secs, per_minute, .. } = webhook.clone();
        Some(Webhook {
            hook: WebhookTask { name: name.clone(), prompt, conversation, owner },
            secret,
            header,
            signed: match signed {
                SignedConfig::Body => SignatureScheme::Body,
                SignedConfig::Timestamped => SignatureScheme::Timestamped { tolerance_secs },
            },
            limit: PerMinuteLimit::new(per_minute),
        })
    });
    all.collect()
}
