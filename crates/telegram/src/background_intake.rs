//! Messages with files: to fetch those takes a while, and nobody else's message waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use teloxide::types::{Update, UpdateKind};
use tokio::task::JoinSet;
use tracing::Instrument;

use crate::content::attachments;
use crate::receiver::UpdateReceiver;
use hob_core::domain::channel::IntakeError;

/// So many are taken in beside each other: their files are held in memory meanwhile.
const SLOW_MAX: usize = 4;

/// How long the intake may take over one message, whatever has to be fetched with it.
pub(super) const TAKE_MAX: Duration = Duration::from_secs(600);

/// What is being taken in beside the poll. Dropped, it is cut off; nothing of it was acknowledged.
#[derive(Default)]
pub(super) struct BackgroundIntake {
    /// Each ends with the updates that became one message, and whether the intake has it.
    tasks: JoinSet<(Vec<i32>, Result<(), IntakeError>)>,
    /// Its updates, with their chats.
    ids: BTreeMap<i32, i64>,
}

impl BackgroundIntake {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.tasks.len() >= SLOW_MAX
    }

    /// Whether this update is being taken in.
    pub(super) fn has(&self, id: i32) -> bool {
        self.ids.contains_key(&id)
    }

    /// The chats whose later messages have to wait.
    pub(super) fn chats(&self) -> impl Iterator<Item = i64> {
        self.ids.values().copied()
    }

    /// Hands in what became one message of a chat.
    pub(super) fn begin(&mut self, receiver: &UpdateReceiver, chat: i64, ids: Vec<i32>, updates: Vec<Update>) {
        self.ids.extend(ids.iter().map(|id| (*id, chat)));
        let (receiver, tracker) = (receiver.clone(), receiver.telegram.tracker.clone());
        let take = async move {
            let updates: Vec<&Update> = updates.iter().collect();
            let taken = tokio::time::timeout(TAKE_MAX, receiver.submit(&updates)).await;
            (ids, taken.unwrap_or_else(|elapsed| Err(IntakeError(format!("it took too long: {elapsed}")))))
        };
        self.tasks.spawn(tracker.track_future(take.in_current_span()));
    }

    /// Waits for the next that is done, and names its updates; none: nothing is under way.
    pub(super) async fn next(&mut self) -> Option<Result<Vec<i32>, IntakeError>> {
        let (ids, taken) = match self.tasks.join_next().await? {
            Ok(handed) => handed,
            // As if it had been taken in by whoever asks.
            Err(ended) => std::panic::resume_unwind(ended.into_panic()),
        };
        self.ids.retain(|id, _| !ids.contains(id));
        Some(taken.map(|()| ids))
    }
}

/// The chat in whose order an update stands; a press stands in none.
pub(super) fn chat_of(update: &Update) -> Option<i64> {
    match &update.kind {
        UpdateKind::Message(message) | UpdateKind::EditedMessage(message) => Some(message.chat.id.0),
        _ => None,
    }
}

/// Whether files come with it.
pub(super) fn is_slow(update: &Update) -> bool {
    match &update.kind {
        UpdateKind::Message(message) => !attachments(message).is_empty(),
        _ => false,
    }
}
