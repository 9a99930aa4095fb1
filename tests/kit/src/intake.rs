//! An intake that remembers, as the database does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::channel::{Intake, IntakeError, UpdateOutcome};
use hob_core::domain::inbound::{ChannelKind, Conversation, Cursor, Inbound, InboundEvent};
use tokio::sync::watch;

/// How long is waited before a test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Takes what comes in, or fails as scripted; what is the same is told by (chat, external id, what). It can be handed from
/// one adapter to the next, as over a restart.
#[derive(Default)]
pub struct Memory {
    seen: watch::Sender<Vec<Inbound>>,
    cursors: watch::Sender<BTreeMap<String, i64>>,
    attempts: Mutex<Vec<String>>,
    duplicates: Mutex<usize>,
    failures: Mutex<VecDeque<Option<&'static str>>>,
    /// What is answered for each that is taken.
    answers: Mutex<VecDeque<UpdateOutcome>>,
    moves: Mutex<Vec<(String, String)>>,
    /// It takes nothing any more, and says nothing.
    hangs: AtomicBool,
    /// The next so many attempts from this chat take their time.
    held: Mutex<(&'static str, usize)>,
    released: watch::Sender<bool>,
}

#[async_trait]
impl Intake for Memory {
    async fn accept(&self, inbound: Inbound) -> Result<UpdateOutcome, IntakeError> {
        self.attempts.lock().unwrap().push(inbound.external_id.clone());
        if self.hangs.load(Ordering::Relaxed) {
            self.seen.send_modify(|_| {});
            return std::future::pending().await;
        }
        if self.is_held(&inbound) {
            self.seen.send_modify(|_| {});
            assert!(self.released.subscribe().wait_for(|released| *released).await.is_ok(), "the intake is gone");
        }
        if let Some(Some(why)) = self.failures.lock().unwrap().pop_front() {
            return Err(IntakeError(why.to_owned()));
        }
        if let Some(cursor) = inbound.metadata.cursor.clone() {
            self.move_on(cursor);
        }
        let key =
            |known: &Inbound| (known.conversation.chat.clone(), known.external_id.clone(), known.happening.clone());
        let is_known = self.seen.borrow().iter().any(|known| key(known) == key(&inbound));
        if is_known {
            *self.duplicates.lock().unwrap() += 1;
            return Ok(UpdateOutcome::Duplicate);
        }
        self.seen.send_modify(|seen| seen.push(inbound));
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or(UpdateOutcome::Committed))
    }

    async fn cursors(&self, _channel: ChannelKind, _account: &str) -> Result<BTreeMap<String, i64>, IntakeError> {
        Ok(self.cursors.borrow().clone())
    }

    async fn advance(&self, _channel: ChannelKind, account: &str, cursor: Cursor) -> Result<(), IntakeError> {
        assert_eq!(account, "default");
        self.move_on(cursor);
        Ok(())
    }

    async fn chat_moved(&self, place: Conversation, chat: &str) -> Result<(), IntakeError> {
        self.moves.lock().unwrap().push((place.chat, chat.to_owned()));
        Ok(())
    }
}

impl Memory {
    fn move_on(&self, cursor: Cursor) {
        self.cursors.send_modify(|cursors| {
            let known = cursors.entry(cursor.list).or_insert(cursor.position);
            *known = cursor.position.max(*known);
        });
    }

    /// From now on it hangs.
    pub fn hang(&self) {
        self.hangs.store(true, Ordering::Relaxed);
    }

    /// It takes its time over the next so many from this chat, until it is told to go on.
    pub fn hold(&self, chat: &'static str, times: usize) {
        *self.held.lock().unwrap() = (chat, times);
    }

    fn is_held(&self, inbound: &Inbound) -> bool {
        let (chat, times) = &mut *self.held.lock().unwrap();
        let is_held = *chat == inbound.conversation.chat && *times > 0;
        *times -= usize::from(is_held);
        is_held
    }

    /// It takes what it has held.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until so many were handed in, whatever became of them.
    pub async fn tried(&self, count: usize) {
        let mut seen = self.seen.subscribe();
        let enough = seen.wait_for(|_| self.attempts.lock().unwrap().len() >= count);
        assert!(tokio::time::timeout(PATIENCE, enough).await.is_ok(), "nothing is handed in");
    }

    /// The next attempts fail.
    pub fn fail(&self, why: &'static str, times: usize) {
        self.failures.lock().unwrap().extend(std::iter::repeat_n(Some(why), times));
    }

    /// The attempt after the next one fails.
    pub fn fail_second(&self, why: &'static str) {
        self.failures.lock().unwrap().extend([None, Some(why)]);
    }

    /// No more attempts fail.
    pub fn mend(&self) {
        self.failures.lock().unwrap().clear();
    }

    /// How many attempts will fail still.
    pub fn failures_left(&self) -> usize {
        self.failures.lock().unwrap().len()
    }

    /// What becomes of the next one that is taken.
    pub fn answer(&self, accepted: UpdateOutcome) {
        self.answers.lock().unwrap().push_back(accepted);
    }

    /// The chats that have other ids now.
    pub fn moves(&self) -> Vec<(String, String)> {
        self.moves.lock().unwrap().clone()
    }

    /// The external ids that were handed in, failures and duplicates included.
    pub fn attempts(&self) -> Vec<String> {
        self.attempts.lock().unwrap().clone()
    }

    /// How many came again.
    pub fn duplicates(&self) -> usize {
        *self.duplicates.lock().unwrap()
    }

    /// How far a list has come.
    pub fn cursor(&self, list: &str) -> Option<i64> {
        self.cursors.borrow().get(list).copied()
    }

    /// Sets a cursor, as an earlier process would have left it.
    pub fn left(&self, list: &str, position: u64) {
        self.move_on(Cursor { list: list.to_owned(), position: i64::try_from(position).unwrap() });
    }

    /// Waits for something that the cursors say.
    pub async fn until_cursor(&self, says: impl FnMut(&BTreeMap<String, i64>) -> bool) {
        let mut cursors = self.cursors.subscribe();
        let there = tokio::time::timeout(PATIENCE, cursors.wait_for(says)).await;
        assert!(there.is_ok(), "the cursors are {:?}", self.cursors.borrow());
    }

    /// Waits until so many were taken.
    pub async fn until(&self, count: usize) -> Vec<Inbound> {
        let mut seen = self.seen.subscribe();
        let enough = tokio::time::timeout(PATIENCE, seen.wait_for(|seen| seen.len() >= count)).await;
        enough.unwrap_or_else(|_| panic!("not {count} messages: {:#?}", self.seen.borrow())).unwrap().clone()
    }

    /// Waits until so many were taken; their texts (or tokens).
    pub async fn texts(&self, count: usize) -> Vec<String> {
        self.until(count).await.iter().map(text_of).collect()
    }
}

/// The text that a message brought, with a mark for what isn't a plain post.
pub fn text_of(inbound: &Inbound) -> String {
    match &inbound.happening {
        InboundEvent::Posted { text } => text.clone(),
        InboundEvent::Edited { text } => format!("edited: {text}"),
        InboundEvent::Deleted => "deleted".to_owned(),
        InboundEvent::Pressed { token } => format!("pressed: {token}"),
    }
}
