//! What the adapter is told at its start.

use std::time::Duration;

use hob_core::domain::secret::Secret;

/// Where the bot is and how it receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What this account is called here: `default` where there is one.
    pub account: String,
    /// The bot's token, from @BotFather.
    pub token: Secret,
    /// The Bot API's address, `https://api.telegram.org` or a server of one's own.
    pub api_url: url::Url,
    /// How long Telegram may hold a poll open; whole seconds.
    pub poll_timeout: Duration,
    /// Where Telegram calls; none: it is asked.
    pub webhook: Option<Webhook>,
    /// The commands that Telegram shows, with what they do.
    pub commands: Vec<(String, String)>,
    /// How fast the adapter retries and gives up.
    pub pace: Timing,
}

/// Where Telegram calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The address, as Telegram sees it.
    pub url: url::Url,
    /// What Telegram says with each call, to show that it is Telegram.
    pub secret: Secret,
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The first delay after trouble with receiving; it doubles up to `retry_max`, plus jitter of up to as much again.
    pub retry_min: Duration,
    /// The longest delay after trouble with receiving.
    pub retry_max: Duration,
    /// The delay after the token was refused: only an operator can mend that.
    pub retry_refused: Duration,
    /// How long beyond `poll_timeout` a poll may stay silent before it is rebuilt on a new client.
    pub poll_grace: Duration,
    /// How long any other request may take.
    pub send_deadline: Duration,
    /// How long nothing more of an album may come before it is whole.
    pub album_window: Duration,
    /// How often Telegram is asked whether its calls get through.
    pub webhook_check: Duration,
}

impl Timing {
    /// What is used outside of tests.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(60),
        retry_refused: Duration::from_secs(120),
        poll_grace: Duration::from_secs(10),
        send_deadline: Duration::from_secs(30),
        album_window: Duration::from_millis(700),
        webhook_check: Duration::from_secs(60),
    };
}
