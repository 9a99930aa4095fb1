//! What is taken from another program's folder, as plain data, and how it is told. Pure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::cli::import::Program;
use hob_config::provider::ProviderKind;
use hob_core::domain::secret::Secret;

/// All that is taken from one folder, and what is left.
#[derive(Debug)]
pub(super) struct ImportPlan {
    /// Whose folder it is.
    pub(super) program: Program,
    /// Who the assistant was there.
    pub(super) persona: Option<Persona>,
    /// What it remembered.
    pub(super) memories: Vec<ImportedMemory>,
    pub(super) skills: Vec<SkillFolder>,
    /// Who was let in, platform by platform.
    pub(super) platforms: Vec<PlatformAccess>,
    /// What it did by itself.
    pub(super) schedules: Vec<ImportedSchedule>,
    /// Its MCP servers.
    pub(super) servers: Vec<ImportedServer>,
    /// The model that answered.
    pub(super) model: Option<ImportedModel>,
    /// What is not taken.
    pub(super) left: Vec<SkippedItem>,
}

/// Who the assistant was.
#[derive(Debug)]
pub(super) struct Persona {
    /// The text.
    pub(super) prompt: String,
    /// The files that it comes from.
    pub(super) from: &'static str,
}

/// Something that was remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportedMemory {
    pub(super) text: String,
    /// When it was written down: as the entry says, else when its file was changed last.
    pub(super) at: Timestamp,
    /// Whether the entry itself says so.
    pub(super) is_dated: bool,
}

/// A folder with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkillFolder {
    /// The folder's name.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// A platform that both programs know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Platform {
    Telegram,
    Slack,
    Discord,
}

impl Platform {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Telegram, Self::Slack, Self::Discord];

    /// Its section of the config; the other programs call it so, too.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Slack => "slack",
            Self::Discord => "discord",
        }
    }

    /// The keys of its tokens, each with the variable that stands for it.
    pub(super) fn tokens(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Telegram => &[("bot_token", "TELEGRAM_BOT_TOKEN")],
            Self::Slack => &[("bot_token", "SLACK_BOT_TOKEN"), ("app_token", "SLACK_APP_TOKEN")],
            Self::Discord => &[("bot_token", "DISCORD_BOT_TOKEN")],
        }
    }

    /// Whether its ids are numbers.
    pub(super) fn has_numbers(self) -> bool {
        self != Self::Slack
    }
}

/// Who was let in on a platform.
#[derive(Debug)]
pub(super) struct PlatformAccess {
    pub(super) platform: Platform,
    pub(super) ids: BTreeSet<String>,
    /// The tokens, by the key of Hob's config.
    pub(super) tokens: Vec<(&'static str, Secret)>,
}

/// Something that is done at set times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportedSchedule {
    pub(super) name: String,
    /// When, as Hob reads it.
    pub(super) when: String,
    pub(super) task: String,
    /// Whose wall clock.
    pub(super) zone: Option<String>,
}

/// An MCP server.
#[derive(Debug, Default)]
pub(super) struct ImportedServer {
    pub(super) name: String,
    /// The program with its arguments, or nothing.
    pub(super) command: Vec<String>,
    /// The address, or nothing.
    pub(super) url: Option<String>,
    /// Where the program runs.
    pub(super) working_dir: Option<String>,
    /// What the program finds in its environment.
    pub(super) env: Vec<(String, Secret)>,
    /// The token that is sent to the address.
    pub(super) bearer: Option<Secret>,
    /// What else is sent there.
    pub(super) headers: Vec<(String, Secret)>,
}

/// The model that answered.
#[derive(Debug)]
pub(super) struct ImportedModel {
    /// Who runs it.
    pub(super) kind: ProviderKind,
    /// Where, if that is an address of one's own.
    pub(super) base_url: Option<String>,
    /// Its name there.
    pub(super) model: String,
    pub(super) api_key: Option<Secret>,
}

/// Something that is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedItem {
    pub(super) what: String,
    pub(super) why: String,
}

impl SkippedItem {
    pub(super) fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

impl ImportPlan {
    /// Of a folder in which nothing was found yet.
    pub(super) fn of(program: Program) -> Self {
        Self {
            program,
            persona: None,
            memories: Vec::new(),
            skills: Vec::new(),
            platforms: Vec::new(),
            schedules: Vec::new(),
            servers: Vec::new(),
            model: None,
            left: Vec::new(),
        }
    }

    /// The same without keys, tokens, and what else may be one. What is missing for it is said.
    pub(super) fn without_secrets(mut self) -> Self {
        let mut names = Vec::new();
        for access in &mut self.platforms {
            let section = access.platform.section();
            names.extend(access.tokens.drain(..).map(|(key, _)| format!("{section}.{key}")));
        }
        if let Some(chosen) = &mut self.model {
            names.extend(chosen.api_key.take().map(|_| "the model's key".to_owned()));
        }
        for server in &mut self.servers {
            let name = server.name.clone();
            let bearer = server.bearer.take().map(|token| ("the token".to_owned(), token));
            let both = server.env.drain(..).chain(bearer).chain(server.headers.drain(..));
            names.extend(both.map(|(key, _)| format!("{key} of the MCP server {name}")));
        }
        if !names.is_empty() {
            self.left.push(SkippedItem::new(names.join(", "), "may be secret; --secrets takes such things as well"));
        }
        self
    }

    /// What is remembered, in a few words.
    pub(super) fn memory_told(&self, new: usize) -> String {
        let dated = self.memories.iter().filter(|entry| entry.is_dated);
        let oldest = dated.clone().map(|entry| entry.at).min();
        let since = oldest.map(|at| format!(", {} of them dated, the first {}", dated.count(), day(at)));
        let known = self.memories.len().saturating_sub(new);
        let known = if known > 0 && new > 0 { format!("; {known} there already") } else { String::new() };
        format!("{} entries{}{known}", self.memories.len(), since.unwrap_or_default())
    }
}

fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}
