//! The folders that tools may use, as directory handles: no `..`, link or race leads out of them.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::draft_workspace::DraftWorkspace;
use crate::workspace::Workspace;

/// The longest path that is looked at.
const PATH_CHARS_MAX: usize = 4_000;

/// Why a file cannot be used, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileAccessError {
    /// It lies outside.
    #[error("{path:?} lies outside the folders that I may use: {roots}.")]
    Outside {
        /// What was asked for.
        path: String,
        /// The folders.
        roots: String,
    },
    /// It is Hob's own.
    #[error("{path:?} is among my own data, which no tool may use.")]
    Own {
        /// What was asked for.
        path: String,
    },
    /// It may only be read.
    #[error("{path:?} may be read, but not written.")]
    ReadOnly {
        /// What was asked for.
        path: String,
    },
    /// There is none.
    #[error("There is no {path:?}; list_files shows what is there.")]
    Missing {
        /// What was asked for.
        path: String,
    },
    #[error("{path:?} is a folder.")]
    Folder {
        /// What was asked for.
        path: String,
    },
    /// It is a pipe, a device or the like.
    #[error("{path:?} is not an ordinary file, so it is left alone.")]
    Special {
        /// What was asked for.
        path: String,
    },
    /// Something about its content.
    #[error("{0}")]
    Content(String),
    /// Anything else.
    #[error("{path:?} cannot be used: {why}.")]
    Failed {
        /// What was asked for.
        path: String,
        /// What the system says.
        why: String,
    },
}

impl From<FileAccessError> for Outcome {
    fn from(error: FileAccessError) -> Self {
        Self::Error(error.to_string())
    }
}

/// A folder that tools may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Root {
    path: PathBuf,
    writable: bool,
}

/// All that tools may use.
#[derive(Debug, Clone)]
pub struct FileAccess {
    roots: Vec<Root>,
    /// Hob's data directory and config: of what lies there, tools see the workspace at most.
    own: Vec<PathBuf>,
    trusted: bool,
    /// Where files are changed; none: where they lie.
    draft_workspace: Option<DraftWorkspace>,
}

/// A room as data.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileAccessSpec {
    roots: Vec<Root>,
    own: Vec<PathBuf>,
    trusted: bool,
}

/// A place in one of the folders.
pub struct ResolvedPath {
    pub dir: Dir,
    /// The way from there.
    pub relative: PathBuf,
    /// As it was asked for.
    pub path: String,
}

impl FileAccess {
    /// The folders of `workspace`; nothing within `own` is used but the workspace's own folder, should it lie there.
    pub fn new(workspace: &Workspace, own: Vec<PathBuf>, trusted: bool) -> Self {
        let root = |writable: bool| move |path: &PathBuf| Root { path: path.clone(), writable };
        let mut roots = vec![Root { path: workspace.root.clone(), writable: true }];
        roots.extend(workspace.write.iter().map(root(true)));
        roots.extend(workspace.read.iter().map(root(false)));
        Self { roots, own, trusted, draft_workspace: None }
    }

    /// The same; files are changed there.
    #[must_use]
    pub fn with_drafts(self, draft_workspace: DraftWorkspace) -> Self {
        Self { draft_workspace: Some(draft_workspace), ..self }
    }

    /// Where files are changed, if not where they lie: a place where that can be looked at before it is kept.
    pub(crate) async fn desk_that_holds(&self) -> Option<&DraftWorkspace> {
        let draft_workspace = self.draft_workspace.as_ref()?;
        draft_workspace.can_be_reviewed().await.then_some(draft_workspace)
    }

    pub(super) fn plan(&self) -> FileAccessSpec {
        FileAccessSpec { roots: self.roots.clone(), own: self.own.clone(), trusted: self.trusted }
    }

    pub(super) fn of_plan(FileAccessSpec { roots, own, trusted }: FileAccessSpec) -> Self {
        Self { roots, own, trusted, draft_workspace: None }
    }

    /// The workspace's own folder.
    pub(super) fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), |root| &root.path)
    }

    /// Does the owner vouch for what stands in these files?
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// The folder that a path lies in, by its words, and the way from there.
    fn containing_root(&self, path: &str) -> Result<(&Root, PathBuf), FileAccessError> {
        let asked = Path::new(path);
        let outside = || {
            let roots = self.roots.iter().map(|root| root.path.display().to_string()).collect::<Vec<_>>().join(", ");
            FileAccessError::Outside { path: path.chars().take(200).collect(), roots }
        };
        if path.contains('\0') || path.chars().count() > PATH_CHARS_MAX {
            return Err(outside());
        }
        let within = |root: &'_ Root| asked.strip_prefix(&root.path).ok().map(Path::to_path_buf);
        let (root, relative) = if asked.is_absolute() {
            let fitting = self.roots.iter().filter_map(|root| Some((root, within(root)?)));
            fitting.max_by_key(|(root, _)| root.path.components().count()).ok_or_else(outside)?
        } else {
            (self.roots.first().ok_or_else(outside)?, asked.to_path_buf())
        };
        let relative = if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative };
        Ok((root, relative))
    }

    /// The place that a path names.
    ///
    /// # Errors
    /// When it is none of the allowed ones.
    pub fn resolve(&self, path: &str, writing: bool) -> Result<ResolvedPath, FileAccessError> {
        let (root, relative) = self.containing_root(path)?;
        if writing && !root.writable {
            return Err(FileAccessError::ReadOnly { path: path.to_owned() });
        }
        let open = |path: &Path| Dir::open_ambient_dir(path, ambient_authority());
        let dir = match open(&root.path) {
            // The workspace's own folder is made when it is first used.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.roots.first() == Some(root) => {
                Dir::create_ambient_dir_all(&root.path, ambient_authority()).and_then(|()| open(&root.path))
            }
            opened => opened,
        };
        let dir = dir.map_err(|error| self.failed(path, &error))?;
        Ok(ResolvedPath { dir, relative, path: path.to_owned() })
    }

    /// What went wrong with a path.
    pub fn failed(&self, path: &str, error: &io::Error) -> FileAccessError {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileAccessError::Missing { path },
            // The directory handles say so themselves; the system's own refusals carry a number.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                let roots = self.roots.iter().map(|root| root.path.display().to_string());
                FileAccessError::Outside { path, roots: roots.collect::<Vec<_>>().join(", ") }
            }
            _ => FileAccessError::Failed { path, why: error.to_string() },
        }
    }

    /// Why a path may not be used at all; none: it may, or there is nothing.
    pub fn refusal(&self, path: &str, writing: bool) -> Option<String> {
        let refused = |error: FileAccessError| match error {
            FileAccessError::Outside { .. } | FileAccessError::Own { .. } | FileAccessError::ReadOnly { .. } => {
                Some(error.to_string().trim_end_matches('.').to_owned())
            }
            _ => None,
        };
        let spot = match self.resolve(path, writing) {
            Ok(spot) => spot,
            Err(error) => return refused(error),
        };
        match spot.dir.canonicalize(&spot.relative) {
            Ok(canonical) => {
                let real = real_path(&spot.dir).ok()?.join(canonical);
                self.is_own(&real).then(|| FileAccessError::Own { path: path.to_owned() }).and_then(refused)
            }
            Err(error) => refused(self.failed(path, &error)),
        }
    }

    /// Where a path leads, if links take it elsewhere than it says: absolute, or within the workspace.
    pub fn behind_links(&self, path: &str) -> Option<String> {
        let (root, _) = self.containing_root(path).ok()?;
        let spot = self.resolve(path, false).ok()?;
        let mut ancestors = spot.relative.ancestors().map(|step| match step.as_os_str().is_empty() {
            true => (Path::new("."), spot.relative.as_path()),
            false => (step, spot.relative.strip_prefix(step).unwrap_or(Path::new(""))),
        });
        let (there, rest) = ancestors.find_map(|(step, rest)| Some((spot.dir.canonicalize(step).ok()?, rest)))?;
        // What leads out is refused before this is asked.
        if rest.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let plain = |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        let real = plain(&there.join(rest));
        let is_workspace = self.roots.first() == Some(root);
        let told = if is_workspace { real.clone() } else { root.path.join(&real) };
        (real != plain(&spot.relative)).then(|| told.display().to_string())
    }

    /// The size of an ordinary file that is there.
    pub fn size_of(&self, path: &str) -> Option<u64> {
        let spot = self.resolve(path, false).ok()?;
        spot.dir.metadata(&spot.relative).ok().filter(|found| found.is_file()).map(|found| found.len())
    }

    /// Opens an ordinary file for reading. A pipe or a device is never waited for.
    ///
    /// # Errors
    /// When it is none, or lies outside.
    pub fn open(&self, spot: &ResolvedPath) -> Result<fs::File, FileAccessError> {
        let failed = |error: io::Error| self.failed(&spot.path, &error);
        self.check_ordinary(spot, &spot.dir.metadata(&spot.relative).map_err(failed)?)?;
        let mut options = OpenOptions::new();
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = spot.dir.open_with(&spot.relative, &options).map_err(failed)?;
        // What was opened is looked at again: in between, another may have taken its place.
        self.check_ordinary(spot, &file.metadata().map_err(failed)?)?;
        if self.is_own(&real_path(&file).map_err(failed)?) {
            return Err(FileAccessError::Own { path: spot.path.clone() });
        }
        Ok(file.into_std())
    }

    fn check_ordinary(&self, spot: &ResolvedPath, found: &cap_std::fs::Metadata) -> Result<(), FileAccessError> {
        let path = spot.path.clone();
        if found.is_dir() {
            return Err(FileAccessError::Folder { path });
        }
        if found.is_file() { Ok(()) } else { Err(FileAccessError::Special { path }) }
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// When it is none, or lies outside.
    pub(crate) fn open_folder(&self, spot: &ResolvedPath) -> Result<Dir, FileAccessError> {
        let dir = spot.dir.open_dir(&spot.relative).map_err(|error| self.failed(&spot.path, &error))?;
        let real = real_path(&dir).map_err(|error| self.failed(&spot.path, &error))?;
        if self.is_own(&real) { Err(FileAccessError::Own { path: spot.path.clone() }) } else { Ok(dir) }
    }

    /// Does this real path belong to Hob itself? Of its data directory, tools see the workspace at most.
    pub fn is_own(&self, real: &Path) -> bool {
        let root = self.roots.first().map(|root| resolved(&root.path));
        self.own.iter().map(|own| resolved(own)).any(|own| {
            let inside =
                root.as_ref().is_some_and(|root| *root != own && root.starts_with(&own) && real.starts_with(root));
            real.starts_with(&own) && !inside
        })
    }
}

/// A path without links, as far as there is something.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_missing| path.to_owned())
}

/// Where an open file or folder really lies, whatever its name led through.
pub(crate) fn real_path(open: &impl AsRawFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd()))
}
