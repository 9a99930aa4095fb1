//! What the adapter is told at its start.

use std::time::Duration;

use crate::domain::secret::Secret;

/// Where the bot is and how it polls.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The bot's token, from @BotFather.
    pub token: Secret,
    /// The Bot API's address, `https://api.telegram.org` or a server of one's own.
    pub api_url: url::Url,
    /// How long Telegram may hold a poll open; whole seconds.
    pub poll_timeout: Duration,
    /// How fast the adapter retries and gives up.
    pub pace: Pace,
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The first delay after a failed poll; it doubles up to `retry_max`, plus jitter of up to as much again.
    pub retry_min: Duration,
    /// The longest delay between polls that fail.
    pub retry_max: Duration,
    /// The delay after the token was refused: only an operator can mend that.
    pub retry_refused: Duration,
    /// How long beyond `poll_timeout` a poll may stay silent before it is rebuilt on a new client.
    pub poll_grace: Duration,
    /// How long any other request may take.
    pub send_deadline: Duration,
    /// How often typing is shown again; Telegram shows it for five seconds.
    pub typing_every: Duration,
    /// How long typing is shown for a run that never says it is over.
    pub typing_max: Duration,
}

impl Pace {
    /// What is used outside of tests.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(60),
        retry_refused: Duration::from_secs(120),
        poll_grace: Duration::from_secs(10),
        send_deadline: Duration::from_secs(30),
        typing_every: Duration::from_secs(4),
        typing_max: Duration::from_secs(25 * 60),
    };
}
