//! The long poll: what Telegram has is handed in, and acknowledged only then.
//!
//! Telegram's acknowledgement is the offset of the *next* poll. It moves past an update when the intake has it, or when
//! the update is nothing Hob can use; a failure leaves it where it is, so that Telegram delivers again. So does an album
//! that may have more parts: it is asked for once more a moment later, and handed in when nothing has joined it. And so does
//! a message whose files are being fetched: what is behind it is asked for meanwhile, now and then, and goes before it, but for
//! its own chat's messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use teloxide::Bot;
use teloxide::payloads::{DeleteWebhook, GetUpdates, GetUpdatesSetters as _};
use teloxide::types::Update;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::album::{Album, NumberedUpdate, UpdateBatch, batch_units};
use crate::background_intake::{BackgroundIntake, TAKE_MAX, chat_of, is_slow};
use crate::call::{ApiResponse, CallError, call, client};
use crate::receiver::UpdateReceiver;
use crate::receiver_context::{ALLOWED, ReceiveError, ReceiverContext, fetch_bot_identity};

/// How many updates one poll brings: Telegram's own maximum.
const BATCH_MAX: u8 = 100;
/// How many the first one brings; each next one may bring twice as many. What was taken in is acknowledged by the next poll
/// alone: a Hob that is killed again and again before it has got through a hundred would begin with the same ones for ever.
const BATCH_FIRST: u8 = 10;

/// An empty answer that comes sooner was not held open.
const EMPTY_MIN: Duration = Duration::from_millis(100);

/// All that is needed of an update that cannot be read: serde skips the rest, however deep or strange.
#[derive(Deserialize)]
struct IdOnly {
    update_id: i32,
}

/// The id, if it is one that an offset can pass.
fn update_id(raw: &Value) -> Option<i32> {
    raw.get("update_id")?.as_i64().and_then(|id| i32::try_from(id).ok()).filter(|id| *id < i32::MAX)
}

/// The state of polling; it lives as long as the adapter runs.
pub(super) struct Poller<'a> {
    link: ReceiverContext<'a>,
    bot: Option<Bot>,
    offset: Option<i32>,
    /// Updates beyond the offset that the intake has already: something before them waits.
    taken: BTreeSet<i32>,
    /// Updates that the last poll brought and the intake does not have.
    waiting: BTreeSet<i32>,
    /// What is being taken in beside the poll.
    slow: BackgroundIntake,
    /// Albums that may have more parts, with the newest part that was seen.
    held: BTreeMap<Album, i32>,
    /// So many updates are fetched one at a time, as one among them makes the batch unreadable.
    singly: usize,
    /// How many updates the next poll may bring.
    limit: u8,
    /// Telegram has answered a poll.
    polled: bool,
}

impl<'a> Poller<'a> {
    pub(super) fn new(link: ReceiverContext<'a>) -> Self {
        Self {
            link,
            bot: None,
            offset: None,
            taken: BTreeSet::new(),
            waiting: BTreeSet::new(),
            slow: BackgroundIntake::default(),
            held: BTreeMap::new(),
            singly: 0,
            limit: BATCH_FIRST,
            polled: false,
        }
    }

    /// Polls for ever; dropped to end it.
    pub(super) async fn run(mut self) {
        let receiver = loop {
            match self.begin().await {
                Ok(receiver) => break receiver,
                Err(trouble) => self.wait_out(trouble).await,
            }
        };
        self.link.reset_delay();
        info!(channel = "telegram", bot.username = %receiver.me.username, "polling Telegram as @{}", receiver.me.username);
        loop {
            match self.poll_once(&receiver).await {
                Ok(()) => self.link.reset_delay(),
                Err(trouble) => self.wait_out(trouble).await,
            }
        }
    }

    /// Learns who the bot is. Telegram answers no polls while it calls an address.
    async fn begin(&mut self) -> Result<UpdateReceiver, ReceiveError> {
        self.link.telegram.health.turned(self.link.telegram.settings.pace.send_deadline * 2);
        let bot = self.client()?;
        let me = fetch_bot_identity(&bot, self.link.telegram).await?;
        call(&bot, &DeleteWebhook::new(), self.link.telegram.settings.pace.send_deadline).await?;
        Ok(self.link.open(me))
    }

    /// One poll and all it brought.
    async fn poll_once(&mut self, receiver: &UpdateReceiver) -> Result<(), ReceiveError> {
        self.pause().await?;
        let started = Instant::now();
        self.link.telegram.health.turned(self.deadline());
        let answer = self.fetch().await?;
        self.link.telegram.mark_alive();
        self.polled = true;
        let updates = match answer.result::<Vec<Value>>() {
            Ok(updates) => updates,
            Err(why) => return self.pass_unreadable(&answer, &why),
        };
        let singly = self.singly > 0;
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
        let named = updates.iter().filter_map(|update| update_id(update).map(|id| (id, update)));
        let fresh: Vec<_> = named.filter(|(id, _)| !self.taken.contains(id)).collect();
        // One alone says nothing of those behind it: what waited there still does.
        let last = updates.iter().filter_map(update_id).max().filter(|_| singly);
        self.waiting.retain(|id| last.is_some_and(|last| *id > last));
        self.waiting.extend(fresh.iter().map(|(id, _)| *id));
        let idle = fresh.into_iter().filter(|(id, _)| !self.slow.has(*id));
        let batch: Vec<NumberedUpdate> = idle.map(|(id, raw)| (id, UpdateReceiver::read(i64::from(id), raw))).collect();
        self.submit_batch(receiver, &batch).await?;
        self.limit = self.limit.saturating_mul(2).min(BATCH_MAX);
        if nameless > 0 && self.offset == before { Err(ReceiveError::Nameless) } else { Ok(()) }
    }

    /// Waits a moment if something is looked at once more: for the rest of an album, or until files are there.
    async fn pause(&mut self) -> Result<(), ReceiveError> {
        let end = Instant::now() + self.link.telegram.settings.pace.album_window;
        while !self.held.is_empty() || !self.slow.is_empty() {
            let done = tokio::select! {
                biased;
                Some(done) = self.slow.next() => done,
                () = tokio::time::sleep_until(end) => break,
            };
            self.record_intake(done?);
        }
        Ok(())
    }

    fn record_intake(&mut self, ids: Vec<i32>) {
        for id in ids {
            self.waiting.remove(&id);
            self.taken.insert(id);
        }
        let passed = || self.taken.last().map(|last| last.saturating_add(1));
        self.offset = self.waiting.first().copied().or_else(passed).or(self.offset);
        self.taken = self.offset.map(|offset| self.taken.split_off(&offset)).unwrap_or_default();
    }

    /// Hands in what is complete, and what need not wait for files; the offset stays before all else.
    async fn submit_batch(&mut self, receiver: &UpdateReceiver, batch: &[NumberedUpdate]) -> Result<(), ReceiveError> {
        let held = std::mem::take(&mut self.held);
        let mut behind: BTreeSet<i64> = self.slow.chats().collect();
        for UpdateBatch { places, open } in batch_units(batch) {
            let parts: Vec<&NumberedUpdate> = places.iter().filter_map(|place| batch.get(*place)).collect();
            let newest = parts.last().map_or(0, |(id, _)| *id);
            if let Some(album) = open.filter(|album| held.get(album) != Some(&newest)) {
                self.held.insert(album, newest);
                continue;
            }
            let ids: Vec<i32> = parts.iter().map(|(id, _)| *id).collect();
            let updates: Vec<&Update> = parts.iter().filter_map(|(_, update)| update.as_ref()).collect();
            let chat = updates.iter().find_map(|update| chat_of(update));
            if chat.is_some_and(|chat| behind.contains(&chat)) {
                continue;
            }
            if let Some(chat) = chat.filter(|_| updates.iter().any(|update| is_slow(update))) {
                behind.insert(chat);
                if !self.slow.is_full() {
                    self.slow.begin(receiver, chat, ids, updates.into_iter().cloned().collect());
                }
                continue;
            }
            if !updates.is_empty() {
                self.link.telegram.health.turned(TAKE_MAX);
                receiver.submit(&updates).await?;
            }
            self.record_intake(ids);
        }
        Ok(())
    }

    async fn fetch(&mut self) -> Result<ApiResponse, ReceiveError> {
        // What is looked at once more is there already; and the first answer, which tells that all is well, is not held back.
        let is_held_open = self.held.is_empty() && self.slow.is_empty() && self.polled;
        let timeout = if is_held_open { self.link.telegram.settings.poll_timeout } else { Duration::ZERO };
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        let limit = if self.singly > 0 { 1 } else { self.limit };
        let mut poll = GetUpdates::new().timeout(seconds).limit(limit).allowed_updates(ALLOWED);
        poll.offset = self.offset;
        Ok(call(&self.client()?, &poll, self.deadline()).await?)
    }

    fn deadline(&self) -> Duration {
        self.link.telegram.settings.poll_timeout + self.link.telegram.settings.pace.poll_grace
    }

    /// The polling client: never the one that sends, and made anew after trouble.
    fn client(&mut self) -> Result<Bot, CallError> {
        if let Some(bot) = &self.bot {
            return Ok(bot.clone());
        }
        let bot = client(&self.link.telegram.settings, self.deadline())?;
        self.bot = Some(bot.clone());
        Ok(bot)
    }

    /// The batch is not JSON that can be held (nested too deep, say): fetch singly, and pass over the one that is bad.
    fn pass_unreadable(&mut self, answer: &ApiResponse, why: &serde_json::Error) -> Result<(), ReceiveError> {
        let ids: Vec<IdOnly> = answer.result().map_err(|why| ReceiveError::Unreadable { method: "getUpdates", why })?;
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

    /// Waits as long as the trouble deserves; a connection that may be deaf is not used again.
    async fn wait_out(&mut self, trouble: ReceiveError) {
        if trouble.is_of_the_connection() {
            self.bot = None;
        }
        self.link.wait_out(trouble).await;
    }
}
