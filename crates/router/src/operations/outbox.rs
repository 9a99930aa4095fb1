//! Saying after all what was given up, and giving up what waits.

use jiff::Timestamp;

use crate::intake::Router;
use hob_core::domain::ids::{OutboxId, SessionId};
use hob_store::error::StoreError;
use hob_store::operations::ChunkState;
use hob_store::outbox::{self, DeliveryAttempt};
use hob_store::{Tx, operations};

/// Why something of the outbox was given up that nothing is wrong with.
const GIVEN_UP: &str = "an owner gave it up";

/// What came of a wish about something in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxChangeOutcome {
    /// It is so now.
    Done,
    /// There is no such thing.
    Unknown,
    Delivered,
    /// It is being sent at this moment.
    Sending,
    /// It is a letter that an owner decides over: `/mail`.
    Held,
}

/// Says it, or gives it up.
async fn settle(
    tx: &mut Tx,
    id: OutboxId,
    again: bool,
    now: Timestamp,
) -> Result<(OutboxChangeOutcome, Option<SessionId>), StoreError> {
    let Some(ChunkState { session, state, held }) = operations::chunk(tx, id).await? else {
        return Ok((OutboxChangeOutcome::Unknown, None));
    };
    let settled = match (state.as_str(), again) {
        ("delivered", _) => OutboxChangeOutcome::Delivered,
        ("sending", _) => OutboxChangeOutcome::Sending,
        ("failed" | "abandoned", true) if held => OutboxChangeOutcome::Held,
        ("failed" | "abandoned", true) => {
            operations::retry(tx, id, now).await?;
            OutboxChangeOutcome::Done
        }
        (_, true) => {
            operations::retry_now(tx, id, now).await?;
            OutboxChangeOutcome::Done
        }
        ("failed" | "abandoned", false) => OutboxChangeOutcome::Done,
        (_, false) => {
            outbox::settle(tx, id, &DeliveryAttempt::Abandoned { why: GIVEN_UP.to_owned() }, now).await?;
            OutboxChangeOutcome::Done
        }
    };
    Ok((settled, Some(session)))
}

impl Router {
    /// Says something of the outbox now that waits, or was given up.
    pub async fn retry_delivery(&self, id: OutboxId) -> Result<OutboxChangeOutcome, StoreError> {
        self.settle(id, true).await
    }

    /// Gives up something that waits to be delivered; what comes after it is not held up by it any more.
    pub async fn abandon_delivery(&self, id: OutboxId) -> Result<OutboxChangeOutcome, StoreError> {
        self.settle(id, false).await
    }

    async fn settle(&self, id: OutboxId, again: bool) -> Result<OutboxChangeOutcome, StoreError> {
        let now = self.clock.now();
        let (settled, session) = self.store.write(async move |tx| settle(tx, id, again, now).await).await?;
        if settled == OutboxChangeOutcome::Done {
            tracing::info!(outbox = %id, again, "outbox.settled_by_owner");
        }
        session.into_iter().for_each(|session| self.delivery.wake(session));
        Ok(settled)
    }
}
