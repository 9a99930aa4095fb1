//! What a command line would do, told from its text before it is run (row D6).
//!
//! Never: a guess in the command's favour. What cannot be read is refused, what is not known is asked for.
//! Start at [`assess`], then [`walk`] (the tree), [`command`] (one command), [`programs`] (the tables).
//!
//! | grade | what earns it |
//! |---|---|
//! | safe | programs that only look, in places that may be read; ordinary work inside the workspace, in the sandbox |
//! | medium | the network, deleting a few files, installing, programs that are not known, whatever runs without a sandbox |
//! | high | whole folders deleted, places outside, keys, text that is decoded or fetched and then run, what is obscured |
//! | critical | what cannot be undone, or needs rights over the machine: `sudo`, publishing, forced pushes, what runs by itself |
//! | refused | `/`, a home or the workspace's own surroundings deleted, disks wiped, fork bombs, reverse shells, hidden characters, text that is no command |
//!
//! Of all parts of a command the worst counts, and wrapping a command never makes it better.

mod command;
mod findings;
mod git;
mod interpreters;
mod options;
mod paths;
mod places;
mod programs;
mod special;
mod syntax;
mod text;
mod walk;
mod words;
mod wrappers;

use std::path::{Path, PathBuf};

use crate::domain::tools::{Grade, Risk};

/// The longest command that is looked at.
pub const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// How the reason ends that the network is asked for.
pub const USES_NETWORK: &str = "uses the network";

/// Where a command would run, and what it could reach there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// The kernel keeps it within these bounds.
    pub sandboxed: bool,
    /// It may use the network.
    pub network: bool,
    /// The folder to work in.
    pub workspace: PathBuf,
    /// Other folders that it may change.
    pub writable: Vec<PathBuf>,
    /// Other places that it may look at.
    pub readable: Vec<PathBuf>,
    /// Where it begins.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

/// What a command would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What it may do.
    pub risk: Risk,
    /// How dangerous it is.
    pub grade: Grade,
    /// Why, the gravest first; each is a sentence without its full stop.
    pub reasons: Vec<String>,
    /// The places that it names. Symbolic links are still in them: whoever can see them resolves them and asks [`outside`].
    pub paths: Vec<PathBuf>,
}

/// What speaks against something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// How much.
    pub grade: Grade,
    /// Why, in words for people.
    pub text: String,
}

impl Reason {
    fn new(grade: Grade, text: &str) -> Self {
        Self { grade, text: text.to_owned() }
    }
}

/// What a command would do.
#[must_use]
pub fn assess(command: &str, grounds: &Grounds) -> Verdict {
    let mut walk = walk::Walk::new(grounds);
    if command.len() > COMMAND_BYTES_MAX {
        walk.found.add(Grade::Refused, Risk::Execute, "It is longer than 16 KiB".to_owned());
        return walk.into_verdict();
    }
    let hidden = text::hidden(command);
    let refused = hidden.as_ref().is_some_and(|(grade, _)| *grade == Grade::Refused);
    if let Some((grade, why)) = hidden {
        let risk = if refused { Risk::Execute } else { Risk::Read };
        walk.found.add(grade, risk, why);
    }
    if !refused {
        walk.text(command);
    }
    if !grounds.sandboxed {
        walk.found.add(Grade::Medium, Risk::Read, "No sandbox keeps it within bounds".to_owned());
    }
    walk.into_verdict()
}

/// What speaks against a place that a command names, once its symbolic links are followed.
#[must_use]
pub fn outside(path: &Path, grounds: &Grounds) -> Option<Reason> {
    // Without a sandbox nothing holds a command to looking.
    let access = if grounds.sandboxed { paths::Access::Read } else { paths::Access::Write };
    let reason = paths::judge(path, access, grounds)?;
    Some(Reason::new(reason.grade, &format!("{} {}", text::quoted(&path.display().to_string()), reason.text)))
}

#[cfg(test)]
mod tests;
