//! Telegram's accounts, as the config names them.

use std::time::Duration;

use crate::channel::telegram::settings::{Pace, Settings, Webhook};
use crate::config::Config;
use crate::config::telegram::TelegramConfig;
use crate::daemon::StartError;
use crate::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use crate::domain::principal::Role;
use crate::policy::access::AccessList;
use crate::policy::persona::Assignments;
use crate::router::command::LISTED;

/// The accounts by name: that of `[telegram]`, and those of `[telegram_accounts]`.
pub(super) fn accounts(config: &Config) -> impl Iterator<Item = (&str, &TelegramConfig)> {
    let own = config.telegram.iter().map(|telegram| (DEFAULT_ACCOUNT, telegram));
    own.chain(config.telegram_accounts.iter().map(|(name, telegram)| (name.as_str(), telegram)))
}

/// How it is reached.
pub(super) fn settings(account: &str, config: &TelegramConfig, is_served: bool) -> Result<Settings, StartError> {
    let url = |key: &str, url: &str| {
        url::Url::parse(url).map_err(|error| StartError::Config(format!("telegram.{key}, account {account}: {error}")))
    };
    let webhook = match (&config.webhook_url, &config.webhook_secret) {
        (Some(address), Some(secret)) if is_served => {
            Some(Webhook { url: url("webhook_url", address)?, secret: secret.clone() })
        }
        _ => None,
    };
    Ok(Settings {
        account: account.to_owned(),
        token: config.bot_token.clone(),
        api_url: url("api_url", &config.api_url)?,
        poll_timeout: Duration::from_secs(config.poll_timeout_secs),
        webhook,
        commands: LISTED.iter().map(|(name, what)| ((*name).to_owned(), (*what).to_owned())).collect(),
        pace: Pace::PRODUCTION,
    })
}

/// Who is let in by each account.
pub(super) fn doors(config: &Config, list: &mut AccessList) {
    for (account, telegram) in accounts(config) {
        let door = list.door(ChannelKind::Telegram, account);
        door.guests = telegram.allow_guests;
        for (ids, role) in [
            (&telegram.guest_user_ids, Role::Guest),
            (&telegram.allowed_user_ids, Role::User),
            (&telegram.admin_user_ids, Role::Admin),
            (&telegram.owner_user_ids, Role::Owner),
        ] {
            ids.iter().for_each(|id| door.admit(&id.to_string(), role));
        }
    }
}

/// Who Hob is on each account, and in single chats.
pub(super) fn personas(config: &Config, assigned: &mut Assignments) {
    for (account, telegram) in accounts(config) {
        let place = (ChannelKind::Telegram, account.to_owned());
        assigned.by_account.extend(telegram.persona.iter().map(|name| (place.clone(), name.clone())));
        let by_chat = telegram.personas.iter();
        assigned.by_chat.extend(by_chat.map(|(chat, name)| ((ChannelKind::Telegram, chat.clone()), name.clone())));
    }
}
