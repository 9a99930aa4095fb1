//! From the config's apps on Slack to what the rooms take.

use std::sync::Arc;

use crate::channel::slack::Slack;
use crate::channel::slack::settings::{Pace, Settings};
use crate::config::Config;
use crate::config::slack::SlackConfig;
use crate::daemon::people::Section;
use crate::daemon::{Blueprint, StartError};
use crate::domain::channel::Adapter;
use crate::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use crate::domain::principal::Role;
use crate::router::command::{self, Command};

/// The apps, and what each is called.
pub(super) fn accounts(config: &Config) -> impl Iterator<Item = (&str, &SlackConfig)> {
    let first = config.slack.iter().map(|slack| (DEFAULT_ACCOUNT, slack));
    first.chain(config.slack_accounts.iter().map(|(name, slack)| (name.as_str(), slack)))
}

/// Builds each app's adapter; nothing is sent yet.
pub(super) fn adapters(blueprint: &Blueprint) -> Result<Vec<Arc<dyn Adapter>>, StartError> {
    let adapter = |(account, config): (&str, &SlackConfig)| {
        let settings = settings(account, config)?;
        let slack = Slack::new(settings, Arc::clone(&blueprint.clock), Arc::clone(&blueprint.rng));
        let slack = slack.map_err(|source| StartError::Slack { account: account.to_owned(), source })?;
        Ok(Arc::new(slack) as Arc<dyn Adapter>)
    };
    accounts(&blueprint.config).map(adapter).collect()
}

/// What each of them says of people.
pub(super) fn sections(config: &Config) -> impl Iterator<Item = Section<'_>> {
    accounts(config).map(|(account, slack)| Section {
        channel: ChannelKind::Slack,
        account,
        admitted: [
            (Role::Guest, slack.guest_user_ids.clone()),
            (Role::User, slack.allowed_user_ids.clone()),
            (Role::Admin, slack.admin_user_ids.clone()),
            (Role::Owner, slack.owner_user_ids.clone()),
        ],
        guests: slack.allow_guests,
        persona: slack.persona.as_ref(),
        personas: &slack.personas,
    })
}

/// How Slack is reached by one of them.
fn settings(account: &str, config: &SlackConfig) -> Result<Settings, StartError> {
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
