//! Reads a recorded run; what cannot be read of it is said, and what comes before is kept.

use jiff::Timestamp;

use crate::journal;
use crate::machine::event::Event;
use crate::replay::{RecordedRun, TimedEvent, UnreadableRow};
use hob_core::domain::ids::RunId;
use hob_store::error::StoreError;
use hob_store::journal::EventRow;
use hob_store::run_list::{self, RunFilter, RunListEntry, RunScanRange};
use hob_store::upkeep::journals;
use hob_store::{Tx, agents, blobs, recorded_run};

/// What there is under a run's number.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadOutcome {
    Run(Box<RecordedRun>),
    /// The run was let go long after it was over: its journal is not kept for ever.
    LetGo,
    /// No run; these have the numbers next to it.
    Nothing {
        /// In order.
        near: Vec<RunId>,
    },
}

/// Reads a run.
pub async fn load(tx: &mut Tx, run: RunId) -> Result<LoadOutcome, StoreError> {
    let Some(shown) = recorded_run::find(tx, run).await? else {
        return Ok(LoadOutcome::Nothing { near: recorded_run::neighbours(tx, run).await? });
    };
    if journals::is_dropped(tx, run).await? {
        return Ok(LoadOutcome::LetGo);
    }
    let (events, broken) = decoded(run, &hob_store::journal::list(tx, run).await?)?;
    let system = events.iter().find_map(|timed| match &timed.event {
        Event::Begun(begun) => Some(begun.context.system.clone()),
        _ => None,
    });
    let system = match system {
        // Without it a run can still be shown; only what it weighed cannot be told.
        Some(digest) => blobs::get(tx, &digest.0).await.ok(),
        None => None,
    };
    let recorded_run::RecordedRunRow { session, who, state, state_hash, parent } = shown;
    let agents = agents::children(tx, run).await?;
    Ok(LoadOutcome::Run(Box::new(RecordedRun {
        run,
        session,
        who,
        state,
        state_hash,
        parent,
        agents,
        events,
        broken,
        system,
    })))
}

/// A journal up to the first row that cannot be read.
pub(super) fn decoded(run: RunId, rows: &[EventRow]) -> Result<(Vec<TimedEvent>, Option<UnreadableRow>), StoreError> {
    let mut events = Vec::new();
    for (row, seq) in rows.iter().zip(1..) {
        if row.seq != seq {
            let what = format!("event {seq} is missing: the next one has the number {}", row.seq);
            return Ok((events, Some(UnreadableRow { seq, what })));
        }
        match journal::decode(run, row) {
            Ok(event) => {
                events.push(TimedEvent { at: Timestamp::from_millisecond(row.at).unwrap_or_default(), event });
            }
            Err(StoreError::Inconsistent { what, .. }) => {
                let what = format!("{} of encoding {} cannot be read: {what}", row.kind, row.version);
                return Ok((events, Some(UnreadableRow { seq, what })));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((events, None))
}

/// The newest runs, at most so many: of the session with this published name, or of all; in this state, or in any. None: there is no
/// such session.
pub async fn list_runs(
    tx: &mut Tx,
    session: Option<&str>,
    state: Option<&str>,
    limit: i64,
) -> Result<Option<Vec<RunListEntry>>, StoreError> {
    let states = state.map(|state| vec![state.to_owned()]);
    let filter = RunFilter { session: session.map(str::to_owned), states, ..RunFilter::default() };
    let (mut runs, mut before) = (Vec::new(), i64::MAX);
    loop {
        let room = limit - i64::try_from(runs.len()).unwrap_or(limit);
        let Some(part) = run_list::list(tx, &filter, RunScanRange { before, limit: room }).await? else {
            return Ok(None);
        };
        runs.extend(part.runs);
        match part.next {
            Some(next) if i64::try_from(runs.len()).is_ok_and(|count| count < limit) => before = next,
            _ => return Ok(Some(runs)),
        }
    }
}
