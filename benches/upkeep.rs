//! What upkeep costs those who commit meanwhile: somebody commits without a pause while a round goes over a filled database, with
//! everything in it old; the worst delays with it and without it are told.
//!
//! `cargo bench --bench upkeep [-- ROWS]`; the numbers and what they mean are in docs/performance.md.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks to a person and fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use hob::daemon::upkeep::{RetentionPeriods, UpkeepWorker, round};
use hob_core::domain::clock::SystemClock;
use hob_store::{SchedulingMode, Store, Tx};
use jiff::SignedDuration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many runs there are, each with a journal of ten events.
const ROWS: i64 = 20_000;
/// Commits that are timed without upkeep.
const ALONE: Duration = Duration::from_secs(10);

async fn fill(store: &Store, rows: i64) {
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})");
    let all = [
        "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0);
         INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '7', 'telegram', 0)".to_owned(),
        format!("{numbers} INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance,
            disposition, sent_at, received_at) SELECT i, 1, 1, 'telegram', 'default', '7', 'm' || i, 'hello', 0, 'run', 0, 0 FROM n"),
        format!("{numbers} INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at, ended_at)
            SELECT i, 1, i, 1, 'completed', 0, 1 FROM n"),
        format!("{numbers}, k(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM k WHERE j < 10)
            INSERT INTO run_events (run_id, seq, kind, version, body, at) SELECT i, j, iif(j = 2, 'run.begun', 'tool.finished'), 1,
            json_object('body', json_object('context', json_object('system', 's', 'tools', 't', 'tail', 'tail' || i)),
                'text', printf('%.*c', 400, 'x')), 0 FROM n, k"),
        format!("{numbers} INSERT INTO blobs (hash, text) SELECT 'tail' || i, printf('%.*c', 600, 'x') FROM n"),
        format!("{numbers} INSERT INTO outbox (key, session_id, run_id, channel, account, chat, text, choices, state, next_attempt_at,
            created_at, ended_at) SELECT 'run:' || i || ':9:0', 1, i, 'telegram', 'default', '7', printf('%.*c', 500, 'x'), '[]',
            'delivered', 0, 0, 1 FROM n"),
        format!("{numbers} INSERT INTO model_calls (run_id, asked_seq, model, state, asked_at, cost)
            SELECT i, 3, 'm', 'answered', 0, 5 FROM n"),
        format!("{numbers} INSERT INTO facts (scope, category, key, value, speaker, source, confidence, importance, created_at)
            SELECT 'p1', 'c', 'k' || i, 'some words about ' || i, 'Ada', 'told', 1, 0.5, 0 FROM n WHERE i < 5000"),
    ];
    for sql in all {
        run(store, sql).await;
    }
}

/// Runs SQL as it stands.
async fn run(store: &Store, sql: String) {
    let run = async move |tx: &mut Tx| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(tx).await?;
        Ok(())
    };
    store.write(run).await.unwrap();
}

/// Commits until told; gives each delay, sorted.
async fn commit(store: &Store, stop: &CancellationToken) -> Vec<Duration> {
    let mut took = Vec::new();
    while !stop.is_cancelled() {
        let begun = Instant::now();
        run(store, "UPDATE sessions SET last_ordinal = last_ordinal + 1".to_owned()).await;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    took
}

fn told(what: &str, took: &[Duration]) {
    let at = |part: usize| took[(took.len() - 1) * part / 1000];
    println!(
        "{what}: {} commits, p50 {:?}  p99 {:?}  p99.9 {:?}  worst {:?}",
        took.len(),
        at(500),
        at(990),
        at(999),
        at(1000)
    );
}

async fn bench(rows: i64) {
    let home = tempfile::tempdir_in(std::env::current_dir().unwrap().join("target")).unwrap();
    let path = home.path().join("hob.db");
    let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
    fill(&store, rows).await;
    store.checkpoint_wal().await.unwrap();
    println!("{rows} runs, {} MB", std::fs::metadata(&path).unwrap().len() >> 20);
    let stop = CancellationToken::new();
    let (alone, ()) = tokio::join!(commit(&store, &stop), async {
        tokio::time::sleep(ALONE).await;
        stop.cancel();
    });
    told("without upkeep", &alone);
    let stop = CancellationToken::new();
    let all = Some(SignedDuration::from_hours(24));
    let keep = RetentionPeriods { journals: all, outbox: all, claims: all, calls: all, signals: all };
    let upkeep = async {
        let hand = UpkeepWorker::new(store.clone(), Arc::new(SystemClock), CancellationToken::new()).impatient();
        let done = round::round(hand, &keep).await.unwrap();
        stop.cancel();
        done
    };
    let (beside, done) = tokio::join!(commit(&store, &stop), upkeep);
    told("with upkeep   ", &beside);
    println!(
        "{} steps in {:?}, the longest held the writer for {:?}; {} pages given back; {:?}",
        done.steps, done.took, done.held_max, done.pages_freed, done.gone
    );
    store.close().await;
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(ROWS);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(bench(rows));
}
