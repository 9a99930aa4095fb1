//! What is told of what was ranked: the best within a budget, nothing twice, and what belongs together in one piece.

use std::collections::HashSet;
use std::hash::Hash;

use crate::rank::words::{folded_words, is_stop_word};

/// How much of the longer text has to be in the shorter one, for both to say the same.
const SAME: f64 = 0.8;
/// So few words that tell something seldom make sense alone.
const TELLING_WORDS_MIN: usize = 2;
/// The words among which a text says what it speaks of.
const OPENING_WORDS: usize = 4;

/// A turn that may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectableTurn<Stem> {
    /// Its memory.
    pub id: i64,
    /// The turn just before it, if that may be told, too.
    pub before: Option<i64>,
    /// Whether it makes sense only with that ([`needs_before`]).
    pub(crate) needs_before: bool,
    pub stems: Vec<Stem>,
    pub tokens: u64,
    /// The tokens of the turn before it.
    pub tokens_before: u64,
}

/// One or two turns, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnGroup {
    /// The turn that was chosen.
    pub id: i64,
    /// The one before it, where it belongs to it.
    pub before: Option<i64>,
}

/// Of `ranked`, the best first, at most `pieces` and no more than `tokens` in all. What does not fit into the budget makes
/// room for what does.
pub(crate) fn select<Stem: Eq + Hash>(ranked: &[SelectableTurn<Stem>], pieces: usize, tokens: u64) -> Vec<TurnGroup> {
    let mut left = tokens;
    let mut told: HashSet<i64> = HashSet::new();
    let mut chosen: Vec<&SelectableTurn<Stem>> = Vec::new();
    let mut selected = Vec::new();
    for choice in ranked {
        if selected.len() >= pieces {
            break;
        }
        if told.contains(&choice.id) || chosen.iter().any(|one| says_the_same(&one.stems, &choice.stems)) {
            continue;
        }
        let before = choice.before.filter(|before| choice.needs_before && !told.contains(before));
        let size = choice.tokens + if before.is_some() { choice.tokens_before } else { 0 };
        if size > left {
            continue;
        }
        left -= size;
        told.insert(choice.id);
        told.extend(before);
        chosen.push(choice);
        selected.push(TurnGroup { id: choice.id, before });
    }
    selected
}

/// Whether one text has all stems of the other, and hardly more: what was said again is told once. Where each has something of
/// its own, as another number, both are told.
pub(crate) fn says_the_same<Stem: Eq + Hash>(one: &[Stem], other: &[Stem]) -> bool {
    let (one, other): (HashSet<&Stem>, HashSet<&Stem>) = (one.iter().collect(), other.iter().collect());
    let common = one.intersection(&other).count();
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    common == shorter && common as f64 >= SAME * longer as f64
}

/// Whether a text makes sense only with the one before it: that asks, or too little is said, or it begins with what only
/// points back ("he said no", "that one is broken").
pub(crate) fn needs_before(text: &str, before: &str) -> bool {
    let telling = folded_words(text).filter(|word| !is_stop_word(word)).count();
    let points_back = folded_words(text).take(OPENING_WORDS).any(|word| POINTING_BACK.contains(&word.as_str()));
    let names_nothing = !folded_words(text).take(OPENING_WORDS).any(|word| word.len() > 3 && !is_stop_word(&word));
    before.trim_end().ends_with('?') || telling < TELLING_WORDS_MIN || points_back && names_nothing
}

/// Words that stand for what was said before, in English and German.
const POINTING_BACK: &[&str] = &[
    "das", "dem", "den", "der", "die", "dies", "er", "es", "he", "her", "him", "ihm", "ihn", "it", "one", "ones",
    "she", "sie", "that", "them", "these", "they", "this", "those",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::words::stems;

    /// A turn that is told, and the one before it.
    type Told = (i64, Option<i64>);

    /// A turn of ten tokens: its id, its text, and the turn before if it needs it.
    fn choice(id: i64, text: &str, before: Option<i64>) -> SelectableTurn<String> {
        let stems = stems(text).collect();
        SelectableTurn { id, before, needs_before: before.is_some(), stems, tokens: 10, tokens_before: 10 }
    }

    fn told(ranked: &[SelectableTurn<String>], pieces: usize, tokens: u64) -> Vec<Told> {
        select(ranked, pieces, tokens).iter().map(|piece| (piece.id, piece.before)).collect()
    }

    #[test]
    fn e5_the_best_within_the_budget_are_told() {
        let ranked = [
            choice(1, "the dog is at the vet", None),
            choice(2, "yes on Monday", Some(1)),
            choice(9, "the vet has the dog at it", None),
            choice(5, "no cat", Some(4)),
            choice(4, "shall we have a cat", None),
            choice(7, "a boat", None),
        ];
        let table: [(usize, u64, &[Told]); 5] = [
            // What is told anyway is not told again, neither as the turn before nor as another's turn before.
            (5, 100, &[(1, None), (2, None), (9, None), (5, Some(4)), (7, None)]),
            (2, 100, &[(1, None), (2, None)]),
            // There is no room for the pair, but for a single one after it.
            (5, 45, &[(1, None), (2, None), (9, None), (4, None)]),
            (5, 9, &[]),
            (0, 100, &[]),
        ];
        for (pieces, tokens, expected) in table {
            assert_eq!(told(&ranked, pieces, tokens), expected, "{pieces} {tokens}");
        }
        let again = [choice(1, "the dog is at the vet", None), choice(2, "Is the dog at the vet?", None)];
        assert_eq!(told(&again, 5, 100), [(1, None)]);
    }

    #[test]
    fn e5_what_says_the_same_is_a_table() {
        let table = [
            ("the code is 4471", "code: the 4471 is", true),
            ("the code is 4471", "the code is 4472", false),
            ("we meet the two dogs on Monday", "we met the two dogs on Monday", false),
            (
                "the meter in the cellar by the door says 48213 today",
                "the meter in the cellar by the door says 48999 today",
                false,
            ),
            ("the five of us saw the boat", "we saw the boat, the five of us", true),
            ("we walk the two dogs on Monday", "we walked the two dogs on Monday", true),
            ("ok", "no", false),
            ("", "", true),
            ("", "no", false),
        ];
        for (one, other, expected) in table {
            let (one, other): (Vec<String>, Vec<String>) = (stems(one).collect(), stems(other).collect());
            assert_eq!(says_the_same(&one, &other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn e5_what_makes_sense_only_with_the_turn_before_is_a_table() {
        let table = [
            ("the old Seagate in the cellar", "which disk?", true),
            ("ok", "the code is 4471", true),
            ("in the blue folder", "the receipt is there", false),
            ("blue", "the folder has a colour", true),
            ("he said no to the whole plan", "I asked the neighbour", true),
            ("er will ein Fahrrad mit Gangschaltung", "Emil hat die Prüfung", false),
            ("das ist ja ein tolles Rad", "wir haben ein Rad", true),
            ("that house is too dear for us", "we saw one", false),
            ("Katrin has the key of our flat", "good morning", false),
            ("", "x", true),
        ];
        for (text, before, expected) in table {
            assert_eq!(needs_before(text, before), expected, "{text}");
        }
    }

    /// A turn of any size that may need the one before it.
    fn any_choice() -> impl Strategy<Value = SelectableTurn<String>> {
        (0_i64..12, "[ab ]{0,6}", any::<bool>(), 0_u64..30).prop_map(|(id, text, needs_before, tokens)| {
            let before = needs_before.then_some(id - 1);
            SelectableTurn { tokens, tokens_before: tokens / 2, ..choice(id, &text, before) }
        })
    }

    proptest! {
        #[test]
        fn e5_nothing_is_told_twice_or_beyond_the_budget(
            ranked in prop::collection::vec(any_choice(), 0..20),
            pieces in 0_usize..6,
            tokens in 0_u64..120,
        ) {
            let selected = select(&ranked, pieces, tokens);
            prop_assert!(selected.len() <= pieces);
            let mut ids = HashSet::new();
            prop_assert!(selected.iter().flat_map(|piece| [Some(piece.id), piece.before]).flatten().all(|id| ids.insert(id)));
            let least = |piece: &TurnGroup| {
                let is_it = |one: &&SelectableTurn<String>| one.id == piece.id && (piece.before.is_none() || one.needs_before);
                let before = |one: &SelectableTurn<String>| piece.before.map_or(0, |_| one.tokens_before);
                ranked.iter().filter(is_it).map(|one| one.tokens + before(one)).min()
            };
            prop_assert!(selected.iter().filter_map(least).sum::<u64>() <= tokens);
        }
    }
}
