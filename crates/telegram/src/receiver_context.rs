//! What polling and being called have in common: who the bot is, what went wrong, how long to wait.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use teloxide::Bot;
use teloxide::payloads::GetMe;
use teloxide::types::{AllowedUpdate, UserId};
use tracing::warn;

use crate::call::{CallError, call};
use crate::convert::BotIdentity;
use crate::receiver::UpdateReceiver;
use crate::{Telegram, commands};
use hob_core::domain::backoff::Backoff;
use hob_core::domain::channel::{Intake, IntakeError};

/// The kinds of update that Telegram is asked for.
pub(super) const ALLOWED: [AllowedUpdate; 3] =
    [AllowedUpdate::Message, AllowedUpdate::EditedMessage, AllowedUpdate::CallbackQuery];

/// Why nothing comes in for now.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("an update without an id that Hob understands")]
    Nameless,
    #[error("the answer to {method} cannot be read: {why}")]
    Unreadable { method: &'static str, why: serde_json::Error },
    #[error("Telegram cannot reach Hob: {0}")]
    Unreached(String),
    #[error(transparent)]
    NotStored(#[from] IntakeError),
}

impl ReceiveError {
    /// In words for the operator.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Call(CallError::Api { status: 409, description, .. }) => {
                format!("another process polls with this token, or a webhook is set ({description})")
            }
            Self::Call(CallError::Api { status: 401 | 404, description, .. }) => {
                format!("Telegram does not know this bot token ({description})")
            }
            other => other.to_string(),
        }
    }

    /// Whether the connection itself may be deaf.
    pub(super) fn is_of_the_connection(&self) -> bool {
        matches!(self, Self::Call(CallError::Lost(_) | CallError::NotSent(_) | CallError::Foreign { .. }))
    }
}

#[derive(Deserialize)]
struct BotUser {
    id: u64,
    username: Option<String>,
}

/// Asks who the bot is.
pub(super) async fn fetch_bot_identity(bot: &Bot, telegram: &Telegram) -> Result<BotIdentity, ReceiveError> {
    let answer = call(bot, &GetMe::new(), telegram.settings.pace.send_deadline).await?;
    let named: BotUser = answer.result().map_err(|why| ReceiveError::Unreadable { method: "getMe", why })?;
    let account = telegram.settings.account.clone();
    Ok(BotIdentity { id: UserId(named.id), username: named.username.unwrap_or_default(), account })
}

/// The receiving side of a bot, as long as the adapter runs.
pub(super) struct ReceiverContext<'a> {
    pub(super) telegram: &'a Arc<Telegram>,
    pub(super) intake: Arc<dyn Intake>,
    waits: Backoff,
}

impl<'a> ReceiverContext<'a> {
    pub(super) fn new(telegram: &'a Arc<Telegram>, intake: Arc<dyn Intake>) -> Self {
        Self { telegram, intake, waits: Backoff::default() }
    }

    /// The bot is known: its name is shown, and its commands are told.
    pub(super) fn open(&self, me: BotIdentity) -> UpdateReceiver {
        self.telegram.health.identified(&format!("@{}", me.username));
        commands::register_commands(self.telegram);
        UpdateReceiver { telegram: Arc::clone(self.telegram), intake: Arc::clone(&self.intake), me }
    }

    /// All is well: the next trouble begins with a short wait.
    pub(super) fn reset_delay(&mut self) {
        self.waits.reset();
    }

    /// Makes the trouble visible, then waits as long as it deserves.
    pub(super) async fn wait_out(&mut self, trouble: ReceiveError) {
        let delay = self.delay(&trouble);
        warn!(channel = "telegram", %trouble, delay_ms = delay.as_millis(), "Telegram: {trouble}; again in {delay:?}");
        let health = &self.telegram.health;
        match &trouble {
            ReceiveError::NotStored(error) => health.stuck(error.to_string()),
            other => health.troubled(other.words()),
        }
        health.turned(delay);
        tokio::time::sleep(delay).await;
    }

    fn delay(&mut self, trouble: &ReceiveError) -> Duration {
        let pace = &self.telegram.settings.pace;
        match trouble {
            ReceiveError::Call(CallError::Api { retry_after: Some(after), .. }) => return (*after).max(pace.retry_min),
            ReceiveError::Call(CallError::Api { status: 401 | 404, .. }) => return pace.retry_refused,
            _ => {}
        }
        self.waits.next(pace.retry_min, pace.retry_max, self.telegram.rng.as_ref())
    }
}
