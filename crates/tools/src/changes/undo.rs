//! Taking back: the manifest backwards. What changed since it was kept stays as it is.
//!
//! Start at [`UndoOperation::undo`].

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use jiff::Timestamp;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::changes::dir_handles::{self, FileTime};
use crate::changes::draft_dir::DraftDir;
use crate::changes::keep::{EntryOutcome, remove_empty_folder, set_folder_mode};
use crate::changes::record::{
    self, DraftRecord, DraftState, Entry, EntryAction, MANIFEST, Manifest, PLACED, PlacedFiles, PreviousEntry, REFUSED,
    RESTORED, RestoredFiles,
};
use crate::changes::root_handles::{OpenRoots, RootHandles, name, step};
use crate::changes::sweep::all;
use crate::changes::{ChangesError, DraftLocation, SkippedPath, UndoOutcome, errno};

const SINCE: &str = "it was changed since";
const TAKEN: &str = "something else is there by now";

/// A draft that is being taken back.
pub(super) struct UndoOperation<'a> {
    draft: &'a DraftDir,
    now: Timestamp,
}

impl<'a> UndoOperation<'a> {
    pub(super) fn new(draft: &'a DraftDir, now: Timestamp) -> Self {
        Self { draft, now }
    }

    pub(super) fn undo(self) -> Result<UndoOutcome, ChangesError> {
        let turn = DraftLocation::lock_workspace();
        let mut draft = self.draft.reloaded()?;
        match draft.record.state.clone() {
            DraftState::Kept { kept, at, .. } => {
                if let Some(why) = kept.no_undo {
                    return Err(ChangesError::NoUndo(why));
                }
                let manifest: Manifest = record::read(draft.dir(), MANIFEST)?.ok_or(ChangesError::Gone)?;
                record::write(draft.dir(), REFUSED, &changed_since_kept(&draft, &manifest)?)?;
                draft.write_state(DraftState::Undoing { at })?;
            }
            DraftState::Undoing { .. } => {}
            DraftState::Open | DraftState::Keeping { .. } | DraftState::Undone { .. } => {
                return Err(ChangesError::Gone);
            }
        }
        let undone = finish(&mut draft, self.now)?;
        drop(turn);
        Ok(undone)
    }
}

/// Carries the manifest out backwards, or what is left of it.
pub(super) fn finish(draft: &mut DraftDir, now: Timestamp) -> Result<UndoOutcome, ChangesError> {
    let DraftState::Undoing { at } = draft.record.state else { return Err(ChangesError::Gone) };
    let manifest: Manifest = record::read(draft.dir(), MANIFEST)?.ok_or(ChangesError::Gone)?;
    let mut back = UndoContext::new(draft)?;
    let (mut changes, mut left_out) = (0, Vec::new());
    for entry in &manifest.entries {
        if matches!(entry.act, EntryAction::Make { .. } | EntryAction::Mode { .. } | EntryAction::Open) {
            step()?;
            match back.grounds.get(entry.root)?.make_writable(&entry.path) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {}
                Err(error) => return Err(errno("a folder of the workspace")(error)),
            }
        }
    }
    for (index, entry) in manifest.entries.iter().enumerate().rev() {
        step()?;
        match back.entry(index, entry)? {
            EntryOutcome::Done => changes += u32::from(!matches!(entry.act, EntryAction::Open)),
            EntryOutcome::Left(why) => {
                left_out.push(SkippedPath { path: draft.display_path(entry.root, &entry.path), why: why.to_owned() })
            }
        }
    }
    for entry in manifest.entries.iter().rev() {
        step()?;
        let mode = match entry.act {
            EntryAction::Mode { .. } if !back.has_mode(entry)? => {
                left_out.push(SkippedPath { path: draft.display_path(entry.root, &entry.path), why: SINCE.to_owned() });
                changes -= 1;
                continue;
            }
            EntryAction::Mode { old } => old,
            EntryAction::Make { .. } | EntryAction::Open => entry.mode,
            EntryAction::Put { .. } | EntryAction::Replace { .. } | EntryAction::Remove { .. } => continue,
        };
        set_folder_mode(back.grounds.get(entry.root)?, &entry.path, mode)?;
    }
    let restored = back.restored(&manifest)?;
    record::write(draft.dir(), RESTORED, &restored)?;
    let DraftRecord { session, .. } = draft.record.clone();
    let outcome = UndoOutcome { session, kept_at: at, changes, left_out };
    draft.write_state(DraftState::Undone { at: now, outcome: Some(outcome.clone()) })?;
    Ok(outcome)
}

/// What taking back goes by.
struct UndoContext<'a> {
    grounds: OpenRoots<'a>,
    /// The entries whose files are others than were kept.
    refused: HashSet<usize>,
}

/// Which files are others than were kept. This is noted first: to move one name of a file changes the time of its other names.
fn changed_since_kept(draft: &DraftDir, manifest: &Manifest) -> Result<HashSet<usize>, ChangesError> {
    let placed: PlacedFiles = record::read(draft.dir(), PLACED)?.unwrap_or_default();
    let since = later_changes(draft)?;
    let (mut grounds, mut refused) = (OpenRoots::new(draft), HashSet::new());
    for (index, entry) in manifest.entries.iter().enumerate() {
        if !matches!(entry.act, EntryAction::Put { .. } | EntryAction::Replace { .. }) {
            continue;
        }
        if let Some(seen) = grounds.get(entry.root)?.stat_path(&entry.path)?
            && !placed.get(&index).is_some_and(|own| is_own(*own, (seen.inode, seen.changed), &since))
        {
            refused.insert(index);
        }
    }
    Ok(refused)
}

/// What later changes took away and gave back when they were taken back, which gave it another time.
fn later_changes(draft: &DraftDir) -> Result<HashMap<(u64, FileTime), FileTime>, ChangesError> {
    let mut since = HashMap::new();
    for other in all(&draft.place)? {
        if matches!(other.record.state, DraftState::Undone { .. }) {
            let restored: RestoredFiles = record::read(other.dir(), RESTORED)?.unwrap_or_default();
            since.extend(restored.into_iter().map(|(inode, before, after)| ((inode, before), after)));
        }
    }
    Ok(since)
}

/// Is what is there now what was kept?
fn is_own(own: (u64, FileTime), now: (u64, FileTime), since: &HashMap<(u64, FileTime), FileTime>) -> bool {
    let (inode, mut at) = own;
    // Each step is a later change that was taken back, so this ends.
    for _ in 0..since.len() {
        match since.get(&(inode, at)) {
            Some(after) if at != now.1 => at = *after,
            _ => break,
        }
    }
    (inode, at) == now
}

impl<'a> UndoContext<'a> {
    fn new(draft: &'a DraftDir) -> Result<Self, ChangesError> {
        let refused = record::read(draft.dir(), REFUSED)?.unwrap_or_default();
        Ok(Self { grounds: OpenRoots::new(draft), refused })
    }

    fn entry(&mut self, index: usize, entry: &Entry) -> Result<EntryOutcome, ChangesError> {
        if matches!(entry.act, EntryAction::Mode { .. } | EntryAction::Open) {
            return Ok(EntryOutcome::Done);
        }
        let Some(name) = entry.path.file_name() else { return Ok(EntryOutcome::Left(TAKEN)) };
        match self.grounds.get(entry.root)?.enter_parent(&entry.path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                return Ok(if matches!(entry.act, EntryAction::Put { .. }) {
                    EntryOutcome::Done
                } else {
                    EntryOutcome::Left(SINCE)
                });
            }
            opened => opened.map_err(errno("a folder of the workspace"))?,
        }
        let did = match entry.act {
            EntryAction::Put { .. } => self.remove_added(index, entry),
            EntryAction::Replace { old, .. } => self.restore_old(index, entry, old),
            EntryAction::Remove { old } => bring_back(self.ground(entry)?, index, name, old),
            EntryAction::Make { old } => {
                let ground = self.ground(entry)?;
                let unmade =
                    if is_back(ground, name, old) { Ok(EntryOutcome::Done) } else { remove_folder_here(ground, name) };
                match (unmade, old) {
                    (Ok(EntryOutcome::Done), Some(old)) => bring_back(ground, index, name, old),
                    (unmade, _) => unmade,
                }
            }
            EntryAction::Mode { .. } | EntryAction::Open => Ok(EntryOutcome::Done),
        };
        did.map_err(errno("a file of the workspace"))
    }

    /// Has a folder the mode that was kept, or the one to come, but for what was opened up?
    fn has_mode(&mut self, entry: &Entry) -> Result<bool, ChangesError> {
        let EntryAction::Mode { old } = entry.act else { return Ok(true) };
        let ground = self.grounds.get(entry.root)?;
        let Ok(folder) = dir_handles::open_folder(&ground.lower, &entry.path) else { return Ok(true) };
        let mode = dir_handles::stat_handle(folder).map_err(errno("a folder of the workspace"))?.mode & 0o777;
        Ok([entry.mode, entry.mode | 0o700, old, old | 0o700].contains(&mode))
    }

    fn ground(&mut self, entry: &Entry) -> Result<&mut RootHandles, ChangesError> {
        self.grounds.get(entry.root)
    }

    fn remove_added(&mut self, index: usize, entry: &Entry) -> rustix::io::Result<EntryOutcome> {
        let (name, is_refused) = (name(&entry.path), self.refused.contains(&index));
        let ground = self.grounds.get(entry.root).map_err(|_told_before| Errno::NOENT)?;
        let Some(seen) = dir_handles::stat_at(ground.entry_folder()?, name)? else { return Ok(EntryOutcome::Done) };
        if is_refused || !entry.brings(seen.inode) {
            return Ok(EntryOutcome::Left(SINCE));
        }
        let (store, away) = (ground.store(index).0, format!("new-{index}"));
        renameat_with(ground.entry_folder()?, name, &*store, &away, RenameFlags::NOREPLACE).map(|()| EntryOutcome::Done)
    }

    fn restore_old(&mut self, index: usize, entry: &Entry, old: PreviousEntry) -> rustix::io::Result<EntryOutcome> {
        let (name, is_refused) = (name(&entry.path), self.refused.contains(&index));
        let ground = self.grounds.get(entry.root).map_err(|_told_before| Errno::NOENT)?;
        let Some(seen) = dir_handles::stat_at(ground.entry_folder()?, name)? else {
            return Ok(EntryOutcome::Left(SINCE));
        };
        if seen.inode == old.inode {
            return Ok(EntryOutcome::Done);
        }
        if is_refused || !entry.brings(seen.inode) {
            return Ok(EntryOutcome::Left(SINCE));
        }
        let (from, source) = ground.source(index, entry)?;
        if dir_handles::stat_at(&*from, &source)?.is_none_or(|seen| seen.inode != old.inode) {
            return Ok(EntryOutcome::Left("its old version is not there any more"));
        }
        renameat_with(&*from, &source, ground.entry_folder()?, name, RenameFlags::EXCHANGE).map(|()| EntryOutcome::Done)
    }

    /// What is back where it was, with its times.
    fn restored(&mut self, manifest: &Manifest) -> Result<RestoredFiles, ChangesError> {
        let mut restored = RestoredFiles::new();
        for entry in &manifest.entries {
            let old = match entry.act {
                EntryAction::Replace { old, .. }
                | EntryAction::Remove { old }
                | EntryAction::Make { old: Some(old) } => old,
                EntryAction::Put { .. }
                | EntryAction::Make { old: None }
                | EntryAction::Mode { .. }
                | EntryAction::Open => continue,
            };
            let seen = self.grounds.get(entry.root)?.stat_path(&entry.path)?;
            if let Some(seen) = seen.filter(|seen| seen.inode == old.inode) {
                restored.push((old.inode, old.changed, seen.changed));
            }
        }
        Ok(restored)
    }
}

fn is_back(ground: &RootHandles, name: &OsStr, old: Option<PreviousEntry>) -> bool {
    let seen = ground.entry_folder().and_then(|here| dir_handles::stat_at(here, name));
    old.is_some_and(|old| seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.inode == old.inode)))
}

fn remove_folder_here(ground: &RootHandles, name: &OsStr) -> rustix::io::Result<EntryOutcome> {
    remove_empty_folder(ground.entry_folder()?, name)
}

/// What was deleted comes back.
fn bring_back(
    ground: &RootHandles,
    index: usize,
    name: &OsStr,
    old: PreviousEntry,
) -> rustix::io::Result<EntryOutcome> {
    match dir_handles::stat_at(ground.entry_folder()?, name)? {
        Some(seen) if seen.inode == old.inode => return Ok(EntryOutcome::Done),
        Some(_) => return Ok(EntryOutcome::Left(TAKEN)),
        None => {}
    }
    let (store, kept) = ground.store(index);
    if dir_handles::stat_at(&*store, &kept)?.is_none_or(|seen| seen.inode != old.inode) {
        return Ok(EntryOutcome::Left("its old version is not there any more"));
    }
    match renameat_with(&*store, &kept, ground.entry_folder()?, name, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Ok(EntryOutcome::Left(TAKEN)),
        done => done.map(|()| EntryOutcome::Done),
    }
}
