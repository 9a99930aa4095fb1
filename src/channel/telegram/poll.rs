//! The long poll: what Telegram has is handed in, and acknowledged only then.
//!
//! Telegram's acknowledgement is the offset of the *next* poll. It moves past an update when the intake has it, or when
//! the update is nothing Hob can use; a failure leaves it where it is, so that Telegram delivers again.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use serde::Deserialize;
use serde_json::Value;
use teloxide::Bot;
use teloxide::payloads::{AnswerCallbackQuery, GetMe, GetUpdates, GetUpdatesSetters as _};
use teloxide::types::{AllowedUpdate, CallbackQueryId, Update, UpdateKind, UserId};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::channel::telegram::Telegram;
use crate::channel::telegram::call::{Answer, CallError, call, client};
use crate::channel::telegram::convert::{Me, convert};
use crate::channel::telegram::salvage::{is_understood, read, salvage};
use crate::domain::channel::{Intake, IntakeError};

/// How many updates one poll brings: Telegram's own maximum.
const BATCH_MAX: u8 = 100;

/// An empty answer that comes sooner was not held open.
const EMPTY_MIN: Duration = Duration::from_millis(100);

/// Why the poll has to wait before it goes on.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("an update without an id that Hob understands")]
    Nameless,
    #[error("an answer to {method} that cannot be read: {why}")]
    Unreadable { method: &'static str, why: serde_json::Error },
    #[error(transparent)]
    NotStored(#[from] IntakeError),
}

/// All that is needed of an update that cannot be read: serde skips the rest, however deep or strange.
#[derive(Deserialize)]
struct IdOnly {
    update_id: i32,
}

/// The id, if it is one that an offset can pass.
fn update_id(raw: &Value) -> Option<i32> {
    raw.get("update_id")?.as_i64().and_then(|id| i32::try_from(id).ok()).filter(|id| *id < i32::MAX)
}

#[derive(Deserialize)]
struct Named {
    id: u64,
    username: Option<String>,
}

/// The state of polling; it lives as long as the adapter runs.
pub(super) struct Poller<'a> {
    telegram: &'a Telegram,
    intake: &'a dyn Intake,
    bot: Option<Bot>,
    offset: Option<i32>,
    /// So many updates are fetched one at a time, as one among them makes the batch unreadable.
    singly: usize,
    backoff: Option<ExponentialBackoff>,
}

impl<'a> Poller<'a> {
    pub(super) fn new(telegram: &'a Telegram, intake: &'a dyn Intake) -> Self {
        Self { telegram, intake, bot: None, offset: None, singly: 0, backoff: None }
    }

    /// Polls for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        let me = loop {
            match self.identify().await {
                Ok(me) => break me,
                Err(trouble) => self.wait_out(trouble).await,
            }
        };
        self.backoff = None;
        self.telegram.health.identified(&format!("@{}", me.username));
        info!(channel = "telegram", bot.username = %me.username, "polling Telegram as @{}", me.username);
        loop {
            match self.round(&me).await {
                Ok(()) => self.backoff = None,
                Err(trouble) => self.wait_out(trouble).await,
            }
        }
    }

    async fn identify(&mut self) -> Result<Me, Trouble> {
        let deadline = self.telegram.settings.pace.send_deadline;
        let answer = call(&self.client()?, &GetMe::new(), deadline).await?;
        let named: Named = answer.result().map_err(|why| Trouble::Unreadable { method: "getMe", why })?;
        Ok(Me { id: UserId(named.id), username: named.username.unwrap_or_default() })
    }

    /// One poll and all it brought.
    async fn round(&mut self, me: &Me) -> Result<(), Trouble> {
        let started = Instant::now();
        let answer = self.fetch().await?;
        if let Some(trouble) = self.telegram.health.heard(self.telegram.clock.now()) {
            info!(channel = "telegram", was = %trouble, "Telegram answers again (was: {trouble})");
        }
        let updates = match answer.result::<Vec<Value>>() {
            Ok(updates) => updates,
            Err(why) => return self.pass_unreadable(&answer, &why),
        };
        self.singly = self.singly.saturating_sub(1);
        if updates.is_empty() && started.elapsed() < EMPTY_MIN {
            // A server that doesn't hold polls open must not make this a busy loop.
            tokio::time::sleep(EMPTY_MIN).await;
        }
        let before = self.offset;
        let nameless = updates.iter().filter(|update| update_id(update).is_none()).count();
        if nameless > 0 {
            warn!(channel = "telegram", updates = nameless, "{nameless} updates without an id; passed over");
        }
        for (id, update) in updates.into_iter().filter_map(|update| update_id(&update).map(|id| (id, update))) {
            self.take(id, &update, me).await?;
            self.offset = Some(id.saturating_add(1));
        }
        if nameless > 0 && self.offset == before { Err(Trouble::Nameless) } else { Ok(()) }
    }

    async fn fetch(&mut self) -> Result<Answer, Trouble> {
        let timeout = self.telegram.settings.poll_timeout;
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        let limit = if self.singly > 0 { 1 } else { BATCH_MAX };
        let mut poll = GetUpdates::new().timeout(seconds).limit(limit).allowed_updates([
            AllowedUpdate::Message,
            AllowedUpdate::EditedMessage,
            AllowedUpdate::CallbackQuery,
        ]);
        poll.offset = self.offset;
        Ok(call(&self.client()?, &poll, self.deadline()).await?)
    }

    fn deadline(&self) -> Duration {
        self.telegram.settings.poll_timeout + self.telegram.settings.pace.poll_grace
    }

    /// The polling client: never the one that sends, and made anew after trouble.
    fn client(&mut self) -> Result<Bot, CallError> {
        if let Some(bot) = &self.bot {
            return Ok(bot.clone());
        }
        let bot = client(&self.telegram.settings, self.deadline())?;
        self.bot = Some(bot.clone());
        Ok(bot)
    }

    /// The batch is no JSON that can be held (nested too deep, say): fetch singly, and pass over the one that is bad.
    fn pass_unreadable(&mut self, answer: &Answer, why: &serde_json::Error) -> Result<(), Trouble> {
        let ids: Vec<IdOnly> = answer.result().map_err(|why| Trouble::Unreadable { method: "getUpdates", why })?;
        match ids.as_slice() {
            [IdOnly { update_id }] => {
                warn!(channel = "telegram", update.id = update_id, %why, "update {update_id} cannot be read; passed over");
                self.singly = self.singly.saturating_sub(1);
                self.offset = Some(update_id.saturating_add(1));
                Ok(())
            }
            many => {
                warn!(channel = "telegram", updates = many.len(), %why, "updates cannot be read at once; one at a time");
                self.singly = many.len();
                Ok(())
            }
        }
    }

    async fn take(&self, id: i32, raw: &Value, me: &Me) -> Result<(), Trouble> {
        let update = read(raw).filter(is_understood).or_else(|| salvage(raw));
        match update {
            Some(update) => self.hand_in(&update, me).await,
            None => {
                warn!(channel = "telegram", update.id = id, "update {id} is of an unknown kind or shape; passed over");
                Ok(())
            }
        }
    }

    async fn hand_in(&self, update: &Update, me: &Me) -> Result<(), Trouble> {
        let id = update.id.0;
        let now = self.telegram.clock.now();
        if let Some(inbound) = convert(update, me, now) {
            let accepted = self.intake.accept(inbound).await?;
            self.telegram.health.message(now);
            debug!(channel = "telegram", update.id = id, ?accepted, "update {id} handed in");
        } else {
            debug!(channel = "telegram", update.id = id, "update {id} is not for Hob");
        }
        if let UpdateKind::CallbackQuery(query) = &update.kind {
            self.answer_press(query.id.clone());
        }
        Ok(())
    }

    /// Ends the button's spinner; best effort, and no poll waits for it.
    fn answer_press(&self, query: CallbackQueryId) {
        let (bot, life) = (self.telegram.sender.clone(), self.telegram.life.clone());
        let deadline = self.telegram.settings.pace.send_deadline;
        self.telegram.tracker.spawn(life.run_until_cancelled_owned(async move {
            if let Err(error) = call(&bot, &AnswerCallbackQuery::new(query), deadline).await {
                debug!(channel = "telegram", %error, "a press was not answered: {error}");
            }
        }));
    }

    /// Makes the trouble visible, then waits as long as it deserves.
    async fn wait_out(&mut self, trouble: Trouble) {
        let delay = self.delay(&trouble);
        warn!(channel = "telegram", %trouble, delay_ms = delay.as_millis(), "Telegram: {trouble}; again in {delay:?}");
        let health = &self.telegram.health;
        match &trouble {
            Trouble::NotStored(error) => health.stuck(error.to_string()),
            Trouble::Call(CallError::Api { status: 409, description, .. }) => {
                health.troubled(format!("another process polls with this token, or a webhook is set ({description})"));
            }
            Trouble::Call(CallError::Api { status: 401 | 404, description, .. }) => {
                health.troubled(format!("Telegram does not know this bot token ({description})"));
            }
            other => health.troubled(other.to_string()),
        }
        if let Trouble::Call(CallError::Lost(_) | CallError::NotSent(_) | CallError::Foreign { .. }) = trouble {
            self.bot = None;
        }
        tokio::time::sleep(delay).await;
    }

    fn delay(&mut self, trouble: &Trouble) -> Duration {
        let pace = &self.telegram.settings.pace;
        match trouble {
            Trouble::Call(CallError::Api { retry_after: Some(after), .. }) => return (*after).max(pace.retry_min),
            Trouble::Call(CallError::Api { status: 401 | 404, .. }) => return pace.retry_refused,
            _ => {}
        }
        let rng = &self.telegram.rng;
        let backoff = self.backoff.get_or_insert_with(|| {
            ExponentialBuilder::new()
                .with_min_delay(pace.retry_min)
                .with_max_delay(pace.retry_max)
                .without_max_times()
                .with_jitter()
                .with_jitter_seed(rng.next_u64())
                .build()
        });
        backoff.next().unwrap_or(pace.retry_max)
    }
}
