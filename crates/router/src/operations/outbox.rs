//! Saying after all what was given up, and giving up what waits.

use jiff::Timestamp;

use crate::intake::Router;
use hob_core::domain::ids::{OutboxId, SessionId};
use hob_store::error::StoreError;
use hob_store::operations::Chunk;
use hob_store::outbox::{self, Attempt};
use hob_store::{Tx, operations};

/// Why something of the outbox was given up that nothing is wrong with.
const GIVEN_UP: &str = "an owner gave it up";

/// What came of a wish about something in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is so now.
    Done,
    /// There is no such thing.
    Unknown,
    /// It was delivered.
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
) -> Result<(Settled, Option<SessionId>), StoreError> {
    let Some(Chunk { session, state, held }) = operations::chunk(tx, id).await? else {
        return Ok((Settled::Unknown, None));
    };
    let settled = match (state.as_str(), again) {
        ("delivered", _) => Settled::Delivered,
        ("sending", _) => Settled::Sending,
        ("failed" | "abandoned", true) if held => Settled::Held,
        ("failed" | "abandoned", true) => {
            operations::retry(tx, id, now).await?;
            Settled::Done
        }
        (_, true) => {
            operations::hurry(tx, id, now).await?;
            Settled::Done
        }
        ("failed" | "abandoned", false) => Settled::Done,
        (_, false) => {
            outbox::settle(tx, id, &Attempt::Abandoned { why: GIVEN_UP.to_owned() }, now).await?;
            Settled::Done
        }
    };
    Ok((settled, Some(session)))
}

impl Router {
    /// Says something of the outbox now that waits, or was given up.
    pub async fn retry_delivery(&self, id: OutboxId) -> Result<Settled, StoreError> {
        self.settle(id, true).await
    }

    /// Gives up something that waits to be delivered; what comes after it is not held up by it any more.
    pub async fn abandon_delivery(&self, id: OutboxId) -> Result<Settled, StoreError> {
        self.settle(id, false).await
    }

    async fn settle(&self, id: OutboxId, again: bool) -> Result<Settled, StoreError> {
        let now = self.clock.now();
        let (settled, session) = self.store.write(async move |tx| settle(tx, id, again, now).await).await?;
        if settled == Settled::Done {
            tracing::info!(outbox = %id, again, "outbox.settled_by_owner");
        }
        session.into_iter().for_each(|session| self.delivery.wake(session));
        Ok(settled)
    }
}
