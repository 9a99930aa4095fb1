//! What is recalled is the same on both engines: words are found by each in its own way, and ranked by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::{Ranking, household, recall};
use crate::embedding::Embedder;
use crate::embedding::local::LocalEmbedder;
use hob_config::environment::Environment;
use hob_store::{SchedulingMode, Store};
use hob_testkit::postgres::Cluster;

/// Set, it names a file in LoCoMo's format whose questions are asked in place of the household's.
const DATA: &str = "HOB_RECALL_DATA";
/// How far apart R@10 may be: what is worth the same on both comes in another order.
const APART_MAX: f64 = 0.005;

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    sample_id: String,
    qa: Vec<Evidence>,
}

#[derive(Deserialize)]
struct Evidence {
    #[serde(default)]
    evidence: Vec<String>,
}

/// The share of the evidence that is among the first ten, on average over the questions.
fn recall_at_10(data: &str, found: &[Ranking]) -> f64 {
    let asked: Vec<Asked> = serde_json::from_str(data).unwrap();
    let asked: BTreeMap<String, Vec<Evidence>> = asked.into_iter().map(|one| (one.sample_id, one.qa)).collect();
    let share = |ranking: &Ranking| {
        let evidence = &asked[&ranking.sample_id][ranking.question_index].evidence;
        let first = &ranking.ranked[..ranking.ranked.len().min(10)];
        evidence.iter().filter(|turn| first.contains(turn)).count() as f64 / evidence.len() as f64
    };
    found.iter().map(share).sum::<f64>() / found.len() as f64
}

async fn on_both(embedder: Option<Arc<dyn Embedder>>) {
    let environment = Environment::of_process();
    let read = |file| std::fs::read_to_string(file).unwrap();
    let data = environment.text(DATA).map_or_else(|| household::DATA.to_owned(), read);
    let (home, cluster) = (tempfile::tempdir().unwrap(), Cluster::shared());
    let file =
        async |number: usize| Store::open(&home.path().join(format!("{number}.db")), SchedulingMode::Threaded).await;
    let server = async |_number| Store::open_url(cluster.database().url()).await;
    let silent = |_: (usize, usize), _: &str, _| {};
    let on_sqlite = recall(&data, file, embedder.clone(), &silent).await.unwrap();
    let on_postgres = recall(&data, server, embedder, &silent).await.unwrap();
    let rankings = |answers: Vec<super::Answer>| answers.into_iter().map(|one| one.ranking).collect::<Vec<_>>();
    let (on_sqlite, on_postgres) = (rankings(on_sqlite), rankings(on_postgres));
    let same = on_sqlite.iter().zip(&on_postgres).filter(|(one, other)| one.ranked == other.ranked).count();
    let (one, other) = (recall_at_10(&data, &on_sqlite), recall_at_10(&data, &on_postgres));
    println!("R@10 on SQLite {one:.4}, on PostgreSQL {other:.4}; {same} of {} in the same order", on_sqlite.len());
    assert!(one > 0.5 && (one - other).abs() <= APART_MAX, "{one} {other}");
}

#[tokio::test]
async fn n15_a_postgresql_recalls_by_words_what_sqlite_does() {
    on_both(None).await;
}

#[tokio::test]
async fn n15_a_postgresql_recalls_by_meaning_what_sqlite_does() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/embedding-model");
    on_both(Some(Arc::new(LocalEmbedder::open(folder.into()).await.unwrap()))).await;
}
