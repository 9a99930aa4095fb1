//! Recall by text over a person's own messages and facts.

use async_trait::async_trait;

use crate::domain::ids::{RunId, UserId};
use crate::store::error::StoreError;
use crate::store::facts::FactRow;
use crate::store::messages::Found;
use crate::store::{Statement, Tx, facts, messages};

/// The most words of a question that are searched for.
const WORDS_MAX: usize = 16;

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Remembered facts.
    Facts,
    /// What the person said.
    Messages,
    /// Both.
    #[default]
    All,
}

/// A question to one person's memory.
#[derive(Debug, Clone)]
pub struct Recall {
    /// Whose memory.
    pub user: UserId,
    /// In their words.
    pub query: String,
    /// Where to look.
    pub scope: Scope,
    /// The most of each kind.
    pub limit: i64,
    /// The run that asks: its own messages are not memories.
    pub current_run: Option<RunId>,
}

/// What was found; the best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recalled {
    /// Facts.
    pub facts: Vec<FactRow>,
    /// What the person said.
    pub messages: Vec<Found>,
}

#[async_trait]
impl Statement for Recall {
    type Output = Recalled;

    async fn run(&self, tx: &mut Tx) -> Result<Recalled, StoreError> {
        let Some(query) = match_expression(&self.query) else {
            // "What do you know about me?" names nothing to look for: then what is newest counts.
            let facts = match self.scope {
                Scope::Facts | Scope::All => facts::list(tx, self.user, self.limit).await?,
                Scope::Messages => Vec::new(),
            };
            return Ok(Recalled { facts, messages: Vec::new() });
        };
        let mut recalled = Recalled::default();
        if self.scope != Scope::Messages {
            recalled.facts = facts::search(tx, self.user, &query, self.limit).await?;
        }
        if self.scope != Scope::Facts {
            recalled.messages = messages::search(tx, self.user, &query, self.limit).await?;
            recalled.messages.retain(|found| Some(found.run) != self.current_run);
        }
        Ok(recalled)
    }
}

/// FTS5's query for the words that matter in `text`; none if no word does.
#[must_use]
pub fn match_expression(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .take(WORDS_MAX)
        .map(|word| format!("\"{word}\""))
        .collect();
    if words.is_empty() { None } else { Some(words.join(" OR ")) }
}

/// Words that say nothing about what is meant, in English and German.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do",
    "does", "for", "from", "had", "has", "have", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "is", "it",
    "its", "know", "me", "mine", "my", "of", "on", "or", "our", "say", "said", "she", "so", "tell", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "what", "when",
    "where", "which", "who", "why", "will", "with", "you", "your", "aber", "als", "am", "an", "auf", "aus", "bei",
    "bin", "bist", "das", "dass", "dem", "den", "der", "des", "die", "du", "ein", "eine", "einen", "einem", "einer",
    "er", "es", "für", "habe", "hat", "ich", "im", "in", "ist", "mein", "meine", "meinen", "mich", "mir", "mit",
    "nicht", "oder", "sie", "sind", "über", "und", "von", "war", "was", "wann", "wem", "wen", "wer", "wie", "wir",
    "wo", "zu", "zum", "zur",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_words_that_matter() {
        let table = [
            ("What do you know about Anna's birthday?", Some("\"anna\" OR \"s\" OR \"birthday\"")),
            ("what did I say about the 3 AND 4", Some("\"3\" OR \"4\"")),
            ("who are you?", None),
            ("", None),
            ("\" OR text:* NEAR(", Some("\"text\" OR \"near\"")),
        ];
        for (text, expected) in table {
            assert_eq!(match_expression(text).as_deref(), expected, "{text}");
        }
    }
}
