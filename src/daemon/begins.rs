//! What begins by itself: the config's schedules, the timer of all schedules, and what calls in over HTTP.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::config::problem::Finding;
use crate::config::schedule::{CatchUp, ScheduleConfig};
use crate::config::webhooks::{SignedConfig, WebhookConfig};
use crate::daemon::{Blueprint, StartError, Switches, parts};
use crate::domain::channel::Adapter;
use crate::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use crate::policy::schedule::RuleError;
use crate::policy::schedule::read::{ReadError, read};
use crate::router::events::Hook;
use crate::router::intake::Router;
use crate::router::schedules::sync::Declared;
use crate::store::schedules::Timing;
use crate::web;
use crate::web::hooks::Webhook;
use crate::web::limit::PerMinute;
use crate::web::signature::Signed;

/// What is ready to begin.
pub(super) struct Begins {
    declared: Vec<Declared>,
    webhooks: Vec<Webhook>,
    listener: Option<TcpListener>,
}

/// Reads the config and takes the port. A Hob that is there for a moment only has no schedules of its own, and is not called.
pub(super) async fn prepare(blueprint: &Blueprint) -> Result<Begins, StartError> {
    let mut begins = Begins { declared: Vec::new(), webhooks: Vec::new(), listener: None };
    if !blueprint.stays {
        return Ok(begins);
    }
    begins.declared = declared(blueprint)?;
    begins.webhooks = webhooks(&blueprint.config);
    if let Some(address) = &blueprint.config.server.listen {
        let listen = |source| StartError::Listen { address: address.clone(), source };
        begins.listener = Some(TcpListener::bind(address).await.map_err(listen)?);
    }
    Ok(begins)
}

impl Begins {
    /// Begins.
    pub(super) async fn start(
        self,
        switches: &Switches,
        (router, adapters): (&Arc<Router>, &[Arc<dyn Adapter>]),
        stays: bool,
    ) -> Result<(), StartError> {
        if stays {
            router.sync_schedules(self.declared).await?;
        }
        let (timer, alarm) = (Arc::clone(router), Arc::clone(&router.alarm));
        switches.channels.spawn(timer.keep_schedules(alarm, switches.drain.clone()));
        let Some(listener) = self.listener else { return Ok(()) };
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, "server.listening");
        }
        let sinks = adapters.iter().filter_map(|adapter| Arc::clone(adapter).sink()).collect();
        let routes = web::hooks::routes(Arc::clone(router), self.webhooks).merge(web::telegram::routes(sinks));
        switches.channels.spawn(web::serve(listener, routes, switches.intake.clone()));
        Ok(())
    }
}

/// The first owner on Telegram, and the chat in which they are spoken to.
fn voice(config: &Config, chat: Option<i64>) -> Option<(String, Conversation)> {
    let owner = config.telegram.as_ref()?.owner_user_ids.first()?.to_string();
    let chat = chat.map_or_else(|| owner.clone(), |chat| chat.to_string());
    let account = DEFAULT_ACCOUNT.to_owned();
    Some((owner, Conversation { channel: ChannelKind::Telegram, account, chat, thread: None }))
}

/// The words under `[[schedule]]` that are no rule: the config knows nothing of rules.
#[must_use]
pub fn unreadable(config: &Config, now: Timestamp) -> Vec<Finding> {
    let Ok(house) = parts::zone(config.agent.time_zone.as_deref()) else { return Vec::new() };
    let found = config.schedule.iter().enumerate().filter_map(|(index, schedule)| {
        let error = timing(schedule, &house, now).err()?;
        let fix = "`hob schedule next \"WHEN\"` tries words out";
        Some(Finding::new(format!("schedule[{}].when", index + 1), error.to_string(), fix))
    });
    found.collect()
}

fn declared(blueprint: &Blueprint) -> Result<Vec<Declared>, StartError> {
    let config = &blueprint.config;
    let house = parts::zone(config.agent.time_zone.as_deref())?;
    let all = config.schedule.iter().enumerate().filter_map(|(index, schedule)| {
        let (owner, conversation) = voice(config, schedule.telegram_chat)?;
        let ScheduleConfig { name, task, grace_secs, catch_up, .. } = schedule.clone();
        let timing = timing(schedule, &house, blueprint.clock.now())
            .map_err(|error| StartError::Config(format!("schedule[{}].when: {error}", index + 1)));
        Some(timing.map(|timing| Declared {
            name,
            task,
            timing,
            conversation,
            owner,
            grace_secs: i64::try_from(grace_secs).unwrap_or(i64::MAX),
            coalesces: catch_up == CatchUp::Newest,
        }))
    });
    all.collect()
}

/// When, as it is stored; none: it is past.
fn timing(schedule: &ScheduleConfig, house: &TimeZone, now: Timestamp) -> Result<Option<Timing>, ReadError> {
    let named = schedule.zone.as_deref().and_then(|zone| TimeZone::get(zone).ok());
    let zone = named.unwrap_or_else(|| house.iana_name().map_or(TimeZone::UTC, |_named| house.clone()));
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

fn webhooks(config: &Config) -> Vec<Webhook> {
    let all = config.webhooks.iter().filter_map(|(name, webhook)| {
        let (owner, conversation) = voice(config, webhook.telegram_chat)?;
        let WebhookConfig { secret, prompt, header, signed, tolerance_secs, per_minute, .. } = webhook.clone();
        Some(Webhook {
            hook: Hook { name: name.clone(), prompt, conversation, owner },
            secret,
            header,
            signed: match signed {
                SignedConfig::Body => Signed::Body,
                SignedConfig::Timestamped => Signed::Timestamped { tolerance_secs },
            },
            limit: PerMinute::new(per_minute),
        })
    });
    all.collect()
}
