//! One draft: its folder, its layers, and how far it has come.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::changes::dir_handles::FileTime;
use crate::changes::keep::KeepOperation;
use crate::changes::record::{self, DRAFT, DraftRecord, DraftState};
use crate::changes::scan::{Layer, LayerScan, ModeRestorer, ScanDetail};
use crate::changes::set::ChangeSet;
use crate::changes::summary::display_path;
use crate::changes::undo::UndoOperation;
use crate::changes::{ChangesError, DraftLocation, DraftOwner, KeepOutcome, UndoOutcome, io, remove};
use crate::sandbox::spec::Overlay;
use hob_core::domain::ids::UserId;

/// An empty file as old as the draft.
const START: &str = "start";
/// What the folders of drafts that are thrown away are called until they are gone.
pub(super) const GONE: &str = ".gone-";

/// Somebody works in a draft, whatever became of its run: upkeep leaves it alone until this is dropped, or Hob ends.
#[derive(Debug)]
pub struct DraftLock {
    _locked: File,
}

#[derive(Debug, Clone)]
pub struct DraftDir {
    pub(super) place: DraftLocation,
    pub(super) record: DraftRecord,
}

impl DraftDir {
    /// The draft there; made, if there is none.
    pub(super) fn open(place: DraftLocation, roots: &[PathBuf], of: &DraftOwner) -> Result<Self, ChangesError> {
        let turn = DraftLocation::lock_workspace();
        if let Some(draft) = Self::find(place.clone())? {
            return if draft.record.state == DraftState::Open { Ok(draft) } else { Err(ChangesError::Gone) };
        }
        remove::remove(&place.dir).map_err(io("a draft that was not finished"))?;
        let made = io("a new draft");
        create_private_dir(&place.dir).map_err(&made)?;
        for (root, path) in roots.iter().enumerate() {
            let upper = layer(&place.dir, root, "upper");
            create_private_dir(&place.dir.join(root.to_string())).map_err(&made)?;
            create_private_dir(&upper).map_err(&made)?;
            create_private_dir(&layer(&place.dir, root, "work")).map_err(&made)?;
            create_private_dir(&layer(&place.dir, root, "old")).map_err(&made)?;
            // The layer's top is seen in the root's place.
            let real = fs::metadata(path).map_err(io("a folder of the workspace"))?;
            if rustix::process::geteuid().is_root() {
                std::os::unix::fs::chown(&upper, Some(real.uid()), Some(real.gid())).map_err(&made)?;
            }
            fs::set_permissions(&upper, Permissions::from_mode(real.mode() & 0o7777)).map_err(&made)?;
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(place.dir.join(START)).map_err(&made)?;
        let record = DraftRecord {
            run: of.run,
            session: of.session.clone(),
            user: of.user,
            created: of.now,
            roots: roots.to_vec(),
            state: DraftState::Open,
        };
        record::write(&place.dir, DRAFT, &record)?;
        drop(turn);
        Ok(Self { place, record })
    }

    pub(super) fn find(place: DraftLocation) -> Result<Option<Self>, ChangesError> {
        let record = record::read(&place.dir, DRAFT)?;
        Ok(record.map(|record| Self { place, record }))
    }

    /// May commands work in it still?
    pub fn is_open(&self) -> bool {
        self.record.state == DraftState::Open
    }

    /// Keeps it while somebody works in it.
    ///
    /// # Errors
    /// When somebody else does so already, or the system says no.
    pub(crate) fn lock_for_use(&self) -> Result<DraftLock, ChangesError> {
        let start = File::open(self.place.dir.join(START)).map_err(io("the draft's start"))?;
        let locked = start.try_lock().map(|()| DraftLock { _locked: start });
        locked.map_err(|error| io("the draft's start")(error.into()))
    }

    /// For whom the run works.
    pub fn user(&self) -> UserId {
        self.record.user
    }

    /// When it was kept in the workspace; none: it was not.
    pub fn kept_at(&self) -> Option<Timestamp> {
        if let DraftState::Kept { at, .. } = self.record.state { Some(at) } else { None }
    }

    /// What came of taking it back; none: it is not.
    pub fn undo_outcome(&self) -> Option<&UndoOutcome> {
        if let DraftState::Undone { outcome, .. } = &self.record.state { outcome.as_ref() } else { None }
    }

    /// What [`Drafts::named`](super::Drafts::named) finds it by.
    pub fn name(&self) -> String {
        self.place.dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What a sandbox lays over the workspace.
    pub fn overlays(&self) -> Vec<Overlay> {
        let overlay = |(root, path): (usize, &PathBuf)| Overlay {
            root: path.clone(),
            upper: self.layer(root, "upper"),
            work: self.layer(root, "work"),
        };
        self.record.roots.iter().enumerate().map(overlay).collect()
    }

    /// A path of it, for people.
    pub(super) fn display_path(&self, root: usize, path: &Path) -> String {
        display_path(&self.record.roots, root, path)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.place.dir
    }

    pub(super) fn layer(&self, root: usize, which: &str) -> PathBuf {
        layer(&self.place.dir, root, which)
    }

    /// What is changed in it. No program may be working in it any more.
    ///
    /// # Errors
    /// When there is too much of it, or it cannot be read.
    pub fn change_set(&self) -> Result<ChangeSet, ChangesError> {
        Ok(self.scan_layers(ScanDetail::Contents)?.0)
    }

    pub(super) fn scan_layers(&self, closeness: ScanDetail) -> Result<(ChangeSet, ModeRestorer), ChangesError> {
        let mut look = LayerScan::new(self.start()?, closeness, &self.record.roots);
        for (root, lower) in self.record.roots.iter().enumerate() {
            look.scan_layer(&Layer { root, upper: &self.layer(root, "upper"), lower })?;
        }
        Ok(look.finish())
    }

    /// When it began, by the file system's clock.
    pub(super) fn start(&self) -> Result<FileTime, ChangesError> {
        let start = fs::metadata(self.place.dir.join(START)).map_err(io("the draft's start"))?;
        Ok(FileTime(start.ctime(), u32::try_from(start.ctime_nsec()).unwrap_or_default()))
    }

    /// Takes over into the workspace what somebody agreed to by its digest; answers the same if it was taken over already.
    ///
    /// # Errors
    /// When it is not what was agreed to, or the system says no. What was begun then is finished by the next try.
    pub fn keep(&self, digest: &str, now: Timestamp) -> Result<KeepOutcome, ChangesError> {
        KeepOperation::new(self, Some(digest.to_owned()), now).keep()
    }

    /// Takes over whatever is in it: nobody has to agree.
    pub fn keep_all(&self, now: Timestamp) -> Result<KeepOutcome, ChangesError> {
        KeepOperation::new(self, None, now).keep()
    }

    /// Takes back what was kept of it.
    ///
    /// # Errors
    /// When it was not kept, cannot be taken back, or the system says no.
    pub fn undo(&self, now: Timestamp) -> Result<UndoOutcome, ChangesError> {
        UndoOperation::new(self, now).undo()
    }

    /// Throws it away, if it is open.
    pub fn discard(&self) -> Result<(), ChangesError> {
        let turn = DraftLocation::lock_workspace();
        match self.reloaded()?.record.state {
            DraftState::Open => {}
            DraftState::Keeping { .. }
            | DraftState::Kept { .. }
            | DraftState::Undoing { .. }
            | DraftState::Undone { .. } => return Ok(()),
        }
        let gone = self.move_aside()?;
        // A big one takes its time.
        drop(turn);
        remove::remove(&gone).map_err(io("a draft that was thrown away"))
    }

    /// Out of sight at once.
    pub(super) fn move_aside(&self) -> Result<PathBuf, ChangesError> {
        let name = self.place.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for number in 0_u64.. {
            let gone = self.place.dir.with_file_name(format!("{GONE}{number}-{name}"));
            match fs::create_dir(&gone) {
                Ok(()) => {
                    fs::rename(&self.place.dir, &gone).map_err(io("a draft that was thrown away"))?;
                    return Ok(gone);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io("a draft that was thrown away")(error)),
            }
        }
        Err(ChangesError::Gone)
    }

    /// As it is noted now: another may have had its turn since.
    pub(super) fn reloaded(&self) -> Result<Self, ChangesError> {
        Self::find(self.place.clone())?.ok_or(ChangesError::Gone)
    }

    pub(super) fn write_state(&mut self, state: DraftState) -> Result<(), ChangesError> {
        let record = DraftRecord { state, ..self.record.clone() };
        record::write(&self.place.dir, DRAFT, &record)?;
        self.record = record;
        Ok(())
    }
}

fn layer(dir: &Path, root: usize, which: &str) -> PathBuf {
    dir.join(root.to_string()).join(which)
}

fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}
