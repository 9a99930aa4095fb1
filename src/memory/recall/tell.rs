//! What was chosen, in words: with what it needs before it, and no more than there is room for.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::domain::ids::MemoryId;
use crate::memory::passage::HOB;
use crate::memory::rank::mix::WEIGHTS;
use crate::memory::rank::words::words;
use crate::memory::recall::fuse::Chosen;
use crate::memory::recall::{Fragment, ids};
use crate::model::tokens;
use crate::store::error::StoreError;
use crate::store::recall::{self as rows, Told};
use crate::store::{Statement, Tx};

/// The most letters of one memory that are told: a page that somebody pasted leaves room for the others.
const LETTERS_MAX: usize = 1_200;
/// The same for what stands before it.
const BEFORE_LETTERS_MAX: usize = 300;
/// So few words seldom make sense alone.
const SHORT_WORDS: usize = 4;

/// Reads what was chosen.
pub(super) struct Tell {
    pub(super) chosen: Vec<Chosen>,
    /// As the query takes them.
    pub(super) scopes: String,
    pub(super) tokens: u64,
}

#[async_trait]
impl Statement for Tell {
    type Output = Vec<Fragment>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Fragment>, StoreError> {
        let wanted = ids(self.chosen.iter().map(|one| one.candidate.memory));
        let told = rows::told(tx, &wanted, &self.scopes).await?;
        Ok(fragments(&self.chosen, told, self.tokens))
    }
}

/// The chosen ones that are still there, as many as `budget` tokens hold.
fn fragments(chosen: &[Chosen], told: Vec<Told>, mut budget: u64) -> Vec<Fragment> {
    let all: HashSet<MemoryId> = told.iter().map(|told| told.id).collect();
    let mut told: HashMap<MemoryId, Told> = told.into_iter().map(|told| (told.id, told)).collect();
    let mut fragments = Vec::new();
    for one in chosen {
        let Some(told) = told.remove(&MemoryId(one.candidate.memory)) else { continue };
        let fragment = fragment(one, told, &all);
        let size = tokens::count(&fragment.text) + fragment.before.as_deref().map_or(0, tokens::count);
        if size <= budget {
            budget -= size;
            fragments.push(fragment);
        }
    }
    fragments
}

fn fragment(chosen: &Chosen, told: Told, all: &HashSet<MemoryId>) -> Fragment {
    let candidate = &chosen.candidate;
    let before =
        before(&told, all).map(|(speaker, said)| format!("{speaker}: {}", shortened(said, BEFORE_LETTERS_MAX)));
    let parts = WEIGHTS.iter().zip(candidate.parts).filter(|(_, part)| *part != 0.0);
    Fragment {
        memory: told.id,
        text: shortened(&told.text, LETTERS_MAX),
        before,
        speaker: told.speaker,
        at: Timestamp::from_millisecond(told.at).unwrap_or(Timestamp::UNIX_EPOCH),
        leg: chosen.leg,
        score: candidate.score,
        parts: parts.map(|(weight, part)| (weight.name, part)).collect(),
    }
}

/// What a memory does not make sense without: Hob's question that it answers, or what stands before it if that asks or the
/// memory is short. Not what is told anyway.
fn before<'a>(told: &'a Told, all: &HashSet<MemoryId>) -> Option<(&'a str, &'a str)> {
    if let Some(asked) = &told.asked {
        return Some((HOB, asked));
    }
    let said = told.before.as_deref()?;
    let is_needed = said.contains('?') || words(&told.text).count() <= SHORT_WORDS;
    let is_told = told.before_id.is_some_and(|id| all.contains(&id));
    (is_needed && !is_told).then_some((told.before_speaker.as_deref()?, said))
}

/// The beginning, where it is too long.
fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((at, _)) => text.get(..at).unwrap_or_default().trim_end().to_owned() + " …",
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Leg;
    use crate::memory::rank::features::FEATURES;
    use crate::memory::recall::fuse::{Candidate, Fit, Standing};

    fn chosen(memory: i64) -> Chosen {
        let candidate = Candidate {
            memory,
            score: 1.5,
            parts: [0.0; FEATURES],
            fit: Fit::Well,
            standing: Standing::default(),
            stems: Vec::new(),
        };
        Chosen { candidate, leg: Leg::Relevance }
    }

    fn told(id: i64, text: &str, before: Option<(i64, &str)>, asked: Option<&str>) -> Told {
        Told {
            id: MemoryId(id),
            speaker: "Anna".to_owned(),
            text: text.to_owned(),
            asked: asked.map(str::to_owned),
            before_id: before.map(|(id, _)| MemoryId(id)),
            before_speaker: before.map(|_| "Ben".to_owned()),
            before: before.map(|(_, said)| said.to_owned()),
            at: 0,
        }
    }

    #[test]
    fn e5_a_memory_comes_with_what_it_needs() {
        let long = "it is in the drawer below the oven";
        let table = [
            (told(1, long, Some((9, "I am home")), None), None),
            (told(1, long, Some((9, "where is it?")), None), Some("Ben: where is it?")),
            (told(1, "yes, do", Some((9, "shall I cook")), None), Some("Ben: shall I cook")),
            (told(1, "yes, do", Some((2, "shall I cook")), None), None),
            (told(1, long, Some((9, "x?")), Some("Which key?")), Some("Hob: Which key?")),
            (told(1, "yes", None, None), None),
        ];
        for (row, expected) in table {
            let all = fragments(&[chosen(1), chosen(2)], vec![row, told(2, "shall I cook", None, None)], 800);
            assert_eq!(all[0].before.as_deref(), expected, "{}", all[0].text);
        }
    }

    #[test]
    fn e5_what_has_no_room_is_left_out_and_what_is_gone_too() {
        let rows = vec![told(1, &"word ".repeat(100), None, None), told(2, "a few words", None, None)];
        let found = fragments(&[chosen(3), chosen(1), chosen(2)], rows, 50);
        assert_eq!(found.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["a few words"]);
    }

    #[test]
    fn e5_a_page_is_cut() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größer", 3), "grö …");
    }
}
