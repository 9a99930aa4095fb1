//! Where programs run that nobody vouches for: restrictions of what they may read, write, call and use.
//!
//! Landlock holds the file system and TCP, seccomp the system calls, resource limits the rest. Where the kernel lets Hob make
//! namespaces (or bubblewrap may), a program sees no other processes, and ends with all it started, whatever it did to get away.
//! What holds is found out by trying ([`Sandbox::probe`]), once, when it is first asked for ([`trial::SandboxTrial`]).
//!
//! Never: fewer restrictions than were told of; a program whose restrictions fail is not run.
//! Start at [`Sandbox::probe`], then [`Sandbox::vector`]; the other side is [`launcher`].

pub mod confinement;
mod disk;
mod escape_attempts;
pub mod launcher;
mod layout;
pub mod probe;
pub mod process_hardening;
pub mod program_sandbox;
pub(crate) mod removal;
mod restrictions;
mod root_fs;
pub mod spec;
mod syscalls;
pub mod trial;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sandbox::spec::{EscapeTrial, Overlay, SandboxAccess, Spec, Stage};

/// What holds here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strength {
    /// Everything.
    Full {
        /// Whose namespaces they are; none: there are none, and Landlock alone holds.
        namespaces: Option<Namespaces>,
    },
    /// Not everything.
    Partial {
        /// What does not hold, in words for people.
        missing: Vec<String>,
        /// As above.
        namespaces: Option<Namespaces>,
    },
    /// Nothing.
    None {
        /// Why not, in words for people.
        why: String,
    },
}

/// Who makes the namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// Hob itself.
    Own,
    Bubblewrap(PathBuf),
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |namespaces: &Option<Namespaces>| match namespaces {
            Some(Namespaces::Own) => "Landlock, seccomp, namespaces",
            Some(Namespaces::Bubblewrap(_)) => "Landlock, seccomp, bubblewrap",
            None => "Landlock, seccomp",
        };
        match self {
            Self::Full { namespaces } => write!(f, "commands are confined ({})", by(namespaces)),
            Self::Partial { missing, namespaces } => {
                let (by, missing) = (by(namespaces), missing.join("; "));
                write!(f, "commands are confined in part ({by}), so each must be approved: {missing}")
            }
            Self::None { why } => write!(f, "commands cannot be confined, so each must be approved: {why}"),
        }
    }
}

/// How Hob confines programs here.
#[derive(Debug, Clone)]
pub struct Sandbox {
    program: Arc<Path>,
    strength: Arc<Strength>,
    overlays: bool,
}

impl Sandbox {
    pub fn none(why: &str) -> Self {
        Self {
            program: Path::new("").into(),
            strength: Arc::new(Strength::None { why: why.to_owned() }),
            overlays: false,
        }
    }

    /// What holds.
    pub fn strength(&self) -> &Strength {
        &self.strength
    }

    /// May programs be run in it at all?
    pub fn is_there(&self) -> bool {
        !matches!(*self.strength, Strength::None { .. })
    }

    /// Does everything hold that a command is trusted with?
    pub fn is_fully_enforced(&self) -> bool {
        matches!(*self.strength, Strength::Full { .. })
    }

    /// Do programs end with all that they started, whatever that did to get away?
    pub fn kills_descendants(&self) -> bool {
        self.namespaces().is_some()
    }

    /// Can programs work in a copy of a folder, so that what they change can be looked at first?
    pub fn overlays(&self) -> bool {
        self.overlays
    }

    fn namespaces(&self) -> Option<&Namespaces> {
        match &*self.strength {
            Strength::Full { namespaces } | Strength::Partial { namespaces, .. } => namespaces.as_ref(),
            Strength::None { .. } => None,
        }
    }

    /// What this process is to run so that `vector` runs in the sandbox, and ends with this process. None: there is no sandbox.
    pub fn vector(&self, room: &SandboxProfile, vector: &[String]) -> Option<Vec<OsString>> {
        self.is_there().then(|| {
            let mut all = entry_arguments(&self.program, self.namespaces(), room, None);
            all.extend(vector.iter().map(OsString::from));
            all
        })
    }
}

/// What a program may reach, and the folder that is its alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProfile {
    pub reach: SandboxAccess,
    /// The folders whose copies it works in; only where [`Sandbox::overlays`] says so.
    pub overlays: Vec<Overlay>,
    /// The folder for what it keeps for a moment; whoever runs it makes and deletes it.
    pub temporary: PathBuf,
}

/// The arguments that come before the program's own.
fn entry_arguments(
    program: &Path,
    namespaces: Option<&Namespaces>,
    room: &SandboxProfile,
    trial: Option<EscapeTrial>,
) -> Vec<OsString> {
    let stage = if namespaces.is_some() { Stage::Outer } else { Stage::Bare };
    let bubblewrap = match namespaces {
        Some(Namespaces::Bubblewrap(program)) => Some(program.clone()),
        Some(Namespaces::Own) | None => None,
    };
    let SandboxProfile { reach, overlays, temporary } = room.clone();
    let (parent, own) = (std::process::id(), program.to_owned());
    let spec = Spec { stage, parent, program: own, bubblewrap, lifeline: None, reach, temporary, overlays, trial };
    let mut all: Vec<OsString> = vec![program.into(), OsString::from(launcher::ENTRY)];
    // Of paths, numbers and words JSON can always be made.
    all.extend(serde_json::to_string(&spec).map(OsString::from));
    all
}
