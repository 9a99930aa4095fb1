//! What the platforms can show, as plain data.

use crate::render::chunk::{Limit, Unit};

/// How a platform is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Telegram's HTML (`parse_mode = HTML`).
    TelegramHtml,
    /// Slack's mrkdwn, as a message's `text`.
    SlackMrkdwn,
    /// Sections of mrkdwn, as a message's `blocks` (JSON).
    SlackBlocks,
    /// Discord's Markdown.
    DiscordMarkdown,
    /// The HTML part of a mail.
    MailHtml,
    /// A part of a web page.
    WebHtml,
    /// A terminal that shows styles.
    Ansi,
    /// Text alone.
    Plain,
}

/// What a platform can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// How it is written to.
    pub markup: Markup,
    /// How long one message may be; of Slack's blocks, one section. Less than [`UNITS_MIN`] counts as that.
    pub limit: Option<Limit>,
    /// How wide a table, and a terminal's or a mail's line, may be; none where nothing is too wide.
    pub columns: Option<usize>,
}

/// The least a message must hold, so that every piece of markup fits one.
pub const UNITS_MIN: usize = 512;

/// Telegram's limit for one message, after entities are parsed.
const TELEGRAM_UTF16_MAX: usize = 4_096;
/// Discord's limit for one message, in code points.
const DISCORD_CHARS_MAX: usize = 2_000;
/// Slack's limit for the text of a section.
const SLACK_SECTION_MAX: usize = 3_000;
/// What Slack asks for in a message's text; it cuts at 40,000.
const SLACK_TEXT_MAX: usize = 4_000;
/// How wide a table may be on a telephone before it is easier read as a list.
const CHAT_COLUMNS: usize = 48;
/// The same for those who mostly sit at a desk.
const DESK_COLUMNS: usize = 80;
/// A mail's line, with room to be quoted.
const MAIL_COLUMNS: usize = 72;

impl Capabilities {
    /// A message on Telegram.
    #[must_use]
    pub fn telegram() -> Self {
        let limit = Some(Limit::new(TELEGRAM_UTF16_MAX, Unit::Utf16));
        Self { markup: Markup::TelegramHtml, limit, columns: Some(CHAT_COLUMNS) }
    }

    /// A message on Slack, in blocks.
    #[must_use]
    pub fn slack() -> Self {
        let limit = Some(Limit::new(SLACK_SECTION_MAX, Unit::Utf16));
        Self { markup: Markup::SlackBlocks, limit, columns: Some(DESK_COLUMNS) }
    }

    /// A message on Slack without blocks, as for one that is edited while it is written.
    #[must_use]
    pub fn slack_text() -> Self {
        let limit = Some(Limit::new(SLACK_TEXT_MAX, Unit::Utf16));
        Self { markup: Markup::SlackMrkdwn, limit, columns: Some(DESK_COLUMNS) }
    }

    /// A message on Discord.
    #[must_use]
    pub fn discord() -> Self {
        let limit = Some(Limit::new(DISCORD_CHARS_MAX, Unit::Chars));
        Self { markup: Markup::DiscordMarkdown, limit, columns: Some(DESK_COLUMNS) }
    }

    /// A mail.
    #[must_use]
    pub fn mail() -> Self {
        Self { markup: Markup::MailHtml, limit: None, columns: Some(MAIL_COLUMNS) }
    }

    /// A web page.
    #[must_use]
    pub fn web() -> Self {
        Self { markup: Markup::WebHtml, limit: None, columns: None }
    }

    /// A terminal of so many columns; of unknown width, lines are left as they are.
    #[must_use]
    pub fn terminal(styles: bool, columns: Option<usize>) -> Self {
        Self { markup: if styles { Markup::Ansi } else { Markup::Plain }, limit: None, columns }
    }
}
