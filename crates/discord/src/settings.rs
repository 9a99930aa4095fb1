//! What the adapter is told at its start.

use std::time::Duration;

use hob_core::domain::secret::Secret;

/// Which bot this is and where Discord is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The account's name in the config; `default` for `[discord]` itself.
    pub account: String,
    /// The bot's token, from the developer portal.
    pub token: Secret,
    /// The API's address, `https://discord.com`.
    pub api_url: url::Url,
    /// The servers in which the slash commands are registered; none: everywhere.
    pub command_guilds: Vec<String>,
    /// How fast the adapter retries and gives up.
    pub pace: Timing,
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The first delay after a lost connection; it doubles up to `retry_max`, plus jitter of up to as much again.
    pub retry_min: Duration,
    /// The longest delay between connections that fail.
    pub retry_max: Duration,
    /// The delay after Discord refused the token or an intent: only an operator can mend that.
    pub retry_refused: Duration,
    /// How long it may take from the connection to `READY` or `RESUMED`.
    pub ready_deadline: Duration,
    /// How long Discord may be silent before the channel counts as deaf; it echoes a heartbeat every 41 seconds.
    pub silence_max: Duration,
    /// How long a request may take.
    pub send_deadline: Duration,
    /// For how long Discord surely remembers a nonce.
    pub nonce_lasts: Duration,
}

impl Timing {
    /// What is used outside of tests.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(60),
        retry_refused: Duration::from_secs(120),
        ready_deadline: Duration::from_secs(30),
        silence_max: Duration::from_secs(95),
        send_deadline: Duration::from_secs(20),
        nonce_lasts: Duration::from_secs(120),
    };
}
