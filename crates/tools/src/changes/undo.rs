//! Taking back: the manifest backwards. What changed since it was kept stays as it is.
//!
//! Start at [`Undoing::undo`].

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;

use jiff::Timestamp;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::changes::beneath::{self, Instant};
use crate::changes::draft_dir::DraftDir;
use crate::changes::ground::{Ground, Grounds, name, step};
use crate::changes::keep::{Did, set_folder_mode, unmake};
use crate::changes::record::{
    self, Act, Entry, MANIFEST, Manifest, Old, PLACED, Placed, REFUSED, RESTORED, Record, Restored, State,
};
use crate::changes::sweep::all;
use crate::changes::{ChangesError, LeftOut, Place, Undone, errno};

const SINCE: &str = "it was changed since";
const TAKEN: &str = "something else is there by now";

/// A draft that is being taken back.
pub(super) struct Undoing<'a> {
    draft: &'a DraftDir,
    now: Timestamp,
}

impl<'a> Undoing<'a> {
    pub(super) fn new(draft: &'a DraftDir, now: Timestamp) -> Self {
        Self { draft, now }
    }

    pub(super) fn undo(self) -> Result<Undone, ChangesError> {
        let turn = Place::turn();
        let mut draft = self.draft.fresh()?;
        match draft.record.state.clone() {
            State::Kept { kept, at, .. } => {
                if let Some(why) = kept.no_undo {
                    return Err(ChangesError::NoUndo(why));
                }
                let manifest: Manifest = record::read(draft.dir(), MANIFEST)?.ok_or(ChangesError::Gone)?;
                record::write(draft.dir(), REFUSED, &refused(&draft, &manifest)?)?;
                draft.becomes(State::Undoing { at })?;
            }
            State::Undoing { .. } => {}
            State::Open | State::Keeping { .. } | State::Undone { .. } => return Err(ChangesError::Gone),
        }
        let undone = finish(&mut draft, self.now)?;
        drop(turn);
        Ok(undone)
    }
}

/// Carries the manifest out backwards, or what is left of it.
pub(super) fn finish(draft: &mut DraftDir, now: Timestamp) -> Result<Undone, ChangesError> {
    let State::Undoing { at } = draft.record.state else { return Err(ChangesError::Gone) };
    let manifest: Manifest = record::read(draft.dir(), MANIFEST)?.ok_or(ChangesError::Gone)?;
    let mut back = Back::new(draft)?;
    let (mut changes, mut left_out) = (0, Vec::new());
    for entry in &manifest.entries {
        if matches!(entry.act, Act::Make { .. } | Act::Mode { .. } | Act::Open) {
            step()?;
            match back.grounds.get(entry.root)?.open_up(&entry.path) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {}
                Err(error) => return Err(errno("a folder of the workspace")(error)),
            }
        }
    }
    for (index, entry) in manifest.entries.iter().enumerate().rev() {
        step()?;
        match back.entry(index, entry)? {
            Did::Done => changes += u32::from(!matches!(entry.act, Act::Open)),
            Did::Left(why) => {
                left_out.push(LeftOut { path: draft.shown(entry.root, &entry.path), why: why.to_owned() })
            }
        }
    }
    for entry in manifest.entries.iter().rev() {
        step()?;
        let mode = match entry.act {
            Act::Mode { .. } if !back.has_mode(entry)? => {
                left_out.push(LeftOut { path: draft.shown(entry.root, &entry.path), why: SINCE.to_owned() });
                changes -= 1;
                continue;
            }
            Act::Mode { old } => old,
            Act::Make { .. } | Act::Open => entry.mode,
            Act::Put { .. } | Act::Replace { .. } | Act::Remove { .. } => continue,
        };
        set_folder_mode(back.grounds.get(entry.root)?, &entry.path, mode)?;
    }
    let restored = back.restored(&manifest)?;
    record::write(draft.dir(), RESTORED, &restored)?;
    let Record { session, .. } = draft.record.clone();
    draft.becomes(State::Undone { at: now })?;
    Ok(Undone { session, kept_at: at, changes, left_out })
}

/// What taking back goes by.
struct Back<'a> {
    grounds: Grounds<'a>,
    /// The entries whose files are others than were kept.
    refused: HashSet<usize>,
}

/// Which files are others than were kept. This is noted first: to move one name of a file changes the time of its other names.
fn refused(draft: &DraftDir, manifest: &Manifest) -> Result<HashSet<usize>, ChangesError> {
    let placed: Placed = record::read(draft.dir(), PLACED)?.unwrap_or_default();
    let since = since(draft)?;
    let (mut grounds, mut refused) = (Grounds::new(draft), HashSet::new());
    for (index, entry) in manifest.entries.iter().enumerate() {
        if !matches!(entry.act, Act::Put { .. } | Act::Replace { .. }) {
            continue;
        }
        if let Some(seen) = grounds.get(entry.root)?.seen(&entry.path)?
            && !placed.get(&index).is_some_and(|own| is_own(*own, (seen.inode, seen.changed), &since))
        {
            refused.insert(index);
        }
    }
    Ok(refused)
}

/// What later changes took away and gave back when they were taken back, which gave it another time.
fn since(draft: &DraftDir) -> Result<HashMap<(u64, Instant), Instant>, ChangesError> {
    let mut since = HashMap::new();
    for other in all(&draft.place)? {
        if matches!(other.record.state, State::Undone { .. }) {
            let restored: Restored = record::read(other.dir(), RESTORED)?.unwrap_or_default();
            since.extend(restored.into_iter().map(|(inode, before, after)| ((inode, before), after)));
        }
    }
    Ok(since)
}

/// Is what is there now what was kept?
fn is_own(own: (u64, Instant), now: (u64, Instant), since: &HashMap<(u64, Instant), Instant>) -> bool {
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

impl<'a> Back<'a> {
    fn new(draft: &'a DraftDir) -> Result<Self, ChangesError> {
        let refused = record::read(draft.dir(), REFUSED)?.unwrap_or_default();
        Ok(Self { grounds: Grounds::new(draft), refused })
    }

    fn entry(&mut self, index: usize, entry: &Entry) -> Result<Did, ChangesError> {
        if matches!(entry.act, Act::Mode { .. } | Act::Open) {
            return Ok(Did::Done);
        }
        let Some(name) = entry.path.file_name() else { return Ok(Did::Left(TAKEN)) };
        match self.grounds.get(entry.root)?.parent(&entry.path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                return Ok(if matches!(entry.act, Act::Put { .. }) { Did::Done } else { Did::Left(SINCE) });
            }
            opened => opened.map_err(errno("a folder of the workspace"))?,
        }
        let did = match entry.act {
            Act::Put { .. } => self.take_away(index, entry),
            Act::Replace { old, .. } => self.put_back(index, entry, old),
            Act::Remove { old } => bring_back(self.ground(entry)?, index, name, old),
            Act::Make { old } => {
                let ground = self.ground(entry)?;
                let unmade = if is_back(ground, name, old) { Ok(Did::Done) } else { unmake_here(ground, name) };
                match (unmade, old) {
                    (Ok(Did::Done), Some(old)) => bring_back(ground, index, name, old),
                    (unmade, _) => unmade,
                }
            }
            Act::Mode { .. } | Act::Open => Ok(Did::Done),
        };
        did.map_err(errno("a file of the workspace"))
    }

    /// Has a folder the mode that was kept, or the one to come, but for what was opened up?
    fn has_mode(&mut self, entry: &Entry) -> Result<bool, ChangesError> {
        let Act::Mode { old } = entry.act else { return Ok(true) };
        let ground = self.grounds.get(entry.root)?;
        let Ok(folder) = beneath::place(&ground.lower, &entry.path) else { return Ok(true) };
        let mode = beneath::seen_at(folder).map_err(errno("a folder of the workspace"))?.mode & 0o777;
        Ok([entry.mode, entry.mode | 0o700, old, old | 0o700].contains(&mode))
    }

    fn ground(&mut self, entry: &Entry) -> Result<&mut Ground, ChangesError> {
        self.grounds.get(entry.root)
    }

    fn take_away(&mut self, index: usize, entry: &Entry) -> rustix::io::Result<Did> {
        let (name, is_refused) = (name(&entry.path), self.refused.contains(&index));
        let ground = self.grounds.get(entry.root).map_err(|_told_before| Errno::NOENT)?;
        let Some(seen) = beneath::seen(ground.here()?, name)? else { return Ok(Did::Done) };
        if is_refused || !entry.brings(seen.inode) {
            return Ok(Did::Left(SINCE));
        }
        let (store, away) = (ground.store(index).0, format!("new-{index}"));
        renameat_with(ground.here()?, name, &*store, &away, RenameFlags::NOREPLACE).map(|()| Did::Done)
    }

    fn put_back(&mut self, index: usize, entry: &Entry, old: Old) -> rustix::io::Result<Did> {
        let (name, is_refused) = (name(&entry.path), self.refused.contains(&index));
        let ground = self.grounds.get(entry.root).map_err(|_told_before| Errno::NOENT)?;
        let Some(seen) = beneath::seen(ground.here()?, name)? else { return Ok(Did::Left(SINCE)) };
        if seen.inode == old.inode {
            return Ok(Did::Done);
        }
        if is_refused || !entry.brings(seen.inode) {
            return Ok(Did::Left(SINCE));
        }
        let (from, source) = ground.source(index, entry)?;
        if beneath::seen(&*from, &source)?.is_none_or(|seen| seen.inode != old.inode) {
            return Ok(Did::Left("its old version is not there any more"));
        }
        renameat_with(&*from, &source, ground.here()?, name, RenameFlags::EXCHANGE).map(|()| Did::Done)
    }

    /// What is back where it was, with its times.
    fn restored(&mut self, manifest: &Manifest) -> Result<Restored, ChangesError> {
        let mut restored = Restored::new();
        for entry in &manifest.entries {
            let old = match entry.act {
                Act::Replace { old, .. } | Act::Remove { old } | Act::Make { old: Some(old) } => old,
                Act::Put { .. } | Act::Make { old: None } | Act::Mode { .. } | Act::Open => continue,
            };
            let seen = self.grounds.get(entry.root)?.seen(&entry.path)?;
            if let Some(seen) = seen.filter(|seen| seen.inode == old.inode) {
                restored.push((old.inode, old.changed, seen.changed));
            }
        }
        Ok(restored)
    }
}

fn is_back(ground: &Ground, name: &OsStr, old: Option<Old>) -> bool {
    let seen = ground.here().and_then(|here| beneath::seen(here, name));
    old.is_some_and(|old| seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.inode == old.inode)))
}

fn unmake_here(ground: &Ground, name: &OsStr) -> rustix::io::Result<Did> {
    unmake(ground.here()?, name)
}

/// What was deleted comes back.
fn bring_back(ground: &Ground, index: usize, name: &OsStr, old: Old) -> rustix::io::Result<Did> {
    match beneath::seen(ground.here()?, name)? {
        Some(seen) if seen.inode == old.inode => return Ok(Did::Done),
        Some(_) => return Ok(Did::Left(TAKEN)),
        None => {}
    }
    let (store, kept) = ground.store(index);
    if beneath::seen(&*store, &kept)?.is_none_or(|seen| seen.inode != old.inode) {
        return Ok(Did::Left("its old version is not there any more"));
    }
    match renameat_with(&*store, &kept, ground.here()?, name, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Ok(Did::Left(TAKEN)),
        done => done.map(|()| Did::Done),
    }
}
