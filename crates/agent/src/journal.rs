//! The journal: events as versioned rows. The only room that writes `run_events`.
//!
//! A released encoding is never changed: `VERSION` grows, and [`decode`] learns to read the older one.

use std::sync::LazyLock;

use jiff::Timestamp;

use crate::machine::accepted_input::AcceptedInput;
use crate::machine::event::{Event, RunReply};
use crate::machine::fingerprint::fingerprint;
use crate::machine::run_start::RulesEdition;
use crate::machine::state::State;
use crate::machine::status::Status;
use crate::machine::{Replay, Step, step};
use hob_core::domain::ids::{RunId, SessionId};
use hob_store::error::StoreError;
use hob_store::journal::{EventRow, append, list};
use hob_store::runs::{Lease, NewRun, QuestionDeadline, ReachedState};
use hob_store::{Tx, millis, runs};

/// The version of the encoding that this Hob writes.
pub const VERSION: i64 = 1;

/// What writes journals here: whoever cannot read one is told what wrote it. Two of the same version may go by other rules.
pub(crate) static EDITION: LazyLock<String> =
    LazyLock::new(|| format!("{} (rules {}, events {VERSION})", env!("CARGO_PKG_VERSION"), RulesEdition::CURRENT.0));

/// The stored form of an event.
///
/// # Errors
/// Never for events that the machine knows: they are plain data.
pub fn encode(event: &Event, seq: i64, at: Timestamp) -> Result<EventRow, StoreError> {
    let body = serde_json::to_string(event).map_err(|error| StoreError::Database(error.to_string()))?;
    Ok(EventRow { seq, kind: event.kind().to_owned(), version: VERSION, body, at: millis(at) })
}

/// The event in a row, of this version or an older one.
///
/// # Errors
/// When the row is from a newer Hob or holds no event.
pub fn decode(run: RunId, row: &EventRow) -> Result<Event, StoreError> {
    let bad = |what: String| StoreError::Inconsistent { table: "run_events", id: format!("{run}/{}", row.seq), what };
    match row.version {
        VERSION => serde_json::from_str(&row.body).map_err(|error| bad(error.to_string())),
        other => Err(bad(format!("version {other} of {} is not known here", row.kind))),
    }
}

/// A folded journal.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedRun {
    /// The fold, and whether it replays to the same effects.
    pub replay: Replay,
    /// When the last event was committed, in Unix milliseconds.
    pub(crate) last_at: i64,
}

/// Loads and folds a run's journal. A row that holds no event is an error.
pub async fn load(tx: &mut Tx, run: RunId) -> Result<FoldedRun, StoreError> {
    let mut folded = FoldedRun { replay: Replay::default(), last_at: 0 };
    for row in list(tx, run).await? {
        if row.seq != folded.replay.seq + 1 {
            let what = format!("the event before it is missing: {} follows {}", row.seq, folded.replay.seq);
            return Err(StoreError::Inconsistent { table: "run_events", id: format!("{run}/{}", row.seq), what });
        }
        folded.replay.feed(&decode(run, &row)?);
        folded.last_at = row.at;
    }
    Ok(folded)
}

/// What a run was accepted with, if at least that can be read.
pub async fn load_accepted(tx: &mut Tx, run: RunId) -> Result<Option<AcceptedInput>, StoreError> {
    let first = hob_store::journal::first(tx, run).await?.and_then(|row| decode(run, &row).ok());
    Ok(first.and_then(|event| match event {
        Event::Accepted(accepted) => Some(accepted),
        _ => None,
    }))
}

/// What the model's answer said, as it wrote it, if this event is that answer.
pub async fn answer_at(tx: &mut Tx, run: RunId, seq: i64) -> Result<Option<String>, StoreError> {
    let Some(row) = hob_store::journal::find(tx, run, seq).await? else { return Ok(None) };
    Ok(match decode(run, &row)? {
        Event::Replied(RunReply::Answer { text }) => Some(text),
        _ => None,
    })
}

/// The run that another one's message joined.
pub async fn joined_run(tx: &mut Tx, run: RunId) -> Result<Option<RunId>, StoreError> {
    for row in list(tx, run).await? {
        if let Event::Joined { run } = decode(run, &row)? {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// Appends a step's events after `seq`. Gives the last number.
///
/// # Errors
/// When somebody else has appended to the run, or the database fails.
pub async fn append_step(tx: &mut Tx, run: RunId, seq: i64, step: &Step, at: Timestamp) -> Result<i64, StoreError> {
    let rows = step.events.iter().zip(seq + 1..).map(|(event, seq)| encode(event, seq, at));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    append(tx, run, &rows).await?;
    Ok(rows.last().map_or(seq, |row| row.seq))
}

/// Makes a run of a message: at the end of its lane, or under a lease of whoever drives it at once.
pub async fn open(
    tx: &mut Tx,
    session: SessionId,
    accepted: AcceptedInput,
    lease: Option<&Lease>,
    at: Timestamp,
) -> Result<RunId, StoreError> {
    let (run, _, step) = insert_run(tx, session, accepted, lease, at).await?;
    append_step(tx, run, 0, &step, at).await?;
    Ok(run)
}

/// The same but for the journal, of which it gives the first step, and the state after it.
pub(crate) async fn insert_run(
    tx: &mut Tx,
    session: SessionId,
    accepted: AcceptedInput,
    lease: Option<&Lease>,
    at: Timestamp,
) -> Result<(RunId, State, Step), StoreError> {
    let (inbound, user) = (accepted.inbound, accepted.principal.user);
    let mut state = State::Empty;
    let step = step(&mut state, Event::Accepted(accepted));
    let new = NewRun { session, inbound, user, hash: &fingerprint(&state).0, edition: &EDITION, lease };
    let run = runs::add(tx, &new, at).await?;
    Ok((run, state, step))
}

/// Writes down what the fold of a run that nobody drives has reached.
async fn set_state(tx: &mut Tx, run: RunId, state: &State, at: Timestamp) -> Result<(), StoreError> {
    let (status, hash) = (state.status(), fingerprint(state));
    let ended_at = status.is_final().then(|| millis(at));
    runs::set_state(
        tx,
        run,
        ReachedState {
            state: status.as_str(),
            ended_at,
            hash: Some(&hash.0),
            waits: QuestionDeadline::WithoutEnd,
            edition: Some(&EDITION),
        },
    )
    .await
}

/// What may happen to a run that waits for the lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueChange {
    /// Its message reads otherwise now.
    Edited {
        /// The new words.
        text: String,
    },
    /// Its message was taken back.
    Withdrawn,
    /// Its message joined another run.
    Joined { run: RunId },
}

impl From<QueueChange> for Event {
    fn from(change: QueueChange) -> Self {
        match change {
            QueueChange::Edited { text } => Self::Edited { text },
            QueueChange::Withdrawn => Self::Withdrawn,
            QueueChange::Joined { run } => Self::Joined { run },
        }
    }
}

/// Changes a run that waits for the lane; `None` if it no longer does. Gives what it was accepted with.
pub async fn change_queued(
    tx: &mut Tx,
    run: RunId,
    change: QueueChange,
    at: Timestamp,
) -> Result<Option<AcceptedInput>, StoreError> {
    let queued = runs::queries::lookup(tx, run).await?.is_some_and(|row| row.state == Status::Queued.as_str());
    if !queued {
        return Ok(None);
    }
    let Replay { mut state, seq, .. } = load(tx, run).await?.replay;
    let State::Queued(accepted) = state.clone() else {
        return Ok(None);
    };
    let step = step(&mut state, change.into());
    append_step(tx, run, seq, &step, at).await?;
    set_state(tx, run, &state, at).await?;
    Ok(Some(accepted))
}

/// What every row of a run's projection carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    pub run: RunId,
    pub session: SessionId,
}

impl RunKey {
    /// The same run, where its words go to another session.
    pub fn of(&self, session: SessionId) -> Self {
        Self { run: self.run, session }
    }
}
