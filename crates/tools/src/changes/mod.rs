//! Change sets: what commands and file tools did in an overlay over the workspace; looked at, kept, and taken back.
//!
//! ```text
//! drafts/run-12-0/           a draft of run 12; `run-12-call-3.0` is the draft of one call alone
//!     draft.json             whose it is, its roots, and its state: open, keeping, kept, undoing, undone
//!     start                  an empty file; its ctime is when the draft began
//!     0/upper 0/work         the overlay's layers over the first root (the workspace); 1/ belongs to the next root
//!     0/old                  what was deleted from that root, by the number of its entry
//!     manifest.json          what is being kept, entry by entry; written before the first file moves
//!     kept.json              what the files looked like once they were kept; undo compares them
//! ```
//!
//! Everything here blocks: call it in `spawn_blocking`.
//!
//! Never: a path followed by name where somebody else may write. Files are reached by directory handles, and no link is followed.
//! Start at [`Drafts`], then `scan`, `keep` and `undo`.

mod autorun_files;
mod dir_handles;
pub mod draft_dir;
mod keep;
mod record;
mod remove;
mod root_handles;
pub(crate) mod scan;
pub(crate) mod set;
mod summary;
pub mod sweep;
#[cfg(test)]
mod tests;
mod undo;

use std::fmt;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};

use crate::changes::draft_dir::DraftDir;
use crate::changes::scan::ScanLimit;
use crate::workspace::Workspace;
use hob_core::domain::ids::{CallId, RunId, SessionKey, UserId};
use hob_core::domain::lock::lock;

/// The folder of drafts in the data directory.
const DRAFTS: &str = "drafts";
/// What kept changes replaced or deleted is kept to be put back: of all changes together, so many bytes on the disk.
pub(crate) const UNDO_BYTES_MAX: u64 = 1 << 30;
/// For so long a change can be taken back.
pub(crate) const UNDO_FOR: SignedDuration = SignedDuration::from_hours(24);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftOwner {
    pub run: RunId,
    /// The conversation whose people may take back what was kept of it; an agent's is the one it works for.
    pub session: SessionKey,
    /// For whom the run works.
    pub user: UserId,
    pub now: Timestamp,
}

/// Which draft of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftId {
    /// The one that its contained calls share, by its number.
    Shared(u32),
    /// That of one call, which is kept as soon as the call has ended.
    Call(CallId),
}

/// Nothing was looked at, kept or taken back.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// The system said no.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// There is more in it than is looked at.
    #[error("the changes cannot be kept: {0}")]
    TooMuch(ScanLimit),
    /// The layer holds something that an overlay of Hob's never writes.
    #[error("the changes cannot be kept: {path} is stored in a way that Hob does not know", path = path.display())]
    Strange { path: PathBuf },
    /// It has changed since somebody agreed to it.
    #[error("the changes are not those that were agreed to")]
    Differs {
        /// What they are now.
        digest: String,
    },
    /// It was thrown away or taken back.
    #[error("there is no such draft any more")]
    Gone,
    /// A file that describes the draft cannot be read.
    #[error("the draft's own notes cannot be read: {0}")]
    Notes(#[from] serde_json::Error),
    /// The last change cannot be taken back.
    #[error("the last change cannot be taken back: {0}")]
    NoUndo(String),
    /// There is nothing to take back.
    #[error("there is no change of the last day that could be taken back")]
    NothingToUndo,
}

/// For `map_err`: what was being done when the system said no.
fn io(what: &'static str) -> impl Fn(io::Error) -> ChangesError {
    move |source| ChangesError::Io { what, source }
}

/// The same, for calls that answer with a bare number.
fn errno(what: &'static str) -> impl Fn(rustix::io::Errno) -> ChangesError {
    move |source| ChangesError::Io { what, source: source.into() }
}

/// A path that was left as it was.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SkippedPath {
    /// The path, shown safely.
    pub path: String,
    pub why: String,
}

/// What came of keeping.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeepOutcome {
    /// How many changes are in the workspace now.
    pub changes: u32,
    /// What was not kept.
    pub left_out: Vec<SkippedPath>,
    /// Why it cannot be taken back; none: it can.
    pub(crate) no_undo: Option<String>,
}

/// What came of taking back.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UndoOutcome {
    /// Whose conversation the change was made in.
    pub session: SessionKey,
    pub kept_at: Timestamp,
    /// How many changes were taken back.
    pub changes: u32,
    /// What was not taken back.
    pub left_out: Vec<SkippedPath>,
}

/// How many of what was left out are named.
const LEFT_OUT_SHOWN: usize = 10;

fn write_skipped(f: &mut fmt::Formatter<'_>, left_out: &[SkippedPath], left: &str) -> fmt::Result {
    for SkippedPath { path, why } in left_out.iter().take(LEFT_OUT_SHOWN) {
        write!(f, "\n{left}: {path} ({why})")?;
    }
    match left_out.len().saturating_sub(LEFT_OUT_SHOWN) {
        0 => Ok(()),
        more => write!(f, "\n… and {more} more."),
    }
}

fn several(count: u32) -> String {
    if count == 1 { "1 change".to_owned() } else { format!("{count} changes") }
}

impl fmt::Display for KeepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kept in the workspace.", several(self.changes))?;
        if let Some(why) = &self.no_undo {
            write!(f, " This cannot be undone: {why}.")?;
        }
        write_skipped(f, &self.left_out, "Not kept")
    }
}

impl fmt::Display for UndoOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} taken back.", several(self.changes))?;
        write_skipped(f, &self.left_out, "Left as it is")
    }
}

/// The drafts of one data directory.
#[derive(Debug, Clone)]
pub struct Drafts {
    dir: PathBuf,
    roots: Arc<[PathBuf]>,
}

/// One change of a workspace at a time, whoever makes it in this process; the data directory's lock keeps other processes away.
static TURN: Mutex<()> = Mutex::new(());

impl Drafts {
    /// Drafts over this workspace.
    pub fn new(data_dir: &Path, workspace: &Workspace) -> Self {
        let mut roots: Vec<PathBuf> = Vec::new();
        for root in std::iter::once(&workspace.root).chain(&workspace.write) {
            let real = root.canonicalize().unwrap_or_else(|_absent| root.clone());
            if !roots.iter().any(|known| real.starts_with(known)) {
                roots.push(real);
            }
        }
        Self { dir: data_dir.join(DRAFTS), roots: roots.into() }
    }

    /// The folder that people's work is in.
    pub fn workspace(&self) -> Option<&Path> {
        self.roots.first().map(PathBuf::as_path)
    }

    /// Opens a draft of the run; makes it if there is none.
    ///
    /// # Errors
    /// When it cannot be made or read, or was settled already.
    pub fn open(&self, of: &DraftOwner, which: &DraftId) -> Result<DraftDir, ChangesError> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(io("the folder of drafts"))?;
        DraftDir::open(self.draft_location(of.run, which)?, &self.roots, of)
    }

    /// A draft of the run; none: it was never opened, or is gone.
    pub fn find(&self, run: RunId, which: &DraftId) -> Result<Option<DraftDir>, ChangesError> {
        self.draft_location(run, which)?.open_existing()
    }

    /// The draft of this name; none: it is gone.
    pub fn named(&self, name: &str) -> Result<Option<DraftDir>, ChangesError> {
        let is_plain = Path::new(name).components().eq([std::path::Component::Normal(name.as_ref())]);
        if is_plain { self.place(name).open_existing() } else { Ok(None) }
    }

    /// Whether there is anything of a draft, whatever its state. One look at a folder's name: the one thing here that needs no
    /// thread of its own.
    pub fn is_there(&self, run: RunId, which: &DraftId) -> bool {
        self.draft_location(run, which).is_ok_and(|place| place.dir.symlink_metadata().is_ok())
    }

    /// Throws a draft away, if it is not being kept and was not kept.
    pub fn discard(&self, run: RunId, which: &DraftId) -> Result<(), ChangesError> {
        self.find(run, which)?.map_or(Ok(()), |draft| draft.discard())
    }

    fn draft_location(&self, run: RunId, which: &DraftId) -> Result<DraftLocation, ChangesError> {
        let name = match which {
            DraftId::Shared(number) => format!("run-{run}-{number}"),
            DraftId::Call(call) if call.0.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
                format!("run-{run}-call-{call}")
            }
            DraftId::Call(_) => return Err(ChangesError::Gone),
        };
        Ok(self.place(&name))
    }

    fn place(&self, name: &str) -> DraftLocation {
        DraftLocation { dir: self.dir.join(name) }
    }
}

#[derive(Debug, Clone)]
struct DraftLocation {
    dir: PathBuf,
}

impl DraftLocation {
    /// Waits until nobody else changes the workspace.
    fn lock_workspace() -> MutexGuard<'static, ()> {
        // Whoever panicked left notes to go on from.
        lock(&TURN)
    }

    fn open_existing(self) -> Result<Option<DraftDir>, ChangesError> {
        DraftDir::find(self)
    }
}
