//! A run as it stood after one of its events: folded from those up to it, by the machine itself.

use async_trait::async_trait;

use crate::agent::driver::LoadMaterial;
use crate::agent::machine::Replay;
use crate::agent::machine::effect::ModelCall;
use crate::agent::machine::event::JournalMismatch;
use crate::agent::machine::state::{Active, Paused, Phase, State};
use crate::agent::prompt::Material;
use crate::agent::replay::load::decoded;
use crate::agent::replay::{Broken, Timed};
use crate::domain::ids::RunId;
use crate::model::provider::Request;
use crate::store::error::StoreError;
use crate::store::{Statement, Tx, journal, runs};

/// Reads a run up to one of its events.
#[derive(Debug, Clone, Copy)]
pub struct LoadAt {
    /// Which.
    pub run: RunId,
    /// The event's number.
    pub at: i64,
    /// Also what its requests are made of: the prompt, the tools, the conversation before it.
    pub material: bool,
}

/// A run at that point.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The last event that was folded.
    pub at: i64,
    /// The journal's last event.
    pub upto: i64,
    /// That event.
    pub last: Option<Timed>,
    /// What its events fold to.
    pub state: State,
    /// Where they part from what this Hob derives.
    pub mismatch: Option<JournalMismatch>,
    /// What its requests are made of, where it was asked for and is still there.
    pub material: Option<Material>,
    /// The first of them that cannot be read: nothing after it was folded.
    pub broken: Option<Broken>,
}

#[async_trait]
impl Statement for LoadAt {
    /// None: there is no such run.
    type Output = Option<Standing>;

    async fn run(&self, tx: &mut Tx) -> Result<Option<Standing>, StoreError> {
        let Some(row) = runs::lookup(tx, self.run).await? else {
            return Ok(None);
        };
        let upto = journal::last(tx, self.run).await?;
        let rows = journal::part(tx, self.run, (0, self.at), i64::MAX).await?;
        let (events, broken) = decoded(self.run, &rows)?;
        let mut replay = Replay::default();
        events.iter().for_each(|timed| replay.feed(&timed.event));
        // What is expected next has simply not been folded.
        let mismatch = replay.mismatch().filter(|found| found.actual != "missing");
        let material = match replay.state.active().filter(|_| self.material) {
            Some(run) => {
                let (reader, context) = (run.input.principal.user, run.context.clone());
                match (LoadMaterial { session: row.session, reader, context }.run(tx).await) {
                    Ok(material) => Some(material),
                    Err(StoreError::Inconsistent { .. }) => None,
                    Err(error) => return Err(error),
                }
            }
            None => None,
        };
        let (at, last) = (replay.seq, events.into_iter().last());
        Ok(Some(Standing { at, upto, last, state: replay.state, mismatch, material, broken }))
    }
}

impl Standing {
    /// What the model is asked at this point, or would be if it were asked now; none: the run has not begun, or what it
    /// was made of is gone.
    #[must_use]
    pub fn request(&self) -> Option<Request> {
        let run = self.state.active()?;
        Some(self.material.as_ref()?.request_of(run, &due(run)))
    }
}

/// The call of the model that is open, or the next one.
fn due(run: &Active) -> ModelCall {
    match &run.phase {
        Phase::Calling(call) | Phase::Waiting { paused: Paused::Call(call), .. } => call.clone(),
        Phase::Acting(_) | Phase::Waiting { .. } | Phase::Replied | Phase::Done(_) => run.call_model(),
    }
}
