//! One turn of an outbox worker: what came of the last attempt is recorded, and the next chunk is taken.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::delivery::config::DeliveryLimits;
use crate::mail::{EmailPolicy, SendDecision, check_recipients};
use hob_core::domain::ids::{OutboxId, SessionId};
use hob_core::domain::outgoing::{DeliveryError, Receipt};
use hob_store::error::StoreError;
use hob_store::outbox::{self, DeliveryAttempt, DueTime, PendingChunk};
use hob_store::{Tx, millis, speeches};

/// What there is to do in a session's outbox.
pub(super) enum NextDelivery {
    /// This is to be sent now.
    Send(Box<PendingChunk>),
    /// The first chunk waits for its next attempt.
    Later(ScheduledAttempt),
    Nothing,
}

/// What a turn came to.
pub(super) struct OutboxStepOutcome {
    pub(super) next: NextDelivery,
    /// In these sessions somebody is asked.
    pub(super) asked: Vec<SessionId>,
    /// What was delivered is to be spoken as well.
    pub(super) speaks: bool,
}

/// A chunk's next attempt, not before a time of day, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScheduledAttempt {
    id: OutboxId,
    at: i64,
}

/// An attempt that a worker waits for by the clock that never jumps: a wall clock set back an hour delays nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptTimer {
    pub(super) head: ScheduledAttempt,
    pub(super) until: Instant,
}

impl AttemptTimer {
    pub(super) fn until(head: ScheduledAttempt, now: Timestamp) -> Self {
        let millis = u64::try_from(head.at.saturating_sub(millis(now))).unwrap_or(0);
        Self { head, until: Instant::now() + Duration::from_millis(millis) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.until <= Instant::now()
    }
}

/// What came of an attempt at a chunk.
#[derive(Clone)]
pub(super) struct AttemptRecord {
    pub(super) id: OutboxId,
    pub(super) attempt: DeliveryAttempt,
}

/// One turn of a worker: the last attempt is recorded, the next chunk is taken.
#[derive(Clone)]
pub(super) struct OutboxStep {
    pub(super) session: SessionId,
    pub(super) settled: Option<AttemptRecord>,
    /// Whether there is to be a next one.
    pub(super) take: bool,
    /// Whether somebody can say answers aloud.
    pub(super) speaks: bool,
    /// Its time has come, whatever the wall clock says.
    pub(super) waited: Option<ScheduledAttempt>,
    pub(super) letters: Arc<EmailPolicy>,
    pub(super) now: Timestamp,
    pub(super) oldest: Timestamp,
}

impl OutboxStep {
    pub(super) async fn take(&self, tx: &mut Tx) -> Result<OutboxStepOutcome, StoreError> {
        let mut asked = Vec::new();
        let next = self.next(tx, &mut asked).await?;
        let delivered = self
            .settled
            .as_ref()
            .filter(|settled| self.speaks && matches!(settled.attempt, DeliveryAttempt::Delivered { .. }));
        let speaks = match delivered {
            Some(delivered) => speeches::note(tx, delivered.id).await?,
            None => false,
        };
        Ok(OutboxStepOutcome { next, asked, speaks })
    }

    async fn next(&self, tx: &mut Tx, asked: &mut Vec<SessionId>) -> Result<NextDelivery, StoreError> {
        let is_open = match &self.settled {
            Some(settled) => outbox::settle(tx, settled.id, &settled.attempt, self.now).await?,
            None => true,
        };
        if !self.take || !is_open {
            return Ok(NextDelivery::Nothing);
        }
        loop {
            if let Some(mut waiting) = outbox::take_head(tx, self.session, &self.due()).await? {
                match check_recipients(tx, &mut waiting, &self.letters, self.now).await? {
                    SendDecision::Open(owners) => {
                        asked.extend(owners);
                        return Ok(NextDelivery::Send(Box::new(waiting)));
                    }
                    SendDecision::Shut(owners) => asked.extend(owners),
                }
                continue;
            }
            let Some(waiting) = outbox::head(tx, self.session).await? else {
                return Ok(NextDelivery::Nothing);
            };
            // What was never tried was taken above, however old: only a clock that jumped may say that it is.
            if waiting.created_at < self.oldest.as_millisecond() {
                let why = "it could not be delivered in time".to_owned();
                outbox::settle(tx, waiting.message.id, &DeliveryAttempt::Abandoned { why }, self.now).await?;
                continue;
            }
            return Ok(NextDelivery::Later(ScheduledAttempt { id: waiting.message.id, at: waiting.next_attempt_at }));
        }
    }
}

impl OutboxStep {
    fn due(&self) -> DueTime {
        DueTime {
            now: self.now,
            oldest: self.oldest,
            waited: self.waited.map(|head| head.id),
            waited_at: self.waited.map(|head| head.at),
        }
    }
}

/// What follows from an attempt: pure.
pub(super) fn classify_attempt(
    sent: Result<Receipt, DeliveryError>,
    waiting: &PendingChunk,
    limits: &DeliveryLimits,
    now: Timestamp,
    jitter: f64,
) -> DeliveryAttempt {
    let (after, unknown, why) = match sent {
        Ok(receipt) => return DeliveryAttempt::Delivered { external_id: receipt.external_id },
        Err(DeliveryError::Refused { why }) => return DeliveryAttempt::Failed { why },
        Err(DeliveryError::Retry { after, why }) => (after.unwrap_or_default(), false, why),
        Err(DeliveryError::Unknown { why }) => (Duration::ZERO, true, why),
    };
    if waiting.attempts >= limits.attempts_max {
        return DeliveryAttempt::Abandoned { why: format!("given up after {} attempts: {why}", waiting.attempts) };
    }
    let wait = backoff(limits, waiting.attempts, jitter).max(after);
    let at = SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now);
    DeliveryAttempt::Again { at, unknown, why }
}

/// Doubling from the base to the most, half of it by chance.
fn backoff(limits: &DeliveryLimits, attempts: i64, jitter: f64) -> Duration {
    let doublings = u32::try_from((attempts - 1).clamp(0, 20)).unwrap_or(0);
    let full = limits.backoff_base.saturating_mul(1_u32 << doublings).min(limits.backoff_max);
    full.mul_f64(0.5 + jitter / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::inbound::{ChannelKind, Conversation};
    use hob_core::domain::outgoing::{Destination, Outgoing};
    use hob_core::render::RenderedPiece;
    use hob_store::outbox::NewChunk;
    use hob_store::{SchedulingMode, Store, sessions};

    const LIMITS: DeliveryLimits = DeliveryLimits {
        attempts_max: 3,
        age_max: Duration::from_secs(60),
        backoff_base: Duration::from_secs(1),
        backoff_max: Duration::from_secs(10),
    };

    #[test]
    fn the_wait_doubles_to_its_most() {
        let table =
            [(1, 0.0, 500), (1, 1.0, 1_000), (2, 1.0, 2_000), (4, 1.0, 8_000), (5, 1.0, 10_000), (99, 1.0, 10_000)];
        for (attempts, jitter, millis) in table {
            assert_eq!(backoff(&LIMITS, attempts, jitter), Duration::from_millis(millis), "{attempts} {jitter}");
        }
    }

    const CREATED: i64 = 1_000;
    const DAYS_LATER: i64 = 30 * 86_400_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    fn turn(session: SessionId, now: i64) -> OutboxStep {
        let letters = Arc::default();
        OutboxStep {
            session,
            settled: None,
            take: true,
            speaks: false,
            waited: None,
            letters,
            now: at(now),
            oldest: at(now - 60_000),
        }
    }

    /// Puts a chunk into the outbox of a session of its own. Gives where, and the attempts of what was taken.
    async fn queue(tx: &mut Tx, key: &'static str, takes: bool) -> Result<(SessionId, Option<i64>), StoreError> {
        let conversation = Conversation {
            channel: ChannelKind::Terminal,
            account: "local".to_owned(),
            chat: "1".to_owned(),
            thread: None,
        };
        let session = sessions::ensure(tx, "terminal:1", ChannelKind::Terminal, at(CREATED)).await?.id;
        let destination = Destination { conversation, reply_to: None };
        let chunk = NewChunk {
            key,
            session,
            run: None,
            destination: &destination,
            piece: &RenderedPiece { text: "hello".to_owned(), markup: None },
            choices: &[],
            file: None,
            part: outbox::ChunkRole::Words,
        };
        if takes {
            let taken = outbox::add_and_take(tx, &chunk, at(CREATED)).await?;
            return Ok((session, taken.map(|waiting| waiting.attempts)));
        }
        outbox::add(tx, &chunk, at(CREATED)).await?;
        Ok((session, None))
    }

    async fn take(store: &Store, turn: OutboxStep) -> NextDelivery {
        store.write(async move |tx| turn.take(tx).await).await.unwrap().next
    }

    #[tokio::test]
    async fn only_what_was_tried_is_too_old() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let (session, _) = store.write(async |tx| queue(tx, "k", false).await).await.unwrap();
        // The clock has jumped between the words and their delivery: they go out.
        let mut now = CREATED + DAYS_LATER;
        let NextDelivery::Send(first) = take(&store, turn(session, now)).await else {
            panic!("it was not taken");
        };
        assert_eq!(first.attempts, 1);
        now += 1;
        let again = DeliveryAttempt::Again { at: at(now), unknown: false, why: "down".to_owned() };
        let settled = Some(AttemptRecord { id: first.message.id, attempt: again });
        let next = take(&store, OutboxStep { settled, ..turn(session, now) }).await;
        assert!(matches!(next, NextDelivery::Nothing), "it was tried and is old: it is given up");
    }

    #[tokio::test]
    async fn new_words_are_taken_once_and_only_if_nothing_stands_before_them() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let queued = |key| store.write(async move |tx| queue(tx, key, true).await);
        let (session, taken) = queued("k").await.unwrap();
        assert_eq!(taken, Some(1));
        assert_eq!(queued("k").await.unwrap().1, None, "it is queued once");
        assert_eq!(queued("l").await.unwrap().1, None, "another goes first");
        let delivered = |message: &Outgoing| {
            Some(AttemptRecord { id: message.id, attempt: DeliveryAttempt::Delivered { external_id: None } })
        };
        let NextDelivery::Send(lost) = take(&store, turn(session, CREATED)).await else {
            panic!("it was not taken");
        };
        assert!(lost.message.may_repeat, "what counts as being sent may have arrived");
        let settled = delivered(&lost.message);
        let NextDelivery::Send(second) = take(&store, OutboxStep { settled, ..turn(session, CREATED) }).await else {
            panic!("the other was not taken");
        };
        assert!(!second.message.may_repeat);
        let settled = delivered(&second.message);
        let next = take(&store, OutboxStep { settled, take: false, ..turn(session, CREATED) }).await;
        assert!(matches!(next, NextDelivery::Nothing));
        assert_eq!(queued("m").await.unwrap().1, Some(1), "nothing stands before it any more");
    }
}
