//! What is switched off while a secret is missing: the smallest section that Hob can do without (row N6).
//!
//! Never: a section off whose absence would let somebody in or let a tool do more.
//! Start at [`unit`]: its table is the whole rule. `tests/off.rs` holds that every secret lies in one of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use toml::Value as Toml;

use crate::Config;
use crate::expand::ExpansionFailure;
use crate::key_path::{self, PathStep};
use hob_core::domain::condition::{Conditions, SystemPart, Trouble};

/// A section that is off, and the key that it is off for. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionOff {
    /// Its dotted path, e.g. `telegram` or `provider.fallbacks[1]`.
    pub section: String,
    /// The key's dotted path.
    pub key: String,
    /// The key's line; none: it stands nowhere in the file.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl SectionOff {
    /// Whether people speak with Hob over it.
    pub fn is_channel(&self) -> bool {
        let first = self.section.split('.').next().unwrap_or_default();
        ["telegram", "slack", "discord", "matrix", "email"].contains(&first.trim_end_matches("_accounts"))
    }
}

impl std::fmt::Display for SectionOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] is off: {} {}; {}", self.section, self.key, self.what, self.fix)
    }
}

/// Tells of every section that is off.
pub fn report(off: &[SectionOff], conditions: &Conditions, since: Timestamp) {
    let mut sections: BTreeMap<&str, Vec<&SectionOff>> = BTreeMap::new();
    off.iter().for_each(|off| sections.entry(&off.section).or_default().push(off));
    for (section, keys) in sections {
        let Some(first) = keys.first() else { continue };
        let more = if keys.len() > 1 { format!(", and {} more keys", keys.len() - 1) } else { String::new() };
        let line = first.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let what = format!("off, as {}{line} {}{more}", first.key, first.what);
        conditions.report(SystemPart::Section(section.to_owned()), Trouble { since, what, fix: first.fix.clone() });
    }
}

/// Reports the sections that are off, and clears those that are on again.
pub fn update_conditions(off: &[SectionOff], conditions: &Conditions, since: Timestamp) {
    let is_off = |part: &SystemPart| match part {
        SystemPart::Section(name) => off.iter().any(|off| off.section == *name),
        _ => true,
    };
    for part in conditions.all().into_keys().filter(|part| !is_off(part)) {
        drop(conditions.clear(&part));
    }
    report(off, conditions, since);
}

/// What being off means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffMeaning {
    /// As if it were not in the file.
    Absent,
    /// Its `kind` is `none`: without the section another service would be asked, which nobody chose.
    Nobody,
    /// It stays, and answers every question with what is missing, so that whatever names it still does.
    Keyless,
}

/// The sections that can be off: `*` is any name, `[]` any item of a list. Whatever lies elsewhere is a problem of the file.
const UNITS: [(&[&str], OffMeaning); 25] = [
    (&["provider"], OffMeaning::Keyless),
    (&["provider", "fallbacks", "[]"], OffMeaning::Keyless),
    (&["transcription"], OffMeaning::Absent),
    (&["speech"], OffMeaning::Absent),
    (&["telemetry"], OffMeaning::Absent),
    (&["telegram"], OffMeaning::Absent),
    (&["telegram_accounts", "*"], OffMeaning::Absent),
    (&["slack"], OffMeaning::Absent),
    (&["slack_accounts", "*"], OffMeaning::Absent),
    (&["discord"], OffMeaning::Absent),
    (&["discord_accounts", "*"], OffMeaning::Absent),
    (&["matrix"], OffMeaning::Absent),
    (&["matrix_accounts", "*"], OffMeaning::Absent),
    (&["email"], OffMeaning::Absent),
    (&["email_accounts", "*"], OffMeaning::Absent),
    (&["memory", "embedding"], OffMeaning::Nobody),
    (&["web", "search"], OffMeaning::Nobody),
    (&["http", "*"], OffMeaning::Absent),
    (&["dav", "*"], OffMeaning::Absent),
    (&["mail", "*"], OffMeaning::Absent),
    (&["home_assistant"], OffMeaning::Absent),
    (&["mcp", "*"], OffMeaning::Absent),
    (&["tools", "*"], OffMeaning::Absent),
    (&["cli_agents", "*"], OffMeaning::Absent),
    (&["webhooks", "*"], OffMeaning::Absent),
];

/// The section around a place that can be off: how many of the steps lead to it, and what off means there.
pub(super) fn section_that_can_be_off(steps: &[PathStep]) -> Option<(usize, OffMeaning)> {
    let fits = |pattern: &[&str]| {
        steps.len() > pattern.len()
            && pattern.iter().zip(steps).all(|(word, step)| match step {
                PathStep::Key(name) => *word == "*" || word == name,
                PathStep::Item(_) => *word == "[]",
            })
    };
    let all = UNITS.iter().filter(|(pattern, _)| fits(pattern));
    all.map(|(pattern, how)| (pattern.len(), *how)).max_by_key(|(steps, _)| *steps)
}

#[derive(Default)]
pub(super) struct SectionsToSwitchOff {
    pub(super) told: Vec<SectionOff>,
    units: Vec<(Vec<PathStep>, OffMeaning)>,
}

impl SectionsToSwitchOff {
    /// Takes what is missing in a section that can be off; gives back what is a problem.
    pub(super) fn sort(&mut self, failures: Vec<ExpansionFailure>) -> (Vec<ExpansionFailure>, Vec<String>) {
        let (mut problems, mut places) = (Vec::new(), Vec::new());
        for failure in failures {
            match section_that_can_be_off(&failure.steps).filter(|_| failure.trouble.is_absence()) {
                None => problems.push(failure),
                Some((length, how)) => {
                    let steps = failure.steps.get(..length).unwrap_or_default().to_vec();
                    let key = key_path::of(&failure.steps);
                    let (what, fix) = failure.trouble.words();
                    places.push(key.clone());
                    let line = Some(failure.line);
                    self.told.push(SectionOff { section: key_path::of(&steps), key, line, what, fix });
                    self.units.push((steps, how));
                }
            }
        }
        (problems, places)
    }

    /// Takes the sections out of a document that is right.
    pub(super) fn cut(&self, document: &mut toml::Table) {
        for (steps, how) in &self.units {
            cut(document, steps, *how);
        }
    }

    /// Marks those that stay.
    pub(super) fn mark(&self, config: &mut Config) {
        let Some(provider) = &mut config.provider else { return };
        for (told, (steps, _)) in self.told.iter().zip(&self.units).filter(|(_, (_, how))| *how == OffMeaning::Keyless)
        {
            let words = format!("{} {}", told.key, told.what);
            match steps.as_slice() {
                [_] => provider.off = Some(words),
                [_, _, PathStep::Item(index)] => {
                    if let Some(fallback) = provider.fallbacks.get_mut(*index) {
                        fallback.off = Some(words);
                    }
                }
                _ => {}
            }
        }
    }
}

fn cut(table: &mut toml::Table, steps: &[PathStep], how: OffMeaning) {
    match (steps, how) {
        (_, OffMeaning::Keyless) | ([] | [PathStep::Item(_), ..], _) => {}
        ([PathStep::Key(last)], OffMeaning::Absent) => {
            table.remove(last);
        }
        ([PathStep::Key(last)], OffMeaning::Nobody) => {
            let nobody = [("kind".to_owned(), Toml::String("none".to_owned()))].into_iter().collect();
            table.insert(last.clone(), Toml::Table(nobody));
        }
        ([PathStep::Key(first), rest @ ..], _) => {
            if let Some(inner) = table.get_mut(first).and_then(Toml::as_table_mut) {
                cut(inner, rest, how);
            }
        }
    }
}
