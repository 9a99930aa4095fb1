//! What is right as a text and cannot do what it is there for: nothing is refused for it, and it is told.

use jiff::Timestamp;

use crate::Config;
use crate::load::LoadNote;
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};

/// Why letters from everybody are a stranger's.
const NOBODY: &str = "nobody who writes can be recognised: neither is a mail server named whose word counts, nor are signatures checked, \
     so each letter is a stranger's";
/// What helps.
const VERIFY: &str =
    "`verify = true` has Hob check signatures itself, or name your provider's server in `authserv_ids` (docs/email.md)";

impl Config {
    /// The sections that cannot do what they are there for.
    pub fn remarks(&self) -> Vec<LoadNote> {
        let deaf = self.mailboxes().filter(|mailbox| mailbox.section.recognises_nobody());
        let what = || NOBODY.to_owned();
        deaf.map(|mailbox| LoadNote { key: mailbox.key(), line: None, what: what(), fix: VERIFY.to_owned() }).collect()
    }
}

/// Tells of every section that cannot do what it is there for; what was told of before and is not so any more is mended.
pub fn update_conditions(config: &Config, conditions: &Conditions, since: Timestamp) {
    let notes = config.remarks();
    let is_over = |part: &SystemPart| match part {
        SystemPart::Setting(name) => notes.iter().all(|note| note.key != *name),
        _ => false,
    };
    for part in conditions.all().into_keys().filter(is_over) {
        drop(conditions.clear(&part));
    }
    for LoadNote { key, what, fix, .. } in notes {
        conditions.report(SystemPart::Setting(key), Trouble { since, what, fix });
    }
}
