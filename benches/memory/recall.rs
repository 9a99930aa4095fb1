//! All of recall but the embedding of the question, over one person's memories.
//!
//! Words are as frequent as words are (the n-th as 1 / (n + 2)); vectors and tokens' signs are scattered, the worst case.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hob_core::domain::ids::UserId;
use hob_core::domain::memory::Scope;
use hob_memory::active_embedder::ActiveEmbedder;
use hob_memory::embedding::error::EmbedError;
use hob_memory::embedding::local::LocalEmbedder;
use hob_memory::embedding::{EmbeddedText, Embedder, EmbeddingModel};
use hob_memory::keep;
use hob_memory::rank::late::TokenBinaryCodes;
use hob_memory::recall::meaning::EmbeddedQuestion;
use hob_memory::recall::{Memory, RecallLimits, RecallQuestion};
use hob_memory::vectors::bytes;
use hob_memory::vectors::index::Index;
use hob_store::error::StoreError;
use hob_store::memories::{NewMemory, begin_episode};
use hob_store::vectors::{self, NewModel, NewVector};
use hob_store::{SchedulingMode, Store, Tx};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::Instant;

use crate::{DIMENSIONS, anonymous_mib, percentiles, scattered, signs, status_mib, vector};

const SCOPE: Scope = Scope::Person(UserId(1));
const VOCABULARY: usize = 30_000;
const TURNS: i64 = 12;
/// Memories in one transaction.
const BATCH: i64 = 6_000;
const TOKENS: u64 = 10;
const QUESTIONS: u64 = 200;
/// 2023-11-14; a turn a minute follows.
const BEGAN: i64 = 1_700_000_000_000;

pub(super) async fn recall(memories: i64) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hob.db");
    let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
    let words = Arc::new(Words::new());
    let written = write(&store, memories, &words).await;
    let rate = |time: Duration| (memories as f64 / time.as_secs_f64()) as i64;
    println!("recall: {memories}: {} memories a second written", rate(written));
    let memory = Memory::by_words(store.clone(), TimeZone::UTC);
    let [by_words, told] = ask(&memory, None, &words, memories).await;
    println!(
        "recall: {memories}: by words alone: {}, with the fragments: {}",
        percentiles(by_words),
        percentiles(told)
    );
    println!("recall: {memories}: no embedding: {}, {} MB on disk", resident(), disk(&path));
    let (serving, took) = embed(&store, memories).await;
    println!("recall: {memories}: {} vectors a second written", rate(took));
    memory.embedding_service.serve(Some(Arc::clone(&serving)));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/embedding-model");
    let local = LocalEmbedder::open(folder).await.unwrap();
    local.embed(&["warm".to_owned()]).await.unwrap();
    let [ranked, told] = ask(&memory, Some(&serving), &words, memories).await;
    println!("recall: {memories}: by words and meaning: {}", percentiles(ranked));
    println!("recall: {memories}: with the fragments: {}", percentiles(told));
    local.embed(&["warm".to_owned()]).await.unwrap();
    println!("recall: {memories}: model and index: {}, {} MB on disk", resident(), disk(&path));
    store.close().await;
}

async fn write(store: &Store, memories: i64, words: &Arc<Words>) -> Duration {
    let started = Instant::now();
    for from in (1..=memories).step_by(usize::try_from(BATCH).unwrap()) {
        let through = memories.min(from + BATCH - 1);
        let words = Arc::clone(words);
        store.write(async move |tx| say(tx, from, through, &words).await).await.unwrap();
    }
    started.elapsed()
}

/// Vectors for all of them, and how long it took to write them.
async fn embed(store: &Store, memories: i64) -> (Arc<ActiveEmbedder>, Duration) {
    let model = store.write(register).await.unwrap();
    let mut index = Index::new(DIMENSIONS);
    let mut took = Duration::ZERO;
    for from in (1..=memories).step_by(usize::try_from(BATCH).unwrap()) {
        let rows: Vec<NewVector> = (from..=memories.min(from + BATCH - 1)).map(row).collect();
        for row in &rows {
            let stored = bytes::StoredVector::read(&row.vector, DIMENSIONS).unwrap();
            index.insert(SCOPE, row.memory.0, &stored.bits());
        }
        let started = Instant::now();
        store.write(async move |tx| put(tx, model, &rows).await).await.unwrap();
        took += started.elapsed();
    }
    let described = EmbeddingModel { name: "scattered".to_owned(), dimensions: DIMENSIONS, digest: String::new() };
    (Arc::new(ActiveEmbedder::of(Arc::new(Silent(described)), model, index)), took)
}

fn resident() -> String {
    let resident = status_mib("VmRSS:");
    format!("{} MiB of its own, {resident} MiB resident with the program and what is mapped", anonymous_mib())
}

/// The file and its log.
fn disk(path: &Path) -> u64 {
    let log = path.with_extension("db-wal");
    [path, &log].into_iter().map(|path| std::fs::metadata(path).map_or(0, |file| file.len())).sum::<u64>() / 1_000_000
}

/// How long it took until all was ranked, and until it was told.
async fn ask(
    memory: &Memory,
    serving: Option<&Arc<ActiveEmbedder>>,
    words: &Words,
    memories: i64,
) -> [Vec<Duration>; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..QUESTIONS {
        let about = 1 + i64::try_from(scattered(number + 7_777) % memories.cast_unsigned()).unwrap();
        let question = RecallQuestion {
            text: words.question(about),
            scopes: vec![SCOPE, Scope::House],
            turn: None,
            window: None,
            limits: RecallLimits::default(),
            bill: hob_memory::embedding::Bill::House,
            now: Timestamp::from_millisecond(BEGAN + memories * 60_000).unwrap(),
        };
        // Every second number of the vector is that of what is asked about.
        let near = vector(about.cast_unsigned()).into_iter().zip(vector(u64::MAX - number)).enumerate();
        let vector = near.map(|(at, (own, other))| if at % 2 == 0 { own } else { other }).collect();
        let tokens = tokens(number.wrapping_mul(31), 6);
        let meant = serving.map(|serving| EmbeddedQuestion { serving: Arc::clone(serving), vector, tokens });
        let started = Instant::now();
        let found = memory.ranked(&question, meant.as_ref()).await.unwrap();
        times[0].push(started.elapsed());
        let is_found = found.iter().any(|one| one.memory == about);
        assert!(is_found || meant.is_none(), "{about} is not found by {}", question.text);
        let started = Instant::now();
        memory.recall_embedded(&question, meant.as_ref()).await.unwrap();
        times[1].push(started.elapsed());
    }
    times
}

/// Words as frequent as words are.
struct Words {
    sums: Vec<f64>,
}

impl Words {
    fn new() -> Self {
        let mut sum = 0.0;
        let next = |n: usize| {
            sum += 1.0 / (n as f64 + 2.0);
            sum
        };
        Self { sums: (1..=VOCABULARY).map(next).collect() }
    }

    fn number(&self, seed: u64) -> usize {
        let chance = (scattered(seed) >> 11) as f64 / (1_u64 << 53) as f64 * self.sums[VOCABULARY - 1];
        self.sums.partition_point(|sum| *sum < chance)
    }

    /// The words of a memory, by their numbers: the first hundred stand for stop words.
    fn of(&self, memory: i64) -> Vec<usize> {
        let seed = memory.cast_unsigned().wrapping_mul(64);
        (0..6 + scattered(seed) % 14).map(|at| self.number(seed + at + 1)).collect()
    }

    fn text(&self, memory: i64) -> String {
        self.of(memory).into_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Up to four of its words.
    fn question(&self, memory: i64) -> String {
        let mut telling: Vec<usize> = self.of(memory).into_iter().filter(|number| *number >= 100).collect();
        telling.truncate(4);
        let telling: Vec<String> = telling.into_iter().map(word).collect();
        format!("what was it with the {}", telling.join(" and the "))
    }
}

/// A word that one could say.
fn word(number: usize) -> String {
    const STOP: [&str; 100] = stop_words();
    if let Some(stop) = STOP.get(number) {
        return (*stop).to_owned();
    }
    let mut left = number;
    let mut word = String::new();
    while left > 0 {
        word.push(char::from(b"bdfgklmnprstvwz"[left % 15]));
        word.push(char::from(b"aeiou"[left / 15 % 5]));
        left /= 75;
    }
    word + "k"
}

const fn stop_words() -> [&'static str; 100] {
    const FEW: [&str; 20] = [
        "the", "a", "and", "to", "of", "i", "it", "is", "in", "you", "that", "was", "for", "we", "on", "with", "so",
        "my", "at", "be",
    ];
    let mut all = [""; 100];
    let mut at = 0;
    while at < 100 {
        all[at] = FEW[at % 20];
        at += 1;
    }
    all
}

fn tokens(seed: u64, count: u64) -> TokenBinaryCodes {
    let bytes: Vec<u8> = (0..count).flat_map(|at| signs(seed + at)).flat_map(u64::to_le_bytes).collect();
    TokenBinaryCodes::read(&bytes, DIMENSIONS).unwrap()
}

fn row(memory: i64) -> NewVector {
    let seed = memory.cast_unsigned();
    let tokens = tokens(seed.wrapping_mul(101), TOKENS).to_bytes();
    NewVector { memory: memory.into(), vector: bytes::encode(&vector(seed)), binary_codes: Some(tokens) }
}

async fn register(tx: &mut Tx) -> Result<i64, StoreError> {
    let new = NewModel { name: "scattered", dimensions: 384, digest: "scattered" };
    Ok(vectors::register(tx, new, Timestamp::UNIX_EPOCH).await?.id)
}

async fn say(tx: &mut Tx, from: i64, through: i64, words: &Words) -> Result<(), StoreError> {
    let mut episode = None;
    for memory in from..=through {
        let at = BEGAN + memory * 60_000;
        let open = match episode {
            Some(open) if (memory - from) % TURNS != 0 => open,
            _ => begin_episode(tx, SCOPE, None, at).await?,
        };
        episode = Some(open);
        let new = NewMemory {
            scope: SCOPE,
            session: None,
            speaker: if memory % 2 == 0 { "Anna" } else { "Ben" },
            user: None,
            message: None,
            text: &words.text(memory),
            asked: None,
            origin: "import",
            importance: if memory % 200 == 0 { 0.9 } else { 0.3 },
            at,
        };
        assert_eq!(keep::add_to(tx, open, &new).await?.0, memory);
    }
    Ok(())
}

async fn put(tx: &mut Tx, model: i64, rows: &[NewVector]) -> Result<(), StoreError> {
    for row in rows {
        vectors::put(tx, model, row).await?;
    }
    Ok(())
}

/// Is never asked.
struct Silent(EmbeddingModel);

#[async_trait]
impl Embedder for Silent {
    fn model(&self) -> &EmbeddingModel {
        &self.0
    }

    async fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Setup("nobody asks".to_owned()))
    }

    async fn embed_tokens(&self, _: &[String]) -> Result<Option<Vec<EmbeddedText>>, EmbedError> {
        Err(EmbedError::Setup("nobody asks".to_owned()))
    }
}
