//! What a run asks people, and what they answer. Stored in `human.asked` and `human.answered`.

use serde::{Deserialize, Serialize};

use crate::machine::digest::Digest;
use crate::machine::event::JournalMismatch;
use hob_core::domain::draft::WorkspaceDraft;
use hob_core::domain::elicitation::Elicitation;
use hob_core::domain::ids::{CallId, UserId};
use hob_core::domain::origin::OriginSource;
use hob_core::domain::plan::UnvouchedValue;
use hob_core::domain::tool_class::ServerClassification;
use hob_core::domain::tools::{DangerGrade, Risk};

/// Why a run waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Question {
    /// The model asks (row B15).
    Asked {
        /// The call that asks.
        call: CallId,
        /// The question.
        text: String,
        /// The call's server asks it, and goes on with the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<Elicitation>>,
    },
    /// A call with side effects was under way when the process died (row B10).
    UnsafeCall {
        call: CallId,
        /// Its tool.
        name: String,
        arguments: String,
        /// The try that was cut off: the second, if somebody had it run again and that was cut off too.
        #[serde(default = "first", skip_serializing_if = "is_first")]
        attempt: u32,
    },
    /// The system prompt is not the one the run began with (row B11).
    PromptChanged {
        /// The hash of the one in use now.
        system: Digest,
    },
    /// The journal does not replay to the same effects (row B11).
    Mismatch(JournalMismatch),
    /// The process died three times at this step.
    CrashLoop,
    /// A call needs a person's word (row D6).
    Approval {
        call: CallId,
        /// Its tool.
        name: String,
        /// Its arguments, whole: the word is for these alone.
        arguments: String,
        /// Whether "always" can be said.
        grantable: bool,
        /// What there is to be known of it (row N6).
        #[serde(default, skip_serializing_if = "crate::machine::is_default")]
        concern: Box<CallConcern>,
        /// Further calls of the same reply that need one as well (row N16): the word is for all, for some, or for none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        beside: Vec<FurtherCall>,
    },
    /// The window fills faster than it can be emptied (row B5).
    ContextFull,
    /// It goes in circles and did not ask by itself (row B3).
    Circling {
        /// What it does again and again, in words.
        what: String,
        /// What the model said instead of asking; perhaps nothing.
        words: String,
    },
    /// It waits for its agents; nobody is asked, and there is nothing to answer.
    Agents,
    /// Somebody has paused it; there is nothing to answer.
    Paused { by: UserId },
}

/// A further call that the same question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FurtherCall {
    pub call: CallId,
    /// Its tool.
    pub name: String,
    /// Its arguments, whole.
    pub arguments: String,
    /// What there is to be known of it.
    #[serde(default, skip_serializing_if = "crate::machine::is_default")]
    pub concern: Box<CallConcern>,
}

/// What a person is to know of a call before they let it go (row N6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallConcern {
    /// What it may do.
    #[serde(skip_serializing_if = "Risk::is_read")]
    pub risk: Risk,
    /// How dangerous it is.
    #[serde(skip_serializing_if = "DangerGrade::is_safe")]
    pub grade: DangerGrade,
    /// Why, as its tool says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whom the run has listened to that nobody vouches for, if that is why it is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<OriginSource>,
    /// What its tool is for, as its maker says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What "always" would cover; empty: it cannot be said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Whether "yes, for this run" can be said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) this_run: bool,
    /// Whether only an owner may say yes: who asked for it is not to be relied on either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub owners: bool,
    /// What of a call that was planned nobody who counts has said (row N16).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<UnvouchedValue>,
    /// What is to be kept, where that is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Box<WorkspaceDraft>>,
    /// The tools that can be classed with the answer: only an owner can give one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classing: Option<Box<ServerClassification>>,
}

/// The first try of a call: what a journal that names none means.
const fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it by reference")]
const fn is_first(attempt: &u32) -> bool {
    *attempt == first()
}

/// A person's answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub by: UserId,
    /// Their words, or a button's.
    pub text: String,
    /// The question that a button belongs to; words answer the open one.
    pub question: Option<u32>,
}
