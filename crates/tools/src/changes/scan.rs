//! What an upper layer holds, against what lies below it. The layer was written by whoever is not trusted: nothing in it is
//! followed, and everything that is looked at is counted.
//!
//! Start at `LayerScan::scan_layer`.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::changes::dir_handles::{self, FileStat, FileTime};
use crate::changes::scan::content::ContentReader;
use crate::changes::scan::limits::LOCKED_MAX;
pub(crate) use crate::changes::scan::limits::{
    COUNTED_MAX, DEPTH_MAX, ENTRIES_MAX, PATH_BYTES_MAX, PATHS_BYTES_MAX, ScanLimit,
};
use crate::changes::set::{Change, ChangeSet, ContentPreview, EntryAfter, EntryBefore, MODE_BITS};
use crate::changes::{ChangesError, errno};

pub(super) mod content;
mod limits;

/// A file that takes no more on the disk may hold nothing of its own: only then its notes are looked at.
const HOLLOW_BYTES_MAX: u64 = 4_096;

/// How closely is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanDetail {
    /// What is changed.
    Paths,
    /// As what, too: hashes, and differences that can be shown.
    Contents,
}

/// An upper layer, and what it lies over.
pub(super) struct Layer<'a> {
    pub(super) root: usize,
    pub(super) upper: &'a Path,
    pub(super) lower: &'a Path,
}

/// What has been looked at, over all layers of a draft.
pub(super) struct LayerScan {
    entries: u64,
    paths: u64,
    counted: u64,
    reading: ContentReader,
    /// When the draft began.
    start: FileTime,
    set: ChangeSet,
    locked: ModeRestorer,
}

/// What had to be opened up to be looked at, with its own mode, which it gets back.
#[derive(Default)]
pub(super) struct ModeRestorer(Vec<(OwnedFd, u32)>);

impl ModeRestorer {
    /// Nothing gets its mode back: whoever goes on has noted them.
    pub(super) fn keep_unlocked(mut self) {
        self.0.clear();
    }
}

/// What lies below a folder of the upper layer.
enum LowerEntry {
    Nothing,
    /// A folder that shines through.
    Seen,
    /// A folder that is hidden: what the upper one does not hold is gone.
    Hidden,
}

struct PendingFolder {
    path: PathBuf,
    depth: usize,
    below: LowerEntry,
}

/// One folder that is being looked at.
struct ScannedFolder<'a> {
    layer: usize,
    path: &'a Path,
    depth: usize,
    upper: OwnedFd,
    lower: Option<OwnedFd>,
}

impl Drop for ModeRestorer {
    fn drop(&mut self) {
        for (handle, mode) in self.0.drain(..).rev() {
            if let Err(error) = dir_handles::set_mode(&handle, mode) {
                tracing::warn!(%error, "draft.mode_lost: a file of a draft keeps another mode than its program gave it");
            }
        }
    }
}

impl LayerScan {
    pub(super) fn new(start: FileTime, closeness: ScanDetail, roots: &[PathBuf]) -> Self {
        let reading = ContentReader::new(closeness);
        let set = ChangeSet { roots: roots.to_vec(), changes: Vec::new() };
        Self { entries: 0, paths: 0, counted: 0, reading, start, set, locked: ModeRestorer::default() }
    }

    /// All that was found, in order.
    pub(super) fn finish(self) -> (ChangeSet, ModeRestorer) {
        let Self { mut set, locked, .. } = self;
        set.changes.sort_by(|a, b| (a.root, a.path.as_os_str()).cmp(&(b.root, b.path.as_os_str())));
        (set, locked)
    }

    /// Looks through one layer.
    pub(super) fn scan_layer(&mut self, layer: &Layer<'_>) -> Result<(), ChangesError> {
        let upper = dir_handles::open_root(layer.upper).map_err(errno("the draft's layer"))?;
        let lower = dir_handles::open_root(layer.lower).map_err(errno("the workspace"))?;
        self.own_mode(layer.root, &upper, &lower)?;
        let mut todo = vec![PendingFolder { path: PathBuf::new(), depth: 0, below: LowerEntry::Seen }];
        while let Some(PendingFolder { path, depth, below }) = todo.pop() {
            let folder =
                self.open_unlocking(&upper, &path, |folder, path| dir_handles::open_folder_for_reading(folder, path))?;
            let here = ScannedFolder {
                layer: layer.root,
                path: &path,
                depth,
                upper: folder,
                lower: match below {
                    LowerEntry::Nothing => None,
                    LowerEntry::Seen | LowerEntry::Hidden => {
                        Some(dir_handles::open_folder(&lower, &path).map_err(errno("a folder of the workspace"))?)
                    }
                },
            };
            let names = self.folder(&here, &mut todo)?;
            if matches!(below, LowerEntry::Hidden) {
                self.record_hidden(&here, &names)?;
            }
        }
        Ok(())
    }

    fn own_mode(&mut self, root: usize, upper: &OwnedFd, lower: &OwnedFd) -> Result<(), ChangesError> {
        let now = dir_handles::stat_handle(upper).map_err(errno("the draft's layer"))?;
        let before = dir_handles::stat_handle(lower).map_err(errno("the workspace"))?;
        if (now.mode ^ before.mode) & MODE_BITS != 0 {
            let change = Change {
                before: EntryBefore::Folder { holds: 0 },
                mode_before: before.mode & MODE_BITS,
                inode_before: before.inode,
                changed_before: before.changed,
                ..Change::without_before(root, PathBuf::new(), &now, EntryAfter::Folder)
            };
            self.set.changes.push(change);
        }
        Ok(())
    }

    /// Looks at each name in a folder of the upper layer; answers with them where that matters.
    fn folder(
        &mut self,
        here: &ScannedFolder<'_>,
        todo: &mut Vec<PendingFolder>,
    ) -> Result<HashSet<OsString>, ChangesError> {
        let mut names = HashSet::new();
        for name in dir_handles::list_names(&here.upper).map_err(errno("a folder of the draft"))? {
            let name = name.map_err(errno("a folder of the draft"))?;
            self.count(here, &name)?;
            self.entry(here, &name, todo)?;
            names.insert(name);
        }
        Ok(names)
    }

    fn count(&mut self, here: &ScannedFolder<'_>, name: &OsStr) -> Result<(), ScanLimit> {
        let length = here.path.as_os_str().as_bytes().len() + 1 + name.as_bytes().len();
        self.entries += 1;
        self.paths = self.paths.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        if self.entries > ENTRIES_MAX {
            Err(ScanLimit::Entries)
        } else if length > PATH_BYTES_MAX || self.paths > PATHS_BYTES_MAX {
            Err(ScanLimit::Paths)
        } else {
            Ok(())
        }
    }

    fn entry(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        todo: &mut Vec<PendingFolder>,
    ) -> Result<(), ChangesError> {
        let Some(now) = dir_handles::stat_at(&here.upper, name).map_err(errno("a file of the draft"))? else {
            return Ok(());
        };
        let before = match &here.lower {
            Some(lower) => dir_handles::stat_at(lower, name).map_err(errno("a file of the workspace"))?,
            None => None,
        };
        if now.is_whiteout() {
            return before.map_or(Ok(()), |before| self.record_removal(here, name, &before));
        }
        match now.kind {
            FileType::Directory => {
                todo.push(self.subfolder(here, name, &now, before.as_ref())?);
                Ok(())
            }
            FileType::RegularFile => self.file(here, name, &now, before.as_ref()),
            FileType::Symlink => self.link(here, name, &now, before.as_ref()),
            other => {
                if before.is_none_or(|before| before.kind != other) {
                    let what = EntryAfter::Special { what: special(other) };
                    self.push(
                        here,
                        name,
                        Change::without_before(here.layer, PathBuf::new(), &now, what),
                        before.as_ref(),
                    )?;
                }
                Ok(())
            }
        }
    }

    fn subfolder(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        now: &FileStat,
        before: Option<&FileStat>,
    ) -> Result<PendingFolder, ChangesError> {
        let path = here.path.join(name);
        if here.depth >= DEPTH_MAX {
            return Err(ScanLimit::Depth.into());
        }
        let folder = self.open_unlocking(&here.upper, Path::new(name), |folder, path| {
            dir_handles::open_folder_for_reading(folder, path)
        })?;
        let note = |name| dir_handles::overlay_xattr(&folder, name).map_err(errno("a folder of the draft"));
        if note("user.overlay.redirect")?.is_some() || note("user.overlay.metacopy")?.is_some() {
            return Err(ChangesError::Strange { path });
        }
        let is_opaque = note("user.overlay.opaque")? == Some(b'y');
        let below = match before {
            Some(before) if before.is_folder() => {
                if (now.mode ^ before.mode) & MODE_BITS != 0 {
                    let change = Change::without_before(here.layer, PathBuf::new(), now, EntryAfter::Folder);
                    self.push(here, name, change, Some(before))?;
                }
                if is_opaque { LowerEntry::Hidden } else { LowerEntry::Seen }
            }
            other => {
                self.push(
                    here,
                    name,
                    Change::without_before(here.layer, PathBuf::new(), now, EntryAfter::Folder),
                    other,
                )?;
                LowerEntry::Nothing
            }
        };
        Ok(PendingFolder { path, depth: here.depth + 1, below })
    }

    fn file(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        now: &FileStat,
        before: Option<&FileStat>,
    ) -> Result<(), ChangesError> {
        let mut opened = None;
        let is_hollow = now.stored <= HOLLOW_BYTES_MAX;
        let old = before.filter(|before| before.kind == FileType::RegularFile);
        if is_hollow || old.is_some_and(|old| old.size == now.size) || self.reading.is_wanted() {
            let file = self.open_unlocking(&here.upper, Path::new(name), |folder, name| {
                dir_handles::open_file(folder, name.as_os_str())
            });
            opened = Some(file?);
        }
        if let (Some(file), true) = (&opened, is_hollow) {
            let note = |name| dir_handles::overlay_xattr(file, name).map_err(errno("a file of the draft"));
            if note("user.overlay.whiteout")?.is_some() && now.size == 0 {
                return before.map_or(Ok(()), |before| self.record_removal(here, name, before));
            }
            if note("user.overlay.metacopy")?.is_some() || note("user.overlay.redirect")?.is_some() {
                return Err(ChangesError::Strange { path: here.path.join(name) });
            }
        }
        let lower = match (&here.lower, old) {
            // What cannot be read there counts as something else.
            (Some(lower), Some(_)) => dir_handles::open_file(lower, name).ok(),
            _ => None,
        };
        if let (Some(file), Some(lower), Some(old)) = (&opened, &lower, old)
            && (now.mode ^ old.mode) & MODE_BITS == 0
            && self.reading.is_same((file, now.size), (lower, old.size))?
        {
            return Ok(());
        }
        let (hash, content) = match &opened {
            Some(file) => self.reading.content(file, now.size, lower.as_ref().zip(old.map(|old| old.size)))?,
            None => (None, ContentPreview::Hidden),
        };
        let kind = EntryAfter::File { size: now.size, hash };
        let change = Change { content, ..Change::without_before(here.layer, PathBuf::new(), now, kind) };
        self.push(here, name, change, before)
    }

    fn link(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        now: &FileStat,
        before: Option<&FileStat>,
    ) -> Result<(), ChangesError> {
        let target = dir_handles::read_link(&here.upper, name).map_err(errno("a link of the draft"))?;
        if let (Some(lower), Some(FileType::Symlink)) = (&here.lower, before.map(|before| before.kind))
            && dir_handles::read_link(lower, name).is_ok_and(|old| old == target)
        {
            return Ok(());
        }
        let change =
            Change { mode: 0, ..Change::without_before(here.layer, PathBuf::new(), now, EntryAfter::Link { target }) };
        self.push(here, name, change, before)
    }

    /// What a hidden folder holds and the upper one does not.
    fn record_hidden(&mut self, here: &ScannedFolder<'_>, names: &HashSet<OsString>) -> Result<(), ChangesError> {
        let Some(lower) = &here.lower else { return Ok(()) };
        let listed =
            dir_handles::open_folder_for_reading(lower, Path::new("")).map_err(errno("a folder of the workspace"))?;
        for name in dir_handles::list_names(&listed).map_err(errno("a folder of the workspace"))? {
            let name = name.map_err(errno("a folder of the workspace"))?;
            if names.contains(&name) {
                continue;
            }
            self.count(here, &name)?;
            if let Some(before) = dir_handles::stat_at(lower, &name).map_err(errno("a file of the workspace"))? {
                self.record_removal(here, &name, &before)?;
            }
        }
        Ok(())
    }

    fn record_removal(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        before: &FileStat,
    ) -> Result<(), ChangesError> {
        let change = Change {
            mode: 0,
            was_special: false,
            ..Change::without_before(here.layer, PathBuf::new(), before, EntryAfter::Gone)
        };
        self.push(here, name, Change { inode: 0, ..change }, Some(before))
    }

    /// Notes a change, with what stands there in the workspace.
    fn push(
        &mut self,
        here: &ScannedFolder<'_>,
        name: &OsStr,
        change: Change,
        before: Option<&FileStat>,
    ) -> Result<(), ChangesError> {
        let mut change = Change { path: here.path.join(name), ..change };
        if let (Some(before), Some(lower)) = (before, &here.lower) {
            change.mode_before = before.mode & MODE_BITS;
            change.inode_before = before.inode;
            change.conflicts = before.changed > self.start;
            change.changed_before = before.changed;
            change.stored_before = before.stored;
            change.before = match before.kind {
                FileType::RegularFile => EntryBefore::File { size: before.size },
                FileType::Symlink => EntryBefore::Link {
                    target: dir_handles::read_link(lower, name).map_err(errno("a link of the workspace"))?,
                },
                FileType::Directory if change.now == EntryAfter::Folder => {
                    // What is in it changes its time, and does not touch its mode.
                    change.conflicts = false;
                    EntryBefore::Folder { holds: 0 }
                }
                FileType::Directory => self.inspect_removed_folder(lower, name, &mut change)?,
                _ => EntryBefore::Special,
            };
        }
        self.set.changes.push(change);
        Ok(())
    }

    /// Counts what goes with a folder, and looks whether any of it changed.
    fn inspect_removed_folder(
        &mut self,
        lower: &OwnedFd,
        name: &OsStr,
        change: &mut Change,
    ) -> Result<EntryBefore, ChangesError> {
        let top = match dir_handles::open_folder_for_reading(lower, Path::new(name)) {
            Ok(top) => top,
            // Nobody can say what is in it.
            Err(Errno::ACCESS) => {
                change.conflicts = true;
                return Ok(EntryBefore::Folder { holds: 0 });
            }
            Err(error) => return Err(errno("a folder of the workspace")(error)),
        };
        let (mut holds, mut todo) = (0, vec![PathBuf::new()]);
        while let Some(path) = todo.pop() {
            let folder = match dir_handles::open_folder_for_reading(&top, &path) {
                Ok(folder) => folder,
                // Another mount, or what nobody may read, is not thrown away unseen.
                Err(Errno::ACCESS | Errno::XDEV) => {
                    change.conflicts = true;
                    continue;
                }
                Err(error) => return Err(errno("a folder of the workspace")(error)),
            };
            for name in dir_handles::list_names(&folder).map_err(errno("a folder of the workspace"))? {
                let name = name.map_err(errno("a folder of the workspace"))?;
                let Some(seen) = dir_handles::stat_at(&folder, &name).map_err(errno("a file of the workspace"))? else {
                    continue;
                };
                holds += 1;
                self.counted += 1;
                if self.counted > COUNTED_MAX || path.as_os_str().len() > PATH_BYTES_MAX {
                    return Err(ScanLimit::Counted.into());
                }
                change.conflicts |= seen.changed > self.start;
                change.stored_before = change.stored_before.saturating_add(seen.stored);
                if seen.is_folder() {
                    todo.push(path.join(&name));
                }
            }
        }
        Ok(EntryBefore::Folder { holds })
    }

    /// Opens something of the upper layer, even if its program let nobody read it.
    fn open_unlocking(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        open: impl Fn(&OwnedFd, &Path) -> rustix::io::Result<OwnedFd>,
    ) -> Result<OwnedFd, ChangesError> {
        let failed = errno("a file of the draft");
        match open(folder, path) {
            Err(Errno::ACCESS) if !path.as_os_str().is_empty() => {
                if self.locked.0.len() >= LOCKED_MAX {
                    return Err(ScanLimit::Locked.into());
                }
                let handle = dir_handles::open_path_handle(folder.as_fd(), path.as_os_str()).map_err(&failed)?;
                let mode = dir_handles::stat_handle(&handle).map_err(&failed)?.mode;
                dir_handles::set_mode(&handle, mode | 0o700).map_err(&failed)?;
                self.locked.0.push((handle, mode));
                open(folder, path).map_err(failed)
            }
            opened => opened.map_err(failed),
        }
    }
}

fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something that is not a file",
    }
}
