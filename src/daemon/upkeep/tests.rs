use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;
use crate::daemon::upkeep::disk::DiskMonitor;
use hob_agent::replay::load::{self, LoadOutcome};
use hob_core::domain::condition::{Conditions, SystemPart};
use hob_core::domain::ids::RunId;
use hob_core::domain::space::Space;
use hob_core::policy::upkeep::DiskState;
use hob_store::upkeep::journals;
use hob_store::upkeep::latest_message;
use hob_store::upkeep::pages::{self, PageCounts};
use hob_store::{SchedulingMode, Tx};
use hob_testkit::postgres::Cluster;

/// The thousandth day.
const NOW: i64 = 1_000 * DAY;
const DAY: i64 = 24 * 3600 * 1_000;

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(NOW).unwrap()
    }
}

/// Runs SQL as it stands.
async fn run(tx: &mut Tx, sql: &str) -> Result<(), StoreError> {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(tx).await?;
    Ok(())
}

/// One column of text.
async fn column(tx: &mut Tx, sql: &'static str) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(sql).fetch_all(tx).await?)
}

struct Harness {
    store: Store,
    home: TempDir,
}

impl Harness {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("hob.db"), SchedulingMode::Threaded).await.unwrap();
        let bench = Self { store, home };
        bench.sql(HOUSE).await;
        bench
    }

    async fn sql(&self, sql: impl Into<String>) {
        let text = sql.into();
        self.store.write(async move |tx| run(tx, &text).await).await.unwrap();
    }

    async fn texts(&self, sql: &'static str) -> Vec<String> {
        self.store.read(async |tx| column(tx, sql).await).await.unwrap()
    }

    async fn run(&self, id: i64, state: &str, day: i64) {
        self.sql(recorded_run(id, state, day)).await;
    }

    async fn round(&self, keep: &RetentionPeriods) -> UpkeepRound {
        let hand = UpkeepWorker::new(self.store.clone(), Arc::new(FixedClock), CancellationToken::new());
        round::round(hand, keep).await.unwrap()
    }
}

/// Ada and her conversation.
const HOUSE: &str = "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Ada', 'user', 0);
    INSERT INTO sessions (id, key, channel, created_at) VALUES (1, '7', 'telegram', 0)";

/// A run that came and ended on a day, with a journal, a call of a tool and of a model, a word to it, and a reply; for either engine.
fn recorded_run(id: i64, state: &str, day: i64) -> String {
    let at = day * DAY;
    let (ended, over) = match state {
        "waiting" => ("NULL".to_owned(), false),
        _ => (at.to_string(), true),
    };
    let outbox = if over { ("delivered", at.to_string()) } else { ("pending", "NULL".to_owned()) };
    format!(
        "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition,
               sent_at, received_at) VALUES ({id}, 1, 1, 'telegram', 'default', '7', 'm{id}', 'hello {id}', 0, 'run', {at}, {at});
             INSERT INTO runs (id, session_id, inbound_id, user_id, state, created_at, ended_at, state_hash)
               VALUES ({id}, 1, {id}, 1, '{state}', {at}, {ended}, 'hash');
             INSERT INTO run_events (run_id, seq, kind, version, body, at) VALUES
               ({id}, 1, 'input.accepted', 1, 'no json', {at}),
               ({id}, 2, 'run.begun', 1, '{{\"body\":{{\"context\":{{\"system\":\"s\",\"tools\":\"t\",\"tail\":\"tail{id}\"}}}}}}', {at}),
               ({id}, 3, 'run.ended', 1, '{{}}', {at});
             INSERT INTO blobs (hash, text) VALUES ('s', 'You are Hob.'), ('t', '[]'), ('tail{id}', 'It is noon.')
               ON CONFLICT DO NOTHING;
             INSERT INTO signals (run_id, body, created_at, taken) VALUES ({id}, 'stop', {at}, 1);
             INSERT INTO tool_calls (run_id, call_id, name, arguments, attempts, started_at) VALUES ({id}, '1.0', 'look', '{{}}', 1, {at});
             INSERT INTO model_calls (run_id, asked_seq, model, state, asked_at, cost) VALUES ({id}, 3, 'm', 'answered', {at}, 5);
             INSERT INTO messages (session_id, ordinal, run_id, role, user_id, body, text, at)
               VALUES (1, {id}, {id}, 'user', 1, '{{}}', 'hello {id}', {at});
             INSERT INTO outbox (key, session_id, run_id, channel, account, chat, text, choices, state, next_attempt_at, created_at, ended_at)
               VALUES ('run:{id}:3:0', 1, {id}, 'telegram', 'default', '7', 'hi', '[]', '{}', {at}, {at}, {})",
        outbox.0, outbox.1
    )
}

fn days(count: i64) -> Option<SignedDuration> {
    Some(SignedDuration::from_hours(24 * count))
}

#[tokio::test]
async fn n15_a_round_on_one_postgresql_lets_the_same_go() {
    let bench = Harness::new().await;
    let database = Cluster::shared().database();
    let store = Store::open_url(database.url()).await.unwrap();
    database.ask(HOUSE);
    for (id, state, day) in [(1, "completed", 100), (2, "waiting", 100), (3, "failed", 995), (4, "completed", 999)] {
        bench.run(id, state, day).await;
        database.ask(&recorded_run(id, state, day));
    }
    let keep =
        RetentionPeriods { journals: days(30), outbox: days(30), claims: days(30), signals: days(1), calls: days(30) };
    let ours = bench.round(&keep).await;
    let mut gone = BTreeMap::new();
    // What a busy server has no time for waits for the next round.
    for _ in 0..20 {
        let hand = UpkeepWorker::new(store.clone(), Arc::new(FixedClock), CancellationToken::new());
        let theirs = round::round(hand, &keep).await.unwrap();
        assert_eq!(theirs.pages_freed, 0, "that is the server's");
        for (what, count) in theirs.gone {
            *gone.entry(what).or_default() += count;
        }
        if gone == ours.gone {
            break;
        }
    }
    assert_eq!(gone, ours.gone);
    assert!(gone.contains_key("journals") && gone.contains_key("texts"), "{gone:?}");
    assert_eq!(
        database.ask("SELECT count(*) FROM run_events"),
        bench.texts("SELECT count(*) || '' FROM run_events").await[0]
    );
}

#[tokio::test]
async fn what_is_old_goes_and_what_is_needed_stays() {
    let bench = Harness::new().await;
    for (id, state, day) in [(1, "completed", 100), (2, "waiting", 100), (3, "failed", 995), (4, "completed", 999)] {
        bench.run(id, state, day).await;
    }
    bench
        .sql(format!(
            "INSERT INTO inbound (id, session_id, user_id, channel, account, chat, external_id, text, importance, disposition,
               sent_at, received_at) VALUES
               (11, 1, 1, 'telegram', 'default', '7', 'c1', '/status', 0, 'command', 0, 0),
               (12, 1, 1, 'telegram', 'default', '7', 'c2', 'with a file', 0, 'answer', 0, 0),
               (13, 1, 1, 'telegram', 'default', '7', 'c3', '/status', 0, 'command', 0, {});
             INSERT INTO files (key, session_id, user_id, scope, inbound_id, name, mime, bytes, hash, origin, created_at)
               VALUES ('in:12:0', 1, 1, 'p1', 12, 'a', 'text/plain', 1, '{}', '{{}}', 0);
             INSERT INTO memory_calls (purpose, model, state, asked_at) VALUES ('extraction', 'm', 'answered', 0),
               ('extraction', 'm', 'asked', 0), ('extraction', 'm', 'answered', {NOW});
             INSERT INTO blobs (hash, text) VALUES ('loose', 'nobody refers to it')",
            999 * DAY,
            "a".repeat(64),
        ))
        .await;
    let keep =
        RetentionPeriods { journals: days(30), outbox: days(30), claims: days(30), calls: days(100), signals: days(1) };
    let round = bench.round(&keep).await;
    let gone: Vec<(&str, u64)> = round.gone.iter().map(|(what, count)| (*what, *count)).collect();
    // Of the first run alone: the second waits, the others are young.
    let expected = [
        ("claims", 1),
        ("journals", 1),
        ("memory_calls", 1),
        ("model_calls", 1),
        ("outbox", 1),
        ("signals", 2),
        ("texts", 2),
    ];
    assert_eq!(gone, expected);
    assert_eq!(bench.texts("SELECT DISTINCT run_id || '' FROM run_events ORDER BY 1").await, ["2", "3", "4"]);
    assert_eq!(bench.texts("SELECT run_id || '' FROM outbox ORDER BY 1").await, ["2", "3", "4"]);
    assert_eq!(bench.texts("SELECT run_id || '' FROM tool_calls ORDER BY 1").await, ["2", "3", "4"]);
    assert_eq!(bench.texts("SELECT run_id || '' FROM model_calls ORDER BY 1").await, ["2", "3", "4"]);
    assert_eq!(bench.texts("SELECT run_id || '' FROM signals ORDER BY 1").await, ["2", "4"]);
    assert_eq!(bench.texts("SELECT hash FROM blobs ORDER BY 1").await, ["s", "t", "tail2", "tail3", "tail4"]);
    assert_eq!(bench.texts("SELECT external_id FROM inbound ORDER BY id").await, ["m1", "m2", "m3", "m4", "c2", "c3"]);
    assert_eq!(bench.texts("SELECT text FROM inbound WHERE id <= 2 ORDER BY id").await, ["[let go]", "hello 2"]);
    // The conversation itself stays, and so does the run.
    assert_eq!(bench.texts("SELECT text FROM messages ORDER BY id").await.len(), 4);
    assert_eq!(
        bench.texts("SELECT state FROM runs WHERE let_go_at IS NOT NULL AND state_hash IS NULL").await,
        ["completed"]
    );
    assert_eq!(bench.store.read(async |tx| load::load(tx, RunId(1)).await).await.unwrap(), LoadOutcome::LetGo);
    assert!(matches!(bench.store.read(async |tx| load::load(tx, RunId(4)).await).await.unwrap(), LoadOutcome::Run(_)));
    let again = bench.round(&keep).await;
    assert_eq!((again.gone.len(), again.ended), (0, Some(FixedClock.now())));
    // Kept for ever is kept.
    bench.run(5, "completed", 1).await;
    bench.run(6, "completed", 999).await;
    assert_eq!(bench.round(&RetentionPeriods::default()).await.gone.len(), 0);
    bench.store.close().await;
}

/// A journal is let go in slices; between two of them it counts as gone.
#[tokio::test]
async fn a_long_journal_goes_in_slices() {
    let bench = Harness::new().await;
    bench.run(1, "completed", 1).await;
    bench.run(2, "completed", 1).await;
    let step = async |events| {
        let unit =
            async move |tx: &mut Tx| journals::drop_journals(tx, &[RunId(1), RunId(2)], events, FixedClock.now()).await;
        bench.store.write(unit).await.unwrap()
    };
    let gone = step(2).await;
    assert_eq!((gone.runs, gone.events), (0, 2));
    assert_eq!(bench.store.read(async |tx| load::load(tx, RunId(1)).await).await.unwrap(), LoadOutcome::LetGo);
    assert_eq!(
        bench.texts("SELECT run_id || ':' || seq FROM run_events ORDER BY 1").await,
        ["1:1", "2:1", "2:2", "2:3"]
    );
    // As after a crash: the next round finds it and goes on.
    let keep = RetentionPeriods { journals: days(30), ..RetentionPeriods::default() };
    assert_eq!(bench.round(&keep).await.gone["journals"], 2);
    assert!(bench.texts("SELECT run_id || '' FROM run_events").await.is_empty());
    bench.run(3, "waiting", 1).await;
    let gone = bench
        .store
        .write(async |tx| journals::drop_journals(tx, &[RunId(3)], 9, FixedClock.now()).await)
        .await
        .unwrap();
    assert_eq!(gone.events, 0, "a run that is not over keeps its journal, whoever says so");
    bench.store.close().await;
}

#[tokio::test]
async fn n12_free_pages_are_given_back_and_indexes_merged() {
    let bench = Harness::new().await;
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
        INSERT INTO blobs (hash, text) SELECT 'b' || i, printf('%.*c', 2000, 'x') FROM n";
    bench.sql(rows).await;
    for _ in 0..20 {
        bench
            .sql(
                "INSERT INTO facts (scope, category, key, value, speaker, source, confidence, importance, created_at)
                 SELECT 'p1', 'c', 'k' || abs(random()), 'some words about the garden', 'Ada', 'told', 1, 0.5, 0",
            )
            .await;
    }
    let full: PageCounts = bench.store.read(pages::count).await.unwrap();
    let round = bench.round(&RetentionPeriods::default()).await;
    assert_eq!(round.gone["texts"], 4_000);
    let after: PageCounts = bench.store.read(pages::count).await.unwrap();
    assert!(after.all < full.all / 2 && round.pages_freed > 1_000, "{full:?} {after:?} {round:?}");
    assert_eq!(round.pages, (after.all.unsigned_abs(), after.free.unsigned_abs()));
    assert_eq!(bench.texts("SELECT count(*) || '' FROM facts_fts WHERE facts_fts MATCH 'garden'").await, ["20"]);
    bench.sql("INSERT INTO facts_fts (facts_fts, rank) VALUES ('integrity-check', 1)").await;
    assert_eq!(bench.texts("PRAGMA integrity_check").await, ["ok"]);
    bench.store.close().await;
}

/// A file from before gets small pages that can be given back when it is opened; once, and not while somebody else reads it.
#[tokio::test]
async fn an_old_file_is_brought_into_shape() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hob.db");
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    // The size of a page, and whether free ones can be given back.
    let form = |path: &Path| {
        let file = std::fs::read(path).unwrap();
        (u16::from_be_bytes([file[16], file[17]]), file[67])
    };
    assert_eq!(form(&path), (1_024, 1), "a new file has it");
    let mut raw = Store::raw(&path).await.unwrap();
    let old = "PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; PRAGMA page_size = 4096; VACUUM; PRAGMA journal_mode = WAL;";
    sqlx::raw_sql(old).execute(&mut raw).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT count(*) FROM blobs;").execute(&mut raw).await.unwrap();
    Store::open(&path, SchedulingMode::Threaded).await.unwrap().close().await;
    assert_eq!(form(&path), (4_096, 0), "somebody reads it");
    raw.close().await.unwrap();
    let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
    let text = "INSERT INTO blobs (hash, text) VALUES ('a', 'b')";
    store.write(async move |tx| run(tx, text).await).await.unwrap();
    assert_eq!(store.read(async |tx| column(tx, "SELECT text FROM blobs").await).await.unwrap(), ["b"]);
    store.close().await;
    assert_eq!(form(&path), (1_024, 1));
}

/// Never ends by itself.
async fn endless(tx: &mut Tx) -> Result<(), StoreError> {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
         INSERT INTO blobs (hash, text) SELECT 'b' || i, 'x' FROM n";
    sqlx::raw_sql(endless).execute(tx).await?;
    Ok(())
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_given_up_and_has_done_nothing() {
    let bench = Harness::new().await;
    let step = bench.store.step(endless, StepMode::Transaction, Duration::from_millis(20));
    let text = "INSERT INTO blobs (hash, text) VALUES ('mine', 'x')";
    let write = bench.store.write(async move |tx| run(tx, text).await);
    let (given_up, written) = tokio::join!(step, write);
    assert!(matches!(given_up, Err(StoreError::Overlong)), "{given_up:?}");
    written.unwrap();
    assert_eq!(bench.texts("SELECT hash FROM blobs").await, ["mine"]);
    // What comes after has all the time it needs.
    let slow =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) || '' FROM n";
    bench.sql(slow).await;
    let done = bench
        .store
        .step(async |tx| pages::free_pages(tx, 1).await, StepMode::Transaction, Duration::from_secs(5))
        .await
        .unwrap();
    assert!((0..=1).contains(&done.output));
    bench.store.close().await;
    let closed = bench
        .store
        .step(async |tx| pages::free_pages(tx, 1).await, StepMode::Transaction, Duration::from_secs(5))
        .await;
    assert!(matches!(closed, Err(StoreError::Closed)));
}

/// The log is folded beside the writer, and cut when nobody reads from it.
#[tokio::test]
async fn n12_the_log_is_folded_and_cut() {
    use hob_store::upkeep::log;
    let bench = Harness::new().await;
    let log = bench.home.path().join("hob.db-wal");
    bench.sql("INSERT INTO blobs (hash, text) VALUES ('a', printf('%.*c', 3000000, 'x'))").await;
    assert!(std::fs::metadata(&log).unwrap().len() > 2_000_000);
    // Somebody reads what was before the next words.
    let mut reader = Store::raw(&bench.home.path().join("hob.db")).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT count(*) FROM blobs;").execute(&mut reader).await.unwrap();
    bench.sql("INSERT INTO blobs (hash, text) VALUES ('b', printf('%.*c', 3000000, 'x'))").await;
    let folded = bench.store.checkpoint_wal().await.unwrap();
    assert!(!folded.is_whole() && folded.folded > 0, "{folded:?}");
    let cut = bench.store.step(log::truncate, StepMode::Bare, STEP_MAX).await.unwrap();
    assert!(!cut.output && cut.held < Duration::from_secs(2), "it does not wait for a reader: {:?}", cut.held);
    sqlx::raw_sql("COMMIT").execute(&mut reader).await.unwrap();
    reader.close().await.unwrap();
    assert!(bench.store.checkpoint_wal().await.unwrap().is_whole());
    assert!(bench.store.step(log::truncate, StepMode::Bare, STEP_MAX).await.unwrap().output);
    assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
    bench.store.close().await;
}

/// A disk as a test wants it.
struct FakeDisk(Mutex<io::Result<u64>>);

impl Space for FakeDisk {
    fn free(&self, _folder: &Path) -> io::Result<u64> {
        match &*self.0.lock().unwrap() {
            Ok(free) => Ok(*free),
            Err(error) => Err(error.kind().into()),
        }
    }
}

#[tokio::test]
async fn n9_a_low_disk_is_told_big_work_refused_and_it_mends_by_itself() {
    let bench = Harness::new().await;
    let (disk, conditions) = (Arc::new(FakeDisk(Mutex::new(Ok(600 << 20)))), Conditions::default());
    let contents = Contents::of(bench.home.path());
    let watch = DiskMonitor {
        store: bench.store.clone(),
        space: Arc::clone(&disk) as _,
        conditions: conditions.clone(),
        clock: Arc::new(FixedClock),
        contents: contents.clone(),
        folder: "/d".into(),
        low: 512 << 20,
    };
    let large = vec![0; (1 << 20) + 1];
    let set = |free| *disk.0.lock().unwrap() = free;
    let mut room = watch.look(DiskState::default());
    assert!(room == DiskState::Ample && !conditions.has(&SystemPart::Disk));
    set(Ok(511 << 20));
    room = watch.look(room);
    insta::assert_snapshot!(conditions.all()[&SystemPart::Disk].to_string(), @"less than 512 MB are free on the disk of /d; free some: until then there are no backups, no new skills, no files over 1 MB and nothing new in the search by meaning; messages are answered");
    assert_eq!(contents.keep_now(&large).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(contents.keep_now(b"small").is_ok());
    // What cannot be looked at is no news.
    set(Err(io::ErrorKind::NotFound.into()));
    room = watch.look(room);
    assert!(conditions.has(&SystemPart::Disk));
    set(Ok(600 << 20));
    room = watch.look(room);
    assert!(room == DiskState::Low, "it does not flicker");
    set(Ok(700 << 20));
    room = watch.look(room);
    assert!(room == DiskState::Ample && !conditions.has(&SystemPart::Disk));
    assert!(contents.keep_now(&large).is_ok());
    bench.store.close().await;
}

#[test]
fn what_is_kept_is_what_the_config_says() {
    let config: UpkeepConfig = toml::from_str("journals_days = 30\noutbox_days = 0").unwrap();
    let keep =
        RetentionPeriods { journals: days(30), outbox: None, claims: days(365), calls: days(400), signals: days(1) };
    assert_eq!(RetentionPeriods::of(&config), keep);
    assert_eq!(config.validate(), []);
    let short: UpkeepConfig = toml::from_str("outbox_days = 1\nclaims_days = 13\ncalls_days = 61").unwrap();
    let keys: Vec<String> = short.validate().into_iter().map(|finding| finding.key).collect();
    assert_eq!(keys, ["outbox_days", "claims_days", "calls_days"]);
}

#[test]
fn a_clock_that_jumps_keeps_no_round_away() {
    let hour = |hour: i64| Timestamp::from_second(hour * 3_600).unwrap();
    for (due, now, expected) in [(16, 10, 16), (16, 16, 16), (16, 900, 16), (16, 9, 15), (16, -900, -894)] {
        assert_eq!(capped_due(hour(due), hour(now), SignedDuration::from_hours(6)), hour(expected), "{due} at {now}");
    }
}

#[test]
fn a_clock_far_ahead_of_all_messages_is_not_believed() {
    let at = |day: i64| Timestamp::from_millisecond(day * DAY).unwrap();
    for (now, newest, expected) in [
        (1_000, None, true),
        (1_000, Some(1_000), true),
        (1_000, Some(1_200), true),
        (1_400, Some(1_000), true),
        (1_401, Some(1_000), false),
        (9_000, Some(1_000), false),
    ] {
        assert_eq!(is_plausible(at(now), newest.map(at)), expected, "{newest:?} at {now}");
    }
}

#[tokio::test]
async fn the_newest_message_is_the_one_that_came_last() {
    let bench = Harness::new().await;
    assert_eq!(bench.store.read(latest_message::message_at).await.unwrap(), None);
    bench.run(1, "completed", 20).await;
    bench.run(2, "completed", 10).await;
    assert_eq!(bench.store.read(latest_message::message_at).await.unwrap().unwrap().as_millisecond(), 10 * DAY);
    bench.store.close().await;
}
