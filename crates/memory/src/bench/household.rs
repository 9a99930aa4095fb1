//! A household's short messages, in German and English, with commands and numbers among them: written for this test. What was
//! fitted on long talks between friends must do no harm here, and what nobody spoke of must bring nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::Conversation;
use crate::embedding::Embedder;
use crate::embedding::local::LocalEmbedder;
use crate::recall::RecallLimits;
use crate::recall::fuse::{Candidate, FitGrade};
use crate::recall::meaning::EmbeddedQuestion;
use hob_core::domain::ids::{SessionId, UserId};
use hob_model::tokens;
use hob_store::recall::SpeakerTurn;
use hob_store::{SchedulingMode, Store};

pub(super) const DATA: &str = include_str!("../../../../tests/recall/household.json");

#[derive(Deserialize)]
struct Household {
    conversation: BTreeMap<String, Value>,
    qa: Vec<HouseholdQuestion>,
}

#[derive(Deserialize)]
struct HouseholdQuestion {
    question: String,
    evidence: Vec<String>,
}

/// What a question brought.
struct QuestionResult {
    evidence: Vec<String>,
    ranked: Vec<Candidate>,
    told: usize,
    /// What was raised whether it fits or not: how much, in how many tokens, and how much of it is evidence.
    raised: (usize, u64, usize),
}

/// The household, and the meaning of each question if there is an embedding.
struct Harness {
    conversation: Conversation,
    asked: Vec<(HouseholdQuestion, Option<EmbeddedQuestion>)>,
    folder: TempDir,
}

/// Shares of the evidence: among the first five, and among the first ten.
type RecallScore = (f64, f64);

impl Harness {
    async fn open(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let household = serde_json::from_str::<Vec<Household>>(DATA).unwrap().remove(0);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("house.db");
        let store = Store::open(&file, SchedulingMode::Threaded).await.unwrap();
        let conversation = Conversation::write(&household.conversation, store, embedder.as_ref()).await.unwrap();
        let mut database = Store::raw(&file).await.unwrap();
        // Whoever speaks is known, so that what they said that matters is theirs.
        for people in [
            "INSERT INTO users (name, role, created_at) SELECT DISTINCT speaker, 'user', 0 FROM memories ORDER BY speaker",
            "UPDATE memories SET user_id = (SELECT id FROM users WHERE name = speaker)",
        ] {
            sqlx::query(people).execute(&mut database).await.unwrap();
        }
        database.close().await.unwrap();
        let mut asked = Vec::new();
        for one in household.qa {
            let meant = conversation.memory.embed_question(&conversation.question(one.question.clone())).await;
            asked.push((one, meant));
        }
        Self { conversation, asked, folder }
    }

    /// What each question brings, by its meaning too or by its words alone.
    async fn ask(&self, by_words: bool) -> Vec<QuestionResult> {
        let memory = &self.conversation.memory;
        let mut all = Vec::new();
        for (one, meant) in &self.asked {
            let mut question = self.conversation.question(one.question.clone());
            question.limits = RecallLimits::default();
            question.turn = Some(SpeakerTurn { session: SessionId(1), speaker: UserId(1) });
            let meant = meant.as_ref().filter(|_| !by_words);
            let ranked = memory.ranked(&question, meant).await.unwrap();
            let recalled = memory.recall_embedded(&question, meant).await.unwrap();
            let tokens = recalled.salient.iter().map(|one| tokens::count(&one.text)).sum();
            let names = recalled.salient.iter().filter_map(|one| self.conversation.names.get(&one.memory.0));
            let useful = names.filter(|name| one.evidence.contains(name)).count();
            let (told, raised) = (recalled.fragments.len(), (recalled.salient.len(), tokens, useful));
            all.push(QuestionResult { evidence: one.evidence.clone(), ranked, told, raised });
        }
        all
    }

    fn is_evidence(&self, brought: &QuestionResult, one: &Candidate) -> bool {
        self.conversation.name(one).is_some_and(|name| brought.evidence.contains(&name))
    }

    /// The share of questions without an answer that bring nothing, and of the evidence among the best five that fits.
    fn silence(&self, all: &[QuestionResult]) -> (f64, f64) {
        let without: Vec<&QuestionResult> = all.iter().filter(|brought| brought.evidence.is_empty()).collect();
        let silent = without.iter().filter(|brought| brought.told == 0).count();
        let (mut kept, mut found) = (0.0, 0.0);
        for brought in all {
            for one in brought.ranked.iter().take(5).filter(|one| self.is_evidence(brought, one)) {
                found += 1.0;
                kept += f64::from(one.fit == FitGrade::Well);
            }
        }
        (silent as f64 / without.len() as f64, kept / found)
    }

    /// What is raised unasked for a question, on average: how much, and in how many tokens; and how much evidence among all of it.
    fn raised(all: &[QuestionResult]) -> (f64, f64, usize) {
        let count = all.len() as f64;
        let sums = |(p, t, e), one: &QuestionResult| (p + one.raised.0, t + one.raised.1, e + one.raised.2);
        let (pieces, tokens, evidence) = all.iter().fold((0, 0, 0), sums);
        (pieces as f64 / count, tokens as f64 / count, evidence)
    }

    /// From now on every twelfth thing that was said matters, as if its speaker had wanted it remembered.
    async fn matters(&self) {
        let mut database = Store::raw(&self.folder.path().join("house.db")).await.unwrap();
        sqlx::query("UPDATE memories SET importance = 0.9 WHERE id % 12 = 0").execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// What matters takes nothing's place, and what it takes is bounded.
    async fn holds_what_matters(&self, by_words: bool) {
        let before = self.ask(by_words).await;
        self.matters().await;
        let all = self.ask(by_words).await;
        println!("what matters: {:?} {:?} {:?}", self.recall(&all, None), self.silence(&all), Self::raised(&all));
        let (found, found_before) = (self.recall(&all, None), self.recall(&before, None));
        assert!(found.0 >= found_before.0 && found.1 >= found_before.1, "{found:?} {found_before:?}");
        assert!(self.silence(&all).0 >= self.silence(&before).0, "where nothing fits, as little is told");
        assert!(all.iter().all(|one| one.raised.0 <= 3 && one.raised.1 <= 150));
        assert!(all.iter().any(|one| one.raised.0 > 0));
    }

    /// How much is found where the pool is in the order of its scores, or of this part of them alone; what has nothing of
    /// that part is not found by it.
    fn recall(&self, all: &[QuestionResult], part: Option<usize>) -> RecallScore {
        let with: Vec<&QuestionResult> = all.iter().filter(|brought| !brought.evidence.is_empty()).collect();
        let score = |one: &Candidate| part.map_or(one.score, |at| one.parts[at]);
        let at = |count: usize| {
            let share = |brought: &&QuestionResult| {
                let least = brought.ranked.iter().map(score).fold(f64::INFINITY, f64::min);
                let mut order: Vec<&Candidate> = brought.ranked.iter().collect();
                order.retain(|one| part.is_none() || score(one) > least);
                order.sort_by(|a, b| score(b).total_cmp(&score(a)));
                let found = order.into_iter().take(count).filter(|one| self.is_evidence(brought, one)).count();
                found as f64 / brought.evidence.len() as f64
            };
            with.iter().map(share).sum::<f64>() / with.len() as f64
        };
        (at(5), at(10))
    }
}

fn is_better(one: RecallScore, other: RecallScore) -> bool {
    one.0 > other.0 + 0.1 && one.1 > other.1 + 0.1
}

/// BM25 of the turn itself, which counts by words alone, and the cosine, which counts where there is one.
const BM25: usize = 12;
const COSINE: usize = 2;

#[tokio::test]
async fn a4_e5_a_household_is_recalled_by_text() {
    let harness = Harness::open(None).await;
    let without = harness.asked.iter().filter(|(one, _)| one.evidence.is_empty()).count();
    assert!(harness.conversation.names.len() >= 150 && harness.asked.len() - without >= 60 && without >= 10);
    let all = harness.ask(true).await;
    let found = harness.recall(&all, None);
    let words = harness.recall(&all, Some(BM25));
    let (silent, kept) = harness.silence(&all);
    println!("{found:?} {words:?} {silent} {kept} {:?}", Harness::raised(&all));
    assert!(found.0 >= 0.60 && found.1 >= 0.66, "{found:?}");
    assert!(is_better(found, words), "better than BM25 by itself: {words:?}");
    assert!(silent >= 0.70 && kept >= 0.85, "{silent} {kept}");
    harness.holds_what_matters(true).await;
}

#[tokio::test]
async fn a4_e5_a_household_is_recalled_by_meaning() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/embedding-model");
    let harness = Harness::open(Some(Arc::new(LocalEmbedder::open(folder.into()).await.unwrap()))).await;
    let all = harness.ask(false).await;
    let found = harness.recall(&all, None);
    let meaning = harness.recall(&all, Some(COSINE));
    let (silent, kept) = harness.silence(&all);
    println!("{found:?} {meaning:?} {silent} {kept} {:?}", Harness::raised(&all));
    assert!(found.0 >= 0.64 && found.1 >= 0.77, "{found:?}");
    assert!(is_better(found, meaning), "better than the vectors by themselves: {meaning:?}");
    assert!(silent >= 0.65 && kept >= 0.78, "{silent} {kept}");
    harness.holds_what_matters(false).await;
}
