//! Recall on conversations in LoCoMo's format: which turns come up for a question, and which should have.
//!
//! Never: a rule that knows the data. Candidates come from scans in memory here, and not yet from the store.
//! Start at [`recall`].

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::memory::embedding::error::EmbedError;
use crate::memory::embedding::{Embedded, Embedder};
use crate::memory::rank::features::{NEIGHBOURS, Question, Session, Turn, describe, embedded, looked_for, tells};
use crate::memory::rank::late::TokenSigns;
use crate::memory::rank::lexical::{Counts, Term};
use crate::memory::rank::mix::ranked;
use crate::memory::rank::{dates, words};

#[cfg(test)]
mod household;
#[cfg(test)]
mod tests;

/// How many candidates the words bring, and as many the vectors.
const POOL: usize = 100;
/// How many turns are told for a question.
const TOLD: usize = 25;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The data is not in LoCoMo's format.
    #[error("the conversations are not in LoCoMo's format: {0}")]
    Data(#[from] serde_json::Error),
    /// A session without a day.
    #[error("the time of a session cannot be read: {0:?}")]
    Day(String),
    /// The embedding failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// The turns found for a question, the best first: a line for `score.py`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ranking {
    /// The conversation.
    pub sample_id: String,
    /// The question's place in it, from 0.
    pub question_index: usize,
    /// The turns.
    pub ranked: Vec<String>,
}

#[derive(Deserialize)]
struct Sample {
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
}

#[derive(Deserialize)]
struct Said {
    speaker: String,
    dia_id: String,
    text: String,
    /// What a photo shows that came with it.
    blip_caption: Option<String>,
}

/// A conversation, ready to be asked.
struct Memory {
    speakers: Vec<String>,
    sessions: Vec<Session>,
    /// What the data calls each turn, by id.
    names: Vec<String>,
    /// Each turn's stems, by id.
    stems: Vec<Vec<String>>,
    /// In how many turns each stem is.
    having: HashMap<String, u64>,
    /// Each turn's vector, by id; none without an embedding.
    vectors: Vec<Vec<f32>>,
}

/// Answers all questions that have evidence, in the data's order; `done` is told of each conversation.
///
/// # Errors
/// When the data cannot be read, or the embedding fails.
pub async fn recall(
    data: &str,
    embedder: Option<&dyn Embedder>,
    done: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Ranking>, BenchError> {
    let mut rankings = Vec::new();
    for sample in serde_json::from_str::<Vec<Sample>>(data)? {
        let mut memory = Memory::read(&sample.conversation)?;
        if let Some(embedder) = embedder {
            memory.embed(embedder).await?;
        }
        for (question_index, asked) in sample.qa.iter().enumerate().filter(|(_, asked)| !asked.evidence.is_empty()) {
            let embedded = match embedder {
                Some(embedder) => embedder.embed_tokens(std::slice::from_ref(&asked.question)).await?,
                None => None,
            };
            let ranked = memory.answer(&asked.question, embedded.and_then(|mut all| all.pop()).as_ref());
            rankings.push(Ranking { sample_id: sample.sample_id.clone(), question_index, ranked });
        }
        done(&sample.sample_id);
    }
    Ok(rankings)
}

impl Memory {
    fn read(conversation: &BTreeMap<String, Value>) -> Result<Self, BenchError> {
        let mut memory = Self {
            speakers: Vec::new(),
            sessions: Vec::new(),
            names: Vec::new(),
            stems: Vec::new(),
            having: HashMap::new(),
            vectors: Vec::new(),
        };
        let number = |key: &str| key.strip_prefix("session_").and_then(|number| number.parse::<u32>().ok());
        let mut keys: Vec<(u32, &String)> = conversation.keys().filter_map(|key| Some((number(key)?, key))).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            let said = Vec::<Said>::deserialize(&conversation[key])?;
            let time = conversation.get(&format!("{key}_date_time")).and_then(Value::as_str).unwrap_or_default();
            let day = dates::spoken(time, Date::MAX).first().map(|days| days.from);
            let day = day.ok_or_else(|| BenchError::Day(time.to_owned()))?;
            let turns = said.into_iter().map(|said| memory.turn(said)).collect();
            memory.sessions.push(Session { day, turns });
        }
        Ok(memory)
    }

    fn turn(&mut self, said: Said) -> Turn {
        let shown = said.blip_caption.map(|caption| format!(" [shows {caption}]")).unwrap_or_default();
        let text = said.text + &shown;
        let stems: Vec<String> = words::stems(&text).collect();
        for stem in stems.iter().collect::<HashSet<_>>() {
            *self.having.entry(stem.clone()).or_default() += 1;
        }
        if !self.speakers.contains(&said.speaker) {
            self.speakers.push(said.speaker.clone());
        }
        let id = self.names.len() as i64;
        self.names.push(said.dia_id);
        self.stems.push(stems);
        Turn { id, speaker: said.speaker, text, ..Turn::default() }
    }

    async fn embed(&mut self, embedder: &dyn Embedder) -> Result<(), BenchError> {
        for session in &mut self.sessions {
            let parts = |turn: &Turn| (turn.speaker.clone(), turn.text.clone());
            let said: Vec<(String, String)> = session.turns.iter().map(parts).collect();
            let texts = (0..said.len()).map(|at| {
                let part = |at: usize| (said[at].0.as_str(), said[at].1.as_str());
                embedded(at.checked_sub(1).map(part), part(at))
            });
            let (texts, own): (Vec<String>, Vec<usize>) = texts.unzip();
            match embedder.embed_tokens(&texts).await? {
                Some(embedded) => {
                    for (at, one) in embedded.into_iter().enumerate() {
                        session.turns[at].tokens = telling(&one, &texts[at], own[at]);
                        self.vectors.push(one.vector);
                    }
                }
                None => self.vectors.extend(embedder.embed(&texts).await?),
            }
        }
        Ok(())
    }

    fn answer(&self, text: &str, embedded: Option<&Embedded>) -> Vec<String> {
        let names: Vec<&str> = self.speakers.iter().map(String::as_str).collect();
        let all = self.stems.len() as u64;
        let worth = |stem: String| {
            let having = self.having.get(&stem).copied().unwrap_or(0);
            Term::new(stem, having, all)
        };
        let question = Question {
            text: text.to_owned(),
            terms: looked_for(text, &names).into_iter().map(worth).collect(),
            days: dates::spoken(text, self.sessions.last().map_or(Date::MAX, |session| session.day)),
            tokens: embedded.map(|embedded| telling(embedded, text, 0)).unwrap_or_default(),
        };
        let cosines: Vec<f64> = embedded
            .map(|question| self.vectors.iter().map(|vector| dot(vector, &question.vector)).collect())
            .unwrap_or_default();
        let sessions = self.pool(&question, &cosines);
        let ranked = ranked(&describe(&question, &sessions));
        ranked.iter().take(TOLD).map(|one| self.names[one.id as usize].clone()).collect()
    }

    /// The sessions that have a candidate: what the words and the vectors bring, and what stands around it.
    fn pool(&self, question: &Question, cosines: &[f64]) -> Vec<Session> {
        let words: usize = self.stems.iter().map(Vec::len).sum();
        let average = words as f64 / self.stems.len().max(1) as f64;
        let count = |stems: &Vec<String>| Counts::count(&question.terms, stems.iter().cloned());
        let fits: Vec<f64> = self.stems.iter().map(|stems| count(stems).bm25(&question.terms, average)).collect();
        let brought: HashSet<i64> = best(&fits).into_iter().chain(best(cosines)).collect();
        let mut sessions = self.sessions.clone();
        for session in &mut sessions {
            let is_brought: Vec<bool> = session.turns.iter().map(|turn| brought.contains(&turn.id)).collect();
            for (at, turn) in session.turns.iter_mut().enumerate() {
                let around = at.saturating_sub(NEIGHBOURS)..is_brought.len().min(at + NEIGHBOURS + 1);
                turn.is_candidate = is_brought[around].contains(&true);
                turn.cosine = cosines.get(turn.id as usize).copied();
            }
        }
        sessions.retain(|session| session.turns.iter().any(|turn| turn.is_candidate));
        sessions
    }
}

/// The places of the best scores above zero.
fn best(scores: &[f64]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..scores.len() as i64).filter(|&at| scores[at as usize] > 0.0).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    order.truncate(POOL);
    order
}

/// The signs of the tokens from `own` on that tell something.
fn telling(embedded: &Embedded, text: &str, own: usize) -> TokenSigns {
    let kept = embedded.tokens.iter().filter(|token| token.range.start >= own && tells(&text[token.range.clone()]));
    TokenSigns::new(kept.map(|token| token.vector.as_slice()))
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    f64::from(a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>())
}
