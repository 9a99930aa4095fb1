//! What each platform can show and take, as plain data: one table for delivery, streaming and rendering.

use crate::domain::inbound::ChannelKind;

/// What a platform counts a message's length in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units.
    Utf16,
    /// Unicode scalar values.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
}

/// How long a message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    max: usize,
    unit: Unit,
}

impl Limit {
    /// At most `max` of `unit`, but never so few that one char would not fit.
    pub const fn new(max: usize, unit: Unit) -> Self {
        let largest_char = match unit {
            Unit::Utf16 => 2,
            Unit::Chars => 1,
            Unit::Bytes => 4,
        };
        Self { max: if max > largest_char { max } else { largest_char }, unit }
    }

    /// The same limit, or `least` if that is more.
    #[must_use]
    pub fn at_least(self, least: usize) -> Self {
        Self { max: self.max.max(least), unit: self.unit }
    }

    /// Half of it: for what may double when it is written.
    #[must_use]
    pub(crate) fn halved(self) -> Self {
        Self::new(self.max / 2, self.unit)
    }

    /// How many units a message may have.
    pub fn max(self) -> usize {
        self.max
    }

    /// The text's length in this limit's unit.
    pub fn measure(self, text: &str) -> usize {
        match self.unit {
            _ if text.is_ascii() => text.len(),
            Unit::Utf16 => text.encode_utf16().count(),
            Unit::Chars => text.chars().count(),
            Unit::Bytes => text.len(),
        }
    }

    /// Whether the text is one message.
    pub fn fits(self, text: &str) -> bool {
        self.measure(text) <= self.max
    }
}

/// How a platform is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Telegram's HTML (`parse_mode = HTML`).
    TelegramHtml,
    /// Slack's mrkdwn, as a message's `text`.
    SlackMrkdwn,
    /// Sections of mrkdwn, as a message's `blocks` (JSON).
    SlackBlocks,
    DiscordMarkdown,
    /// The HTML part of a mail.
    MailHtml,
    /// A part of a web page, or of a chat that shows one.
    WebHtml,
    /// A terminal that shows styles.
    Ansi,
    /// Text alone.
    Plain,
    /// The Markdown itself: who shows it renders it, as only they know how wide it may be.
    Source,
}

/// Something that a platform can do besides showing words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// A message that was sent can be changed.
    Edits,
    /// It shows that somebody types.
    Typing,
    /// A message can carry a sign of what becomes of it.
    Reactions,
    /// A question can have buttons.
    Buttons,
    /// A conversation can have threads.
    Threads,
}

/// What a platform can show and take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// How it is written to.
    pub markup: Markup,
    /// How long one message may be; of Slack's blocks, one section.
    pub limit: Option<Limit>,
    /// How long the words under a file may be; none: as a message.
    pub caption: Option<Limit>,
    /// How wide a table, and a terminal's or a mail's line, may be; none where nothing is too wide.
    pub columns: Option<usize>,
    /// The largest file that it takes, in bytes; none: files cannot be sent there.
    pub file_bytes_max: Option<u64>,
    /// What it can do besides.
    pub features: &'static [Feature],
}

/// How wide a table may be on a telephone before it is easier read as a list.
const CHAT_COLUMNS: usize = 48;
/// The same for those who mostly sit at a desk.
const DESK_COLUMNS: usize = 80;
/// A mail's line, with room to be quoted.
const MAIL_COLUMNS: usize = 72;
/// A terminal takes everything; the bound only keeps one row of the outbox from being huge.
const ROW: Limit = Limit::new(1 << 20, Unit::Bytes);
const MIB: u64 = 1 << 20;

/// Bot API: 4,096 UTF-16 code units after entities are parsed, 1,024 under a file, files of 50 MB.
const TELEGRAM: Capabilities = Capabilities {
    markup: Markup::TelegramHtml,
    limit: Some(Limit::new(4_096, Unit::Utf16)),
    caption: Some(Limit::new(1_024, Unit::Utf16)),
    columns: Some(CHAT_COLUMNS),
    file_bytes_max: Some(50 * MIB),
    features: &[Feature::Edits, Feature::Typing, Feature::Reactions, Feature::Buttons, Feature::Threads],
};

/// Slack: 3,000 characters a section; a file of 1 GB, of which Hob keeps less anyway.
const SLACK: Capabilities = Capabilities {
    markup: Markup::SlackBlocks,
    limit: Some(Limit::new(3_000, Unit::Utf16)),
    caption: None,
    columns: Some(DESK_COLUMNS),
    file_bytes_max: Some(1_000 * MIB),
    features: &[Feature::Edits, Feature::Typing, Feature::Reactions, Feature::Buttons, Feature::Threads],
};

/// Discord: 2,000 code points; files of 10 MiB without a boosted server.
const DISCORD: Capabilities = Capabilities {
    markup: Markup::DiscordMarkdown,
    limit: Some(Limit::new(2_000, Unit::Chars)),
    caption: None,
    columns: Some(DESK_COLUMNS),
    file_bytes_max: Some(10 * MIB),
    features: &[Feature::Edits, Feature::Typing, Feature::Reactions, Feature::Buttons, Feature::Threads],
};

/// Matrix: an event of 64 KiB, which holds the words twice and a third more once it is encrypted; files as the server takes them.
const MATRIX: Capabilities = Capabilities {
    markup: Markup::WebHtml,
    limit: Some(Limit::new(12_000, Unit::Bytes)),
    caption: None,
    columns: Some(DESK_COLUMNS),
    file_bytes_max: Some(50 * MIB),
    features: &[Feature::Edits, Feature::Typing, Feature::Reactions, Feature::Threads],
};

/// Mail: one letter, however long; most servers take 25 MB of attachments once these are encoded.
const EMAIL: Capabilities = Capabilities {
    markup: Markup::MailHtml,
    limit: None,
    caption: None,
    columns: Some(MAIL_COLUMNS),
    file_bytes_max: Some(18 * MIB),
    features: &[Feature::Threads],
};

/// Hob's own page: it shows what is HTML already, and knows no limit but a row's.
const WEB: Capabilities = Capabilities {
    markup: Markup::WebHtml,
    limit: None,
    caption: None,
    columns: None,
    file_bytes_max: Some(u64::MAX),
    features: &[Feature::Edits, Feature::Buttons],
};

const TERMINAL: Capabilities = Capabilities {
    markup: Markup::Source,
    limit: Some(ROW),
    caption: None,
    columns: None,
    file_bytes_max: Some(u64::MAX),
    features: &[],
};

impl Capabilities {
    /// Those of a platform.
    pub const fn of(channel: ChannelKind) -> &'static Self {
        match channel {
            ChannelKind::Telegram => &TELEGRAM,
            ChannelKind::Slack => &SLACK,
            ChannelKind::Discord => &DISCORD,
            ChannelKind::Matrix => &MATRIX,
            ChannelKind::Email => &EMAIL,
            ChannelKind::Web => &WEB,
            // Nobody is spoken to there.
            ChannelKind::Terminal | ChannelKind::Event => &TERMINAL,
        }
    }

    /// Slack's, without blocks.
    pub const fn slack_text() -> Self {
        // Slack asks for 4,000 in a message's text; it cuts at 40,000.
        Self { markup: Markup::SlackMrkdwn, limit: Some(Limit::new(4_000, Unit::Utf16)), ..SLACK }
    }

    /// A terminal of so many columns; of unknown width, lines are left as they are.
    pub const fn terminal(styles: bool, columns: Option<usize>) -> Self {
        Self { markup: if styles { Markup::Ansi } else { Markup::Plain }, limit: None, columns, ..TERMINAL }
    }

    /// How long words for people may be that are not Markdown.
    pub fn text_limit(&self) -> Limit {
        self.limit.unwrap_or(ROW)
    }

    /// How long the words under a file may be.
    pub fn caption_limit(&self) -> Limit {
        self.caption.unwrap_or_else(|| self.text_limit())
    }

    /// Can it do this?
    pub fn can(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}
