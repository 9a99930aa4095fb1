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

/// Who Hob is, by chat, server or workspace.
type Personas = BTreeMap<String, String>;

/// An account of a platform.
#[derive(Debug)]
pub struct Account<'a, T> {
    /// What it is called.
    pub name: &'a str,
    pub section: &'a T,
    platform: &'static str,
    is_first: bool,
}

impl<'a, T> Account<'a, T> {
    /// Where its section is.
    pub(crate) fn key(&self) -> String {
        let Self { name, platform, .. } = self;
        if self.is_first { (*platform).to_owned() } else { key_path::child(&format!("{platform}_accounts"), name) }
    }

    /// What is wrong with its name and, as its section says, in it.
    fn findings(&self, validate: fn(&T) -> Vec<Finding>) -> Vec<Finding> {
        let is_named = self.is_first || (values::is_name(self.name) && self.name != DEFAULT_ACCOUNT);
        let why =
            "cannot name an account, expected a letter, then up to 63 letters, digits, `_` or `-`, and not `default`";
        let found = validate(self.section).into_iter().map(|finding| finding.within(&self.key()));
        (!is_named).then(|| Finding::new(self.key(), why, "rename it")).into_iter().chain(found).collect()
    }

    /// Each persona that the section names, and where: the account's own, and those in tables by place.
    fn personas(&self, own: Option<&'a String>, tables: &[(&str, &'a Personas)]) -> Vec<(String, &'a str)> {
        let own = own.map(|name| (key_path::child(&self.key(), "persona"), name.as_str()));
        let by_place = tables.iter().flat_map(|(table, names)| {
            let table = key_path::child(&self.key(), table);
            names.iter().map(move |(place, name)| (key_path::child(&table, place), name.as_str()))
        });
        own.into_iter().chain(by_place).collect()
    }
}

fn accounts<'a, T>(
    platform: &'static str,
    first: Option<&'a T>,
    more: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = Account<'a, T>> {
    let first = first.map(|section| Account { name: DEFAULT_ACCOUNT, section, platform, is_first: true });
    let more = more.iter().map(move |(name, section)| Account { name, section, platform, is_first: false });
    first.into_iter().chain(more)
}

impl Config {
    /// The bots on Telegram.
    pub fn telegrams(&self) -> impl Iterator<Item = Account<'_, TelegramConfig>> {
        accounts("telegram", self.telegram.as_ref(), &self.telegram_accounts)
    }

    /// The apps in Slack's workspaces.
    pub fn slacks(&self) -> impl Iterator<Item = Account<'_, SlackConfig>> {
        accounts("slack", self.slack.as_ref(), &self.slack_accounts)
    }

    /// The bots on Discord.
    pub fn discords(&self) -> impl Iterator<Item = Account<'_, DiscordConfig>> {
        accounts("discord", self.discord.as_ref(), &self.discord_accounts)
    }

    /// The accounts on Matrix.
    pub fn matrices(&self) -> impl Iterator<Item = Account<'_, MatrixConfig>> {
        accounts("matrix", self.matrix.as_ref(), &self.matrix_accounts)
    }

    pub fn mailboxes(&self) -> impl Iterator<Item = Account<'_, EmailConfig>> {
        accounts("email", self.email.as_ref(), &self.email_accounts)
    }

    /// The platforms on which people reach Hob.
    pub fn channels(&self) -> Vec<ChannelKind> {
        let all = [
            (ChannelKind::Telegram, self.telegrams().next().is_some()),
            (ChannelKind::Slack, self.slacks().next().is_some()),
            (ChannelKind::Discord, self.discords().next().is_some()),
            (ChannelKind::Matrix, self.matrices().next().is_some()),
            (ChannelKind::Email, self.mailboxes().next().is_some()),
        ];
        all.into_iter().filter(|(_, there)| *there).map(|(channel, _)| channel).collect()
    }

    /// What the accounts' sections find wrong.
    pub(crate) fn validate_accounts(&self) -> Vec<Finding> {
        let telegrams = self.telegrams().flat_map(|account| account.findings(TelegramConfig::validate));
        let slacks = self.slacks().flat_map(|account| account.findings(SlackConfig::validate));
        let discords = self.discords().flat_map(|account| account.findings(DiscordConfig::validate));
        let matrices = self.matrices().flat_map(|account| account.findings(MatrixConfig::validate));
        let mailboxes = self.mailboxes().flat_map(|account| account.findings(EmailConfig::validate));
        telegrams.chain(slacks).chain(discords).chain(matrices).chain(mailboxes).collect()
    }

    /// Each persona that an account's section names, and where.
    pub(crate) fn personas_of_accounts(&self) -> Vec<(String, &str)> {
        let telegrams = self.telegrams().flat_map(|account| {
            let TelegramConfig { persona, personas, .. } = account.section;
            account.personas(persona.as_ref(), &[("personas", personas)])
        });
        let slacks = self.slacks().flat_map(|account| {
            let SlackConfig { persona, personas, workspace_personas, .. } = account.section;
            account.personas(persona.as_ref(), &[("personas", personas), ("workspace_personas", workspace_personas)])
        });
        let discords = self.discords().flat_map(|account| {
            let DiscordConfig { persona, personas, server_personas, .. } = account.section;
            account.personas(persona.as_ref(), &[("personas", personas), ("server_personas", server_personas)])
        });
        let matrices = self.matrices().flat_map(|account| {
            let MatrixConfig { persona, personas, .. } = account.section;
            account.personas(persona.as_ref(), &[("personas", personas)])
        });
        let mailboxes = self.mailboxes().flat_map(|account| {
            let EmailConfig { persona, personas, .. } = account.section;
            account.personas(persona.as_ref(), &[("personas", personas)])
        });
        telegrams.chain(slacks).chain(discords).chain(matrices).chain(mailboxes).collect()
    }
}
