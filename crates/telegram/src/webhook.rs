//! Being called: Telegram posts each update to an address, and repeats what is not answered with 200.
//!
//! Of a chat it posts one update at a time, the next when the one before is taken. So an album cannot be one message here: its
//! second part comes only after the first is stored, and is a message of its own.

use std::sync::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use teloxide::payloads::{GetWebhookInfo, SetWebhook};
use tracing::{info, warn};

use crate::call::call;
use crate::receiver::UpdateReceiver;
use crate::receiver_context::{ALLOWED, ReceiveError, ReceiverContext, fetch_bot_identity};
use crate::settings::Webhook;
use hob_core::domain::channel::IntakeError;
use hob_core::domain::lock::lock;

/// The calls' side of an adapter.
#[derive(Default)]
pub(super) struct WebhookReceiver {
    /// Where updates go, while the adapter runs.
    receiver: Mutex<Option<UpdateReceiver>>,
}

impl WebhookReceiver {
    /// No more is taken in.
    pub(super) fn close(&self) {
        *lock(&self.receiver) = None;
    }

    /// Takes an update in, as Telegram posts it. `Ok`: it is stored, or nothing that Hob could read.
    pub(super) async fn update(&self, body: &[u8]) -> Result<(), IntakeError> {
        let receiver = lock(&self.receiver).clone();
        let receiver = receiver.ok_or_else(|| IntakeError("Telegram is not connected yet".to_owned()))?;
        receiver.telegram.mark_alive();
        let raw: Value = match serde_json::from_slice(body) {
            Ok(raw) => raw,
            Err(why) => {
                warn!(channel = "telegram", %why, "an update cannot be read; passed over");
                return Ok(());
            }
        };
        let id = raw.get("update_id").and_then(Value::as_i64).unwrap_or_default();
        let Some(update) = UpdateReceiver::read(id, &raw) else { return Ok(()) };
        let outcome = receiver.submit(&[&update]).await;
        if let Err(error) = &outcome {
            receiver.telegram.health.stuck(error.to_string());
        }
        outcome
    }
}

/// What Telegram tells of its calls, as far as it matters.
#[derive(Debug, Deserialize)]
struct WebhookInfo {
    #[serde(default)]
    url: String,
    last_error_date: Option<i64>,
    last_error_message: Option<String>,
}

impl WebhookInfo {
    /// Why Telegram does not get through, as of a call that failed since the last look.
    fn trouble(&self, now: Timestamp, every: Duration) -> Option<String> {
        let failed = Timestamp::from_second(self.last_error_date?).ok()?;
        let recent = now.duration_since(failed) <= SignedDuration::try_from(every * 2).unwrap_or(SignedDuration::MAX);
        let why = || self.last_error_message.clone().unwrap_or_else(|| "it does not say why".to_owned());
        recent.then(why)
    }
}

/// Has Telegram call, and looks now and then whether it gets through.
pub(super) struct WebhookMonitor<'a> {
    link: ReceiverContext<'a>,
    webhook: &'a Webhook,
}

impl<'a> WebhookMonitor<'a> {
    pub(super) fn new(link: ReceiverContext<'a>, webhook: &'a Webhook) -> Self {
        Self { link, webhook }
    }

    /// Watches for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        loop {
            match self.begin().await {
                Ok(()) => break,
                Err(trouble) => self.link.wait_out(trouble).await,
            }
        }
        self.link.reset_delay();
        loop {
            match self.check_delivery().await {
                Ok(()) => {
                    self.link.reset_delay();
                    tokio::time::sleep(self.link.telegram.settings.pace.webhook_check).await;
                }
                Err(trouble) => self.link.wait_out(trouble).await,
            }
        }
    }

    async fn begin(&mut self) -> Result<(), ReceiveError> {
        let telegram = self.link.telegram;
        telegram.health.turned(telegram.settings.pace.send_deadline * 2);
        let me = fetch_bot_identity(&telegram.sender, telegram).await?;
        let username = me.username.clone();
        // Before Telegram is told: it calls at once.
        *lock(&telegram.calls.receiver) = Some(self.link.open(me));
        self.register().await?;
        info!(channel = "telegram", bot.username = %username, "Telegram calls for @{username}");
        Ok(())
    }

    async fn register(&self) -> Result<(), ReceiveError> {
        let mut call_me = SetWebhook::new(self.webhook.url.clone());
        call_me.allowed_updates = Some(ALLOWED.to_vec());
        call_me.secret_token = Some(self.webhook.secret.expose().to_owned());
        call(&self.link.telegram.sender, &call_me, self.link.telegram.settings.pace.send_deadline).await?;
        Ok(())
    }

    /// Asks whether the calls get through.
    async fn check_delivery(&self) -> Result<(), ReceiveError> {
        let telegram = self.link.telegram;
        let pace = telegram.settings.pace;
        telegram.health.turned(pace.webhook_check + pace.send_deadline * 2);
        let answer = call(&telegram.sender, &GetWebhookInfo::new(), pace.send_deadline).await?;
        let info: WebhookInfo =
            answer.result().map_err(|why| ReceiveError::Unreadable { method: "getWebhookInfo", why })?;
        if info.url != self.webhook.url.as_str() {
            warn!(channel = "telegram", "somebody else has changed where Telegram calls; it is set again");
            self.register().await?;
        }
        match info.trouble(telegram.clock.now(), pace.webhook_check) {
            Some(why) => Err(ReceiveError::Unreached(why)),
            None => {
                self.link.telegram.mark_alive();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n11_only_a_call_that_failed_lately_is_trouble() {
        let info = |date| WebhookInfo {
            url: String::new(),
            last_error_date: date,
            last_error_message: Some("502".to_owned()),
        };
        let now = Timestamp::from_second(1_000).unwrap();
        let trouble = |date| info(date).trouble(now, Duration::from_secs(60));
        assert_eq!(trouble(None), None);
        assert_eq!(trouble(Some(990)).as_deref(), Some("502"));
        assert_eq!(trouble(Some(879)), None, "that was before the last look");
    }
}
