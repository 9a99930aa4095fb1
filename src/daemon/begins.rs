//! What begins by itself: the config's schedules, the timer of all schedules, and what calls in over HTTP.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::net::TcpListener;

use crate::config::Config;
use crate::config::heartbeat::HeartbeatConfig;
use crate::config::problem::Finding;
use crate::config::schedule::{CatchUp, ScheduleConfig};
use crate::config::webhooks::{SignedConfig, WebhookConfig};
use crate::daemon::{Blueprint, StartError, Switches, chores, parts};
use crate::domain::channel::Adapter;
use crate::domain::clock::{Clock as _, SystemClock};
use crate::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use crate::domain::principal::Role;
use crate::policy::access::AccessList;
use crate::policy::pairing::Code;
use crate::policy::schedule::RuleError;
use crate::policy::schedule::read::{ReadError, read};
use crate::router::events::Hook;
use crate::router::heartbeat::Heartbeat;
use crate::router::intake::Router;
use crate::router::pairing;
use crate::router::schedules::sync::Declared;
use crate::store::error::StoreError;
use crate::store::schedules::Timing;
use crate::store::{Statement, Store, Tx, members, private_chats};
use crate::web;
use crate::web::hooks::Webhook;
use crate::web::limit::PerMinute;
use crate::web::signature::Signed;

/// What is ready to begin.
pub(super) struct Begins {
    declared: Vec<Declared>,
    webhooks: Vec<Webhook>,
    heartbeat: Option<Heartbeat>,
    listener: Option<TcpListener>,
}

/// Reads the config and takes the port. A Hob that is there for a moment only has no schedules of its own, and is not called.
pub(super) async fn prepare(blueprint: &Blueprint, store: &Store) -> Result<Begins, StartError> {
    let mut begins = Begins { declared: Vec::new(), webhooks: Vec::new(), heartbeat: None, listener: None };
    if !blueprint.stays {
        return Ok(begins);
    }
    let config = &blueprint.config;
    let owners = store.read(Owners { access: parts::access(config) }).await?;
    begins.declared = declared(blueprint, &owners)?;
    begins.webhooks = webhooks(config, &owners);
    begins.heartbeat = heartbeat(config, &owners).filter(|_| blueprint.own_channel.is_none());
    let is_wanted = !config.schedule.is_empty() || !config.webhooks.is_empty() || config.heartbeat.is_some();
    if is_wanted && voice(config, &owners, None).is_none() {
        tracing::warn!(
            "no owner has written yet: schedules, webhooks and the heartbeat of config.toml begin with the first start after that"
        );
    }
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
        blueprint: &Blueprint,
    ) -> Result<(), StartError> {
        tell_first_owner(blueprint, router).await?;
        if blueprint.stays {
            router.sync_schedules(self.declared).await?;
        }
        let (timer, alarm) = (Arc::clone(router), Arc::clone(&router.alarm));
        switches.channels.spawn(timer.keep_schedules(alarm, switches.drain.clone()));
        if let Some(heartbeat) = self.heartbeat {
            switches.channels.spawn(chores::beat(heartbeat, Arc::clone(router), switches.drain.clone()));
        }
        let Some(listener) = self.listener else { return Ok(()) };
        if let Ok(address) = listener.local_addr() {
            tracing::info!(%address, "server.listening");
        }
        let sinks = adapters.iter().filter_map(|adapter| Arc::clone(adapter).sink()).collect();
        let hooks = web::hooks::routes(Arc::clone(router), self.webhooks);
        let routes = hooks.merge(web::health::routes(Arc::clone(router))).merge(web::telegram::routes(sinks));
        switches.channels.spawn(web::serve(listener, routes, switches.intake.clone()));
        Ok(())
    }
}

/// Where owners have talked with Hob by themselves, the latest first: their ids there, and the chats.
struct Owners {
    access: AccessList,
}

#[async_trait]
impl Statement for Owners {
    type Output = Vec<(String, Conversation)>;

    async fn run(&self, tx: &mut Tx) -> Result<Self::Output, StoreError> {
        let mut owners = Vec::new();
        for chat in private_chats::of_owners(tx).await? {
            let Some(place) = chat.conversation() else { continue };
            let role = members::role_of(tx, &self.access, (&place, &chat.external_id)).await?;
            if role == Some(Role::Owner) && place.channel != ChannelKind::Terminal {
                owners.push((chat.external_id, place));
            }
        }
        Ok(owners)
    }
}

/// The owner in whose name something begins, and where they are spoken to: the first that the config names on Telegram, else
/// whoever of the owners has written last. `chat` is another chat on Telegram.
fn voice(config: &Config, owners: &[(String, Conversation)], chat: Option<i64>) -> Option<(String, Conversation)> {
    let telegram = |chat: String| {
        let (channel, account) = (ChannelKind::Telegram, DEFAULT_ACCOUNT.to_owned());
        Conversation { channel, account, chat, thread: None }
    };
    let named = config.telegram.as_ref().and_then(|telegram| telegram.owner_user_ids.first());
    if let Some(owner) = named.map(i64::to_string) {
        let chat = chat.map_or_else(|| owner.clone(), |chat| chat.to_string());
        return Some((owner, telegram(chat)));
    }
    match chat {
        // Whoever speaks there has a name there.
        Some(chat) => {
            let place = telegram(chat.to_string());
            let fits =
                |(_, own): &&(String, Conversation)| own.channel == place.channel && own.account == place.account;
            owners.iter().find(fits).map(|(owner, _)| (owner.clone(), place.clone()))
        }
        None => owners.first().cloned(),
    }
}

/// While no owner is known, a code is told to whoever reads the log: its sender becomes the owner, and nobody by being first.
async fn tell_first_owner(blueprint: &Blueprint, router: &Router) -> Result<(), StartError> {
    let code = Code::new(|| blueprint.rng.next_u64());
    let is_served = blueprint.own_channel.is_none() && blueprint.config.has_channel();
    let is_wanted = is_served && !router.access.has_owner();
    if router.store.write(pairing::desk::Begin { code: code.clone(), is_wanted }).await? {
        tracing::info!("Nobody owns this Hob yet. Send `/pair {}` to the bot to become its owner.", code.shown());
    }
    Ok(())
}

/// How Hob looks by itself whether there is something to do.
fn heartbeat(config: &Config, owners: &[(String, Conversation)]) -> Option<Heartbeat> {
    let heartbeat = config.heartbeat.as_ref()?;
    let (owner, conversation) = voice(config, owners, heartbeat.telegram_chat)?;
    let HeartbeatConfig { every_secs, prompt, file, .. } = heartbeat.clone();
    Some(Heartbeat { every_secs, prompt, conversation, owner, file })
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

/// What is looked at of a config beyond its own checks, now: for its writer.
#[must_use]
pub fn beyond(config: &Config) -> Vec<Finding> {
    unreadable(config, SystemClock.now())
}

fn declared(blueprint: &Blueprint, owners: &[(String, Conversation)]) -> Result<Vec<Declared>, StartError> {
    let config = &blueprint.config;
    let house = parts::zone(config.agent.time_zone.as_deref())?;
    let all = config.schedule.iter().enumerate().filter_map(|(index, schedule)| {
        let (owner, conversation) = voice(config, owners, schedule.telegram_chat)?;
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

fn webhooks(config: &Config, owners: &[(String, Conversation)]) -> Vec<Webhook> {
    let all = config.webhooks.iter().filter_map(|(name, webhook)| {
        let (owner, conversation) = voice(config, owners, webhook.telegram_chat)?;
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
