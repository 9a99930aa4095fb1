//! In whose name something begins by itself, and where it is heard.

use crate::daemon::config_mapping;
use crate::daemon::toolset::files::destination;
use hob_config::Config;
use hob_core::domain::inbound::{ChannelKind, Conversation, DEFAULT_ACCOUNT};
use hob_core::domain::principal::Role;

/// Where it is to be heard, as its section names it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TriggerTarget<'a> {
    /// A destination's name.
    to: Option<&'a str>,
    telegram_chat: Option<i64>,
}

impl<'a> TriggerTarget<'a> {
    pub(super) fn of(to: Option<&'a str>, telegram_chat: Option<i64>) -> Self {
        Self { to, telegram_chat }
    }
}

/// The owner in whose name something begins, and where they are spoken to: without a place of its own with the first that the
/// config names on Telegram, else with whoever of the owners has written last. `owners` are these, the latest first.
pub(super) fn trigger_owner(
    config: &Config,
    owners: &[(String, Conversation)],
    place: TriggerTarget<'_>,
) -> Option<(String, Conversation)> {
    let telegram = |chat: String| {
        let (channel, account) = (ChannelKind::Telegram, DEFAULT_ACCOUNT.to_owned());
        Conversation { channel, account, chat, thread: None }
    };
    if let Some(name) = place.to {
        let there = config.destinations.get(name).and_then(destination)?;
        let owner = owner_at(config, owners, &there);
        if owner.is_none() {
            let channel = there.channel;
            tracing::warn!(
                "no owner is known on {channel}: what has `to = {name:?}` begins with the first start after one is named in \
                 that section or has written there"
            );
        }
        return Some((owner?, there));
    }
    let chat = place.telegram_chat;
    let named = config.telegram.as_ref().and_then(|telegram| telegram.owner_user_ids.first());
    if let Some(owner) = named.map(i64::to_string) {
        let chat = chat.map_or_else(|| owner.clone(), |chat| chat.to_string());
        return Some((owner, telegram(chat)));
    }
    match chat {
        Some(chat) => {
            let there = telegram(chat.to_string());
            Some((known_at(owners, &there)?, there))
        }
        None => owners.first().cloned(),
    }
}

/// The name that an owner has where `there` is: the first that the config names on Telegram, else of whoever of them has
/// written there last, else of any that the config names. Whoever speaks there has a name there.
fn owner_at(config: &Config, owners: &[(String, Conversation)], there: &Conversation) -> Option<String> {
    let is_default = (there.channel, there.account.as_str()) == (ChannelKind::Telegram, DEFAULT_ACCOUNT);
    let telegram = config.telegram.as_ref().filter(|_| is_default);
    let first = telegram.and_then(|telegram| telegram.owner_user_ids.first()).map(i64::to_string);
    first.or_else(|| known_at(owners, there)).or_else(|| {
        let doors = config_mapping::access(config).doors;
        let door = doors.get(&(there.channel, there.account.clone()))?;
        door.roles.iter().find(|(_, role)| **role == Role::Owner).map(|(id, _)| id.clone())
    })
}

fn known_at(owners: &[(String, Conversation)], there: &Conversation) -> Option<String> {
    let fits = |(_, own): &&(String, Conversation)| own.channel == there.channel && own.account == there.account;
    owners.iter().find(fits).map(|(owner, _)| owner.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_config::environment::Environment;
    use hob_config::load::parse;

    const CONFIG: &str = "
        [telegram]
        bot_token = '1:a'
        owner_user_ids = [7, 3]
        [slack]
        bot_token = 'xoxb-1-a'
        app_token = 'xapp-1-a'
        owner_user_ids = ['U0ZOE', 'U0ADA']
        [discord_accounts.club]
        bot_token = 'a.b-c_d'
        [destinations.family]
        telegram_chat = -100
        topic = 4
        [destinations.team]
        slack_channel = 'C0TEAM'
        [destinations.club]
        discord_channel = '55'
        account = 'club'
    ";

    fn config(text: &str) -> Config {
        parse(std::path::Path::new("config.toml"), text, &Environment::of::<&str, &str>("/", [])).unwrap()
    }

    fn heard(config: &Config, owners: &[(String, Conversation)], place: TriggerTarget<'_>) -> Option<String> {
        let (owner, at) = trigger_owner(config, owners, place)?;
        let thread = at.thread.map(|thread| format!("/{thread}")).unwrap_or_default();
        Some(format!("{owner} at {}:{}:{}{thread}", at.channel, at.account, at.chat))
    }

    fn written(channel: ChannelKind, account: &str, owner: &str) -> (String, Conversation) {
        let chat = format!("dm-{owner}");
        (owner.to_owned(), Conversation { channel, account: account.to_owned(), chat, thread: None })
    }

    #[test]
    fn n13_what_begins_by_itself_is_heard_where_it_says_in_an_owners_name() {
        let config = config(CONFIG);
        let bob = written(ChannelKind::Slack, DEFAULT_ACCOUNT, "U0BOB");
        let club = written(ChannelKind::Discord, "club", "99");
        let written = [bob, club];
        for (place, nobody_wrote, some_did) in [
            (TriggerTarget::default(), Some("7 at telegram:default:7"), Some("7 at telegram:default:7")),
            (TriggerTarget::of(None, Some(-5)), Some("7 at telegram:default:-5"), Some("7 at telegram:default:-5")),
            (
                TriggerTarget::of(Some("family"), None),
                Some("7 at telegram:default:-100/4"),
                Some("7 at telegram:default:-100/4"),
            ),
            (
                TriggerTarget::of(Some("team"), None),
                Some("U0ADA at slack:default:C0TEAM"),
                Some("U0BOB at slack:default:C0TEAM"),
            ),
            (TriggerTarget::of(Some("club"), None), None, Some("99 at discord:club:55")),
        ] {
            assert_eq!(heard(&config, &[], place).as_deref(), nobody_wrote, "{place:?}");
            assert_eq!(heard(&config, &written, place).as_deref(), some_did, "{place:?}");
        }
    }

    #[test]
    fn n13_without_an_owner_on_telegram_the_one_who_wrote_last_hears_it() {
        let config = config("[slack]\nbot_token = 'xoxb-1-a'\napp_token = 'xapp-1-a'\nowner_user_ids = ['U0ADA']");
        assert_eq!(heard(&config, &[], TriggerTarget::default()), None);
        let ada = written(ChannelKind::Slack, DEFAULT_ACCOUNT, "U0ADA");
        assert_eq!(
            heard(&config, std::slice::from_ref(&ada), TriggerTarget::default()).as_deref(),
            Some("U0ADA at slack:default:dm-U0ADA")
        );
        assert_eq!(heard(&config, &[ada], TriggerTarget::of(None, Some(5))), None, "nobody speaks there");
    }
}
