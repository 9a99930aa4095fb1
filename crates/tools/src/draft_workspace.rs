//! Where tools work on the workspace: in a draft, so that what they did can be shown before it is kept, or undone after.
//!
//! | the call | its draft |
//! |---|---|
//! | of a run that has read what nobody vouches for | the run's, until a person has settled it |
//! | any other | its own, kept as soon as the call has ended |
//! | where there can be no draft | none: it works on the workspace itself |
//!
//! Never: a call made twice because Hob ended in the middle of it.
//! Start at [`DraftWorkspace::begin`].

use jiff::Timestamp;

use crate::Invocation;
use crate::changes::draft_dir::{DraftDir, DraftLock};
use crate::changes::{ChangesError, DraftId, DraftOwner, Drafts, KeepOutcome};
use crate::sandbox::confinement::Confinement;
use hob_core::domain::draft::DraftUse;
use hob_telemetry::tasks;

/// For the model: a call of before a restart.
const ENDED: &str = "It had ended when Hob was restarted, and what it changed is in the workspace. Its output is lost.";
/// For the model: a call that a restart cut off, in a draft that others share.
const CUT_OFF: &str = "Hob was restarted while it ran, so it was not finished and is not run again by itself. What it had changed \
     until then is in the draft: look at it first.";

/// A place to work.
#[derive(Debug, Clone)]
pub struct DraftWorkspace {
    /// The sandbox.
    pub confinement: Confinement,
    pub drafts: Drafts,
}

#[derive(Debug)]
pub enum CallPreparation {
    Work(Box<CallWorkspace>),
    /// Nothing: these words are its result.
    Over {
        /// For the model.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
}

/// Where one call works.
#[derive(Debug)]
pub struct CallWorkspace {
    /// Its sandbox.
    pub confinement: Confinement,
    /// Its own draft, to be kept when it has ended.
    own: Option<DraftDir>,
    now: Timestamp,
}

/// A copy of the workspace of which nothing is kept. It is thrown away with this, and by nobody before.
#[derive(Debug)]
pub(crate) struct ScratchCopy {
    /// Its sandbox.
    pub(crate) confinement: Confinement,
    draft: Option<(DraftDir, DraftLock)>,
}

/// What a second try of a call finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrySafety {
    /// It may be done once more.
    Safe,
    /// It may not, where a part of it may have been done.
    Unsafe,
}

impl DraftWorkspace {
    /// Can what is done here be looked at before it is kept?
    pub async fn can_be_reviewed(&self) -> bool {
        let sandbox = self.confinement.sandbox.result().await;
        sandbox.is_fully_enforced() && sandbox.overlays()
    }

    /// Makes a call's place ready.
    ///
    /// # Errors
    /// When there can be no draft, in words for the model: then nothing may be done.
    pub async fn begin(&self, invocation: &Invocation, again: RetrySafety) -> Result<CallPreparation, String> {
        let now = invocation.now;
        if !self.can_be_reviewed().await {
            return Ok(CallPreparation::Work(Box::new(CallWorkspace {
                confinement: self.confinement.clone(),
                own: None,
                now,
            })));
        }
        let (drafts, run, place) = (self.drafts.clone(), invocation.run, invocation.draft);
        let (call, attempt) = (invocation.call.clone(), invocation.attempt);
        let session = invocation.destination.conversation.session_key();
        let of = DraftOwner { run, session, user: invocation.principal.user, now };
        let opened = blocking(move || {
            let own = DraftId::Call(call);
            if attempt > 1
                && let Some(before) = drafts.find(run, &own)?
            {
                if !before.is_open() {
                    before.keep_all(now)?;
                    return Ok(Err(CallPreparation::Over { text: ENDED.to_owned(), is_error: false }));
                }
                drafts.discard(run, &own)?;
            }
            match place {
                DraftUse::Open(_) if attempt > 1 && again == RetrySafety::Unsafe => {
                    Ok(Err(CallPreparation::Over { text: CUT_OFF.to_owned(), is_error: true }))
                }
                DraftUse::Open(number) => drafts.open(&of, &DraftId::Shared(number)).map(|draft| Ok((draft, false))),
                DraftUse::AtOnce => drafts.open(&of, &own).map(|draft| Ok((draft, true))),
            }
        });
        match opened.await.map_err(|error| format!("No draft of the workspace could be made: {error}."))? {
            Err(over) => Ok(over),
            Ok((draft, is_own)) => {
                let confinement = self.confinement.clone().with_overlays(draft.overlays());
                Ok(CallPreparation::Work(Box::new(CallWorkspace { confinement, own: is_own.then_some(draft), now })))
            }
        }
    }

    /// A copy for a call that is to change nothing: thrown away, whatever stands in it. None: there can be none.
    ///
    /// # Errors
    /// When it cannot be made, in words for the model.
    pub(crate) async fn scratch_copy(&self, invocation: &Invocation) -> Result<Option<ScratchCopy>, String> {
        if !self.can_be_reviewed().await {
            return Ok(None);
        }
        let place = Invocation { draft: DraftUse::AtOnce, ..invocation.clone() };
        match self.begin(&place, RetrySafety::Safe).await? {
            CallPreparation::Over { text, .. } => Err(text),
            CallPreparation::Work(bench) => {
                let CallWorkspace { confinement, own, .. } = *bench;
                let held = own.map(|draft| draft.lock_for_use().map(|held| (draft, held))).transpose();
                let draft = held.map_err(|error| format!("No copy of the workspace could be made: {error}."))?;
                Ok(Some(ScratchCopy { confinement, draft }))
            }
        }
    }

    /// Is there an open draft at the place of a call?
    pub async fn is_open(&self, invocation: &Invocation) -> bool {
        let DraftUse::Open(number) = invocation.draft else { return false };
        let (drafts, run) = (self.drafts.clone(), invocation.run);
        let found = blocking(move || drafts.find(run, &DraftId::Shared(number)));
        found.await.is_ok_and(|draft| draft.is_some_and(|draft| draft.is_open()))
    }
}

impl ScratchCopy {
    /// Nobody works there any more.
    pub(crate) async fn end(mut self) {
        discard_scratch(self.draft.take()).await;
    }
}

impl Drop for ScratchCopy {
    fn drop(&mut self) {
        // What was to work there may never have begun. Without a runtime Hob is on its way out: upkeep does it.
        if let Some(draft) = self.draft.take() {
            tasks::spawn_if_running("a copy's end", discard_scratch(Some(draft)));
        }
    }
}

async fn discard_scratch(draft: Option<(DraftDir, DraftLock)>) {
    let Some((draft, held)) = draft else { return };
    let discarded = blocking(move || {
        let discarded = draft.discard();
        drop(held);
        discarded
    });
    if let Err(error) = discarded.await {
        tracing::warn!(%error, "a copy of the workspace is left for upkeep");
    }
}

impl CallWorkspace {
    /// The call has ended: what it changed in its own draft is kept. What is to be said of that; none: all is well.
    pub async fn end(self) -> Option<String> {
        let Self { own, now, .. } = self;
        let draft = own?;
        let kept = blocking(move || draft.keep_all(now));
        match kept.await {
            Ok(kept) => kept_summary(&kept),
            Err(error) => {
                tracing::warn!(%error, "what a call changed could not be kept");
                Some(format!("(What it changed is not in the workspace: {error}.)"))
            }
        }
    }
}

/// What is to be said of what was kept.
fn kept_summary(kept: &KeepOutcome) -> Option<String> {
    (kept.no_undo.is_some() || !kept.left_out.is_empty()).then(|| format!("({kept})"))
}

/// Work with drafts takes a thread.
async fn blocking<T, F>(work: F) -> Result<T, ChangesError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, ChangesError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ChangesError::Gone))
}
