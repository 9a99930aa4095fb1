//! Questions that nobody answers in time (lesson 17): the run is told, and decides (`machine::asking`).
//!
//! The time stands in the database with the question itself, so a restart loses none.
//! Start at [`Lanes::expire_questions`].

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::intake::answers::{WaitState, WaitingRunSnapshot, look, open_question};
use crate::lanes::Lanes;
use hob_agent::driver::encode_signal;
use hob_agent::journal::RunKey;
use hob_agent::machine::question::Question;
use hob_agent::signal::Signal;
use hob_store::error::StoreError;
use hob_store::open_runs::OpenRun;
use hob_store::{Tx, open_runs, signals};

/// The longest sleep: the clock on the wall may have been set meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// The wait after the database failed.
const RETRY: Duration = Duration::from_secs(1);

impl Lanes {
    /// Lets questions expire when their time comes, until `stop`.
    pub async fn expire_questions(self, stop: CancellationToken) {
        loop {
            let wait = match self.expire_due().await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::warn!(%error, "open questions could not be looked through; trying again");
                    Some(RETRY)
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.wait_for_question() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Lets everything expire that is due, and says how long the next question has; none: none is open.
    pub(crate) async fn expire_due(&self) -> Result<Option<Duration>, StoreError> {
        let now = self.now();
        let Some(next) = self.store().read(open_runs::next_expiry).await? else {
            return Ok(None);
        };
        let left = next.saturating_sub(now.as_millisecond());
        if let Ok(left) = u64::try_from(left)
            && left > 0
        {
            return Ok(Some(Duration::from_millis(left).min(LOOK_AGAIN)));
        }
        // A long journal takes long to fold: nobody waits for the writer meanwhile.
        let seen = Arc::new(self.store().read(async |tx| due_questions(tx, now).await).await?);
        let expired = self.store().write(async move |tx| expire(tx, &seen, now).await).await?;
        for run in &expired {
            tracing::info!(run = %run.id, "agent_run.question_expired");
            self.wake_served(run.session, &run.channel);
        }
        // Others may be open: look again at once.
        Ok(Some(Duration::ZERO))
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

/// What the runs ask whose time has come.
async fn due_questions(tx: &mut Tx, now: Timestamp) -> Result<Vec<WaitingRunSnapshot>, StoreError> {
    let due = open_runs::expired(tx, now).await?.into_iter().map(|run| run.id).collect();
    look(tx, due).await
}

/// Tells each run whose question has expired.
async fn expire(tx: &mut Tx, seen: &[WaitingRunSnapshot], now: Timestamp) -> Result<Vec<OpenRun>, StoreError> {
    let expired = open_runs::take_expired(tx, now).await?;
    for run in &expired {
        let key = RunKey { run: run.id, session: run.session };
        // An answer that was given before the time was over is taken first, and leaves nothing to expire.
        let number = match open_question(tx, &key, seen, now).await? {
            WaitState::Question(open) if matches!(open.question, Question::Paused { .. }) => None,
            WaitState::Question(open) => Some(open.number),
            WaitState::Agents(number) => Some(number),
            WaitState::Nothing | WaitState::Gone => None,
        };
        if let Some(question) = number {
            let signal = Signal::Expire { question };
            signals::add(tx, run.id, &encode_signal(&signal)?, now).await?;
        }
    }
    Ok(expired)
}
