//! The platforms' accounts, as the config names them, and those that are at work.
//!
//! Start at [`wirings`]; [`Live`] is an account that receives.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::daemon::chores::slept;
use crate::daemon::error::StartError;
use crate::daemon::reload::plan::Address;
use crate::daemon::switches::Switches;
use crate::daemon::{Blueprint, discord, letters, slack, telegram};
use hob_config::Config;
use hob_core::domain::channel::{Adapter, Intake};
use hob_core::domain::inbound::ChannelKind;
use hob_discord as discord_room;
use hob_discord::Discord;
use hob_email as email_room;
use hob_email::Email;
use hob_router::intake::Router;
use hob_slack as slack_room;
use hob_slack::Slack;
use hob_telegram as telegram_room;
use hob_telegram::Telegram;

/// The wait before a channel that broke starts again.
const CHANNEL_RESTART: Duration = Duration::from_secs(1);

/// So long a former adapter may take to end; what both would then hand in is taken once.
const FORMER_MAX: Duration = Duration::from_secs(15);

/// How an account is reached. What else its section says, people and personas, is no part of it.
#[derive(Debug, Clone)]
pub(super) enum Wiring {
    Telegram(telegram_room::settings::Settings),
    Slack(slack_room::settings::Settings),
    Discord(discord_room::settings::Settings),
    Email(Box<email_room::settings::Settings>),
}

impl Wiring {
    /// Which account it is.
    pub(super) fn address(&self) -> Address {
        let (kind, account) = match self {
            Self::Telegram(settings) => (ChannelKind::Telegram, &settings.account),
            Self::Slack(settings) => (ChannelKind::Slack, &settings.account),
            Self::Discord(settings) => (ChannelKind::Discord, &settings.account),
            Self::Email(settings) => (ChannelKind::Email, &settings.account),
        };
        (kind, account.clone())
    }

    /// Is it reached in the same way?
    pub(super) fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Telegram(one), Self::Telegram(other)) => one == other,
            (Self::Slack(one), Self::Slack(other)) => slack::is_same(one, other),
            (Self::Discord(one), Self::Discord(other)) => one == other,
            (Self::Email(one), Self::Email(other)) => one == other,
            (Self::Telegram(_) | Self::Slack(_) | Self::Discord(_) | Self::Email(_), _) => false,
        }
    }

    /// Builds the adapter; nothing is sent yet.
    pub(super) fn build(&self, blueprint: &Blueprint) -> Result<Arc<dyn Adapter>, StartError> {
        let (clock, rng) = (Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng));
        Ok(match self.clone() {
            Self::Telegram(settings) => Arc::new(Telegram::new(settings, clock, rng)?),
            Self::Slack(settings) => {
                let account = settings.account.clone();
                Arc::new(Slack::new(settings, clock, rng).map_err(|source| StartError::Slack { account, source })?)
            }
            Self::Discord(settings) => Arc::new(Discord::new(settings, clock, rng)?),
            Self::Email(settings) => {
                let account = settings.account.clone();
                Arc::new(Email::new(*settings, clock, rng).map_err(|source| StartError::Email { account, source })?)
            }
        })
    }
}

/// How every account is reached; `is_served`: Hob listens for calls.
pub(super) fn wirings(config: &Config, is_served: bool) -> Result<Vec<Wiring>, StartError> {
    let mut all = Vec::new();
    for (account, telegram) in telegram::accounts(config) {
        all.push(Wiring::Telegram(telegram::settings(account, telegram, is_served)?));
    }
    for (account, slack) in slack::accounts(config) {
        all.push(Wiring::Slack(slack::settings(account, slack)?));
    }
    for (account, discord) in discord::accounts(config) {
        all.push(Wiring::Discord(discord::settings(account, discord)?));
    }
    for (account, email) in letters::accounts(config) {
        all.push(Wiring::Email(Box::new(letters::settings(account, email))));
    }
    Ok(all)
}

/// An account with its adapter.
#[derive(Clone)]
pub(super) struct Wired {
    pub(super) wiring: Wiring,
    pub(super) adapter: Arc<dyn Adapter>,
}

/// Every account of the config; `is_served`: Hob listens for calls. With a channel of the caller's own there are none.
pub(super) fn wired(blueprint: &Blueprint, is_served: bool) -> Result<Vec<Wired>, StartError> {
    if blueprint.own_channel.is_some() {
        return Ok(Vec::new());
    }
    let all = wirings(&blueprint.config, is_served)?.into_iter();
    all.map(|wiring| Ok(Wired { adapter: wiring.build(blueprint)?, wiring })).collect()
}

/// An account that receives.
pub(super) struct Live {
    pub(super) wired: Wired,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Live {
    /// It receives from now on, or, in the place of another, once that has ended: what is not acknowledged by then, the
    /// platform gives the new one.
    pub(super) fn begin(wired: Wired, before: Option<Self>, (router, switches): (&Arc<Router>, &Switches)) -> Self {
        let stop = switches.intake.child_token();
        let receives = receive(Arc::clone(&wired.adapter), Arc::clone(router), (switches.clone(), stop.clone()));
        let former = before.map(Self::end);
        let ended = switches.channels.spawn(async move {
            if let Some(former) = former
                && !matches!(tokio::time::timeout(FORMER_MAX, former).await, Ok(Ok(())))
            {
                tracing::warn!("the channel's former adapter does not end: the new one begins beside it");
            }
            receives.await;
        });
        Self { wired, stop, ended }
    }

    /// It stops receiving; what it gives is done when nothing of it is at work any more.
    pub(super) fn end(self) -> JoinHandle<()> {
        self.stop.cancel();
        self.ended
    }
}

/// Receives until the stop. A panic in the adapter is told and leaves no deaf channel: it starts again.
async fn receive(adapter: Arc<dyn Adapter>, router: Arc<Router>, (switches, stop): (Switches, CancellationToken)) {
    while !stop.is_cancelled() {
        let run = Arc::clone(&adapter).run(Arc::clone(&router) as Arc<dyn Intake>, stop.clone());
        let (channel, account) = adapter.address();
        match switches.channels.spawn(run).await {
            Ok(()) => return,
            Err(error) => tracing::error!(%channel, account, %error, "the channel's adapter broke; it starts again"),
        }
        if slept(CHANNEL_RESTART, &stop).await {
            return;
        }
    }
}
