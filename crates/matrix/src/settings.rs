//! What the adapter is told at its start.

use std::path::PathBuf;
use std::time::Duration;

use hob_core::domain::secret::Secret;

/// One account: who Hob is, and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which of Hob's accounts; `default` for `[matrix]`.
    pub account: String,
    /// The homeserver's address: `https://matrix.example.org`.
    pub homeserver: url::Url,
    /// Hob's own id there: `@hob:example.org`.
    pub user: String,
    /// The password that the account logs in with, once.
    pub password: Secret,
    /// Where the login and the keys are kept.
    pub data_dir: PathBuf,
    /// Whether words are one of Hob's commands, e.g. `/stop`: `!stop` means that.
    pub is_command: fn(&str) -> bool,
    /// How fast the adapter retries and gives up.
    pub pace: Timing,
}

impl Settings {
    /// The file of the keys.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.data_dir.join("matrix").join(format!("{}.db", self.account))
    }
}

/// The adapter's deadlines and delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The first delay after trouble; it doubles up to `retry_max`, plus jitter of up to as much again.
    pub retry_min: Duration,
    /// The longest delay between tries that fail.
    pub retry_max: Duration,
    /// The delay after the login was refused, or the keys are gone: only an operator can mend that.
    pub retry_refused: Duration,
    /// How long the homeserver holds a sync while nothing happens.
    pub poll: Duration,
    /// How long nothing may come back before the account counts as deaf; more than `poll`.
    pub silence_max: Duration,
    /// How long any other request may take.
    pub request_max: Duration,
}

impl Timing {
    /// What is used outside of tests.
    pub const PRODUCTION: Self = Self {
        retry_min: Duration::from_secs(1),
        retry_max: Duration::from_secs(60),
        retry_refused: Duration::from_secs(120),
        poll: Duration::from_secs(30),
        silence_max: Duration::from_secs(90),
        request_max: Duration::from_secs(30),
    };
}
