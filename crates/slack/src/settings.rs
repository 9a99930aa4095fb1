//! What the adapter is told at its start.

use std::time::Duration;

use hob_core::domain::secret::Secret;

/// One account: which app Hob is there, and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which of Hob's accounts; `default` for `[slack]`.
    pub account: String,
    /// The bot's token (`xoxb-…`): everything but the socket.
    pub bot_token: Secret,
    /// The app's token (`xapp-…`): it opens the socket.
    pub app_token: Secret,
    /// The Web API's address: `https://slack.com/api`.
    pub api_url: url::Url,
    /// Whether words are one of Hob's commands, e.g. `/stop`: `/hob stop` and `!stop` mean that.
    pub is_command: fn(&str) -> bool,
    /// How fast the adapter retries and gives up.
    pub pace: Timing,
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// The first delay after trouble; it doubles up to `retry_max`, plus jitter of up to as much again.
    pub retry_min: Duration,
    /// The longest delay between tries that fail.
    pub retry_max: Duration,
    /// The delay after a token was refused: only an operator can mend that.
    pub retry_refused: Duration,
    /// How often Slack is asked over the socket whether it is there.
    pub ping_every: Duration,
    /// How long the socket may be silent before it is rebuilt with a new client.
    pub silence_max: Duration,
    /// How long any request may take.
    pub send_deadline: Duration,
    /// How long a live message waits for older ones that are still being fetched; Slack wants its answer within 3 s.
    pub hold_max: Duration,
}

impl Timing {
    /// What is used outside of tests.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(60),
        retry_refused: Duration::from_secs(120),
        ping_every: Duration::from_secs(10),
        silence_max: Duration::from_secs(35),
        send_deadline: Duration::from_secs(30),
        hold_max: Duration::from_millis(1_500),
    };
}
