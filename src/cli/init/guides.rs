//! The channels: how one gets a token for each, and what the config needs.

use crate::cli::init::arguments::InitOptions;
use hob_core::domain::inbound::ChannelKind;

/// A channel that can be set up.
#[derive(Debug)]
pub(super) struct ChannelGuide {
    pub(super) channel: ChannelKind,
    /// For people.
    pub(super) title: &'static str,
    /// Its section of the config.
    pub(super) section: &'static str,
    /// What to do outside, before anything is asked.
    pub(super) steps: &'static str,
    /// What is asked.
    pub(super) fields: &'static [GuideField],
}

/// Something that the config needs.
#[derive(Debug)]
pub(super) struct GuideField {
    pub(super) key: &'static str,
    /// The question.
    pub(super) ask: &'static str,
    pub(super) what: FieldKind,
}

/// What kind of thing it is.
#[derive(Debug)]
pub(super) enum FieldKind {
    /// Nobody may see it; the names under which it is kept.
    Secret {
        /// In the environment.
        variable: &'static str,
        file: &'static str,
    },
    /// A text; what is usual begins so, and ends in the domain of the address.
    Text {
        /// Before the domain.
        usual: Option<&'static str>,
    },
    /// A list of one.
    Only,
}

/// All of them, in the order in which they are offered.
pub(super) const GUIDES: [ChannelGuide; 5] = [TELEGRAM, SLACK, DISCORD, MATRIX, EMAIL];

const TELEGRAM: ChannelGuide = ChannelGuide {
    channel: ChannelKind::Telegram,
    title: "Telegram",
    section: "telegram",
    steps: "  1. In Telegram, write to @BotFather (https://t.me/BotFather): /newbot, and follow it.\n  2. It gives you the \
            bot's token: a number, a colon, and many letters. Copy it.",
    fields: &[GuideField {
        key: "telegram.bot_token",
        ask: "The bot's token",
        what: FieldKind::Secret { variable: "TELEGRAM_BOT_TOKEN", file: "telegram-bot-token" },
    }],
};

const SLACK: ChannelGuide = ChannelGuide {
    channel: ChannelKind::Slack,
    title: "Slack",
    section: "slack",
    steps: "  1. Open https://api.slack.com/apps, Create New App, From a manifest, choose the workspace, and paste what is \
            in MANIFEST.\n  2. Basic Information, App-Level Tokens, Generate Token and Scopes: name it hob, add the scope \
            connections:write, generate. This token begins with xapp-.\n  3. Install App, Install, allow. The Bot User OAuth \
            Token begins with xoxb-.",
    fields: &[
        GuideField {
            key: "slack.bot_token",
            ask: "The bot token, xoxb-…",
            what: FieldKind::Secret { variable: "SLACK_BOT_TOKEN", file: "slack-bot-token" },
        },
        GuideField {
            key: "slack.app_token",
            ask: "The app token, xapp-…",
            what: FieldKind::Secret { variable: "SLACK_APP_TOKEN", file: "slack-app-token" },
        },
    ],
};

const DISCORD: ChannelGuide = ChannelGuide {
    channel: ChannelKind::Discord,
    title: "Discord",
    section: "discord",
    steps: "  1. Open https://discord.com/developers/applications, New Application, give it a name.\n  2. Page Bot: Reset \
            Token, and copy the token.\n  3. Same page: switch on Message Content Intent, Save Changes. Switch Public Bot \
            off.\n  4. Page OAuth2: copy the Client ID, put it in place of CLIENT_ID, open this and choose your \
            server:\n     https://discord.com/oauth2/authorize?client_id=CLIENT_ID&scope=bot+applications.commands&permissions=292057877568",
    fields: &[GuideField {
        key: "discord.bot_token",
        ask: "The bot's token",
        what: FieldKind::Secret { variable: "DISCORD_BOT_TOKEN", file: "discord-bot-token" },
    }],
};

const MATRIX: ChannelGuide = ChannelGuide {
    channel: ChannelKind::Matrix,
    title: "Matrix",
    section: "matrix",
    steps: "  1. Make an account for Hob on your homeserver, as for a person, with a password. Use it nowhere else.\n  \
            2. The homeserver's address is what your client calls the server URL. docs/matrix.md has the rest.",
    fields: &[
        GuideField {
            key: "matrix.homeserver",
            ask: "The homeserver, https://…",
            what: FieldKind::Text { usual: None },
        },
        GuideField { key: "matrix.user", ask: "Hob's user id, @hob:…", what: FieldKind::Text { usual: None } },
        GuideField {
            key: "matrix.password",
            ask: "The account's password",
            what: FieldKind::Secret { variable: "MATRIX_PASSWORD", file: "matrix-password" },
        },
    ],
};

const EMAIL: ChannelGuide = ChannelGuide {
    channel: ChannelKind::Email,
    title: "E-mail",
    section: "email",
    steps: "  1. Make a mailbox for Hob at your provider. Not your own: Hob would answer your friends.\n  2. Where the \
            provider asks for it, make a password for programs (an app password).\n  IMAP is used at port 993 and SMTP at \
            port 465, both with TLS; docs/email.md says how to change that.",
    fields: &[
        GuideField { key: "email.address", ask: "Hob's address", what: FieldKind::Text { usual: None } },
        GuideField {
            key: "email.imap_host",
            ask: "The server that mail is read from",
            what: FieldKind::Text { usual: Some("imap.") },
        },
        GuideField {
            key: "email.smtp_host",
            ask: "The server that mail is sent through",
            what: FieldKind::Text { usual: Some("smtp.") },
        },
        GuideField {
            key: "email.imap_password",
            ask: "The mailbox's password",
            what: FieldKind::Secret { variable: "HOB_MAIL_PASSWORD", file: "mail-password" },
        },
        GuideField { key: "email.owner_addresses", ask: "Your own address", what: FieldKind::Only },
    ],
};

impl ChannelGuide {
    /// Where its API is, if the person has said so, and the key for that.
    pub(super) fn api_url(&self, given: &InitOptions) -> Option<(&'static str, String)> {
        let (key, url) = match self.channel {
            ChannelKind::Telegram => ("telegram.api_url", &given.telegram_api_url),
            ChannelKind::Slack => ("slack.api_url", &given.slack_api_url),
            ChannelKind::Discord => ("discord.api_url", &given.discord_api_url),
            ChannelKind::Matrix
            | ChannelKind::Email
            | ChannelKind::Web
            | ChannelKind::Terminal
            | ChannelKind::Event => return None,
        };
        url.clone().map(|url| (key, url))
    }

    /// How the owner shows who they are, to Hob who is called `name` there.
    pub(super) fn how_to_pair(&self, name: &str, code: &str) -> String {
        let called = if name.is_empty() { "the bot" } else { name };
        let link = name.strip_prefix('@').map(|bot| format!(" (https://t.me/{bot})")).unwrap_or_default();
        match self.channel {
            ChannelKind::Telegram => format!("In Telegram, open {called}{link} and send it:\n\n    /pair {code}"),
            ChannelKind::Slack => {
                format!("In Slack, open Apps, choose {called}, and send it in private:\n\n    !pair {code}")
            }
            ChannelKind::Discord => format!(
                "In Discord, click {called} among the members of your server, choose Message, and send:\n\n    /pair {code}"
            ),
            ChannelKind::Matrix => {
                format!("In your Matrix client, start a chat with {called}, and send it:\n\n    !pair {code}")
            }
            ChannelKind::Email | ChannelKind::Web | ChannelKind::Terminal | ChannelKind::Event => {
                format!("From your own address, write Hob a letter ({called}): any words. It answers.")
            }
        }
    }
}
