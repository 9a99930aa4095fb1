//! What memory costs: a sentence's vector, the nearest of ten thousand, a hundred thousand and a million, and all of recall
//! over as many, in a database file in the temporary directory (a million take 1.8 GB for a few minutes).
//!
//! `cargo bench --bench memory [-- embedding|vectors|recall|10000|100000|1000000]`; the numbers and what they mean are in
//! docs/decisions/0003 and 0004, and in docs/performance.md.
//! The model is the one that `scripts/embedding-model` puts into `target/`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::path::Path;
use std::time::Duration;

use hob_core::domain::ids::UserId;
use hob_core::domain::memory::Scope;
use hob_memory::embedding::Embedder;
use hob_memory::embedding::local::LocalEmbedder;
use hob_memory::vectors::index::Index;
use hob_memory::vectors::{binary_codes, bytes};
use tokio::time::Instant;

#[path = "memory/recall.rs"]
mod recall;

const DIMENSIONS: usize = 384;
/// How many vectors are looked at closely.
const CANDIDATES: usize = 1_000;
/// Twenty tokens, with the model's own two.
const SENTENCE: &str = "the weather in the mountains was much colder than we had expected when we left the old house";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if is_wanted("embedding") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(embedding());
    }
    if is_wanted("vectors") {
        for memories in [10_000, 100_000, 1_000_000] {
            vectors(memories);
        }
    }
    for memories in [10_000, 100_000, 1_000_000] {
        if is_wanted("recall") || wanted.contains(&memories.to_string()) {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(recall::recall(memories));
        }
    }
}

async fn embedding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/embedding-model");
    let before = anonymous_mib();
    let started = Instant::now();
    let embedder = LocalEmbedder::open(folder).await.unwrap();
    println!("embedding: loaded in {:?}, {} MiB", started.elapsed(), anonymous_mib() - before);
    for (texts, what) in [(1, "one sentence"), (8, "of eight sentences, each")] {
        let texts = vec![SENTENCE.to_owned(); texts];
        let mut times = Vec::new();
        for _ in 0..200 {
            let started = Instant::now();
            embedder.embed(&texts).await.unwrap();
            times.push(started.elapsed() / u32::try_from(texts.len()).unwrap());
        }
        println!("embedding: {what}: {}", percentiles(times));
    }
    println!("embedding: {} MiB in use", anonymous_mib() - before);
}

fn vectors(memories: i64) {
    let before = anonymous_mib();
    let scopes = [Scope::Person(UserId(1)), Scope::House];
    let mut index = Index::new(DIMENSIONS);
    let started = Instant::now();
    for id in 0..memories {
        index.insert(scopes[0], id, &signs(id.cast_unsigned()));
    }
    let (built, grown) = (started.elapsed(), anonymous_mib() - before);
    let mut times = Vec::new();
    for question in 0..200 {
        let query = signs(u64::MAX - question);
        let started = Instant::now();
        assert_eq!(index.nearest(&query, &scopes, CANDIDATES).len(), CANDIDATES);
        times.push(started.elapsed());
    }
    println!("vectors: {memories}: built in {built:?}, {grown} MiB; {CANDIDATES} nearest: {}", percentiles(times));
    let rows: Vec<(i64, Vec<u8>)> = (0..1_000_i64).map(|id| (id, bytes::encode(&vector(id.cast_unsigned())))).collect();
    let mut times = Vec::new();
    for question in 0..200 {
        let query = vector(u64::MAX - question);
        let started = Instant::now();
        let scored = bytes::rescore(&query, rows.iter().map(|(id, row)| (*id, row.as_slice())), 100);
        times.push(started.elapsed());
        assert_eq!(scored.len(), 100);
    }
    println!("vectors: a closer look at {}: {}", rows.len(), percentiles(times));
}

fn vector(seed: u64) -> Vec<f32> {
    (0..DIMENSIONS as u64).map(|at| (scattered(seed.wrapping_mul(997) ^ at) >> 40) as f32 / 8e6 - 1.0).collect()
}

fn signs(seed: u64) -> Vec<u64> {
    (0..binary_codes::word_count(DIMENSIONS) as u64).map(|at| scattered(seed.wrapping_mul(8) ^ at)).collect()
}

/// A number that looks like chance, the same in every run.
fn scattered(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100];
    format!("p50 {:.2?}, p95 {:.2?}, p99 {:.2?}", at(50), at(95), at(99))
}

/// What the process holds of its own.
fn anonymous_mib() -> u64 {
    status_mib("RssAnon:")
}

fn status_mib(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}
