//! Where files come from and go to while a draft is kept or taken back: handles on a root and on the draft's folders.
//!
//! A rename does not leave its mount. Where a root lies in another one than the draft, files are copied to a hidden folder of the
//! root first, and go on from there; what they replace cannot be kept then.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Gid, Mode, OFlags, Uid, fchown, fdatasync, fstat, mkdirat, openat, symlinkat, syncfs};
use rustix::io::{Errno, Result};

use crate::changes::dir_handles::{self, FileStat};
use crate::changes::draft_dir::DraftDir;
use crate::changes::record::{Entry, EntryAction};
use crate::changes::{ChangesError, errno, io, remove};

/// What the hidden folder in a root is called, before the draft's name.
const STAGE: &str = ".hob-keep-";
/// So many files are brought to the disk one by one; of more, all that waits.
const SYNCED_MAX: usize = 64;
/// How much is copied at once.
const PIECE: usize = 128 << 10;

/// The grounds of all roots, opened when they are needed: a root may be away that nothing is for.
pub(super) struct OpenRoots<'a> {
    draft: &'a DraftDir,
    grounds: Vec<Option<RootHandles>>,
}

pub(super) struct RootHandles {
    /// The root itself.
    pub(super) lower: OwnedFd,
    upper: OwnedFd,
    old: Rc<OwnedFd>,
    stage: Option<(Rc<OwnedFd>, PathBuf)>,
    /// The folder of the entry at work.
    here: Option<(PathBuf, Rc<OwnedFd>)>,
    /// The one in the upper layer that goes with it.
    there: Option<(PathBuf, Rc<OwnedFd>)>,
}

impl<'a> OpenRoots<'a> {
    pub(super) fn new(draft: &'a DraftDir) -> Self {
        Self { draft, grounds: draft.record.roots.iter().map(|_| None).collect() }
    }

    pub(super) fn get(&mut self, root: usize) -> std::result::Result<&mut RootHandles, ChangesError> {
        let slot = self.grounds.get_mut(root).ok_or(ChangesError::Gone)?;
        let ground = match slot.take() {
            Some(ground) => ground,
            None => RootHandles::open(self.draft, root).map_err(errno("a folder of the workspace"))?,
        };
        Ok(slot.insert(ground))
    }

    /// Is any root in another mount?
    pub(super) fn has_stage(&self) -> bool {
        self.grounds.iter().flatten().any(|ground| ground.stage.is_some())
    }

    /// Brings new files to the disk, and where they have to be copied, copies them; the entries then name the copies.
    pub(super) fn stage(&mut self, entries: &mut [Entry]) -> std::result::Result<(), ChangesError> {
        let replacing =
            entries.iter().filter(|entry| matches!(entry.act, EntryAction::Replace { link: false, .. })).count();
        for (index, entry) in entries.iter_mut().enumerate() {
            let (inode, link, replaces) = match &mut entry.act {
                EntryAction::Put { new, link } => (new, *link, false),
                EntryAction::Replace { new, link, .. } => (new, *link, true),
                EntryAction::Remove { .. }
                | EntryAction::Make { .. }
                | EntryAction::Mode { .. }
                | EntryAction::Open => continue,
            };
            let (root, path) = (entry.root, entry.path.as_path());
            let ground = self.get(root)?;
            if ground.stage.is_some() {
                *inode = ground.copy_to_stage(index, path, link)?;
            } else if replaces && !link && replacing <= SYNCED_MAX {
                // After a power cut there is the old content or the new one.
                match ground.upper_file(path).and_then(fdatasync) {
                    // A link stands there: what it takes the place of has been exchanged before this was cut off.
                    Ok(()) | Err(Errno::LOOP) => {}
                    Err(error) => return Err(errno("a file of the draft")(error)),
                }
            }
        }
        if replacing > SYNCED_MAX {
            for ground in self.grounds.iter().flatten() {
                let layer = dir_handles::open_folder_for_reading(&ground.upper, Path::new(""));
                layer.and_then(syncfs).map_err(errno("the draft's layer"))?;
            }
        }
        Ok(())
    }

    /// Deletes what copies leave behind; says why nothing can be taken back then.
    pub(super) fn unstage(&mut self) -> std::result::Result<Option<String>, ChangesError> {
        let mut why = None;
        for ground in self.grounds.iter_mut().flatten() {
            if let Some((_, path)) = ground.stage.take() {
                remove::remove(&path).map_err(io("a hidden folder in the workspace"))?;
                why = Some("a folder of the workspace lies on another file system than Hob's data".to_owned());
            }
        }
        Ok(why)
    }
}

impl RootHandles {
    fn open(draft: &DraftDir, root: usize) -> Result<Self> {
        let path = draft.record.roots.get(root).ok_or(Errno::NOENT)?;
        let (lower, upper) = (dir_handles::open_root(path)?, dir_handles::open_root(&draft.layer(root, "upper"))?);
        let old = Rc::new(dir_handles::open_root(&draft.layer(root, "old"))?);
        let stage = if dir_handles::mount_of(&lower)? == dir_handles::mount_of(&upper)? {
            None
        } else {
            let mut name = OsString::from(STAGE);
            name.push(draft.dir().file_name().unwrap_or_default());
            match mkdirat(&lower, &name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            Some((Rc::new(dir_handles::open_folder(&lower, Path::new(&name))?), path.join(&name)))
        };
        Ok(Self { lower, upper, old, stage, here: None, there: None })
    }

    /// Goes to the folder in which this path is.
    pub(super) fn enter_parent(&mut self, path: &Path) -> Result<()> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if self.here.as_ref().is_none_or(|(here, _)| here != parent) {
            self.here = None;
            self.here = Some((parent.to_owned(), Rc::new(dir_handles::open_folder(&self.lower, parent)?)));
        }
        Ok(())
    }

    pub(super) fn entry_folder(&self) -> Result<&OwnedFd> {
        self.here.as_ref().map(|(_, folder)| &**folder).ok_or(Errno::NOENT)
    }

    /// What stands at this path of the root.
    pub(super) fn stat_path(&mut self, path: &Path) -> std::result::Result<Option<FileStat>, ChangesError> {
        let seen = match self.enter_parent(path) {
            Ok(()) => dir_handles::stat_at(self.entry_folder().map_err(errno("the workspace"))?, name(path)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            Err(error) => Err(error),
        };
        seen.map_err(errno("a file of the workspace"))
    }

    /// Where an entry's new file is, or where what it replaced went.
    pub(super) fn source(&mut self, index: usize, entry: &Entry) -> Result<(Rc<OwnedFd>, OsString)> {
        match &self.stage {
            Some((stage, _)) => Ok((Rc::clone(stage), index.to_string().into())),
            None => Ok((self.upper_parent(&entry.path)?, name(&entry.path).to_owned())),
        }
    }

    fn upper_parent(&mut self, path: &Path) -> Result<Rc<OwnedFd>> {
        let parent = path.parent().unwrap_or(Path::new(""));
        match &self.there {
            Some((there, folder)) if there == parent => Ok(Rc::clone(folder)),
            _ => {
                let folder = Rc::new(dir_handles::open_folder(&self.upper, parent)?);
                self.there = Some((parent.to_owned(), Rc::clone(&folder)));
                Ok(folder)
            }
        }
    }

    fn upper_file(&mut self, path: &Path) -> Result<OwnedFd> {
        let folder = self.upper_parent(path)?;
        dir_handles::open_file(&*folder, name(path))
    }

    /// Where what an entry deletes goes.
    pub(super) fn store(&self, index: usize) -> (Rc<OwnedFd>, OsString) {
        match &self.stage {
            Some((stage, _)) => (Rc::clone(stage), format!("old-{index}").into()),
            None => (Rc::clone(&self.old), index.to_string().into()),
        }
    }

    /// Makes a new file ready for its place: its mode, and nothing that the overlay noted.
    pub(super) fn prepare_new_file(&mut self, index: usize, entry: &Entry) -> Result<()> {
        let (folder, name) = self.source(index, entry)?;
        let file = dir_handles::open_path_handle(&*folder, &name)?;
        let seen = dir_handles::stat_handle(&file)?;
        if !entry.brings(seen.inode) {
            return Err(Errno::STALE);
        }
        let is_link =
            matches!(entry.act, EntryAction::Put { link: true, .. } | EntryAction::Replace { link: true, .. });
        if !is_link && (dir_handles::remove_overlay_xattrs(&file, seen.mode)? || seen.mode != entry.mode) {
            dir_handles::set_mode(&file, entry.mode)?;
        }
        Ok(())
    }

    /// Lets Hob write in a folder of the root.
    pub(super) fn make_writable(&self, path: &Path) -> Result<()> {
        let folder = dir_handles::open_folder(&self.lower, path)?;
        let mode = dir_handles::stat_handle(&folder)?.mode;
        if mode & 0o700 == 0o700 || rustix::process::geteuid().is_root() {
            return Ok(());
        }
        dir_handles::set_mode(&folder, mode | 0o700)
    }

    /// Copies a file or link to the hidden folder; answers with the copy's number.
    fn copy_to_stage(&mut self, index: usize, path: &Path, link: bool) -> std::result::Result<u64, ChangesError> {
        let from = self.upper_parent(path).map_err(errno("a folder of the draft"))?;
        let (stage, to) = (self.store(0).0, index.to_string());
        let to = OsStr::new(&to);
        // A try that was cut off may have left half of it.
        match rustix::fs::unlinkat(&*stage, to, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(errno("a hidden folder in the workspace")(error)),
        }
        if link {
            let target = dir_handles::read_link(&*from, name(path)).map_err(errno("a link of the draft"))?;
            symlinkat(target, &*stage, to).map_err(errno("a hidden folder in the workspace"))?;
        } else {
            copy(&from, name(path), &stage, to)?;
        }
        let seen = dir_handles::stat_at(&*stage, to).map_err(errno("a hidden folder in the workspace"))?;
        Ok(seen.ok_or(ChangesError::Gone)?.inode)
    }
}

pub(super) fn name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// Copies a file with its time and owner, without writing down its holes.
fn copy(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new: &OsStr) -> std::result::Result<(), ChangesError> {
    let source = dir_handles::open_file(from, name).map_err(errno("a file of the draft"))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let target = openat(to, new, flags, Mode::RUSR | Mode::WUSR).map_err(errno("a hidden folder in the workspace"))?;
    let (mut source, mut target) = (File::from(source), File::from(target));
    let mut pump = || -> io::Result<()> {
        let (mut piece, mut length) = (vec![0; PIECE], 0);
        loop {
            let count = source.read(&mut piece)?;
            if count == 0 {
                break;
            }
            length += u64::try_from(count).unwrap_or_default();
            if piece[..count].iter().all(|byte| *byte == 0) {
                target.seek(SeekFrom::Start(length))?;
            } else {
                target.write_all(&piece[..count])?;
            }
        }
        target.set_len(length)?;
        let old = fstat(&source)?;
        if rustix::process::geteuid().is_root() {
            fchown(&target, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))?;
        }
        let modified = source.metadata()?.modified()?;
        target.set_modified(modified)?;
        target.sync_all()
    };
    pump().map_err(io("a copy in the workspace"))
}

/// A point at which a process may end; tests end there.
#[cfg(not(test))]
pub(super) fn step() -> std::result::Result<(), ChangesError> {
    Ok(())
}

#[cfg(test)]
pub(super) use cut::step;

#[cfg(test)]
pub(super) mod cut {
    use std::cell::Cell;

    use crate::changes::ChangesError;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// After so many steps of this thread everything ends; none: nothing does.
    pub(in crate::changes) fn fail_after(steps: Option<u32>) {
        LEFT.set(steps);
    }

    pub(in crate::changes) fn step() -> Result<(), ChangesError> {
        match LEFT.get() {
            Some(0) => Err(ChangesError::Io { what: "cut off", source: std::io::ErrorKind::Interrupted.into() }),
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}
