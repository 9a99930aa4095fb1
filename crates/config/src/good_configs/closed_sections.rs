//! Which parts stay closed while Hob runs on an older config, as the file says who may do what there and cannot be read.
//! With the old lists, somebody might be let in who was just shut out.
//!
//! Start at `sections_to_close`; `close_sections` carries it out.

use std::collections::BTreeSet;

use crate::Config;
use crate::check::nearest;
use crate::tools::ApprovalConfig;
use hob_core::domain::principal::Role;
use hob_core::policy::groups::GroupMode;

/// The platforms; with `_accounts` behind, their further accounts.
const CHANNELS: [&str; 5] = ["telegram", "slack", "discord", "matrix", "email"];
/// What says who may speak there, besides the lists.
const CHANNEL_ACCESS: [&str; 8] = [
    "allowed_user_ids",
    "owner_user_ids",
    "admin_user_ids",
    "guest_user_ids",
    "allow_guests",
    "webhook_secret",
    "authserv_ids",
    "verify",
];
/// What is in the name of such a key, however it is mistyped.
const ACCESS_WORDS: [&str; 8] = ["user", "owner", "admin", "guest", "allow", "_address", "role", "secret"];
/// Keys of a channel in whose names such a word stands for something else.
const HARMLESS: [&str; 2] = ["imap_user", "smtp_user"];
/// What a tool, or a server of tools, may do, and for whom.
const TOOL_ACCESS: [&str; 9] =
    ["role", "approval", "sandbox", "trusted_output", "changes", "trusted_annotations", "allow", "deny", "module"];
/// Sections that are about access as a whole.
const WHOLE: [&str; 5] = ["people", "groups", "approvals", "server", "home_assistant"];
/// All that this rule knows of: for a section whose header is mistyped.
const SECTIONS: [&str; 25] = [
    "telegram",
    "telegram_accounts",
    "slack",
    "slack_accounts",
    "discord",
    "discord_accounts",
    "matrix",
    "matrix_accounts",
    "email",
    "email_accounts",
    "people",
    "groups",
    "approvals",
    "server",
    "terminal",
    "workspace",
    "tools",
    "mcp",
    "web",
    "webhooks",
    "http",
    "dav",
    "mail",
    "home_assistant",
    "cli_agents",
];

/// The sections that stay closed, for the places of problems in the file.
pub(crate) fn sections_to_close<'a>(problems: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    problems.into_iter().filter_map(section).collect()
}

/// The section that a problem at this place closes.
fn section(place: &str) -> Option<String> {
    let steps = steps(place);
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let (first, rest) = steps.split_first()?;
    // In `[telegrm]` stand the lists of Telegram.
    let first = if SECTIONS.contains(first) { first } else { nearest(first, SECTIONS.into_iter())? };
    if CHANNELS.contains(&first) {
        return rest.first().is_none_or(|key| is_access(key)).then(|| first.to_owned());
    }
    if WHOLE.contains(&first) {
        let person = rest.first().filter(|_| first == "people");
        return Some(person.map_or_else(|| first.to_owned(), |name| format!("{first}.{name}")));
    }
    let of_name = |name: &str, holds: bool| holds.then(|| format!("{first}.{name}"));
    match (first, rest) {
        ("terminal", _) => Some(first.to_owned()),
        ("workspace", ["keep_files_days", ..]) => None,
        ("workspace", _) | (_, []) => Some(first.to_owned()),
        ("webhooks" | "http" | "dav" | "mail" | "cli_agents", [name, ..]) => of_name(name, true),
        ("web", [key, ..]) => (*key != "search").then(|| first.to_owned()),
        ("tools" | "mcp", [name, key, ..]) => {
            of_name(name, TOOL_ACCESS.contains(key) || nearest(key, TOOL_ACCESS.into_iter()).is_some())
        }
        (_, [name]) => of_name(name, true),
        (_, [name, key, ..]) => of_name(name, is_access(key)),
    }
}

/// Whether a key of a channel says who may speak there, or is meant to.
fn is_access(key: &str) -> bool {
    if HARMLESS.contains(&key) {
        return false;
    }
    CHANNEL_ACCESS.contains(&key)
        || ACCESS_WORDS.iter().any(|word| key.contains(word))
        || nearest(key, CHANNEL_ACCESS.into_iter()).is_some()
}

/// The steps of a dotted place, without quotes and without the numbers of items.
fn steps(place: &str) -> Vec<String> {
    let (mut steps, mut step, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for sign in place.chars() {
        match sign {
            _ if escaped => {
                step.push(sign);
                escaped = false;
            }
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '.' if !quoted => steps.push(std::mem::take(&mut step)),
            _ => step.push(sign),
        }
    }
    steps.push(step);
    let plain = |step: String| match step.find('[') {
        Some(at) => step[..at].to_owned(),
        None => step,
    };
    steps.into_iter().map(plain).filter(|step| !step.is_empty()).collect()
}

/// Closes these sections in a config.
pub(crate) fn close_sections(config: &mut Config, sections: &BTreeSet<String>) {
    for section in sections {
        let (first, name) =
            section.split_once('.').map_or((section.as_str(), None), |(first, name)| (first, Some(name)));
        let stays = |key: &str| name.is_some_and(|name| name != key);
        match first {
            "telegram" => config.telegram = None,
            "slack" => config.slack = None,
            "discord" => config.discord = None,
            "matrix" => config.matrix = None,
            "email" => config.email = None,
            "telegram_accounts" => config.telegram_accounts.retain(|key, _| stays(key)),
            "slack_accounts" => config.slack_accounts.retain(|key, _| stays(key)),
            "discord_accounts" => config.discord_accounts.retain(|key, _| stays(key)),
            "matrix_accounts" => config.matrix_accounts.retain(|key, _| stays(key)),
            "email_accounts" => config.email_accounts.retain(|key, _| stays(key)),
            "people" => config.people.retain(|key, _| stays(key)),
            "webhooks" => config.webhooks.retain(|key, _| stays(key)),
            // Where credentials may be sent, and which program may be run with what of the environment.
            "http" => config.http.retain(|key, _| stays(key)),
            // Whose calendars and letters are seen by whom.
            "dav" => config.dav.retain(|key, _| stays(key)),
            "mail" => config.mail.retain(|key, _| stays(key)),
            // What of the home is seen and switched.
            "home_assistant" => config.home_assistant = None,
            "cli_agents" => config.cli_agents.retain(|key, _| stays(key)),
            "groups" => {
                config.groups.mode = GroupMode::Off;
                config.groups.chats.clear();
            }
            // The time to answer is all there is: the shorter one.
            "approvals" => {
                let usual = crate::approvals::ApprovalsConfig::default().expire_secs;
                config.approvals.expire_secs = config.approvals.expire_secs.min(usual);
            }
            "terminal" => config.terminal.enabled = false,
            "workspace" => {
                config.workspace.read_dirs.clear();
                config.workspace.write_dirs.clear();
                config.workspace.trusted = false;
            }
            "server" => close_server(config),
            "web" => config.web.allow.clear(),
            "tools" => close_tools(config, name),
            "mcp" => close_servers(config, name),
            _ => {}
        }
    }
}

/// Nobody calls in: no webhook, and no bot that is called.
fn close_server(config: &mut Config) {
    config.server.turn_off();
    config.webhooks.clear();
    config.telegram = config.telegram.take().filter(|telegram| telegram.webhook_url.is_none());
    config.telegram_accounts.retain(|_, telegram| telegram.webhook_url.is_none());
}

/// Each call is put to the owner: other sections name tools, so that none can just be gone.
fn close_tools(config: &mut Config, name: Option<&str>) {
    for (_, tool) in config.tools.iter_mut().filter(|(key, _)| name.is_none_or(|name| name == key.as_str())) {
        (tool.role, tool.approval) = (Role::Owner, ApprovalConfig::Critical);
        (tool.sandbox, tool.trusted_output) = (true, false);
    }
}

/// The same for the tools of a server.
fn close_servers(config: &mut Config, name: Option<&str>) {
    for (_, server) in config.mcp.iter_mut().filter(|(key, _)| name.is_none_or(|name| name == key.as_str())) {
        (server.role, server.approval) = (Role::Owner, Some(ApprovalConfig::Critical));
        (server.trusted_output, server.trusted_annotations) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n7_what_says_who_may_do_what_stays_closed_while_it_cannot_be_read() {
        let table: [(&str, Option<&str>); 53] = [
            ("", None),
            ("agent.iterations_max", None),
            ("provider.models.primary", None),
            ("telegram", Some("telegram")),
            ("telegram.allowed_user_ids", Some("telegram")),
            ("telegram.owner_user_ids[2]", Some("telegram")),
            ("telegram.alowed_user_id", Some("telegram")),
            ("telegram.owners", Some("telegram")),
            ("telegram.alow_gests", Some("telegram")),
            ("telegram.webhook_secret", Some("telegram")),
            ("telegram.bot_token", None),
            ("telegram.poll_timeout_secs", None),
            ("telegram.pol_timeout", None),
            ("telegram.personas.x", None),
            ("telegrm", Some("telegram")),
            ("telegram_accounts", Some("telegram_accounts")),
            ("telegram_accounts.work", Some("telegram_accounts.work")),
            ("telegram_accounts.work.guest_user_ids", Some("telegram_accounts.work")),
            ("telegram_accounts.\"a.b\".guest_user_ids", Some("telegram_accounts.a.b")),
            ("telegram_accounts.work.api_url", None),
            ("slack.admin_user_ids", Some("slack")),
            ("discord_accounts.x.allow_guests", Some("discord_accounts.x")),
            ("matrix.owner_user_ids[1]", Some("matrix")),
            ("matrix.homeserver", None),
            ("matrix_accounts.x.allow_guests", Some("matrix_accounts.x")),
            ("matrx", Some("matrix")),
            ("email.owner_addresses[1]", Some("email")),
            ("email.verify", Some("email")),
            ("email.imap_user", None),
            ("people", Some("people")),
            ("people.ada.role", Some("people.ada")),
            ("people.ada.telegram_user_ids[1]", Some("people.ada")),
            ("groups.chats.\"telegram:-1\"", Some("groups")),
            ("approvals.expire_secs", Some("approvals")),
            ("terminal.network", Some("terminal")),
            ("workspace.read_dirs[1]", Some("workspace")),
            ("workspace.keep_files_days", None),
            ("server.listen", Some("server")),
            ("server.public_url", Some("server")),
            ("webhooks.door.secret", Some("webhooks.door")),
            ("tools.light.role", Some("tools.light")),
            ("tools.light.timeout_secs", None),
            ("mcp.notes.approval", Some("mcp.notes")),
            ("mcp.notes.url", None),
            ("web.allow[1]", Some("web")),
            ("web.search.kind", None),
            ("http.calendar.hosts[1]", Some("http.calendar")),
            ("http", Some("http")),
            ("dav.ada.for[1]", Some("dav.ada")),
            ("mail.ada.for[1]", Some("mail.ada")),
            ("cli_agents.coder.env[1]", Some("cli_agents.coder")),
            ("cli_agent.coder", Some("cli_agents.coder")),
            ("nothing_like_it", None),
        ];
        for (place, expected) in table {
            assert_eq!(section(place).as_deref(), expected, "{place}");
        }
    }

    #[test]
    fn n7_a_closed_part_is_off_and_the_others_are_as_they_were() {
        let text = "[telegram]\nbot_token = '1:a'\n[telegram_accounts.work]\nbot_token = '2:b'\n\
            [telegram_accounts.home]\nbot_token = '3:c'\nwebhook_url = 'https://x'\n[slack]\nbot_token = 'xoxb-1'\n\
            app_token = 'xapp-1'\n[people.ada]\nrole = 'owner'\n[people.bob]\n[groups]\nmode = 'all'\n\
            [workspace]\nread_dirs = ['/srv']\n[server]\nlisten = '127.0.0.1:1'\n[approvals]\nexpire_secs = 900\n\
            [tools.light]\ndescription = 'x'\ncommand = ['x']\n[http.door]\nhosts = ['a.example']\nsecret = 's'\n\
            [cli_agents.claude]\n";
        let open: Config = toml::from_str(text).unwrap();
        let after = |sections: &[&str]| {
            let mut config = open.clone();
            close_sections(&mut config, &sections.iter().map(|section| (*section).to_owned()).collect());
            config
        };
        assert_eq!(after(&[]), open);
        let config = after(&["telegram", "telegram_accounts.work", "people.ada"]);
        assert_eq!((config.telegram.is_some(), config.slack.is_some()), (false, true));
        assert_eq!(config.telegram_accounts.keys().collect::<Vec<_>>(), ["home"]);
        assert_eq!(config.people.keys().collect::<Vec<_>>(), ["bob"]);
        let config = after(&["telegram_accounts", "people", "groups", "terminal", "workspace", "approvals", "slack"]);
        assert!(config.telegram_accounts.is_empty() && config.people.is_empty() && config.slack.is_none());
        assert!(!config.terminal.enabled && config.workspace.read_dirs.is_empty());
        assert_eq!((config.groups.mode, config.approvals.expire_secs), (GroupMode::Off, 300));
        let config = after(&["http.door", "cli_agents"]);
        assert!(config.http.is_empty() && config.cli_agents.is_empty());
        let config = after(&["server", "tools.light"]);
        assert_eq!((config.server.is_off(), config.telegram_accounts.len()), (true, 1), "who is called is off as well");
        let tool = &config.tools["light"];
        assert_eq!((tool.role, tool.approval, tool.sandbox), (Role::Owner, ApprovalConfig::Critical, true));
    }
}
