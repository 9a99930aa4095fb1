//! Recall: what is known that bears on a question, from the scopes that may be seen.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::domain::ids::{FactId, MemoryId, SessionId};
use crate::domain::memory::{Leg, Scope};
use crate::memory::nearby::Nearby;
use crate::memory::rank::words::{is_stop_word, words};
use crate::store::error::StoreError;
use crate::store::memories::{self, Found};
use crate::store::{Statement, Store, Tx};

/// The most words of a question that are searched for.
const WORDS_MAX: usize = 16;

/// How much may be recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallLimits {
    /// Memories at once (row E5).
    pub fragments: usize,
    /// Their tokens in all, as counted here.
    pub tokens: u64,
    /// Facts at once.
    pub facts: usize,
}

impl Default for RecallLimits {
    fn default() -> Self {
        Self { fragments: 5, tokens: 800, facts: 100 }
    }
}

/// The household's memory.
#[derive(Clone)]
pub struct Memory {
    /// Where it is kept.
    pub store: Store,
    /// What is near a question in meaning, where there is an embedding.
    pub nearby: Arc<Nearby>,
    /// In which "last Tuesday" is meant.
    pub zone: TimeZone,
    /// How much at once.
    pub limits: RecallLimits,
}

/// A question to memory.
#[derive(Debug, Clone)]
pub struct Question {
    /// In a person's words.
    pub text: String,
    /// Where may be looked: `policy::memory::visible`.
    pub scopes: Vec<Scope>,
    /// What is in front of the model anyway.
    pub window: Option<Window>,
    /// How much is wanted at most.
    pub limits: RecallLimits,
    /// When it is asked.
    pub now: Timestamp,
}

/// Messages that go along with a request, by their ordinals in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The conversation.
    pub session: SessionId,
    /// The first.
    pub from: i64,
    /// The last.
    pub through: i64,
}

/// Something recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// The memory.
    pub memory: MemoryId,
    /// Who said it.
    pub speaker: String,
    /// What, and what it makes sense with: words said just before it, each with who said them.
    pub text: String,
    /// What was said before it that it needs, or Hob's question that it answers.
    pub before: Option<String>,
    /// When.
    pub at: Timestamp,
    /// What brought it up.
    pub leg: Leg,
    /// How well it fits.
    pub score: f64,
    /// What each signal brought to that.
    pub parts: Vec<(&'static str, f64)>,
}

/// A fact that bears on the question.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownFact {
    /// The fact.
    pub fact: FactId,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Since when.
    pub at: Timestamp,
    /// How well it fits.
    pub score: f64,
}

/// How memories were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// By words and by meaning.
    WordsAndMeaning,
    /// By words alone, as there is no embedding now.
    Words,
}

/// What was recalled, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    /// Things said; none is a good answer.
    pub fragments: Vec<Fragment>,
    /// How they were looked for.
    pub means: Means,
}

impl Memory {
    /// A memory that goes by words alone, with the usual limits.
    #[must_use]
    pub fn by_words(store: Store, zone: TimeZone) -> Self {
        Self { store, nearby: Arc::default(), zone, limits: RecallLimits::default() }
    }

    /// What bears on the question.
    ///
    /// # Errors
    /// When the database fails. An embedding that fails costs the meaning, not the recall.
    pub async fn recall(&self, question: &Question) -> Result<Recollection, StoreError> {
        let found = self.store.read(ByWords { question: question.clone() }).await?;
        let fragment = |found: Found| Fragment {
            memory: found.id,
            speaker: found.speaker,
            text: found.text,
            before: found.asked,
            at: Timestamp::from_millisecond(found.at).unwrap_or(Timestamp::UNIX_EPOCH),
            leg: Leg::Relevance,
            score: 0.0,
            parts: Vec::new(),
        };
        Ok(Recollection { fragments: found.into_iter().map(fragment).collect(), means: Means::Words })
    }
}

struct ByWords {
    question: Question,
}

#[async_trait]
impl Statement for ByWords {
    type Output = Vec<Found>;

    async fn run(&self, tx: &mut Tx) -> Result<Vec<Found>, StoreError> {
        let Some(query) = match_expression(&self.question.text, &self.question.scopes, "text") else {
            return Ok(Vec::new());
        };
        memories::search(tx, &query, i64::try_from(self.question.limits.fragments).unwrap_or(i64::MAX)).await
    }
}

/// FTS5's query for the words that matter in `text`, in these columns and within `scopes`; none if no word does, or nothing may be seen.
#[must_use]
pub fn match_expression(text: &str, scopes: &[Scope], columns: &str) -> Option<String> {
    let telling = words(text).filter(|word| !is_stop_word(word)).take(WORDS_MAX);
    let words: Vec<String> = telling.map(|word| format!("\"{word}\"")).collect();
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
    let both = !words.is_empty() && !scopes.is_empty();
    both.then(|| format!("scope : ({}) AND {columns} : ({})", scopes.join(" OR "), words.join(" OR ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::UserId;

    #[test]
    fn e5_keeps_the_words_that_matter_within_the_scopes() {
        let scopes = [Scope::Person(UserId(7)), Scope::House];
        let table = [
            ("What did Anna bake?", Some(r#"scope : ("p7" OR "house") AND text : ("anna" OR "bake")"#)),
            ("who are you?", None),
            ("", None),
            ("\" OR text:* NEAR(", Some(r#"scope : ("p7" OR "house") AND text : ("text" OR "near")"#)),
        ];
        for (text, expected) in table {
            assert_eq!(match_expression(text, &scopes, "text").as_deref(), expected, "{text}");
        }
        assert_eq!(match_expression("Anna", &[], "text"), None);
    }
}
