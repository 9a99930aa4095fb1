//! Access fails closed (row K5): where the file at hand is wrong about who may speak or what tools may reach, another config
//! that takes its place does not open what its writer may have meant to shut.
//!
//! Start at [`close`].

use crate::config::check::nearest;
use crate::config::off::SectionOff;
use crate::config::problem::{Problem, Problems};
use crate::config::{Config, place, shape};

/// The keys of a channel's section that say who may speak, by what is in their names.
const WHO: [&str; 8] = ["allow", "owner", "admin", "guest", "user_ids", "addresses", "verify", "authserv"];
/// The sections of the channels, and of their further accounts.
const CHANNELS: [&str; 8] = [
    "telegram",
    "slack",
    "discord",
    "email",
    "telegram_accounts",
    "slack_accounts",
    "discord_accounts",
    "email_accounts",
];

/// What may be wider in another config than was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Doubt {
    /// Who may speak over this account.
    Account(String),
    /// Who may speak at all.
    Everybody,
    /// What commands may reach.
    Sandbox,
    /// What of the house's network tools may reach.
    Network,
    /// Who may call in.
    Webhook(String),
}

/// Shuts in `config`, which is used in place of a file with these problems, what they leave in doubt; gives what is off.
pub fn close(config: &mut Config, problems: &Problems) -> Vec<SectionOff> {
    let accounts = accounts(config);
    let mut off: Vec<SectionOff> = Vec::new();
    for problem in problems {
        for doubt in doubts(&problem.key, &accounts, config) {
            for section in shut(config, &doubt, &accounts) {
                if !off.iter().any(|known| known.section == section) {
                    off.push(told(section, problem));
                }
            }
        }
    }
    off
}

fn told(section: String, problem: &Problem) -> SectionOff {
    let Problem { key, line, why, fix, .. } = problem.clone();
    SectionOff { section, key, line: Some(line), what: why, fix }
}

/// The places of all accounts that the config has.
fn accounts(config: &Config) -> Vec<String> {
    let own = [
        ("telegram", config.telegram.is_some()),
        ("slack", config.slack.is_some()),
        ("discord", config.discord.is_some()),
        ("email", config.email.is_some()),
    ];
    let own = own.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned());
    let telegram = config.telegram_accounts.keys().map(|name| place::child("telegram_accounts", name));
    let slack = config.slack_accounts.keys().map(|name| place::child("slack_accounts", name));
    let discord = config.discord_accounts.keys().map(|name| place::child("discord_accounts", name));
    let email = config.email_accounts.keys().map(|name| place::child("email_accounts", name));
    own.chain(telegram).chain(slack).chain(discord).chain(email).collect()
}

/// What a problem at `key` leaves in doubt.
fn doubts(key: &str, accounts: &[String], config: &Config) -> Vec<Doubt> {
    let first = key.split(['.', '[']).next().unwrap_or_default();
    // A section's name that is misspelt may hold what its writer meant for the right one.
    let section = meant(first);
    let is_misspelt = section != first;
    match section.as_str() {
        "people" => vec![Doubt::Everybody],
        "terminal" | "workspace" => vec![Doubt::Sandbox],
        "web" if is_misspelt || key == "web" || place::contains("web.allow", key) => vec![Doubt::Network],
        "webhooks" => {
            let at = |name: &String| place::child("webhooks", name);
            let meant =
                |name: &&String| is_misspelt || place::contains(&at(name), key) || place::contains(key, &at(name));
            config.webhooks.keys().filter(meant).cloned().map(Doubt::Webhook).collect()
        }
        channel if CHANNELS.contains(&channel) => {
            let meant = |account: &&String| {
                let whole = place::contains(channel, account) && (is_misspelt || place::contains(key, account));
                let within = key.strip_prefix(account.as_str()).and_then(|rest| rest.strip_prefix('.'));
                whole || within.is_some_and(says_who)
            };
            accounts.iter().filter(meant).cloned().map(Doubt::Account).collect()
        }
        _ => Vec::new(),
    }
}

/// The section that a word is, or is likely to mean.
fn meant(word: &str) -> String {
    let fields = shape::of::<Config>();
    nearest(word, fields.iter().map(|field| field.name.as_str())).unwrap_or(word).to_owned()
}

/// Whether the key, seen from its account's section, says who may speak.
fn says_who(key: &str) -> bool {
    let name = key.split(['.', '[']).next().unwrap_or_default();
    WHO.iter().any(|word| name.contains(word)) || nearest(name, ["allow_guests"].into_iter()).is_some()
}

/// Shuts it; gives the sections that are off.
fn shut(config: &mut Config, doubt: &Doubt, accounts: &[String]) -> Vec<String> {
    match doubt {
        Doubt::Everybody => {
            accounts.iter().for_each(|account| remove(config, account));
            accounts.to_vec()
        }
        Doubt::Account(account) => {
            remove(config, account);
            vec![account.clone()]
        }
        Doubt::Sandbox => {
            config.terminal.enabled = false;
            vec!["terminal".to_owned()]
        }
        Doubt::Network => {
            config.web.allow.clear();
            vec!["web.allow".to_owned()]
        }
        Doubt::Webhook(name) => {
            config.webhooks.remove(name);
            vec![place::child("webhooks", name)]
        }
    }
}

fn remove(config: &mut Config, account: &str) {
    match account {
        "telegram" => config.telegram = None,
        "slack" => config.slack = None,
        "discord" => config.discord = None,
        "email" => config.email = None,
        _ => {
            let is_other = |of: &str, name: &String| place::child(of, name) != account;
            config.telegram_accounts.retain(|name, _| is_other("telegram_accounts", name));
            config.slack_accounts.retain(|name, _| is_other("slack_accounts", name));
            config.discord_accounts.retain(|name, _| is_other("discord_accounts", name));
            config.email_accounts.retain(|name, _| is_other("email_accounts", name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::environment::Environment;
    use crate::config::load::parse;

    const GOOD: &str = "[telegram]\nbot_token = '1:a'\nallowed_user_ids = [1, 2]\n[telegram_accounts.work]\nbot_token = '2:b'\n\
                        [slack]\nbot_token = 'xoxb-1'\napp_token = 'xapp-1'\n[people.ada]\ntelegram_user_ids = [1]\n\
                        [web]\nallow = ['nas.local']\n[server]\nlisten = '127.0.0.1:1'\n\
                        [webhooks.door]\nsecret = 'sixteen-or-more-x'\nprompt = 'x'\n";

    /// What is off when GOOD runs in place of this.
    fn off(bad: &str) -> String {
        let env = Environment::of("/w", [("A", "b")]);
        let mut config = parse(Path::new("good.toml"), GOOD, &env).unwrap();
        let problems = parse(Path::new("bad.toml"), bad, &env).unwrap_err();
        let off = close(&mut config, &problems);
        let gone = [
            ("telegram", config.telegram.is_none()),
            ("telegram_accounts.work", config.telegram_accounts.is_empty()),
            ("slack", config.slack.is_none()),
            ("terminal", !config.terminal.enabled),
            ("web.allow", config.web.allow.is_empty()),
            ("webhooks.door", config.webhooks.is_empty()),
        ];
        let mut gone: Vec<&str> = gone.into_iter().filter(|(_, gone)| *gone).map(|(section, _)| section).collect();
        let mut told: Vec<&str> = off.iter().map(|off| off.section.as_str()).collect();
        (gone.sort_unstable(), told.sort_unstable());
        assert_eq!(gone, told, "what is off is told");
        told.join(" ")
    }

    #[test]
    fn k5_what_the_file_is_wrong_about_is_not_opened_by_another_one() {
        for (bad, expected) in [
            ("[telegram]\nbot_token = '1:a'\nallowed_user_ids = ['ada']", "telegram"),
            ("[telegram]\nbot_token = '1:a'\nallowed_user_id = [1]", "telegram"),
            ("[telegram]\nbot_token = '1:a'\nowner_user_ids = 7", "telegram"),
            ("telegram = 3", "telegram"),
            ("[telegramm]\nbot_token = '1:a'", "telegram"),
            ("[telegram_accounts.work]\nbot_token = '2:b'\nallow_guests = 'no'", "telegram_accounts.work"),
            ("[people.ada]\nrole = 'ownr'", "slack telegram telegram_accounts.work"),
            ("[peple.ada]\nrole = 'owner'", "slack telegram telegram_accounts.work"),
            ("[terminal]\nnetwork = 'no'", "terminal"),
            ("[workspace]\nread_dir = ['/x']", "terminal"),
            ("[web]\nallow = ['not a place']", "web.allow"),
            ("[webhooks.door]\nsecret = 'short'\nprompt = 'x'", "webhooks.door"),
            // Nothing of these says who may do what.
            ("[telegram]\nbot_token = '1:a'\npoll_timeout_secs = 0", ""),
            ("[agent]\niterations_max = 0", ""),
            ("not = = toml", ""),
        ] {
            assert_eq!(off(bad), expected, "{bad}");
        }
    }
}
