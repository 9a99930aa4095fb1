//! What owners are told of troubles, and when. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use hob_core::domain::condition::{SystemPart, Trouble};

/// What comes back within that after it was mended is told only when it has lasted as long.
const FLAPPING: SignedDuration = SignedDuration::from_mins(5);
/// The longest wait until the next look.
const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// Something to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnerNotice {
    pub(super) part: SystemPart,
    pub(super) text: String,
}

/// What was told of.
#[derive(Debug, Default)]
pub(super) struct NoticeLedger {
    parts: BTreeMap<SystemPart, PartState>,
}

#[derive(Debug, Default)]
struct PartState {
    /// Its trouble stands.
    stands: bool,
    /// It was told of, and its end was not.
    is_told: bool,
    /// It is not told before.
    hold_until: Option<Timestamp>,
}

impl NoticeLedger {
    pub(super) fn at_start(all: &BTreeMap<SystemPart, Trouble>) -> Self {
        let mut ledger = Self::default();
        // Only what the process was started with: later ones are told by who reads the file.
        if !all.contains_key(&SystemPart::Config) {
            ledger.parts.insert(
                SystemPart::Config,
                PartState { stands: true, is_told: false, hold_until: Some(Timestamp::MAX) },
            );
        }
        ledger
    }

    /// What is to be said now, where this is what does not work.
    pub(super) fn look(&mut self, all: &BTreeMap<SystemPart, Trouble>, now: Timestamp) -> Vec<OwnerNotice> {
        let mut said = Vec::new();
        for (part, trouble) in all {
            let known = self.parts.entry(part.clone()).or_default();
            known.stands = true;
            if !known.is_told && known.hold_until.is_none_or(|until| until <= now) {
                known.is_told = true;
                let Trouble { what, fix, .. } = trouble;
                said.push(OwnerNotice {
                    part: part.clone(),
                    text: format!("Something does not work. {part}: {what}; {fix}"),
                });
            }
        }
        for (part, known) in &mut self.parts {
            if all.contains_key(part) || !known.stands || known.hold_until == Some(Timestamp::MAX) {
                continue;
            }
            // Whoever reads the config file tells its end, with what has changed.
            if std::mem::take(&mut known.is_told) && *part != SystemPart::Config {
                said.push(OwnerNotice { part: part.clone(), text: format!("It works again: {part}.") });
            }
            known.stands = false;
            known.hold_until = now.saturating_add(FLAPPING).ok();
            if *part == SystemPart::Config {
                known.hold_until = Some(Timestamp::MAX);
            }
        }
        said
    }

    /// Nobody could be told: whoever has not heard of a trouble need not hear of its end.
    pub(super) fn unheard(&mut self, part: &SystemPart) {
        if let Some(known) = self.parts.get_mut(part) {
            known.is_told = false;
        }
    }

    /// When it is to be looked again, whatever happens.
    pub(super) fn next_look(&self, now: Timestamp) -> Duration {
        let held = self.parts.values().filter(|known| known.stands && !known.is_told);
        let until = held.filter_map(|known| known.hold_until).filter(|until| *until != Timestamp::MAX).min();
        until.map_or(LOOK_EVERY, |until| now.duration_until(until).unsigned_abs().min(LOOK_EVERY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn bad(parts: &[SystemPart]) -> BTreeMap<SystemPart, Trouble> {
        let trouble = Trouble { since: at(0), what: "9 MB left".to_owned(), fix: "free some".to_owned() };
        parts.iter().map(|part| (part.clone(), trouble.clone())).collect()
    }

    fn texts(said: Vec<OwnerNotice>) -> Vec<String> {
        said.into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn n9_a_trouble_and_its_end_are_told_once_and_what_comes_and_goes_is_held() {
        let mut ledger = NoticeLedger::at_start(&bad(&[]));
        let disk = [SystemPart::Disk];
        let told = "Something does not work. disk: 9 MB left; free some";
        assert_eq!(texts(ledger.look(&bad(&disk), at(0))), [told]);
        assert!(ledger.look(&bad(&disk), at(1)).is_empty());
        assert_eq!(texts(ledger.look(&bad(&[]), at(10))), ["It works again: disk."]);
        // It comes back, and goes: nobody hears of it.
        assert!(ledger.look(&bad(&disk), at(20)).is_empty());
        assert_eq!(ledger.next_look(at(20)), Duration::from_secs(290));
        assert!(ledger.look(&bad(&[]), at(30)).is_empty());
        // It comes back, and stays.
        assert!(ledger.look(&bad(&disk), at(40)).is_empty());
        assert_eq!(texts(ledger.look(&bad(&disk), at(330))), [told]);
        assert_eq!(texts(ledger.look(&bad(&[]), at(331))), ["It works again: disk."]);
        assert_eq!(ledger.next_look(at(331)), LOOK_EVERY);
    }

    #[test]
    fn n9_of_the_config_only_what_was_there_at_the_start_is_told() {
        let config = [SystemPart::Config];
        let mut ledger = NoticeLedger::at_start(&bad(&config));
        assert_eq!(ledger.look(&bad(&config), at(0)).len(), 1);
        assert!(ledger.look(&bad(&[]), at(1)).is_empty(), "whoever reads the file tells its end");
        assert!(ledger.look(&bad(&config), at(5000)).is_empty());
        let mut ledger = NoticeLedger::at_start(&bad(&[]));
        assert!(ledger.look(&bad(&config), at(0)).is_empty() && ledger.look(&bad(&[]), at(1)).is_empty());
    }

    #[test]
    fn n9_the_end_of_what_nobody_has_heard_of_is_not_told() {
        let mut ledger = NoticeLedger::at_start(&BTreeMap::new());
        assert_eq!(ledger.look(&bad(&[SystemPart::Disk]), at(0)).len(), 1);
        ledger.unheard(&SystemPart::Disk);
        assert!(ledger.look(&bad(&[]), at(10)).is_empty());
        assert_eq!(ledger.look(&bad(&[SystemPart::Disk]), at(1_000)).len(), 1, "the next one is told");
    }
}
