//! Skills as the tools see them: the port to whoever keeps them, and what it tells.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::domain::ids::UserId;

/// How a skill stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillState {
    /// It came with Hob.
    Shipped,
    /// It lies in a folder that the operator named.
    Configured,
    /// It was installed and enabled.
    Enabled,
    /// It was installed, and nobody has enabled it.
    Inert,
    /// It was enabled, and its files are others since.
    Changed,
}

impl SkillState {
    /// May it be used?
    pub fn is_usable(self) -> bool {
        matches!(self, Self::Shipped | Self::Configured | Self::Enabled)
    }

    /// In few words, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shipped => "comes with Hob",
            Self::Configured => "from your folders",
            Self::Enabled => "enabled",
            Self::Inert => "inert",
            Self::Changed => "inert: its files have changed",
        }
    }
}

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillLine {
    pub name: String,
    /// When to use it.
    pub description: String,
    pub standing: SkillState,
    /// Its words may instruct.
    pub trusted: bool,
}

/// A folder that holds no usable skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedSkill {
    /// Where it was found: the file and, where one is at fault, its line.
    pub place: String,
    /// What is wrong, and what to do.
    pub why: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillList {
    /// Those that can be read, by name.
    pub skills: Vec<SkillLine>,
    /// What cannot.
    pub quarantined: Vec<QuarantinedSkill>,
}

/// What is read of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillContent {
    /// The words: the skill's body, or those of a file beside it.
    pub text: String,
    /// The files beside it.
    pub files: Vec<String>,
    /// The tools that it says it needs.
    pub allowed_tools: Vec<String>,
    /// The words may instruct.
    pub trusted: bool,
}

/// Why something could not be done with a skill. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// There is none of that name.
    #[error("there is no skill {name:?}; there are: {known}")]
    Unknown {
        name: String,
        /// Those that there are.
        known: String,
    },
    /// It is not enabled.
    #[error(
        "the skill {name} is not enabled ({standing}); the owner can look at it by `hob skill show {name}` and enable it"
    )]
    Inert { name: String, standing: &'static str },
    /// The path leads out of the skill's folder.
    #[error("{file:?} is outside of the skill {name}: only files in its own folder can be read")]
    Outside {
        /// The skill.
        name: String,
        /// The path that was asked for.
        file: String,
    },
    /// There is no such file beside it.
    #[error("the skill {name} has no file {file:?}; it has: {known}")]
    NoFile {
        /// The skill.
        name: String,
        /// The file that was asked for.
        file: String,
        /// Those that there are.
        known: String,
    },
    /// The file cannot be shown.
    #[error("{file} of the skill {name} cannot be shown: {why}")]
    Unreadable {
        /// The skill.
        name: String,
        file: String,
        why: String,
    },
    /// It is not one that was installed.
    #[error("the skill {name} was not installed ({standing}): {advice}")]
    NotInstalled {
        name: String,
        standing: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// Nothing is on offer as a draft.
    #[error(
        "there is nothing to make a skill of: a draft is offered when the same steps went well five times in two months"
    )]
    NothingToDraft,
    /// Files could not be read or written.
    #[error("{0}")]
    Files(String),
    /// The database failed.
    #[error("the record of skills cannot be read or written: {0}")]
    Store(String),
}

/// Keeps the skills.
#[async_trait]
pub trait SkillBook: Send + Sync {
    async fn list(&self) -> Result<SkillList, SkillError>;

    /// What stands in one that is usable; with `file`, in that file beside it.
    async fn open(&self, name: &str, file: Option<&str>) -> Result<SkillContent, SkillError>;

    /// Everything about one, usable or not, in words for people.
    async fn show(&self, name: &str) -> Result<String, SkillError>;

    /// Has an installed one be usable as it is now, or not any more.
    async fn enable(&self, name: &str, enabled: bool, now: Timestamp) -> Result<(), SkillError>;

    /// Takes an installed one away, with its files.
    async fn remove(&self, name: &str) -> Result<(), SkillError>;

    /// Writes what is on offer to this person down as a draft, which nobody uses until it is installed and enabled. Tells
    /// where it lies.
    async fn draft(&self, user: UserId, now: Timestamp) -> Result<String, SkillError>;
}
