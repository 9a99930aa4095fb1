//! What a sandboxed program may do, as Hob tells it to itself on the way in.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// So much of the disk of Hob's data is not a program's, in MiB.
pub(crate) const DISK_LEFT_MB: u64 = 1_024;

/// What one process may use, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory that a process may write to, in MiB.
    pub memory_mb: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// A file that is written, in MiB.
    pub file_mb: u64,
    /// What is left of the disk, in MiB.
    pub disk_left_mb: u64,
    /// Time on a processor, in seconds; none: without a bound.
    pub cpu_secs: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_mb: 4_096, processes: 512, file_mb: 1_024, disk_left_mb: DISK_LEFT_MB, cpu_secs: None }
    }
}

/// What a program may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxAccess {
    /// What it may read, and run, besides the system's own folders.
    pub read: Vec<PathBuf>,
    /// What it may read and write besides.
    pub write: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may use.
    pub limits: Limits,
}

/// A copy of a folder as it is written to: what is changed lies elsewhere, and the folder stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The folder, one of those that may be written to. Its copy stands in its place.
    pub root: PathBuf,
    /// Where the changes go. No path within leads there.
    pub upper: PathBuf,
    /// What the kernel needs besides: an empty folder beside `upper`.
    pub work: PathBuf,
}

/// How far in a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// It makes namespaces, or lets bubblewrap make them, starts the next stage in them, and is there until Hob or all of that is
    /// over.
    Outer,
    /// It is the first in namespaces of Hob's own.
    First,
    /// It is in namespaces that bubblewrap made.
    Wrapped,
    /// There are no namespaces.
    Bare,
}

/// Everything a stage is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) stage: Stage,
    /// The process whose end is the program's as well.
    pub(super) parent: u32,
    /// Hob's own program.
    pub(super) program: PathBuf,
    /// Who makes the namespaces; none: Hob.
    pub(super) bubblewrap: Option<PathBuf>,
    /// The number of a pipe that ends with the outer stage.
    pub(super) lifeline: Option<i32>,
    pub(super) reach: SandboxAccess,
    /// The folder that is its alone. In namespaces it is `/tmp`.
    pub(super) temporary: PathBuf,
    /// The folders whose copies it works in.
    pub(super) overlays: Vec<Overlay>,
    /// Instead of a program: try what must not be possible.
    pub(super) trial: Option<EscapeTrial>,
}

/// What a file is changed to.
pub(super) const CHANGED: &str = "as it became";

/// What must not be possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EscapeTrial {
    /// A file that is not within reach, in a folder that is not.
    pub(super) file: PathBuf,
    /// A port on which somebody listens.
    pub(super) port: u16,
    /// An abstract socket on which somebody listens.
    pub(super) name: String,
    /// A file in the copy of a folder, to be changed.
    pub(super) change: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrialReport {
    /// The file could be read, written, cut short, or one be made beside it.
    pub(super) leaks: Vec<String>,
    /// The number of processes is bounded.
    pub(super) counted: bool,
    /// Other processes are not to be seen.
    pub(super) alone: bool,
}
