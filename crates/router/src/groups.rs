//! `/group`: when Hob answers in a group (row C4).

use crate::command::GroupChange;
use hob_core::domain::inbound::Conversation;
use hob_core::domain::principal::{Principal, Role};
use hob_core::policy::groups::{GroupMode, GroupModes};
use hob_store::error::StoreError;
use hob_store::{Tx, groups};

/// In private.
const NO_GROUP: &str = "This is not a group: here I answer whatever you say.";
/// By somebody who may not.
const NOT_YOURS: &str = "Only an admin or an owner can choose when I answer here.";

/// The mode that holds at a place: what was chosen there, or what is configured; none: it is not a group.
pub(super) async fn mode_of(
    tx: &mut Tx,
    modes: &GroupModes,
    place: &Conversation,
) -> Result<Option<GroupMode>, StoreError> {
    let Some(configured) = modes.of(place) else {
        return Ok(None);
    };
    let chosen = groups::mode(tx, place).await?.and_then(|mode| GroupMode::parse(&mode));
    Ok(Some(chosen.unwrap_or(configured)))
}

/// Shows or changes it.
pub(super) async fn answer(
    tx: &mut Tx,
    modes: &GroupModes,
    principal: &Principal,
    place: &Conversation,
    change: GroupChange,
) -> Result<String, StoreError> {
    if mode_of(tx, modes, place).await?.is_none() {
        return Ok(NO_GROUP.to_owned());
    }
    let chosen = match change {
        GroupChange::Show => None,
        GroupChange::AsConfigured => Some(None),
        GroupChange::Set(mode) => Some(Some(mode)),
    };
    if let Some(mode) = chosen {
        if principal.role < Role::Admin {
            return Ok(NOT_YOURS.to_owned());
        }
        groups::set_mode(tx, place, mode.map(GroupMode::as_str)).await?;
    }
    let mode = mode_of(tx, modes, place).await?.unwrap_or_default();
    Ok(mode_text(mode, chosen.is_some()))
}

fn mode_text(mode: GroupMode, is_new: bool) -> String {
    let now = if is_new { "From now on" } else { "Here" };
    match mode {
        GroupMode::Mention => {
            format!("{now} I answer when I am named, answered or given a command. /group all|off changes that.")
        }
        GroupMode::All => format!("{now} I read and may answer everything. /group mention|off changes that."),
        GroupMode::Off => format!("{now} I answer nobody; an owner's commands work. /group mention|all changes that."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_is_told() {
        insta::assert_snapshot!(mode_text(GroupMode::Mention, false), @"Here I answer when I am named, answered or given a command. /group all|off changes that.");
        insta::assert_snapshot!(mode_text(GroupMode::All, true), @"From now on I read and may answer everything. /group mention|off changes that.");
        insta::assert_snapshot!(mode_text(GroupMode::Off, true), @"From now on I answer nobody; an owner's commands work. /group mention|all changes that.");
    }
}
