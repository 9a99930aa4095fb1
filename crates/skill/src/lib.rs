//! Skills: folders with instructions for a kind of task (the Agent Skills format), which the model reads when one fits.
//!
//! Never: a right. What a skill says widens nothing that a run may call, and one that was installed does nothing until
//! somebody enabled it as it is.
//! Start at [`library::Library`]; a folder is read by [`folder`], its `SKILL.md` by `format`.

pub mod archive;
pub mod draft;
pub mod fetch;
pub mod folder;
pub(crate) mod format;
pub mod install;
pub mod library;
pub mod loaded_skills;
pub(crate) mod matching;
pub mod report;
mod shipped;
pub(crate) mod skill_vectors;
pub mod watch;
