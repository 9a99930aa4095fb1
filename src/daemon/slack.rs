//! From the config's apps on Slack to what the rooms take.

use crate::channel::slack::settings::{Pace, Settings};
use crate::config::Config;
use crate::config::slack::SlackConfig;
use crate::daemon::{StartError, parts};
use crate::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use crate::domain::principal::Role;
use crate::policy::access::AccessList;
use crate::policy::persona::Assignments;
use crate::router::command::{self, Command};

/// The apps, and what each is called.
pub(super) fn accounts(config: &Config) -> impl Iterator<Item = (&str, &SlackConfig)> {
    let first = config.slack.iter().map(|slack| (DEFAULT_ACCOUNT, slack));
    first.chain(config.slack_accounts.iter().map(|(name, slack)| (name.as_str(), slack)))
}

/// Who is let in by each.
pub(super) fn open_doors(config: &Config, list: &mut AccessList) {
    for (account, slack) in accounts(config) {
        let door = list.door(ChannelKind::Slack, account);
        door.guests = slack.allow_guests;
        for (ids, role) in [
            (&slack.guest_user_ids, Role::Guest),
            (&slack.allowed_user_ids, Role::User),
            (&slack.admin_user_ids, Role::Admin),
            (&slack.owner_user_ids, Role::Owner),
        ] {
            ids.iter().for_each(|id| door.admit(id, role));
        }
        for person in config.people.values() {
            person.slack_user_ids.iter().for_each(|id| door.admit(id, parts::role(person.role)));
        }
    }
}

/// Who Hob is there.
pub(super) fn assign(config: &Config, assigned: &mut Assignments) {
    for (account, slack) in accounts(config) {
        let here = slack.persona.iter().map(|name| ((ChannelKind::Slack, account.to_owned()), name.clone()));
        assigned.by_account.extend(here);
        let by_chat = slack.personas.iter();
        assigned.by_chat.extend(by_chat.map(|(chat, name)| ((ChannelKind::Slack, chat.clone()), name.clone())));
    }
}

/// How Slack is reached by one of them.
pub(super) fn settings(account: &str, config: &SlackConfig) -> Result<Settings, StartError> {
    let api_url = url::Url::parse(&config.api_url);
    let api_url = api_url.map_err(|error| StartError::Config(format!("slack.api_url ({account}): {error}")))?;
    Ok(Settings {
        account: account.to_owned(),
        bot_token: config.bot_token.clone(),
        app_token: config.app_token.clone(),
        api_url,
        is_command: |words| !matches!(command::parse(words), None | Some(Command::Unknown(_))),
        pace: Pace::PRODUCTION,
    })
}

/// Is it the same app, reached in the same way?
pub(super) fn is_same(one: &Settings, other: &Settings) -> bool {
    let of = |settings: &Settings| {
        let Settings { account, bot_token, app_token, api_url, .. } = settings.clone();
        (account, bot_token, app_token, api_url)
    };
    of(one) == of(other)
}
