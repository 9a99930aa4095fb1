//! Keeping: each file of the manifest moves to its place by one rename, and what stood there moves into the draft. What is done
//! can be seen by the files' numbers, so whoever is cut off begins again and comes to the same end.
//!
//! Never: a file that changed in the workspace after the draft had begun.
//! Start at [`KeepOperation::keep`].

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{AtFlags, Mode, RenameFlags, mkdirat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::changes::dir_handles::{self, FileStat, FileTime};
use crate::changes::draft_dir::DraftDir;
use crate::changes::record::{
    self, DraftState, Entry, EntryAction, MANIFEST, Manifest, PLACED, PlacedFiles, PreviousEntry,
};
use crate::changes::root_handles::{OpenRoots, RootHandles, name, step};
use crate::changes::scan::ScanDetail;
use crate::changes::set::{Change, ChangeSet, EntryAfter, EntryBefore};
use crate::changes::{ChangesError, DraftLocation, KeepOutcome, SkippedPath, UNDO_BYTES_MAX, errno, sweep};

pub(super) const CHANGED: &str = "it was changed in the workspace meanwhile";
const NO_FOLDER: &str = "its folder is not there any more";
const TAKEN: &str = "something else is there by now";
const UNREACHABLE: &str = "the way there leads over a link or another file system";

/// What came of one entry.
pub(super) enum EntryOutcome {
    Done,
    Left(&'static str),
}

/// A draft that is being kept.
pub(super) struct KeepOperation<'a> {
    draft: &'a DraftDir,
    digest: Option<String>,
    now: Timestamp,
}

impl<'a> KeepOperation<'a> {
    pub(super) fn new(draft: &'a DraftDir, digest: Option<String>, now: Timestamp) -> Self {
        Self { draft, digest, now }
    }

    pub(super) fn keep(self) -> Result<KeepOutcome, ChangesError> {
        let turn = DraftLocation::lock_workspace();
        let mut draft = self.draft.reloaded()?;
        match &draft.record.state {
            DraftState::Open => {
                if let Some(kept) = self.begin(&mut draft)? {
                    return Ok(kept);
                }
            }
            DraftState::Kept { digest, kept, .. } if *digest == self.digest => return Ok(kept.clone()),
            DraftState::Keeping { digest, .. } if *digest == self.digest => {}
            DraftState::Keeping { .. }
            | DraftState::Kept { .. }
            | DraftState::Undoing { .. }
            | DraftState::Undone { .. } => {
                return Err(ChangesError::Gone);
            }
        }
        let kept = finish(&mut draft)?;
        sweep::trim(&draft.place)?;
        drop(turn);
        Ok(kept)
    }

    /// Notes what is to be done. If that is nothing and nobody agreed to it, the draft goes at once.
    fn begin(&self, draft: &mut DraftDir) -> Result<Option<KeepOutcome>, ChangesError> {
        let closeness = if self.digest.is_some() { ScanDetail::Contents } else { ScanDetail::Paths };
        let (set, locked) = draft.scan_layers(closeness)?;
        if let Some(agreed) = &self.digest {
            let digest = set.digest();
            if *agreed != digest {
                return Err(ChangesError::Differs { digest });
            }
        }
        if set.is_empty() && self.digest.is_none() {
            let gone = draft.move_aside()?;
            if let Err(error) = super::remove::remove(&gone) {
                tracing::debug!(%error, "an empty draft is left for the next round of upkeep");
            }
            return Ok(Some(KeepOutcome { changes: 0, left_out: Vec::new(), no_undo: None }));
        }
        let manifest = build_manifest(draft, &set)?;
        record::write(draft.dir(), MANIFEST, &manifest)?;
        locked.keep_unlocked();
        draft.write_state(DraftState::Keeping { digest: self.digest.clone(), at: self.now })?;
        Ok(None)
    }
}

/// Carries the manifest out, or what is left of it.
pub(super) fn finish(draft: &mut DraftDir) -> Result<KeepOutcome, ChangesError> {
    let DraftState::Keeping { digest, at } = draft.record.state.clone() else {
        return Err(ChangesError::Gone);
    };
    let mut manifest: Manifest = record::read(draft.dir(), MANIFEST)?.ok_or(ChangesError::Gone)?;
    let mut grounds = OpenRoots::new(draft);
    if !manifest.staged {
        grounds.stage(&mut manifest.entries)?;
        manifest.staged = true;
        if grounds.has_stage() {
            record::write(draft.dir(), MANIFEST, &manifest)?;
        }
    }
    let start = draft.start()?;
    let mut left: Vec<Option<&'static str>> = vec![None; manifest.entries.len()];
    let mut blocked: Option<(usize, PathBuf)> = None;
    for (index, entry) in manifest.entries.iter().enumerate() {
        if blocked.as_ref().is_some_and(|(root, path)| *root == entry.root && entry.path.starts_with(path)) {
            left[index] = Some(NO_FOLDER);
            continue;
        }
        step()?;
        if let EntryOutcome::Left(why) = apply_entry(grounds.get(entry.root)?, index, entry, start)? {
            left[index] = Some(why);
            if matches!(entry.act, EntryAction::Make { .. }) {
                blocked = Some((entry.root, entry.path.clone()));
            }
        }
    }
    let kept = set_modes(draft, &mut grounds, &mut manifest, &left)?;
    let stored = if kept.no_undo.is_some() { 0 } else { manifest.stored };
    draft.write_state(DraftState::Kept { digest, at, kept: kept.clone(), stored })?;
    if kept.no_undo.is_some() {
        sweep::empty_layers(draft);
    }
    Ok(kept)
}

/// Gives folders their modes, and notes how files look in their places.
fn set_modes(
    draft: &DraftDir,
    grounds: &mut OpenRoots,
    manifest: &mut Manifest,
    left: &[Option<&'static str>],
) -> Result<KeepOutcome, ChangesError> {
    let (mut placed, mut changes) = (PlacedFiles::new(), 0);
    for (index, entry) in manifest.entries.iter().enumerate().rev() {
        if let Some(why) = left[index] {
            manifest
                .left_out
                .push(SkippedPath { path: draft.display_path(entry.root, &entry.path), why: why.to_owned() });
            continue;
        }
        changes += u32::from(!matches!(entry.act, EntryAction::Open));
        let ground = grounds.get(entry.root)?;
        match entry.act {
            EntryAction::Make { .. } | EntryAction::Mode { .. } | EntryAction::Open => {
                step()?;
                set_folder_mode(ground, &entry.path, entry.mode)?;
            }
            EntryAction::Put { .. } | EntryAction::Replace { .. } => {
                if let Some(seen) = ground.stat_path(&entry.path)? {
                    placed.insert(index, (seen.inode, seen.changed));
                }
            }
            EntryAction::Remove { .. } => {}
        }
    }
    if let Some(why) = grounds.unstage()? {
        manifest.no_undo.get_or_insert(why);
    }
    record::write(draft.dir(), PLACED, &placed)?;
    Ok(KeepOutcome { changes, left_out: manifest.left_out.clone(), no_undo: manifest.no_undo.clone() })
}

/// What is to be done for this set.
fn build_manifest(draft: &DraftDir, set: &ChangeSet) -> Result<Manifest, ChangesError> {
    let mut manifest = Manifest::default();
    let mut blocked: Option<&Change> = None;
    let mut opened = WritableFolders::new(draft)?;
    for change in &set.changes {
        let mut leave = |why: &str| {
            manifest
                .left_out
                .push(SkippedPath { path: draft.display_path(change.root, &change.path), why: why.to_owned() });
        };
        if blocked.is_some_and(|folder| folder.root == change.root && change.path.starts_with(&folder.path)) {
            leave(NO_FOLDER);
            continue;
        }
        if let EntryAfter::Special { what } = change.now {
            leave(&format!("{what} is never kept"));
            continue;
        }
        if change.conflicts {
            leave(CHANGED);
            if change.now == EntryAfter::Folder {
                blocked = Some(change);
            }
            continue;
        }
        if change.was_special {
            leave("its setuid, setgid and sticky bits");
        }
        manifest.stored = manifest.stored.saturating_add(change.stored_before);
        manifest.entries.extend(opened.parent_entry(change)?);
        let (path, root) = (change.path.clone(), change.root);
        manifest.entries.push(Entry { root, path, mode: change.mode, act: entry_action(change) });
    }
    manifest.entries.sort_by(|a, b| (a.root, a.path.as_os_str()).cmp(&(b.root, b.path.as_os_str())));
    if manifest.stored > UNDO_BYTES_MAX {
        let (much, most) = (manifest.stored >> 20, UNDO_BYTES_MAX >> 20);
        manifest.no_undo = Some(format!("what it replaced or deleted takes {much} MiB, and at most {most} are kept"));
    }
    Ok(manifest)
}

fn entry_action(change: &Change) -> EntryAction {
    let folder = matches!(change.before, EntryBefore::Folder { .. });
    let old = PreviousEntry { inode: change.inode_before, changed: change.changed_before, folder };
    let (new, link) = (change.inode, matches!(change.now, EntryAfter::Link { .. }));
    match (&change.now, &change.before) {
        (EntryAfter::Gone | EntryAfter::Special { .. }, _) => EntryAction::Remove { old },
        (EntryAfter::Folder, EntryBefore::Folder { .. }) => EntryAction::Mode { old: change.mode_before },
        (EntryAfter::Folder, EntryBefore::Nothing) => EntryAction::Make { old: None },
        (EntryAfter::Folder, _) => EntryAction::Make { old: Some(old) },
        (EntryAfter::File { .. } | EntryAfter::Link { .. }, EntryBefore::Nothing) => EntryAction::Put { new, link },
        (EntryAfter::File { .. } | EntryAfter::Link { .. }, _) => EntryAction::Replace { new, old, link },
    }
}

/// Folders of the workspace that let nobody write and have to be opened up.
struct WritableFolders {
    roots: Vec<Option<OwnedFd>>,
    last: Option<(usize, PathBuf)>,
    is_root: bool,
}

impl WritableFolders {
    fn new(draft: &DraftDir) -> Result<Self, ChangesError> {
        let is_root = rustix::process::geteuid().is_root();
        let roots = draft.record.roots.iter().map(|path| dir_handles::open_root(path).ok()).collect();
        Ok(Self { roots, last: None, is_root })
    }

    /// The entry that opens the folder of this change, if it needs one and has none yet.
    fn parent_entry(&mut self, change: &Change) -> Result<Option<Entry>, ChangesError> {
        let Some(parent) = change.path.parent().filter(|_| !self.is_root) else { return Ok(None) };
        let here = (change.root, parent.to_owned());
        if self.last.as_ref() == Some(&here) {
            return Ok(None);
        }
        let folder = self.roots[change.root].as_ref().map(|root| dir_handles::open_folder(root, parent));
        self.last = Some(here);
        // A new folder is not there yet, and open when it is.
        let Some(Ok(folder)) = folder else { return Ok(None) };
        let mode = dir_handles::stat_handle(folder).map_err(errno("a folder of the workspace"))?.mode & 0o777;
        let entry = || Entry { root: change.root, path: parent.to_owned(), mode, act: EntryAction::Open };
        Ok((mode & 0o300 != 0o300).then(entry))
    }
}

/// Does one entry, or sees that it is done.
fn apply_entry(
    ground: &mut RootHandles,
    index: usize,
    entry: &Entry,
    start: FileTime,
) -> Result<EntryOutcome, ChangesError> {
    match entry.act {
        EntryAction::Mode { .. } | EntryAction::Open => match ground.make_writable(&entry.path) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(EntryOutcome::Left(NO_FOLDER)),
            Err(Errno::LOOP | Errno::XDEV) => Ok(EntryOutcome::Left(UNREACHABLE)),
            done => done.map(|()| EntryOutcome::Done).map_err(errno("a folder of the workspace")),
        },
        EntryAction::Put { .. }
        | EntryAction::Replace { .. }
        | EntryAction::Remove { .. }
        | EntryAction::Make { .. } => {
            let Some(name) = entry.path.file_name() else { return Ok(EntryOutcome::Left(TAKEN)) };
            match ground.enter_parent(&entry.path) {
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(EntryOutcome::Left(NO_FOLDER)),
                Err(Errno::LOOP | Errno::XDEV) => return Ok(EntryOutcome::Left(UNREACHABLE)),
                opened => opened.map_err(errno("a folder of the workspace"))?,
            };
            let did = match entry.act {
                EntryAction::Put { .. } => put_file(ground, index, entry),
                EntryAction::Replace { old, .. } => replace(ground, index, entry, old, start),
                EntryAction::Remove { old } => remove(ground, index, name, old, start),
                EntryAction::Make { old } => make(ground, index, name, old, start),
                EntryAction::Mode { .. } | EntryAction::Open => Ok(EntryOutcome::Done),
            };
            did.map_err(errno("a file of the workspace"))
        }
    }
}

fn put_file(ground: &mut RootHandles, index: usize, entry: &Entry) -> rustix::io::Result<EntryOutcome> {
    let name = name(&entry.path);
    match dir_handles::stat_at(ground.entry_folder()?, name)? {
        Some(seen) if entry.brings(seen.inode) => return Ok(EntryOutcome::Done),
        Some(_) => return Ok(EntryOutcome::Left(TAKEN)),
        None => {}
    }
    ground.prepare_new_file(index, entry)?;
    let (from, source) = ground.source(index, entry)?;
    match renameat_with(&*from, &source, ground.entry_folder()?, name, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Ok(EntryOutcome::Left(TAKEN)),
        done => done.map(|()| EntryOutcome::Done),
    }
}

fn replace(
    ground: &mut RootHandles,
    index: usize,
    entry: &Entry,
    old: PreviousEntry,
    start: FileTime,
) -> rustix::io::Result<EntryOutcome> {
    let name = name(&entry.path);
    match dir_handles::stat_at(ground.entry_folder()?, name)? {
        Some(seen) if entry.brings(seen.inode) => return Ok(EntryOutcome::Done),
        Some(seen) if is_unchanged(&seen, old, start) => {}
        _ => return Ok(EntryOutcome::Left(CHANGED)),
    }
    ground.prepare_new_file(index, entry)?;
    let (from, source) = ground.source(index, entry)?;
    renameat_with(&*from, &source, ground.entry_folder()?, name, RenameFlags::EXCHANGE)?;
    // Somebody was faster by a hair: they get their file back.
    if dir_handles::stat_at(&*from, &source)?.is_none_or(|seen| seen.inode != old.inode) {
        renameat_with(&*from, &source, ground.entry_folder()?, name, RenameFlags::EXCHANGE)?;
        return Ok(EntryOutcome::Left(CHANGED));
    }
    Ok(EntryOutcome::Done)
}

fn is_unchanged(seen: &FileStat, old: PreviousEntry, start: FileTime) -> bool {
    // A folder's time changes with what is in it; that was looked at.
    seen.inode == old.inode && seen.is_folder() == old.folder && (old.folder || seen.changed <= start)
}

fn remove(
    ground: &mut RootHandles,
    index: usize,
    name: &OsStr,
    old: PreviousEntry,
    start: FileTime,
) -> rustix::io::Result<EntryOutcome> {
    let (store, kept) = ground.store(index);
    if dir_handles::stat_at(&*store, &kept)?.is_some_and(|seen| seen.inode == old.inode) {
        return Ok(EntryOutcome::Done);
    }
    match dir_handles::stat_at(ground.entry_folder()?, name)? {
        // Somebody else has done it.
        None => return Ok(EntryOutcome::Done),
        Some(seen) if is_unchanged(&seen, old, start) => {}
        Some(_) => return Ok(EntryOutcome::Left(CHANGED)),
    }
    match renameat_with(ground.entry_folder()?, name, &*store, &kept, RenameFlags::NOREPLACE) {
        Err(Errno::BUSY) => return Ok(EntryOutcome::Left(UNREACHABLE)),
        done => done?,
    }
    if dir_handles::stat_at(&*store, &kept)?.is_none_or(|seen| seen.inode != old.inode) {
        renameat_with(&*store, &kept, ground.entry_folder()?, name, RenameFlags::NOREPLACE)?;
        return Ok(EntryOutcome::Left(CHANGED));
    }
    Ok(EntryOutcome::Done)
}

fn make(
    ground: &mut RootHandles,
    index: usize,
    name: &OsStr,
    old: Option<PreviousEntry>,
    start: FileTime,
) -> rustix::io::Result<EntryOutcome> {
    if let Some(old) = old
        && let EntryOutcome::Left(why) = remove(ground, index, name, old, start)?
    {
        return Ok(EntryOutcome::Left(why));
    }
    match mkdirat(ground.entry_folder()?, name, Mode::RWXU) {
        Err(Errno::EXIST) => {
            let seen = dir_handles::stat_at(ground.entry_folder()?, name)?;
            Ok(if seen.is_some_and(|seen| seen.is_folder()) { EntryOutcome::Done } else { EntryOutcome::Left(TAKEN) })
        }
        done => done.map(|()| EntryOutcome::Done),
    }
}

/// A folder keeps its setgid and sticky bits, which it may have from the one above.
pub(super) fn set_folder_mode(ground: &RootHandles, path: &Path, mode: u32) -> Result<(), ChangesError> {
    let set = || -> rustix::io::Result<()> {
        let folder = dir_handles::open_folder(&ground.lower, path)?;
        let now = dir_handles::stat_handle(&folder)?.mode;
        let wanted = mode | (now & 0o3000);
        if now == wanted { Ok(()) } else { dir_handles::set_mode(&folder, wanted) }
    };
    match set() {
        // Whoever took it away meanwhile needs no mode.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        done => done.map_err(errno("a folder of the workspace")),
    }
}

/// Deletes a folder if nothing is in it.
pub(super) fn remove_empty_folder(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<EntryOutcome> {
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(EntryOutcome::Done),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(EntryOutcome::Left("there is something else in it by now")),
        Err(Errno::NOTDIR) => Ok(EntryOutcome::Left(TAKEN)),
        Err(error) => Err(error),
    }
}
