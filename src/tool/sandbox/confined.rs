//! Walls for one kind of errand, and the folder that each errand has to itself.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::tool::sandbox::spec::{Overlay, Reach};
use crate::tool::sandbox::{Room, Sandbox};

/// The folder of such folders in the data directory.
const SCRATCH: &str = "scratch";
/// Where the system has its programs.
const PROGRAMS: [&str; 6] = ["/usr/", "/bin", "/sbin", "/opt/", "/nix/store/", "/snap/bin"];
/// Where they are looked for if nobody says so.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The walls around an errand.
#[derive(Debug, Clone)]
pub struct Confined {
    /// What can be had here.
    pub sandbox: Sandbox,
    /// What may be reached.
    pub reach: Reach,
    /// The folders whose copies are worked in.
    overlays: Vec<Overlay>,
    scratch: PathBuf,
}

/// What an errand has to itself. It goes with this.
pub(in crate::tool) struct Scratch {
    dir: TempDir,
    input: Option<PathBuf>,
}

impl Confined {
    /// These walls, for a Hob whose data is there.
    #[must_use]
    pub fn new(sandbox: Sandbox, reach: Reach, data_dir: &Path) -> Self {
        Self { sandbox, reach, overlays: Vec::new(), scratch: data_dir.join(SCRATCH) }
    }

    /// The same, with the network.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        self.reach.network |= network;
        self
    }

    /// The same, over copies of these folders. Only where [`Sandbox::overlays`] says so.
    #[must_use]
    pub fn with_overlays(mut self, overlays: Vec<Overlay>) -> Self {
        self.overlays = overlays;
        self
    }

    /// A folder for one errand, with its input beside it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(in crate::tool) fn scratch(&self, input: Option<&[u8]>) -> io::Result<Scratch> {
        std::fs::create_dir_all(&self.scratch)?;
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(&self.scratch)?;
        std::fs::create_dir(dir.path().join("tmp"))?;
        let input = match input {
            Some(bytes) => {
                let path = dir.path().join("input");
                std::fs::write(&path, bytes)?;
                Some(path)
            }
            None => None,
        };
        Ok(Scratch { dir, input })
    }

    /// What is to be run; none: there are no walls to be had.
    pub(in crate::tool) fn vector(&self, scratch: &Scratch, vector: &[String]) -> Option<Vec<OsString>> {
        let room = Room {
            reach: self.reach.clone(),
            overlays: self.overlays.clone(),
            temporary: scratch.temporary(),
            input: scratch.input.clone(),
        };
        self.sandbox.vector(&room, vector)
    }

    /// Where programs are looked for: not in folders that cannot be reached, where each would be a riddle.
    pub(in crate::tool) fn path(&self) -> OsString {
        let own = std::env::var_os("PATH").unwrap_or_else(|| PATH.into());
        if !self.sandbox.is_there() {
            return own;
        }
        let reached = |dir: &PathBuf| {
            let within = self.reach.read.iter().chain(&self.reach.write).any(|path| dir.starts_with(path));
            within || dir.to_str().is_some_and(|dir| PROGRAMS.iter().any(|programs| dir.starts_with(programs)))
        };
        let dirs: Vec<PathBuf> = std::env::split_paths(&own).filter(reached).collect();
        std::env::join_paths(dirs).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| PATH.into())
    }
}

impl Scratch {
    /// What the errand may write to.
    pub(in crate::tool) fn temporary(&self) -> PathBuf {
        self.dir.path().join("tmp")
    }

    /// Deletes it, off the runtime's threads: nobody knows how much lies in it.
    pub(in crate::tool) async fn delete(scratch: Option<Self>) {
        let Some(Self { dir, .. }) = scratch else { return };
        let closed = tokio::task::spawn_blocking(move || dir.close()).await.map_err(io::Error::other).flatten();
        if let Err(error) = closed {
            tracing::debug!(%error, "a folder of a tool's is left for the next start");
        }
    }
}

/// Deletes what errands of an earlier Hob have left. Only for who holds the data directory's lock.
pub fn clear(data_dir: &Path) {
    match std::fs::remove_dir_all(data_dir.join(SCRATCH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "what tools left in the data directory's scratch folder cannot be deleted");
        }
        _ => {}
    }
}
