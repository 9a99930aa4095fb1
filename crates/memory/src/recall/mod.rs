//! Recall: what is known that bears on a question, from the scopes that may be seen.
//!
//! Two searches bring candidates (`words`, [`meaning`]), beside what matters, what was said last and what was said on the
//! days that are asked about. `pool` loads their episodes and ranks them, `fuse` chooses, `tell` words it. What Hob answered is
//! looked for beside that ([`answers`]).
//! Never: a memory of another scope, not even as a neighbour.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::embedding::Bill;
use crate::embedding_service::EmbeddingService;
use crate::rank::dates::mentioned_dates;
use crate::rank::features::search_stems;
use crate::rank::gist::hash;
use crate::rank::relevance::asks_for_something;
use crate::rank::words::{folded_words as words_of, is_stop_word};
use crate::recall::answers::{FindAnswers, PastAnswer};
use crate::recall::fuse::{Candidate, FitGrade, RecalledCandidate};
use crate::recall::legs::LegRanking;
use crate::recall::meaning::EmbeddedQuestion;
use crate::recall::pool::CandidatePool;
use crate::recall::render::render_chosen;
use crate::recall::words::WordSearch;
use hob_core::domain::ids::{FactId, MemoryId, SessionId};
use hob_core::domain::memory::{RecallCause, Scope};
use hob_core::domain::origin::{Origin, OriginSource, Taint};
use hob_core::domain::principal::Role;
use hob_store::Store;
use hob_store::error::StoreError;
use hob_store::recall::SpeakerTurn;

pub mod answers;
pub(crate) mod fuse;
pub mod legs;
pub mod meaning;
mod pool;
mod render;
#[cfg(test)]
mod tests;
mod words;

/// The most words of a question that are searched for.
const WORDS_MAX: usize = 16;
/// The cosine from which words are found that have none of those that are searched for.
const SAME_MEANING: f32 = 0.4;
/// Where these stand among what a memory's score is made of: the nearness of its day, and that it asks.
const DAY: usize = 6;
const ASKS: usize = 9;

/// How much is raised at once that nobody asked for.
pub const SALIENT_MAX: usize = 3;
/// Its tokens in all, with what heads it, as counted here.
pub const SALIENT_TOKENS_MAX: u64 = 150;

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
    pub embedding_service: Arc<EmbeddingService>,
    /// In which "last Tuesday" is meant.
    pub zone: TimeZone,
    /// How much at once.
    pub limits: RecallLimits,
}

/// A question to memory.
#[derive(Debug, Clone)]
pub struct RecallQuestion {
    /// In a person's words; empty: nothing is asked.
    pub text: String,
    /// Where may be looked: `policy::memory::visible`.
    pub scopes: Vec<Scope>,
    /// In whose turn it is asked: what is salient to them is raised, and what Hob answered. None: somebody looks something up.
    pub turn: Option<SpeakerTurn>,
    /// What is in front of the model anyway.
    pub window: Option<ContextWindow>,
    /// How much is wanted at most.
    pub limits: RecallLimits,
    /// When it is asked.
    pub now: Timestamp,
    /// On whose bill its vector is.
    pub bill: Bill,
}

/// Messages that go along with a request, by their ordinals in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    pub session: SessionId,
    /// The first.
    pub from: i64,
    /// The last.
    pub through: i64,
}

/// Something recalled.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    pub memory: MemoryId,
    /// Who said it.
    pub speaker: String,
    /// What, and what it makes sense with: words said just before it, each with who said them.
    pub text: String,
    /// What was said before it that it needs, or Hob's question that it answers.
    pub before: Option<String>,
    pub at: Timestamp,
    /// What brought it up.
    pub leg: RecallCause,
    /// How well it fits.
    pub score: f64,
    /// What each signal brought to that.
    pub parts: Vec<(&'static str, f64)>,
    /// Who of those that said it may not instruct (row N6).
    pub taint: Taint,
}

/// A fact that bears on the question.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledFact {
    pub fact: FactId,
    /// What it is about.
    pub key: String,
    /// What is known.
    pub value: String,
    /// Since when.
    pub at: Timestamp,
    /// How well it fits.
    pub score: f64,
    /// What it rests on that nobody vouches for (row N6).
    pub taint: Taint,
}

/// How memories were looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    WordsAndMeaning,
    /// By words alone, as there is no embedding now.
    Words,
}

impl SearchMode {
    /// How memories were looked for, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WordsAndMeaning => "by words and by meaning",
            Self::Words => "by words alone",
        }
    }
}

/// What was recalled, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    /// Things said; none is a good answer.
    pub fragments: Vec<Fragment>,
    /// Things said that are raised whether they fit or not.
    pub salient: Vec<Fragment>,
    /// What Hob answered, if it was asked for that.
    pub answers: Vec<PastAnswer>,
    /// How they were looked for.
    pub means: SearchMode,
}

impl Memory {
    /// A memory that goes by words alone, with the usual limits.
    pub fn by_words(store: Store, zone: TimeZone) -> Self {
        Self { store, embedding_service: Arc::default(), zone, limits: RecallLimits::default() }
    }

    /// Finds what bears on the question. An embedding that fails costs the meaning, not the recall.
    pub async fn recall(&self, question: &RecallQuestion) -> Result<Recollection, StoreError> {
        // Nothing fits who asks for nothing (`relevance`): only what is raised in any case is looked for.
        let days = mentioned_dates(&question.text, question.now.to_zoned(self.zone.clone()).date());
        let text = if asks_for_something(&question.text, &days) { question.text.clone() } else { String::new() };
        let asked = RecallQuestion { text, ..question.clone() };
        let meant = self.embed_question(&asked).await;
        let mut recalled = self.recall_embedded(&asked, meant.as_ref()).await?;
        if question.turn.is_some() && answers::asks_for_past_answer(&question.text) {
            recalled.answers = self.answers(question).await?;
        }
        Ok(recalled)
    }

    /// What Hob answered that bears on the question, however that speaks.
    pub async fn answers(&self, question: &RecallQuestion) -> Result<Vec<PastAnswer>, StoreError> {
        let answers = FindAnswers { question: question.clone(), zone: self.zone.clone() };
        self.store.read(async |tx| answers.find(tx).await).await
    }

    /// What bears on the question, whose meaning is known, or is left out.
    pub async fn recall_embedded(
        &self,
        question: &RecallQuestion,
        meant: Option<&EmbeddedQuestion>,
    ) -> Result<Recollection, StoreError> {
        let pool = self.ranked(question, meant).await?;
        let chosen = fuse::fused(&pool, question.limits.fragments);
        self.render_recollection(question, chosen, fuse::salient_candidates(&pool), meant.is_some()).await
    }

    /// What somebody finds who searches: each has one of the words, means the same, or was said on the day. An answer has
    /// use for what stands beside that as well; who wants to see or forget something has not.
    pub async fn search(&self, question: &RecallQuestion) -> Result<Recollection, StoreError> {
        Ok(self.search_by_legs(question).await?.0)
    }

    /// The same, and how each way of looking ranks what is found.
    pub async fn search_by_legs(&self, question: &RecallQuestion) -> Result<(Recollection, LegRanking), StoreError> {
        let meant = self.embed_question(question).await;
        let near = self.nearest(question, meant.as_ref()).await?;
        let near: HashSet<i64> = near.into_iter().filter(|(_, like)| *like >= SAME_MEANING).map(|(id, _)| id).collect();
        let wanted: Vec<u32> = search_stems(&question.text, &[]).iter().map(|stem| hash(stem)).collect();
        let is_of_day = |one: &Candidate| one.fit == FitGrade::Well && one.parts[DAY] > 0.0;
        let has_word = |one: &Candidate| wanted.iter().any(|stem| one.stems.contains(stem));
        let is_found = |one: &Candidate| near.contains(&one.memory) || has_word(one) || is_of_day(one);
        let pool = self.ranked(question, meant.as_ref()).await?;
        let legs = legs::of(&pool);
        // Who asked the same before said nothing about it.
        let (asking, telling): (Vec<_>, Vec<_>) =
            pool.into_iter().filter(is_found).partition(|one| one.parts[ASKS] != 0.0);
        let found = telling.into_iter().chain(asking).take(question.limits.fragments);
        let chosen = found.map(|candidate| RecalledCandidate { candidate, leg: RecallCause::Relevance }).collect();
        Ok((self.render_recollection(question, chosen, Vec::new(), meant.is_some()).await?, legs))
    }

    async fn render_recollection(
        &self,
        question: &RecallQuestion,
        chosen: Vec<RecalledCandidate>,
        raised: Vec<RecalledCandidate>,
        meant: bool,
    ) -> Result<Recollection, StoreError> {
        let means = if meant { SearchMode::WordsAndMeaning } else { SearchMode::Words };
        let (fragments, salient) = self
            .store
            .read(async |tx| render_chosen(tx, &chosen, &raised, &list(&question.scopes), question.limits).await)
            .await?;
        Ok(Recollection { fragments, salient, answers: Vec::new(), means })
    }

    /// All that may bear on the question, the best first, before anything is left out: for the benchmark, and for those who
    /// want to see why.
    pub async fn ranked(
        &self,
        question: &RecallQuestion,
        meant: Option<&EmbeddedQuestion>,
    ) -> Result<Vec<Candidate>, StoreError> {
        if question.scopes.is_empty() {
            return Ok(Vec::new());
        }
        let by_words = WordSearch { question: question.clone(), zone: self.zone.clone() };
        // The statement is on its way to the database's thread before this one looks at the signs.
        let (found, near) =
            futures::join!(self.store.read(async |tx| by_words.find(tx).await), self.nearest(question, meant));
        let (found, near) = (found?, near?);
        let pool = CandidatePool {
            near,
            meant: meant.cloned(),
            scopes: list(&question.scopes),
            zone: self.zone.clone(),
            found,
        };
        pool.ranked(&self.store).await
    }
}

/// What is remembered of this speaker taints whoever reads it, if they may not instruct (row N6). `origin` is as stored.
pub(crate) fn speaker_taint(origin: &str, speaker: &str) -> Taint {
    let guests = (origin == Role::Guest.as_str()).then(|| OriginSource::new(Origin::Guest, speaker));
    guests.into_iter().collect()
}

/// As the queries take it.
pub(super) fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| format!("\"{}\"", value.to_string())).collect();
    format!("[{}]", values.join(","))
}

/// Ids as the queries take them.
fn ids(values: impl IntoIterator<Item = i64>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    format!("[{}]", values.join(","))
}

/// FTS5's query for the words that matter in `text`, in these columns and within `scopes`; none if no word does, or nothing may be seen.
pub(crate) fn match_expression(text: &str, scopes: &[Scope], columns: &str) -> Option<String> {
    let telling = words_of(text).filter(|word| !is_stop_word(word)).take(WORDS_MAX);
    let words: Vec<String> = telling.map(|word| format!("\"{word}\"")).collect();
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
    let both = !words.is_empty() && !scopes.is_empty();
    both.then(|| format!("scope : ({}) AND {columns} : ({})", scopes.join(" OR "), words.join(" OR ")))
}
