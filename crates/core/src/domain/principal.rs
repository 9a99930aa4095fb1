//! Who speaks, and what they may.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::ids::UserId;

/// What somebody may do.
// Each role may all that the ones before it may (row C5).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum Role {
    /// little: no memory, no commands, few tokens
    Guest,
    /// what members of the household may
    #[default]
    User,
    /// see, stop and edit what users and guests do, too
    Admin,
    /// everything
    Owner,
}

crate::sql_names!(Role);

impl Role {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::User => "user",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
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
    pub user: UserId,
    /// Shown to the model and to people.
    pub name: String,
    pub role: Role,
    /// Whether their words may instruct.
    pub trust: Trust,
}

impl Principal {
    /// May this person answer, stop or edit what `requester` asked for, who may what `role` may? The requester themselves,
    /// owners, and admins unless it is an owner's.
    pub fn may_act_for(&self, requester: UserId, role: Role) -> bool {
        self.user == requester || self.role == Role::Owner || (self.role == Role::Admin && role < Role::Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c5_an_admin_acts_for_everybody_but_an_owner() {
        use Role::{Admin, Guest, Owner, User};
        let somebody = |role| Principal { user: UserId(1), name: "Somebody".to_owned(), role, trust: Trust::Trusted };
        let table = [(Guest, [false; 4]), (User, [false; 4]), (Admin, [true, true, true, false]), (Owner, [true; 4])];
        for (role, expected) in table {
            let may = [Guest, User, Admin, Owner].map(|other| somebody(role).may_act_for(UserId(2), other));
            assert_eq!(may, expected, "{role:?}");
            assert!(somebody(role).may_act_for(UserId(1), Owner), "what is their own is theirs");
        }
    }
}
