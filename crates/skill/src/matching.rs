//! Which skills fit what somebody said: by their trigger words, by the words they share, and by meaning where vectors are.
//!
//! Pure: vectors come in.

use std::collections::BTreeSet;

use crate::format::Skill;
use hob_core::domain::lexicon::is_courtesy;
use hob_memory::rank::stem::stem;
use hob_memory::rank::words::{folded_words, is_stop_word};

/// The most skills that fit at once.
pub(crate) const MATCHES_MAX: usize = 5;
/// The most words of what was said that are looked at.
const WORDS_MAX: usize = 200;
/// From this on words alone tell that a skill fits.
const BY_WORDS: f64 = 1.0;
/// What a word is worth that stands in a skill's name, and in its description.
const IN_NAME: f64 = 0.75;
const IN_DESCRIPTION: f64 = 0.4;
/// From this cosine on meaning alone tells it; and how much less is enough where a word is shared.
pub(crate) const BY_MEANING: f32 = 0.45;
const MEANING_WITH_WORDS: f32 = 0.32;

/// A skill as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillIndexEntry {
    pub name: String,
    triggers: Vec<Vec<String>>,
    in_name: BTreeSet<String>,
    in_description: BTreeSet<String>,
}

impl SkillIndexEntry {
    /// How this skill is found.
    pub(crate) fn of(skill: &Skill) -> Self {
        let told = |text: &str| content_words(text).collect::<BTreeSet<_>>();
        let triggers = skill.triggers.iter().map(|trigger| stems(trigger).collect::<Vec<_>>());
        Self {
            name: skill.name.clone(),
            triggers: triggers.filter(|trigger| !trigger.is_empty()).collect(),
            in_name: told(&skill.name),
            in_description: told(&skill.description),
        }
    }
}

/// What was said, ready to be compared.
#[derive(Debug, Clone)]
pub(crate) struct SkillQuery {
    stems: Vec<String>,
    telling: BTreeSet<String>,
}

impl SkillQuery {
    /// What was said.
    pub(crate) fn of(text: &str) -> Self {
        Self { stems: stems(text).take(WORDS_MAX).collect(), telling: content_words(text).take(WORDS_MAX).collect() }
    }
}

fn stems(text: &str) -> impl Iterator<Item = String> {
    folded_words(text).map(|word| stem(&word))
}

fn content_words(text: &str) -> impl Iterator<Item = String> {
    folded_words(text)
        .filter(|word| word.chars().count() > 1 && !is_stop_word(word) && !is_courtesy(word))
        .map(|word| stem(&word))
}

/// The skills that fit, the best first; `cosine` tells how near each is in meaning, where that is known.
pub(crate) fn fitting<'a>(
    question: &SkillQuery,
    cards: &'a [SkillIndexEntry],
    cosine: &dyn Fn(&str) -> Option<f32>,
) -> Vec<&'a str> {
    let mut found: Vec<(f64, &str)> = cards
        .iter()
        .filter_map(|card| {
            let (words, near) = (by_words(question, card, cards), cosine(&card.name).unwrap_or_default());
            let fits = words >= BY_WORDS || near >= BY_MEANING || (words > 0.0 && near >= MEANING_WITH_WORDS);
            fits.then(|| (words + f64::from(near.max(0.0)), card.name.as_str()))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.into_iter().map(|(_, name)| name).take(MATCHES_MAX).collect()
}

/// A trigger that was said is certain; otherwise words count that few other skills have.
fn by_words(question: &SkillQuery, card: &SkillIndexEntry, cards: &[SkillIndexEntry]) -> f64 {
    let said = |trigger: &Vec<String>| question.stems.windows(trigger.len()).any(|part| part == trigger.as_slice());
    let triggered = card.triggers.iter().filter(|trigger| said(trigger)).map(Vec::len).max();
    let shared = question.telling.iter().map(|word| word_score(word, card) * rarity(word, cards)).sum::<f64>();
    triggered.map_or(0.0, |length| BY_WORDS + f64::from(u32::try_from(length).unwrap_or(1))) + shared
}

fn word_score(word: &String, card: &SkillIndexEntry) -> f64 {
    if card.in_name.contains(word) {
        IN_NAME
    } else if card.in_description.contains(word) {
        IN_DESCRIPTION
    } else {
        0.0
    }
}

/// 1 for what one skill alone says, less for what many say.
fn rarity(word: &String, cards: &[SkillIndexEntry]) -> f64 {
    let having = cards.iter().filter(|card| card.in_name.contains(word) || card.in_description.contains(word)).count();
    1.0 / f64::from(u32::try_from(having.max(1)).unwrap_or(u32::MAX)).sqrt()
}

#[cfg(test)]
mod tests;
