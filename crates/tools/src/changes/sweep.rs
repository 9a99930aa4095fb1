//! Which drafts stay: those that are open, and for a day, within a bound, those that were kept.

use std::cmp::Reverse;
use std::fs;
use std::io::ErrorKind;

use jiff::Timestamp;

use crate::changes::draft_dir::{DraftDir, GONE};
use crate::changes::record::DraftState;
use crate::changes::{
    ChangesError, DraftLocation, Drafts, UNDO_BYTES_MAX, UNDO_FOR, UndoOutcome, io, keep, remove, undo,
};
use hob_core::domain::ids::{RunId, SessionKey};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Drafts of runs that are over were thrown away.
    pub(crate) discarded: u32,
    /// Changes can be taken back no more.
    pub expired: u32,
    /// What had been cut off was finished.
    pub finished: u32,
    /// What could not be done, and is tried again.
    pub failed: u32,
}

/// All drafts beside this one.
pub(super) fn all(place: &DraftLocation) -> Result<Vec<DraftDir>, ChangesError> {
    let Some(dir) = place.dir.parent() else { return Ok(Vec::new()) };
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(io("the folder of drafts"))?,
    };
    let mut drafts = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io("the folder of drafts"))?;
        if entry.file_name().to_string_lossy().starts_with(GONE) {
            continue;
        }
        match DraftDir::find(DraftLocation { dir: entry.path() }) {
            Ok(draft) => drafts.extend(draft),
            Err(error) => tracing::warn!(%error, path = %entry.path().display(), "draft.unreadable"),
        }
    }
    Ok(drafts)
}

/// Those that can be taken back, newest first.
fn kept_drafts(place: &DraftLocation) -> Result<Vec<(Timestamp, DraftDir)>, ChangesError> {
    let mut kept = Vec::new();
    for draft in all(place)? {
        match &draft.record.state {
            DraftState::Kept { at, kept: done, .. } if done.changes > 0 => kept.push((*at, draft)),
            // What was cut off comes before all others.
            DraftState::Undoing { at } => kept.push((*at, draft)),
            DraftState::Open | DraftState::Keeping { .. } | DraftState::Kept { .. } | DraftState::Undone { .. } => {}
        }
    }
    kept.sort_by_key(|(at, draft)| Reverse((*at, draft.record.created, draft.place.dir.clone())));
    Ok(kept)
}

/// Holds all that can be taken back within its bound: the oldest goes first.
pub(super) fn trim(place: &DraftLocation) -> Result<u32, ChangesError> {
    let (mut total, mut gone) = (0_u64, 0);
    for (_, draft) in kept_drafts(place)? {
        if let DraftState::Kept { stored, .. } = draft.record.state {
            total = total.saturating_add(stored);
            if total > UNDO_BYTES_MAX && stored > 0 {
                let moved = draft.move_aside()?;
                remove::remove(&moved).map_err(io("a change that is too old to be taken back"))?;
                gone += 1;
            }
        }
    }
    Ok(gone)
}

/// Deletes what a draft keeps that cannot be taken back.
pub(super) fn empty_layers(draft: &DraftDir) {
    for root in 0..draft.record.roots.len() {
        for which in ["upper", "work", "old"] {
            if let Err(error) = remove::remove(&draft.layer(root, which)) {
                tracing::debug!(%error, "a layer of a draft is left for upkeep");
            }
        }
    }
}

impl Drafts {
    fn any_location(&self) -> DraftLocation {
        self.place("any")
    }

    /// The runs that have open drafts.
    pub fn runs(&self) -> Result<Vec<RunId>, ChangesError> {
        let drafts = all(&self.any_location())?.into_iter();
        let open = drafts.filter(|draft| draft.record.state == DraftState::Open);
        let mut runs: Vec<RunId> = open.map(|draft| draft.record.run).collect();
        runs.sort_unstable();
        runs.dedup();
        Ok(runs)
    }

    /// The last change of this conversation that was kept, or of the whole house.
    pub fn last_kept(&self, session: Option<&SessionKey>) -> Result<Option<DraftDir>, ChangesError> {
        let mut kept = kept_drafts(&self.any_location())?.into_iter().map(|(_, draft)| draft);
        Ok(kept.find(|draft| session.is_none_or(|session| draft.record.session == *session)))
    }

    /// Takes back the last change of this conversation, or of the whole house.
    ///
    /// # Errors
    /// When there is none, or it cannot be taken back.
    pub fn undo_last(&self, session: Option<&SessionKey>, now: Timestamp) -> Result<UndoOutcome, ChangesError> {
        self.last_kept(session)?.ok_or(ChangesError::NothingToUndo)?.undo(now)
    }

    /// Finishes what was cut off, and lets go of what nobody needs. Only for who holds the data directory's lock.
    pub fn sweep(&self, now: Timestamp, is_over: &dyn Fn(RunId) -> bool) -> Result<SweepReport, ChangesError> {
        let mut swept = SweepReport::default();
        for draft in all(&self.any_location())? {
            if let Err(error) = sweep_draft(&draft, now, is_over, &mut swept) {
                tracing::warn!(%error, draft = %draft.dir().display(), "draft.stuck: upkeep tries it again");
                swept.failed += 1;
            }
        }
        let place = self.any_location();
        let turn = DraftLocation::lock_workspace();
        swept.expired += trim(&place)?;
        drop(turn);
        self.clear(&mut swept)?;
        Ok(swept)
    }

    /// Deletes what was moved away and not deleted, or never finished.
    fn clear(&self, swept: &mut SweepReport) -> Result<(), ChangesError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(io("the folder of drafts"))?,
        };
        for entry in entries {
            let path = entry.map_err(io("the folder of drafts"))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(GONE))
                && let Err(error) = remove::remove(&path)
            {
                tracing::warn!(%error, path = %path.display(), "draft.stuck: upkeep tries it again");
                swept.failed += 1;
            }
        }
        Ok(())
    }
}

/// What becomes of one draft.
fn sweep_draft(
    draft: &DraftDir,
    now: Timestamp,
    is_over: &dyn Fn(RunId) -> bool,
    swept: &mut SweepReport,
) -> Result<(), ChangesError> {
    let place = &draft.place;
    let turn = DraftLocation::lock_workspace();
    // It may have been settled since it was listed.
    let Some(mut draft) = DraftDir::find(place.clone())? else { return Ok(()) };
    match draft.record.state {
        DraftState::Open if is_over(draft.record.run) => {
            // What goes on in the background may do so when its run is over. Another reason to fail will be told by the removal.
            let Ok(_alone) = draft.lock_for_use() else { return Ok(()) };
            let gone = draft.move_aside()?;
            drop(turn);
            remove::remove(&gone).map_err(io("a draft that was thrown away"))?;
            swept.discarded += 1;
        }
        DraftState::Open => {}
        DraftState::Keeping { .. } => {
            keep::finish(&mut draft)?;
            swept.finished += 1;
        }
        DraftState::Undoing { .. } => {
            undo::finish(&mut draft, now)?;
            swept.finished += 1;
        }
        DraftState::Kept { at, .. } | DraftState::Undone { at, .. } if now.duration_since(at) > UNDO_FOR => {
            let gone = draft.move_aside()?;
            drop(turn);
            remove::remove(&gone).map_err(io("a change that is too old to be taken back"))?;
            swept.expired += 1;
        }
        DraftState::Kept { .. } | DraftState::Undone { .. } => {}
    }
    Ok(())
}
