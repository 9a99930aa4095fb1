//! The sandbox for one kind of errand, and the folder that each errand has to itself.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::sandbox::removal::remove;
use crate::sandbox::spec::{Overlay, SandboxAccess};
use crate::sandbox::trial::SandboxTrial;
use crate::sandbox::{Sandbox, SandboxProfile};
use hob_config::environment::Environment;
use hob_telemetry::tasks;

/// The folder of such folders in the data directory.
const SCRATCH: &str = "scratch";
/// Where those go that an earlier Hob has left.
const SCRATCH_OLD: &str = "scratch.old";
/// Where the system has its programs.
const PROGRAMS: [&str; 6] = ["/usr/", "/bin", "/sbin", "/opt/", "/nix/store/", "/snap/bin"];
/// Where they are looked for if nobody says so.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The sandbox of an errand.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// What can be had here.
    pub sandbox: SandboxTrial,
    pub reach: SandboxAccess,
    /// The folders whose copies are worked in.
    overlays: Vec<Overlay>,
    /// Its own folder, which is made when it is needed, and stays; none: it has none.
    home: Option<PathBuf>,
    scratch: PathBuf,
}

/// What an errand has to itself, until [`ScratchDir::delete`]. What is left of it by a Hob that ends, the next start deletes.
pub(crate) struct ScratchDir(PathBuf);

impl Confinement {
    /// The same sandbox, for a Hob whose data is there.
    pub fn new(sandbox: impl Into<SandboxTrial>, reach: SandboxAccess, data_dir: &Path) -> Self {
        Self { sandbox: sandbox.into(), reach, overlays: Vec::new(), home: None, scratch: data_dir.join(SCRATCH) }
    }

    /// The same, with the network.
    #[must_use]
    pub(crate) fn with_network(mut self, network: bool) -> Self {
        self.reach.network |= network;
        self
    }

    /// The same, over copies of these folders. Only where [`Sandbox::overlays`] says so.
    #[must_use]
    pub(crate) fn with_overlays(mut self, overlays: Vec<Overlay>) -> Self {
        self.overlays = overlays;
        self
    }

    /// The same, with a folder of its own that stays.
    #[must_use]
    pub(crate) fn with_home(mut self, home: PathBuf) -> Self {
        self.home = Some(home);
        self
    }

    /// Its own folder, which stays.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// A folder for one errand.
    pub(crate) fn scratch(&self) -> io::Result<ScratchDir> {
        for dir in self.home.iter().chain([&self.scratch]) {
            std::fs::create_dir_all(dir)?;
        }
        let dir = tempfile::Builder::new().prefix("run-").tempdir_in(&self.scratch)?;
        // It must not be deleted by who deletes folders within folders by calling himself.
        Ok(ScratchDir(dir.keep()))
    }

    /// What is to be run in this sandbox; none: no sandbox is to be had.
    pub(crate) fn vector(&self, sandbox: &Sandbox, scratch: &ScratchDir, vector: &[String]) -> Option<Vec<OsString>> {
        let room =
            SandboxProfile { reach: self.reach.clone(), overlays: self.overlays.clone(), temporary: scratch.0.clone() };
        sandbox.vector(&room, vector)
    }

    /// Where programs are looked for: not in folders that cannot be reached, where each would be a riddle.
    pub(crate) fn path(&self, sandbox: &Sandbox) -> OsString {
        let own = Environment::of_process().get("PATH").unwrap_or(OsStr::new(PATH)).to_owned();
        if !sandbox.is_there() {
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

impl ScratchDir {
    /// What the errand may write to.
    pub(crate) fn temporary(&self) -> &Path {
        &self.0
    }

    /// Deletes it, off the runtime's threads: nobody knows how much lies in it.
    pub(crate) async fn delete(scratch: Option<Self>) {
        if let Some(Self(path)) = scratch {
            remove(path).await;
        }
    }
}

/// Deletes what errands of an earlier Hob have left, while this one goes on. Only for who holds the data directory's lock.
pub fn clear(data_dir: &Path) {
    let (scratch, old) = (data_dir.join(SCRATCH), data_dir.join(SCRATCH_OLD));
    let moved = std::fs::create_dir_all(&old).and_then(|()| tempfile::tempdir_in(&old)).and_then(|dir| {
        // A folder that is empty gives way.
        std::fs::rename(&scratch, dir.keep())
    });
    match moved {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, "what tools left in the data directory's scratch folder cannot be deleted");
        }
        _ => {}
    }
    tasks::spawn_if_running("scratch", remove(old));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_start_takes_the_leftovers_out_of_the_way_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join(SCRATCH).join("run-x").join(vec!["d"; 500].join("/"));
        std::fs::create_dir_all(&deep).unwrap();
        clear(dir.path());
        assert!(!dir.path().join(SCRATCH).exists(), "a new errand meets nothing of it");
        while dir.path().join(SCRATCH_OLD).exists() {
            tokio::task::yield_now().await;
        }
        // Without any, and with what an earlier start could not finish.
        std::fs::create_dir_all(dir.path().join(SCRATCH_OLD).join("rest")).unwrap();
        clear(dir.path());
        while dir.path().join(SCRATCH_OLD).exists() {
            tokio::task::yield_now().await;
        }
    }
}
