//! The accounts of the platforms: the first has a section of its own, further ones have names.

use std::collections::BTreeMap;

use crate::discord::DiscordConfig;
use crate::email::EmailConfig;
use crate::matrix::MatrixConfig;
use crate::problem::Finding;
use crate::slack::SlackConfig;
use crate::telegram::TelegramConfig;
use crate::{Config, key_path, values};
use hob_core::domain::inbound::{ChannelKind, DEFAULT_ACCOUNT};
use hob_core::domain::principal::Role;

/// Who Hob is, by chat, server or workspace.
type Personas = BTreeMap<String, String>;

/// What the sections of all platforms say alike: who is let in by an account, and who Hob is there.
#[derive(Debug)]
pub struct SectionAccess<'a> {
    /// Who is let in as what, by the platform's ids.
    pub admitted: [(Role, Vec<String>); 4],
    /// Whether others are let in as guests.
    pub guests: bool,
    /// Who Hob is there.
    pub persona: Option<&'a String>,
    /// Who Hob is in single chats.
    pub personas: &'a Personas,
    /// Who Hob is on single servers, or in single workspaces, under the key of that table; none: the platform has none.
    pub servers: Option<(&'static str, &'a Personas)>,
}

/// The section of an account on any platform.
pub trait PlatformSection {
    fn access(&self) -> SectionAccess<'_>;

    /// What cannot be.
    fn validate(&self) -> Vec<Finding>;
}

/// The platform's ids as text.
pub fn numbers(ids: &[i64]) -> Vec<String> {
    ids.iter().map(i64::to_string).collect()
}

/// Addresses count as they are written in lower case.
pub fn lower(addresses: &[String]) -> Vec<String> {
    addresses.iter().map(|address| address.to_lowercase()).collect()
}

/// An account of a platform.
pub struct Account<'a, T: ?Sized> {
    pub channel: ChannelKind,
    /// What it is called.
    pub name: &'a str,
    pub section: &'a T,
    is_first: bool,
}

impl<'a, T: ?Sized> Account<'a, T> {
    /// Where its section is.
    pub(crate) fn key(&self) -> String {
        let platform = self.channel.as_str();
        if self.is_first { platform.to_owned() } else { key_path::child(&format!("{platform}_accounts"), self.name) }
    }
}

impl<'a, T: PlatformSection + 'static> Account<'a, T> {
    fn on_any_platform(self) -> Account<'a, dyn PlatformSection> {
        let Self { channel, name, section, is_first } = self;
        Account { channel, name, section, is_first }
    }
}

impl<'a> Account<'a, dyn PlatformSection> {
    /// What is wrong with its name and, as its section says, in it.
    fn findings(&self) -> Vec<Finding> {
        let is_named = self.is_first || (values::is_name(self.name) && self.name != DEFAULT_ACCOUNT);
        let why =
            "cannot name an account, expected a letter, then up to 63 letters, digits, `_` or `-`, and not `default`";
        let found = self.section.validate().into_iter().map(|finding| finding.within(&self.key()));
        (!is_named).then(|| Finding::new(self.key(), why, "rename it")).into_iter().chain(found).collect()
    }

    /// Each persona that the section names, and where: the account's own, and those in tables by place.
    fn personas(&self) -> Vec<(String, &'a str)> {
        let SectionAccess { persona, personas, servers, .. } = self.section.access();
        let own = persona.map(|name| (key_path::child(&self.key(), "persona"), name.as_str()));
        let by_place = [("personas", personas)].into_iter().chain(servers).flat_map(|(table, names)| {
            let table = key_path::child(&self.key(), table);
            names.iter().map(move |(place, name)| (key_path::child(&table, place), name.as_str()))
        });
        own.into_iter().chain(by_place).collect()
    }
}

fn accounts<'a, T>(
    channel: ChannelKind,
    first: Option<&'a T>,
    more: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = Account<'a, T>> {
    let first = first.map(|section| Account { channel, name: DEFAULT_ACCOUNT, section, is_first: true });
    let more = more.iter().map(move |(name, section)| Account { channel, name, section, is_first: false });
    first.into_iter().chain(more)
}

impl Config {
    /// The bots on Telegram.
    pub fn telegrams(&self) -> impl Iterator<Item = Account<'_, TelegramConfig>> {
        accounts(ChannelKind::Telegram, self.telegram.as_ref(), &self.telegram_accounts)
    }

    /// The apps in Slack's workspaces.
    pub fn slacks(&self) -> impl Iterator<Item = Account<'_, SlackConfig>> {
        accounts(ChannelKind::Slack, self.slack.as_ref(), &self.slack_accounts)
    }

    /// The bots on Discord.
    pub fn discords(&self) -> impl Iterator<Item = Account<'_, DiscordConfig>> {
        accounts(ChannelKind::Discord, self.discord.as_ref(), &self.discord_accounts)
    }

    /// The accounts on Matrix.
    pub fn matrices(&self) -> impl Iterator<Item = Account<'_, MatrixConfig>> {
        accounts(ChannelKind::Matrix, self.matrix.as_ref(), &self.matrix_accounts)
    }

    pub fn mailboxes(&self) -> impl Iterator<Item = Account<'_, EmailConfig>> {
        accounts(ChannelKind::Email, self.email.as_ref(), &self.email_accounts)
    }

    /// All of them.
    pub fn accounts(&self) -> impl Iterator<Item = Account<'_, dyn PlatformSection>> {
        let chats = self.telegrams().map(Account::on_any_platform).chain(self.slacks().map(Account::on_any_platform));
        let chats = chats.chain(self.discords().map(Account::on_any_platform));
        let chats = chats.chain(self.matrices().map(Account::on_any_platform));
        chats.chain(self.mailboxes().map(Account::on_any_platform))
    }

    /// The platforms on which people reach Hob.
    pub fn channels(&self) -> Vec<ChannelKind> {
        let mut all: Vec<_> = self.accounts().map(|account| account.channel).collect();
        all.dedup();
        all
    }

    /// What the accounts' sections find wrong.
    pub(crate) fn validate_accounts(&self) -> Vec<Finding> {
        self.accounts().flat_map(|account| account.findings()).collect()
    }

    /// Each persona that an account's section names, and where.
    pub(crate) fn personas_of_accounts(&self) -> Vec<(String, &str)> {
        self.accounts().flat_map(|account| account.personas()).collect()
    }
}
