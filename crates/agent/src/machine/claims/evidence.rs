//! The table of languages, as it is searched: taken apart once, as every final reply and every fold of a journal asks it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::machine::claims::languages::{Language, SPACED};

/// The languages whose words stand apart.
pub(super) static MARKS: LazyLock<Vec<ClaimMarkers>> = LazyLock::new(|| SPACED.iter().map(ClaimMarkers::of).collect());

/// How finished deeds are told of in one language; [`Language`] says what each of them is.
pub(super) struct ClaimMarkers {
    pub(super) common: BTreeSet<&'static str>,
    pub(super) openers: Vec<ClauseOpener>,
    pub(super) deeds: BTreeSet<&'static str>,
    pub(super) phrases: Vec<Phrase>,
    pub(super) short: Vec<Phrase>,
    pub(super) unless: BTreeSet<&'static str>,
}

/// Words that stand together.
pub(super) struct Phrase(Vec<&'static str>);

/// What a clause has before a deed.
pub(super) struct ClauseOpener {
    pub(super) words: Phrase,
    /// The deed follows at once.
    pub(super) at_once: bool,
}

impl ClaimMarkers {
    fn of(language: &Language) -> Self {
        let words = |list: &'static str| list.split_ascii_whitespace().collect();
        let phrases = |list: &'static str| list.split('|').map(Phrase::of).collect();
        let opener = |mark: &'static str| {
            let at_once = mark.strip_suffix('+');
            ClauseOpener { words: Phrase::of(at_once.unwrap_or(mark)), at_once: at_once.is_some() }
        };
        Self {
            common: words(language.common),
            openers: language.openers.split('|').map(opener).collect(),
            deeds: words(language.deeds),
            phrases: phrases(language.phrases),
            short: phrases(language.short),
            unless: words(language.unless),
        }
    }
}

impl Phrase {
    fn of(text: &'static str) -> Self {
        Self(text.split_ascii_whitespace().collect())
    }

    /// Where it begins among the words.
    pub(super) fn find(&self, clause: &[&str]) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        (0..clause.len()).find(|at| clause[*at] == *first && clause[at + 1..].starts_with(rest))
    }
}
