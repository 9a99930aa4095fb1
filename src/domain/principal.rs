//! Who speaks, and what they may.

use serde::{Deserialize, Serialize};

use crate::domain::ids::UserId;

/// What a person may do; each role may all that the ones before it may (row C5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum Role {
    /// Let in, and no more.
    Guest,
    /// A member of the household.
    User,
    /// May see and stop what others do.
    Admin,
    /// The household's head: the terminal's user, and whom the config names.
    Owner,
}

/// Whether the words of a run come from someone Hob trusts (row A12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum Trust {
    /// Said by a known person on a channel that proves who they are.
    Trusted,
    /// E-mail, events, strangers: content, not instructions.
    Untrusted,
}

/// The authority a message travels with (row N4); it is the sender's own, whoever is served before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// Who.
    pub user: UserId,
    /// Shown to the model and to people.
    pub name: String,
    /// What they may.
    pub role: Role,
    /// Whether their words may instruct.
    pub trust: Trust,
}

impl Principal {
    /// May this person answer, stop or edit what `requester` asked for? The requester themselves, admins and owners.
    #[must_use]
    pub fn may_act_for(&self, requester: UserId) -> bool {
        self.user == requester || self.role >= Role::Admin
    }
}
