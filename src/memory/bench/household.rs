//! A household's short messages, in German and English, with commands and numbers among them: written for this test. What was
//! fitted on long talks between friends must do no harm here, and what nobody spoke of must bring nothing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Memory, Ranking, recall, telling};
use crate::memory::embedding::Embedder;
use crate::memory::embedding::local::LocalEmbedder;
use crate::memory::rank::dates;
use crate::memory::rank::features::{Described, Question, Session, describe, looked_for};
use crate::memory::rank::lexical::Term;
use crate::memory::rank::mix::ranked;
use crate::memory::rank::relevance::{cut, relevance};

const DATA: &str = include_str!("../../../tests/recall/household.json");

#[derive(Deserialize)]
struct Household {
    conversation: BTreeMap<String, Value>,
    qa: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    evidence: Vec<String>,
}

/// The data, its memory, and what of that each question describes.
struct House {
    household: Household,
    memory: Memory,
    embedder: Option<LocalEmbedder>,
    described: Vec<(Question, Vec<Described>)>,
}

async fn embedder() -> LocalEmbedder {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/embedding-model");
    LocalEmbedder::open(folder.into()).await.unwrap()
}

impl House {
    async fn open(embedder: Option<LocalEmbedder>) -> Self {
        let household = serde_json::from_str::<Vec<Household>>(DATA).unwrap().remove(0);
        let mut memory = Memory::read(&household.conversation).unwrap();
        if let Some(embedder) = &embedder {
            memory.embed(embedder).await.unwrap();
        }
        let mut house = Self { household, memory, embedder, described: Vec::new() };
        let mut all = Vec::new();
        for asked in &house.household.qa {
            let (question, sessions) = house.asked(&asked.question).await;
            let described = describe(&question, &sessions);
            all.push((question, described));
        }
        house.described = all;
        house
    }

    /// A question and all turns of the household, for the pool of so few is all there is.
    async fn asked(&self, text: &str) -> (Question, Vec<Session>) {
        let memory = &self.memory;
        let names: Vec<&str> = memory.speakers.iter().map(String::as_str).collect();
        let worth = |stem: String| {
            let having = memory.having.get(&stem).copied().unwrap_or(0);
            Term::new(stem, having, memory.stems.len() as u64)
        };
        let embedded = match &self.embedder {
            Some(embedder) => embedder.embed_tokens(&[text.to_owned()]).await.unwrap().unwrap().pop(),
            None => None,
        };
        let question = Question {
            text: text.to_owned(),
            terms: looked_for(text, &names).into_iter().map(worth).collect(),
            days: dates::spoken(text, memory.sessions.last().unwrap().day),
            tokens: embedded.as_ref().map(|one| telling(one, text, 0)).unwrap_or_default(),
        };
        let mut sessions = memory.sessions.clone();
        for turn in sessions.iter_mut().flat_map(|session| &mut session.turns) {
            turn.is_candidate = true;
            turn.cosine = embedded.as_ref().map(|one| super::dot(&memory.vectors[turn.id as usize], &one.vector));
        }
        (question, sessions)
    }

    /// The share of questions without an answer that bring nothing, and of the evidence among the best five that is kept.
    fn silence(&self) -> (f64, f64) {
        let (mut silent, mut without) = (0.0, 0.0);
        let (mut kept, mut found) = (0.0, 0.0);
        for (one, (question, described)) in self.household.qa.iter().zip(&self.described) {
            let of = |id: i64| described.iter().find(|one| one.id == id).unwrap();
            let best: Vec<&Described> = ranked(described).iter().take(5).map(|one| of(one.id)).collect();
            let told: Vec<bool> = best.iter().map(|one| relevance(one, question) >= cut(one)).collect();
            if one.evidence.is_empty() {
                without += 1.0;
                silent += f64::from(!told.contains(&true));
            }
            for (one_told, best) in told.iter().zip(&best) {
                if one.evidence.contains(&self.memory.names[best.id as usize]) {
                    found += 1.0;
                    kept += f64::from(*one_told);
                }
            }
        }
        (silent / without, kept / found)
    }

    /// Recall at five and at ten, where the turns are in the order of a score.
    fn by(&self, score: impl Fn(&[Described]) -> Vec<f64>) -> (f64, f64) {
        let mut rankings = Vec::new();
        for (question_index, _) in self.household.qa.iter().enumerate().filter(|(_, one)| !one.evidence.is_empty()) {
            let described = &self.described[question_index].1;
            let scores = score(described);
            let names = order(&scores).into_iter().map(|at| self.memory.names[described[at].id as usize].clone());
            rankings.push(Ranking { sample_id: String::new(), question_index, ranked: names.collect() });
        }
        self.recall(&rankings)
    }

    fn recall(&self, rankings: &[Ranking]) -> (f64, f64) {
        let at = |count: usize| {
            let share = |ranking: &Ranking| {
                let evidence = &self.household.qa[ranking.question_index].evidence;
                let found = ranking.ranked.iter().take(count).filter(|turn| evidence.contains(turn)).count();
                found as f64 / evidence.len() as f64
            };
            rankings.iter().map(share).sum::<f64>() / rankings.len() as f64
        };
        (at(5), at(10))
    }
}

/// The places of the scores, the best first.
fn order(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}

/// One feature of each.
fn feature(at: usize) -> impl Fn(&[Described]) -> Vec<f64> {
    move |described| described.iter().map(|one| one.features[at]).collect()
}

/// Reciprocal rank fusion of words and meaning.
fn fused(described: &[Described]) -> Vec<f64> {
    let mut scores = vec![0.0; described.len()];
    for at in [12, 2] {
        for (place, turn) in order(&feature(at)(described)).into_iter().enumerate() {
            scores[turn] += 1.0 / (60.0 + place as f64);
        }
    }
    scores
}

#[tokio::test]
async fn e5_a_household_is_recalled_by_text() {
    let house = House::open(None).await;
    let turns = house.memory.names.len();
    let without = house.household.qa.iter().filter(|one| one.evidence.is_empty()).count();
    assert!(
        turns >= 150 && house.memory.sessions.len() >= 12 && house.household.qa.len() - without >= 60 && without >= 10
    );
    let (at_5, at_10) = house.recall(&recall(DATA, None, &|_| {}).await.unwrap());
    let (silent, kept) = house.silence();
    let words = house.by(feature(12));
    assert!(at_5 >= 0.60 && at_10 >= 0.66, "{at_5} {at_10}");
    assert!(at_5 > words.0 + 0.1 && at_10 > words.1 + 0.1, "better than BM25 by itself: {words:?}");
    assert!(silent >= 0.70 && kept >= 0.85, "{silent} {kept}");
}

#[tokio::test]
async fn e5_a_household_is_recalled_by_meaning() {
    let house = House::open(Some(embedder().await)).await;
    let found = recall(DATA, house.embedder.as_ref().map(|one| one as &dyn Embedder), &|_| {}).await.unwrap();
    let (at_5, at_10) = house.recall(&found);
    let (silent, kept) = house.silence();
    let (words, meaning, both) = (house.by(feature(12)), house.by(feature(2)), house.by(fused));
    assert!(at_5 >= 0.64 && at_10 >= 0.77, "{at_5} {at_10}");
    for simple in [words, meaning, both] {
        assert!(at_5 > simple.0 + 0.1 && at_10 > simple.1 + 0.1, "better than each by itself: {simple:?}");
    }
    assert!(silent >= 0.65 && kept >= 0.78, "{silent} {kept}");
}
