//! What a run's commands and file tools have changed in their copy of the workspace, as a person is asked about it.

use serde::{Deserialize, Serialize};

/// Where a call works that can work in a draft.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DraftUse {
    /// On the workspace: in a draft of its own that is kept as soon as it has ended, if there can be one.
    #[default]
    AtOnce,
    /// In the run's draft of this number, until a person has settled that.
    Open(u32),
}

/// What has been changed in a run's copy of the workspace and is not kept yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceDraft {
    /// Which of the run's drafts it is: the number goes up with each one that was settled.
    pub number: u32,
    /// SHA-256 over all changes: a yes covers exactly these.
    pub digest: String,
    /// How many files, folders and links are changed.
    pub changes: u32,
    /// What is changed, in words for people; bounded, and without characters that hide or rearrange text.
    pub shown: String,
    /// All of it, where `shown` leaves something out; bounded as well, but far beyond what is read in a chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// What among it runs later by itself, such as a hook or anything executable.
    pub runs_later: Vec<String>,
}
