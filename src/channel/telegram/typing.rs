//! "Hob is typing …", shown while a run works.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use teloxide::Bot;
use teloxide::payloads::SendChatAction;
use teloxide::types::ChatAction;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use crate::channel::telegram::call::{CallError, call};
use crate::channel::telegram::send::address;
use crate::channel::telegram::settings::Pace;
use crate::domain::ids::RunId;
use crate::domain::inbound::Conversation;
use crate::domain::outgoing::Destination;

/// Who types where. At most one task per conversation, each with an end.
#[derive(Debug, Default)]
pub(super) struct Typing(Mutex<HashMap<Conversation, Shown>>);

#[derive(Debug)]
struct Shown {
    run: RunId,
    active: bool,
    stop: CancellationToken,
    /// When this entry is void: at the cap, or once another start would not make it too often.
    next: Instant,
}

/// What a typing task needs to send.
pub(super) struct Ways<'a> {
    pub(super) bot: &'a Bot,
    pub(super) tracker: &'a TaskTracker,
    pub(super) life: &'a CancellationToken,
    pub(super) pace: Pace,
}

impl Typing {
    fn shown(&self) -> MutexGuard<'_, HashMap<Conversation, Shown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run works: shows it, unless it is shown already.
    pub(super) fn start(&self, destination: &Destination, run: RunId, ways: &Ways<'_>) {
        if ways.life.is_cancelled() {
            return;
        }
        let now = Instant::now();
        let mut shown = self.shown();
        shown.retain(|_, shown| shown.next > now);
        let before = shown.get(&destination.conversation);
        if before.is_some_and(|before| before.active && before.run == run) {
            return;
        }
        let first = match before {
            None => now,
            Some(Shown { active: false, next, .. }) => *next,
            Some(_) => now + ways.pace.typing_every,
        };
        if let Some(before) = before {
            before.stop.cancel();
        }
        let stop = ways.life.child_token();
        let until = now + ways.pace.typing_max;
        let entry = Shown { run, active: true, stop: stop.clone(), next: until };
        shown.insert(destination.conversation.clone(), entry);
        drop(shown);
        ways.tracker.spawn(stop.run_until_cancelled_owned(show(
            ways.bot.clone(),
            destination.clone(),
            ways.pace,
            first,
        )));
    }

    /// The run waits or is over.
    pub(super) fn stop(&self, destination: &Destination, run: RunId, pace: Pace) {
        if let Some(shown) = self.shown().get_mut(&destination.conversation)
            && shown.run == run
            && shown.active
        {
            shown.stop.cancel();
            shown.active = false;
            shown.next = Instant::now() + pace.typing_every;
        }
    }
}

/// Shows typing from `first` on until dropped, refused, or out of time.
async fn show(bot: Bot, destination: Destination, pace: Pace, first: Instant) {
    let Some((chat, thread)) = address(&destination) else { return };
    let mut action = SendChatAction::new(chat, ChatAction::Typing);
    action.message_thread_id = thread;
    tokio::time::sleep_until(first).await;
    let end = Instant::now() + pace.typing_max;
    let mut delay = Duration::ZERO;
    while Instant::now() + delay < end {
        tokio::time::sleep(delay).await;
        let next = Instant::now() + pace.typing_every;
        if let Err(error) = call(&bot, &action, pace.send_deadline).await {
            debug!(channel = "telegram", %error, "typing is not shown: {error}");
            match error {
                CallError::Api { retry_after: Some(after), .. } => tokio::time::sleep(after).await,
                CallError::Api { status: 400 | 403, .. } => return,
                _ => {}
            }
        }
        delay = next.saturating_duration_since(Instant::now());
    }
}
