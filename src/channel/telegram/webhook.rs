//! Being called: Telegram posts each update to an address, and repeats what is not answered with 200.
//!
//! Updates come by several connections at once, those of one chat mostly one after another. So the parts of an album are
//! collected for a moment, and each is answered when the whole is stored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use teloxide::payloads::{GetWebhookInfo, SetWebhook};
use teloxide::types::Update;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::channel::telegram::album::{Album, album_of};
use crate::channel::telegram::call::call;
use crate::channel::telegram::desk::Desk;
use crate::channel::telegram::link::{ALLOWED, Link, Trouble, identify};
use crate::channel::telegram::settings::Webhook;
use crate::domain::channel::IntakeError;

/// What is being collected of an album.
#[derive(Debug)]
struct Collected {
    parts: Vec<Update>,
    newest: Instant,
    /// What became of it, once it is handed in.
    outcome: watch::Sender<Option<Result<(), String>>>,
}

/// The calls' side of an adapter.
#[derive(Default)]
pub(super) struct Calls {
    /// Where updates go, while the adapter runs.
    desk: Mutex<Option<Desk>>,
    albums: Mutex<HashMap<Album, Collected>>,
}

impl Calls {
    fn desk(&self) -> MutexGuard<'_, Option<Desk>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn albums(&self) -> MutexGuard<'_, HashMap<Album, Collected>> {
        // Each operation leaves the map whole.
        self.albums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more is taken in.
    pub(super) fn close(&self) {
        *self.desk() = None;
    }

    /// Takes an update in, as Telegram posts it. `Ok`: it is stored, or nothing that Hob could read.
    pub(super) async fn update(&self, body: &[u8]) -> Result<(), IntakeError> {
        let desk = self.desk().clone();
        let desk = desk.ok_or_else(|| IntakeError("Telegram is not connected yet".to_owned()))?;
        desk.telegram.heard();
        let raw: Value = match serde_json::from_slice(body) {
            Ok(raw) => raw,
            Err(why) => {
                warn!(channel = "telegram", %why, "an update cannot be read; passed over");
                return Ok(());
            }
        };
        let id = raw.get("update_id").and_then(Value::as_i64).unwrap_or_default();
        let Some(update) = Desk::read(id, &raw) else { return Ok(()) };
        let outcome = match album_of(&update) {
            Some(album) => self.collect(&desk, album, update).await,
            None => desk.take(&[&update]).await,
        };
        if let Err(error) = &outcome {
            desk.telegram.health.stuck(error.to_string());
        }
        outcome
    }

    /// Puts the part to the others, and tells what becomes of all of them.
    async fn collect(&self, desk: &Desk, album: Album, part: Update) -> Result<(), IntakeError> {
        let mut outcome = {
            let mut albums = self.albums();
            let collected = albums.entry(album.clone()).or_insert_with(|| {
                let (desk, album) = (desk.clone(), album);
                // Whoever posted the first part may hang up; the others still wait.
                desk.telegram.tracker.clone().spawn(hand_in(desk, album));
                Collected { parts: Vec::new(), newest: Instant::now(), outcome: watch::Sender::new(None) }
            });
            collected.parts.push(part);
            collected.newest = Instant::now();
            collected.outcome.subscribe()
        };
        let gone = || IntakeError("Hob stops".to_owned());
        let outcome = outcome.wait_for(Option::is_some).await.map_err(|_closed| gone())?;
        outcome.clone().unwrap_or(Ok(())).map_err(IntakeError)
    }
}

/// Waits until no part has joined for a moment, then hands the album in.
async fn hand_in(desk: Desk, album: Album) {
    let window = desk.telegram.settings.pace.album_window;
    let calls = &desk.telegram.calls;
    let mut end = Instant::now() + window;
    let collected = loop {
        if desk.telegram.life.run_until_cancelled(tokio::time::sleep_until(end)).await.is_none() {
            // Who waits is told by the end of what it waits for.
            calls.albums().remove(&album);
            return;
        }
        let mut albums = calls.albums();
        let Some(collected) = albums.get(&album) else { return };
        end = collected.newest + window;
        if end <= Instant::now() {
            break albums.remove(&album);
        }
    };
    let Some(Collected { parts, outcome, .. }) = collected else { return };
    let taken = desk.take(&parts.iter().collect::<Vec<_>>()).await;
    outcome.send_replace(Some(taken.map_err(|IntakeError(why)| why)));
}

/// What Telegram tells of its calls, as far as it matters.
#[derive(Debug, Deserialize)]
struct Info {
    #[serde(default)]
    url: String,
    last_error_date: Option<i64>,
    last_error_message: Option<String>,
}

impl Info {
    /// Why Telegram does not get through, as of a call that failed since the last look.
    fn trouble(&self, (now, every): (Timestamp, Duration)) -> Option<String> {
        let failed = Timestamp::from_second(self.last_error_date?).ok()?;
        let recent = now.duration_since(failed) <= SignedDuration::try_from(every * 2).unwrap_or(SignedDuration::MAX);
        let why = || self.last_error_message.clone().unwrap_or_else(|| "it does not say why".to_owned());
        recent.then(why)
    }
}

/// Has Telegram call, and looks now and then whether it gets through.
pub(super) struct Watch<'a> {
    link: Link<'a>,
    webhook: &'a Webhook,
}

impl<'a> Watch<'a> {
    pub(super) fn new(link: Link<'a>, webhook: &'a Webhook) -> Self {
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
        self.link.calm();
        loop {
            match self.look().await {
                Ok(()) => {
                    self.link.calm();
                    tokio::time::sleep(self.link.telegram.settings.pace.webhook_check).await;
                }
                Err(trouble) => self.link.wait_out(trouble).await,
            }
        }
    }

    async fn begin(&mut self) -> Result<(), Trouble> {
        let telegram = self.link.telegram;
        telegram.health.turned(telegram.settings.pace.send_deadline * 2);
        let me = identify(&telegram.sender, telegram).await?;
        let username = me.username.clone();
        // Before Telegram is told: it calls at once.
        *telegram.calls.desk() = Some(self.link.open(me));
        self.register().await?;
        info!(channel = "telegram", bot.username = %username, "Telegram calls for @{username}");
        Ok(())
    }

    async fn register(&self) -> Result<(), Trouble> {
        let mut call_me = SetWebhook::new(self.webhook.url.clone());
        call_me.allowed_updates = Some(ALLOWED.to_vec());
        call_me.secret_token = Some(self.webhook.secret.expose().to_owned());
        call(&self.link.telegram.sender, &call_me, self.link.telegram.settings.pace.send_deadline).await?;
        Ok(())
    }

    /// Asks whether the calls get through.
    async fn look(&self) -> Result<(), Trouble> {
        let telegram = self.link.telegram;
        let pace = telegram.settings.pace;
        telegram.health.turned(pace.webhook_check + pace.send_deadline * 2);
        let answer = call(&telegram.sender, &GetWebhookInfo::new(), pace.send_deadline).await?;
        let info: Info = answer.result().map_err(|why| Trouble::Unreadable { method: "getWebhookInfo", why })?;
        if info.url != self.webhook.url.as_str() {
            warn!(channel = "telegram", "somebody else has changed where Telegram calls; it is set again");
            self.register().await?;
        }
        match info.trouble((telegram.clock.now(), pace.webhook_check)) {
            Some(why) => Err(Trouble::Unreached(why)),
            None => {
                self.link.telegram.heard();
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
        let info =
            |date| Info { url: String::new(), last_error_date: date, last_error_message: Some("502".to_owned()) };
        let now = Timestamp::from_second(1_000).unwrap();
        let trouble = |date| info(date).trouble((now, Duration::from_secs(60)));
        assert_eq!(trouble(None), None);
        assert_eq!(trouble(Some(990)).as_deref(), Some("502"));
        assert_eq!(trouble(Some(879)), None, "that was before the last look");
    }
}
