//! Facts in a true database.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use hob_store::{SchedulingMode, Store, Tx};

struct Harness {
    _home: tempfile::TempDir,
    store: Store,
    raw: Tx,
}

impl Harness {
    /// A database with Anna (1) and Ben (2).
    async fn open() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("hob.db");
        let store = Store::open(&path, SchedulingMode::Threaded).await.unwrap();
        let mut raw = Store::raw(&path).await.unwrap();
        sqlx::raw_sql(
            "INSERT INTO users (id, name, role, created_at) VALUES (1, 'Anna', 'owner', 0), (2, 'Ben', 'user', 0)",
        )
        .execute(&mut raw)
        .await
        .unwrap();
        Self { _home: home, store, raw }
    }

    async fn keep(&self, saying: FactDraft, now: i64) -> RememberOutcome {
        self.store.write(async move |tx| keep(tx, &saying, now).await).await.unwrap()
    }

    async fn relevant(&self, scope: Scope, question: &str, limit: usize, now: Timestamp) -> RelevantFacts {
        self.store.read(async |tx| relevant(tx, &[scope], question, limit, now).await).await.unwrap()
    }

    /// Every value under every key: current ones plain, rivals with a question mark, history in brackets.
    async fn shown(&mut self) -> String {
        let rows: Vec<(String, String, Option<i64>, Option<i64>)> =
            sqlx::query_as("SELECT key, value, rival_of, superseded_at FROM facts ORDER BY id")
                .fetch_all(&mut self.raw)
                .await
                .unwrap();
        let show =
            |(key, value, rival, superseded): (String, String, Option<i64>, Option<i64>)| match (superseded, rival) {
                (Some(_), _) => format!("[{key}: {value}]"),
                (None, Some(_)) => format!("{key}: {value}?"),
                (None, None) => format!("{key}: {value}"),
            };
        rows.into_iter().map(show).collect::<Vec<_>>().join(", ")
    }
}

fn saying(source: Source, user: i64, key: &str, value: &str) -> FactDraft {
    FactDraft {
        scope: Scope::House,
        category: "person".to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
        person: None,
        user: Some(UserId(user)),
        speaker: if user == 1 { "Anna" } else { "Ben" }.to_owned(),
        message: None,
        run: None,
        source,
        confidence: 0.7,
        importance: 0.5,
        changed: false,
        said_at: 0,
        valid_until: None,
        taint: Taint::default(),
    }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

#[tokio::test]
async fn n6_what_is_told_supersedes_and_the_past_stays() {
    let mut harness = Harness::open().await;
    let told = |value| FactDraft { said_at: 10, ..saying(Source::Told, 1, "sister's name", value) };
    assert!(matches!(harness.keep(told("Berta"), 10).await, RememberOutcome::New { .. }));
    assert!(matches!(harness.keep(told(" berta. "), 11).await, RememberOutcome::Known { settled: None, .. }));
    let other = FactDraft { key: "Name of my sister".to_owned(), ..told("Clara") };
    let superseded = harness.keep(other, 12).await;
    assert_eq!(superseded.superseded_value(), Some("Berta"));
    assert_eq!(harness.shown().await, "[sister's name: Berta], sister's name: Clara");
    let found = harness.store.read(async |tx| search(tx, &[Scope::House], "Berta", 5).await).await.unwrap();
    assert!(found.is_empty(), "what is superseded is not found");
}

#[tokio::test]
async fn n6_contradictions_are_kept_apart_asked_about_once_and_settled() {
    let mut harness = Harness::open().await;
    harness.keep(saying(Source::Told, 1, "door code", "12"), 10).await;
    let rival = harness.keep(FactDraft { said_at: 20, ..saying(Source::Extracted, 2, "door code", "13") }, 30).await;
    assert!(matches!(&rival, RememberOutcome::Rival { current, .. } if current == "12"));
    assert_eq!(harness.shown().await, "door code: 12, door code: 13?");
    let RelevantFacts { facts, rivals: rivalries } = harness.relevant(Scope::House, "door code", 9, at(40)).await;
    let known: Vec<String> = facts.into_iter().map(|fact| fact.value).collect();
    assert_eq!(known, ["12"], "a rival is not put before the model as known");
    assert_eq!(rivalries.len(), 1);
    insta::assert_snapshot!(rivalries[0].question_line(&TimeZone::UTC), @r#"Two things are known about door code: "12" (Anna, 1 January 1970) and "13" (Ben, 1 January 1970). Ask once which of them is true, and remember the answer under the category "person" and the key "door code"."#);
    let elsewhere = harness.relevant(Scope::Person(UserId(1)), "door code", 9, at(40)).await;
    assert!(elsewhere.rivals.is_empty(), "nobody else is asked");
    sqlx::query("UPDATE facts SET asked_at = 50 WHERE rival_of IS NOT NULL").execute(&mut harness.raw).await.unwrap();
    assert!(harness.relevant(Scope::House, "door code", 9, at(40)).await.rivals.is_empty(), "they are asked once");
    let told = harness.keep(saying(Source::Told, 1, "door code", "13"), 60).await;
    assert_eq!(told.superseded_value(), Some("12"));
    assert_eq!(harness.shown().await, "[door code: 12], door code: 13");
}

#[tokio::test]
async fn n6_contradictions_come_in_pairs_beside_what_stands() {
    let harness = Harness::open().await;
    for (key, value, at) in [("pet", "a dog", 10), ("car", "red", 11), ("code", "12", 12), ("pet", "a cat", 13)] {
        harness.keep(FactDraft { said_at: at, ..saying(Source::Extracted, 1, key, value) }, at).await;
    }
    harness.keep(FactDraft { said_at: 14, ..saying(Source::Extracted, 2, "code", "13") }, 14).await;
    let RelevantFacts { facts, rivals } = harness.relevant(Scope::House, "so", 2, at(40)).await;
    let known: Vec<String> = facts.into_iter().map(|fact| fact.value).collect();
    assert_eq!(known, ["12", "red"], "what goes along is no more for what contradicts it");
    let pairs: Vec<(&str, &str)> =
        rivals.iter().map(|pair| (pair.current.value.as_str(), pair.rival.value.as_str())).collect();
    assert_eq!(pairs, [("a dog", "a cat"), ("12", "13")]);
}

#[tokio::test]
async fn n6_what_is_over_is_no_longer_known() {
    let mut harness = Harness::open().await;
    let zone = TimeZone::UTC;
    let until = stated_expiry("on holiday until Friday", "2026-07-15T12:00:00Z".parse().unwrap(), &zone).unwrap();
    assert_eq!(until.to_string(), "2026-07-18T00:00:00Z");
    let now = millis(until) - 1;
    let away =
        FactDraft { valid_until: Some(millis(until)), said_at: now, ..saying(Source::Told, 1, "away", "on holiday") };
    harness.keep(away, now).await;
    let known = async |now| harness.relevant(Scope::House, "holiday", 9, now).await.facts.len();
    assert_eq!((known(at(now)).await, known(until).await), (1, 0));
    let back = FactDraft { said_at: millis(until), ..saying(Source::Extracted, 2, "away", "back home") };
    assert!(
        matches!(harness.keep(back, millis(until)).await, RememberOutcome::Superseded { .. }),
        "nothing stands against it"
    );
    assert_eq!(harness.shown().await, "[away: on holiday], away: back home");
}

#[tokio::test]
async fn n6_where_a_fact_is_forgotten_its_rival_stands_alone() {
    let mut harness = Harness::open().await;
    for value in ["a dog", "a cat", "a hamster"] {
        harness.keep(saying(Source::Extracted, 1, "pet", value), 10).await;
    }
    assert_eq!(harness.shown().await, "pet: a dog, pet: a cat?, pet: a hamster?");
    sqlx::query("DELETE FROM facts WHERE value = 'a dog'").execute(&mut harness.raw).await.unwrap();
    assert_eq!(harness.shown().await, "pet: a cat, pet: a hamster?");
    sqlx::query("DELETE FROM facts WHERE value = 'a hamster'").execute(&mut harness.raw).await.unwrap();
    assert_eq!(harness.shown().await, "pet: a cat");
}

#[tokio::test]
async fn n8_the_facts_that_go_along_are_few_fit_and_ones_own() {
    let harness = Harness::open().await;
    let day = SignedDuration::from_hours(24).as_millis() as i64;
    for number in 0..30 {
        let key = format!("shelf {number}");
        harness
            .keep(FactDraft { said_at: number * day, ..saying(Source::Told, 1, &key, "full of jars") }, number * day)
            .await;
    }
    let private = FactDraft { scope: Scope::Person(UserId(2)), ..saying(Source::Told, 2, "shelf of jars", "empty") };
    harness.keep(private, 0).await;
    let keys = async |question| {
        let known = harness.relevant(Scope::House, question, 5, at(40 * day)).await;
        known.facts.into_iter().map(|fact| fact.key).collect::<Vec<_>>()
    };
    let newest = keys("hello").await;
    assert_eq!(newest, ["shelf 29", "shelf 28", "shelf 27", "shelf 26", "shelf 25"]);
    let fit = keys("what is on shelf 3?").await;
    assert_eq!((fit[0].as_str(), fit.len()), ("shelf 3", 5));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is said in whatever order: no value is ever lost, and each key has at most one current value.
    #[test]
    fn n6_history_never_loses_a_value(
        said in proptest::collection::vec((0..3_u8, 1..3_i64, 0..2_usize, 0..5_usize, any::<bool>(), 0..50_i64), 1..25)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut harness = Harness::open().await;
            let (keys, values) = (["pet", "door code"], ["one", "two", "three", "four", "five"]);
            for (now, (source, user, key, value, changed, before)) in (100_i64..).zip(&said) {
                let source = [Source::Extracted, Source::Import, Source::Told][usize::from(*source)];
                let valid_until = (*before % 5 == 0).then_some(now + 3);
                let new = FactDraft {
                    changed: *changed,
                    said_at: if source == Source::Told { now } else { now - before },
                    valid_until,
                    ..saying(source, *user, keys[*key], values[*value])
                };
                harness.keep(new, now).await;
            }
            for (_, _, key, value, ..) in &said {
                let known: i64 = sqlx::query_scalar("SELECT count(*) FROM facts WHERE key = $1 AND value = $2")
                    .bind(keys[*key]).bind(values[*value]).fetch_one(&mut harness.raw).await.unwrap();
                assert!(known >= 1, "{} {}", keys[*key], values[*value]);
            }
            for key in keys {
                let of_kind = |what: &str| format!("SELECT count(*) FROM facts WHERE key = $1 AND superseded_at IS NULL AND {what}");
                let current: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(of_kind("rival_of IS NULL"))).bind(key).fetch_one(&mut harness.raw).await.unwrap();
                let rivals: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(of_kind("rival_of IS NOT NULL"))).bind(key).fetch_one(&mut harness.raw).await.unwrap();
                let ever: i64 = sqlx::query_scalar("SELECT count(*) FROM facts WHERE key = $1").bind(key).fetch_one(&mut harness.raw).await.unwrap();
                assert_eq!(current, i64::from(ever > 0), "one value is current");
                assert!(rivals <= i64::try_from(decide::RIVALS_MAX).unwrap());
                let stray: i64 = sqlx::query_scalar(
                    "SELECT count(*) FROM facts r JOIN facts c ON c.id = r.rival_of
                     WHERE r.superseded_at IS NULL AND (c.superseded_at IS NOT NULL OR c.rival_of IS NOT NULL)")
                    .fetch_one(&mut harness.raw).await.unwrap();
                assert_eq!(stray, 0, "a rival stands against what is current");
            }
        });
    }
}
