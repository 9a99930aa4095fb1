//! What stands around a message: what others said before it, what it answers, whose words it hands on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::inbound::QuotedMessage;

/// What was said to a group and not to Hob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverheardMessage {
    /// How whoever said it is called there. They chose it themselves.
    pub name: String,
    pub text: String,
    pub at: Timestamp,
    /// Whether a member of the household said it: a guest is none.
    pub member: bool,
}

/// What stands around a message. This is part of what is stored of a run for years: change it only by adding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageContext {
    /// What was said here since Hob was last spoken to, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overheard: Vec<OverheardMessage>,
    /// Whose words they are, if the sender only hands them on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<String>,
    /// The sender wants done what they say.
    #[serde(skip_serializing_if = "is_false")]
    pub wanted: bool,
    /// What they answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quoted: Option<QuotedMessage>,
    /// They are said to everybody in the group, not to Hob by name.
    #[serde(skip_serializing_if = "is_false")]
    pub unaddressed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
fn is_false(it: &bool) -> bool {
    !*it
}

impl MessageContext {
    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
