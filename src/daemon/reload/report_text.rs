//! What is said of a reload. Pure.

use crate::daemon::reload::plan::{AccountAddress, AccountStep};
use hob_config::diff::Change;

/// So many changes are listed; the rest are counted.
const LISTED_MAX: usize = 20;

/// What a reload did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AppliedChanges {
    pub(super) changes: Vec<Change>,
    /// Accounts that were not left as they are.
    pub(super) channels: Vec<(AccountAddress, AccountStep)>,
    /// What waits for a restart.
    pub(super) waits: Vec<String>,
    /// A refusal is mended by it.
    pub(super) mends: bool,
}

/// What came of a look at the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// It says what runs; whether it was refused before.
    Unchanged { mends: bool },
    /// It runs.
    Done(AppliedChanges),
    /// It does not.
    Refused(String),
    /// Hob has no file.
    NoFile,
}

/// In words for the owner.
pub(super) fn words(outcome: &ReloadOutcome) -> String {
    match outcome {
        ReloadOutcome::NoFile => "I was started without a config file: there is nothing to read.".to_owned(),
        ReloadOutcome::Unchanged { mends: false } => "The config file has not changed.".to_owned(),
        ReloadOutcome::Unchanged { mends: true } => {
            "The config file is valid again: it matches the settings in use.".to_owned()
        }
        ReloadOutcome::Refused(why) => {
            format!("I did not apply the config file, and keep the settings that I had.\n{why}")
        }
        ReloadOutcome::Done(done) => done_words(done),
    }
}

fn done_words(done: &AppliedChanges) -> String {
    let again = if done.mends { "The config file is valid again. " } else { "" };
    let mut lines = vec![match done.changes.len() {
        0 => format!("{again}I reloaded the config: something that it refers to has changed."),
        1 => format!("{again}I reloaded the config: 1 change."),
        several => format!("{again}I reloaded the config: {several} changes."),
    }];
    lines.extend(done.changes.iter().take(LISTED_MAX).map(|change| format!("- {change}")));
    if let more @ 1.. = done.changes.len().saturating_sub(LISTED_MAX) {
        lines.push(format!("- and {more} more"));
    }
    lines.extend(done.channels.iter().filter_map(|((kind, account), step)| {
        let what = match step {
            AccountStep::Stays => return None,
            AccountStep::Restarts => "was reconnected",
            AccountStep::Begins => "was connected",
            AccountStep::Ends => "was disconnected",
        };
        Some(format!("{kind} ({account}) {what}."))
    }));
    if !done.waits.is_empty() {
        lines.push(format!("Waits for a restart: {}.", done.waits.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_config::diff::changes_between;
    use hob_core::domain::inbound::ChannelKind;

    #[test]
    fn k5_it_is_said_what_changed() {
        let changes =
            changes_between("[agent]\niterations_max = 10", "[agent]\niterations_max = 20\n[daemon]\nlog = 'debug'");
        let done = AppliedChanges {
            changes,
            channels: vec![
                ((ChannelKind::Telegram, "default".to_owned()), AccountStep::Stays),
                ((ChannelKind::Slack, "work".to_owned()), AccountStep::Restarts),
                ((ChannelKind::Discord, "default".to_owned()), AccountStep::Ends),
            ],
            waits: vec!["daemon.log".to_owned()],
            mends: true,
        };
        insta::assert_snapshot!(words(&ReloadOutcome::Done(done)), @r"
        The config file is valid again. I reloaded the config: 2 changes.
        - agent.iterations_max: 10 → 20
        - daemon: added
        slack (work) was reconnected.
        discord (default) was disconnected.
        Waits for a restart: daemon.log.
        ");
        let refused = ReloadOutcome::Refused("config.toml:3: agent.x: is not a known key".to_owned());
        insta::assert_snapshot!(words(&refused), @r"
        I did not apply the config file, and keep the settings that I had.
        config.toml:3: agent.x: is not a known key
        ");
        let many = (0..23).map(|n| format!("k{n} = 1\n")).collect::<String>();
        let done = AppliedChanges {
            changes: changes_between("", &many),
            channels: Vec::new(),
            waits: Vec::new(),
            mends: false,
        };
        assert!(words(&ReloadOutcome::Done(done)).ends_with("\n- and 3 more"));
    }
}
