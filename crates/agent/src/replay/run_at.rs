//! A run as it stood after one of its events: folded from those up to it, by the machine itself.

use crate::driver::LoadPromptInputs;
use crate::machine::Replay;
use crate::machine::effect::ModelCall;
use crate::machine::event::JournalMismatch;
use crate::machine::state::{ActiveState, Phase, ResumePoint, State};
use crate::prompt::PromptInputs;
use crate::replay::load::decoded;
use crate::replay::{TimedEvent, UnreadableRow};
use hob_core::domain::ids::{RunId, SessionId};
use hob_model::provider::Request;
use hob_store::error::StoreError;
use hob_store::journal::EventRow;
use hob_store::{Tx, journal, runs};

/// What was read of a run: folding it takes its time, and needs the database no more.
#[derive(Debug, Clone)]
pub struct RecordedEvents {
    run: RunId,
    session: SessionId,
    upto: i64,
    rows: Vec<EventRow>,
}

/// A run at that point.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAt {
    session: SessionId,
    /// The last event that was folded.
    pub at: i64,
    /// The journal's last event.
    pub upto: i64,
    pub last: Option<TimedEvent>,
    /// What its events fold to.
    pub state: State,
    /// Where they part from what this Hob derives.
    pub mismatch: Option<JournalMismatch>,
    /// The first of them that cannot be read: nothing after it was folded.
    pub broken: Option<UnreadableRow>,
}

/// Reads the events of a run up to one of them; none: there is no such run.
pub async fn read_events(tx: &mut Tx, run: RunId, at: i64) -> Result<Option<RecordedEvents>, StoreError> {
    let Some(row) = runs::queries::lookup(tx, run).await? else {
        return Ok(None);
    };
    let upto = journal::last(tx, run).await?;
    let rows = journal::list_part(tx, run, 0, at, i64::MAX).await?;
    Ok(Some(RecordedEvents { run, session: row.session, upto, rows }))
}

impl RecordedEvents {
    /// What it folds to.
    ///
    /// # Errors
    /// When a row is none that Hob has written.
    pub fn fold(self) -> Result<RunAt, StoreError> {
        let Self { run, session, upto, rows } = self;
        let (events, broken) = decoded(run, &rows)?;
        let mut replay = Replay::default();
        events.iter().for_each(|timed| replay.feed(&timed.event));
        // What is expected next has simply not been folded.
        let mismatch = replay.mismatch().filter(|found| found.actual != "missing");
        let (at, last) = (replay.seq, events.into_iter().last());
        Ok(RunAt { session, at, upto, last, state: replay.state, mismatch, broken })
    }
}

/// Reads what the requests of a run at that point are made of: the prompt, the tools, the conversation before it.
#[derive(Clone)]
pub struct LoadRequest(LoadPromptInputs);

impl LoadRequest {
    /// None: it is not kept any more.
    pub async fn load(&self, tx: &mut Tx) -> Result<Option<PromptInputs>, StoreError> {
        match self.0.load(tx).await {
            Ok(material) => Ok(Some(material)),
            Err(StoreError::Inconsistent { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl RunAt {
    /// What is to be read to tell what the model is asked at this point; none: the run has not begun.
    pub fn load_request(&self) -> Option<LoadRequest> {
        let run = self.state.active()?;
        let (reader, context) = (run.input.principal.user, run.context.clone());
        Some(LoadRequest(LoadPromptInputs { session: self.session, reader, context }))
    }

    /// What the model is asked at this point, or would be if it were asked now; none: the run has not begun.
    pub fn request(&self, material: &PromptInputs) -> Option<Request> {
        let run = self.state.active()?;
        Some(material.request_of(run, &due(run)))
    }
}

/// The call of the model that is open, or the next one.
fn due(run: &ActiveState) -> ModelCall {
    match &run.phase {
        Phase::Calling(call) | Phase::Waiting { paused: ResumePoint::Call(call), .. } => call.clone(),
        Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => run.call_model(),
    }
}
