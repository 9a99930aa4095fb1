//! What is said about pauses and standing grants.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::pause::ActivePause;
use hob_agent::machine::approval::scope;
use hob_store::grants::GrantRow;

/// `/pause`, and nothing runs.
pub(super) const PAUSED: &str = "Paused. What you send waits until /resume.";
/// `/pause`, and something runs.
pub(super) const PAUSED_AT_WORK: &str =
    "Paused: I finish the step that I am at and stand still then. What you send waits until /resume; /stop ends it.";
/// `/pause all`.
pub(super) const PAUSED_ALL: &str = "Everything is paused, in every conversation, and stays so over restarts. What I am at \
     stands still after its present step; what arrives waits. Commands still work. /resume all lets it go on.";
/// `/resume`.
pub(super) const RESUMED: &str = "I go on.";
/// `/resume all`.
pub(super) const RESUMED_ALL: &str = "I go on everywhere, except in conversations that were paused one by one.";
/// `/resume`, and nothing is paused.
pub(super) const NOTHING_PAUSED: &str = "Nothing is paused here.";
/// `/pause all` or `/resume all`, by somebody who may not.
pub(super) const OWNERS_ONLY: &str = "Only an owner can pause or resume everything. /pause and /resume alone are for this \
     conversation.";
/// An answer to a question for approval, by somebody who may not.
pub(super) const NOT_YOURS_TO_APPROVE: &str =
    "Only who asked for that, or an owner, can approve or deny it. Nothing has changed.";
/// The same, where who asked for it is a guest, or somebody of whom nobody knows who they are.
pub(super) const FOR_OWNERS_TO_APPROVE: &str = "Only an owner can approve or deny that. Nothing has changed.";
/// `/grants`, and there are none.
pub(super) const NO_GRANTS: &str = "Nothing has a lasting permission here: I ask each time.";

/// Why it stands still, and what helps.
pub(super) fn stands_still(standstill: &ActivePause) -> String {
    match standstill {
        ActivePause::Everywhere(name) => {
            format!("Everything is paused, by {name}. It goes on when an owner says /resume all.")
        }
        ActivePause::Here(name) => format!("This conversation is paused, by {name}. It goes on with /resume."),
    }
}

/// A message was taken in, and waits.
pub(super) fn waits(standstill: &ActivePause, place: i64) -> String {
    let others = match place - 1 {
        ..=0 => String::new(),
        1 => " One message is before it.".to_owned(),
        before => format!(" {before} messages are before it."),
    };
    format!("Taken in; it waits.{others} {}", stands_still(standstill))
}

/// The line of `/status`.
pub(super) fn status(standstill: &ActivePause) -> String {
    match standstill {
        ActivePause::Everywhere(name) => format!("paused: everything, by {name}"),
        ActivePause::Here(name) => format!("paused: this conversation, by {name}"),
    }
}

/// `/grants`.
pub(super) fn grants(grants: &[GrantRow], zone: &TimeZone) -> String {
    if grants.is_empty() {
        return NO_GRANTS.to_owned();
    }
    let line = |(index, grant): (usize, &GrantRow)| {
        let since = Timestamp::from_millisecond(grant.created_at).unwrap_or(Timestamp::UNIX_EPOCH);
        let since = since.to_zoned(zone.clone()).strftime("%-d %B %Y").to_string();
        format!("{}. {} for {}, since {since}", index + 1, scope::words(&grant.tool), grant.name)
    };
    let lines = grants.iter().enumerate().map(line);
    std::iter::once("I do these here without asking:".to_owned())
        .chain(lines)
        .chain(["/grants revoke N takes one back.".to_owned()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// `/grants revoke N`.
pub(super) fn revoked(grant: &GrantRow) -> String {
    format!("Taken back, at once: I ask again before each {} for {}.", scope::words(&grant.tool), grant.name)
}

/// `/grants revoke N`, and there is no Nth.
pub(super) fn no_such_grant(number: usize, count: usize) -> String {
    match count {
        0 => NO_GRANTS.to_owned(),
        _ => format!("There is no grant {number} here; /grants lists the {count} that there are."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::{GrantId, UserId};

    #[test]
    fn b7_a_message_to_a_paused_house_is_told_so() {
        let all = ActivePause::Everywhere("Ada".to_owned());
        let here = ActivePause::Here("Ben".to_owned());
        let told = [waits(&all, 1), waits(&here, 1), waits(&here, 2), waits(&here, 3), status(&all), status(&here)];
        insta::assert_snapshot!(told.join("\n"), @"
        Taken in; it waits. Everything is paused, by Ada. It goes on when an owner says /resume all.
        Taken in; it waits. This conversation is paused, by Ben. It goes on with /resume.
        Taken in; it waits. One message is before it. This conversation is paused, by Ben. It goes on with /resume.
        Taken in; it waits. 2 messages are before it. This conversation is paused, by Ben. It goes on with /resume.
        paused: everything, by Ada
        paused: this conversation, by Ben
        ");
    }

    #[test]
    fn d6_grants_are_listed_by_number() {
        let grant = |id, tool: &str| GrantRow {
            id: GrantId(id),
            user: UserId(1),
            name: "Ada".to_owned(),
            tool: tool.to_owned(),
            created_at: 1_767_225_600_000,
        };
        let both = [grant(4, "pay"), grant(9, "send")];
        insta::assert_snapshot!(grants(&both, &TimeZone::UTC), @"
        I do these here without asking:
        1. pay for Ada, since 1 January 2026
        2. send for Ada, since 1 January 2026
        /grants revoke N takes one back.
        ");
        insta::assert_snapshot!(grants(&[], &TimeZone::UTC), @"Nothing has a lasting permission here: I ask each time.");
        insta::assert_snapshot!(revoked(&both[0]), @"Taken back, at once: I ask again before each pay for Ada.");
        insta::assert_snapshot!(no_such_grant(3, 2), @"There is no grant 3 here; /grants lists the 2 that there are.");
        assert_eq!(no_such_grant(1, 0), NO_GRANTS);
    }
}
