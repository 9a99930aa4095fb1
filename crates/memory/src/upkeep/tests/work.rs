//! What is embedded, in which order, and what is kept of it.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::embedding_service::{EmbeddingService, EmbeddingStatus};
use crate::upkeep::tests::{FakeEmbedder, Harness, SCOPE};
use hob_core::domain::condition::{SystemPart, Trouble};
use hob_core::domain::ids::MemoryId;

fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("thing {number}")).collect()
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn set(ids: &[MemoryId]) -> BTreeSet<i64> {
    ids.iter().map(|id| id.0).collect()
}

/// What is embedded of a memory with the one before it.
fn passage(before: &str, text: &str) -> String {
    format!("Ada: {before}\nAda: {text}")
}

#[tokio::test]
async fn e5_the_backlog_is_worked_off_in_order_and_then_what_comes() {
    let bench = Harness::new().await;
    let texts = numbered(40);
    let mut ids = bench.say(&borrowed(&texts)).await;
    let model = FakeEmbedder::named("m");
    let _upkeep = bench.start(&[&model]);
    bench.until_done().await;
    let mut expected = vec!["Ada: thing 1".to_owned()];
    expected.extend(texts.windows(2).map(|pair| passage(&pair[0], &pair[1])));
    assert_eq!(model.embedded(), expected);
    assert_eq!(bench.stored().await.only("m"), (*ids.last().unwrap(), set(&ids)));
    assert_eq!(bench.indexed(), set(&ids));

    ids.extend(bench.say(&["one more"]).await);
    bench.until_indexed(41).await;
    assert_eq!(bench.stored().await.only("m"), (ids[40], set(&ids)));
    assert_eq!(model.embedded().last().unwrap(), &passage("thing 40", "one more"));
    assert_eq!(bench.embedding_service.status(), EmbeddingStatus::Ready { model: "m".to_owned(), backlog: 0 });
}

#[tokio::test]
async fn n9_while_the_disk_is_low_nothing_is_embedded() {
    let bench = Harness::new().await;
    let low = Trouble { since: Timestamp::UNIX_EPOCH, what: "9 MB left".to_owned(), fix: "free some".to_owned() };
    bench.conditions.report(SystemPart::Disk, low);
    let ids = bench.say(&["one", "two"]).await;
    let model = FakeEmbedder::named("m");
    let _upkeep = bench.start(&[&model]);
    bench.until("waiting", |standing| matches!(standing, EmbeddingStatus::Starting { .. })).await;
    // Others have their turns, and a database its time.
    for _ in 0..20 {
        assert_eq!(bench.stored_vectors().await, Vec::<i64>::new());
        assert_eq!(model.embedded(), Vec::<String>::new());
    }
    bench.conditions.clear(&SystemPart::Disk);
    bench.until_done().await;
    assert_eq!(bench.indexed(), set(&ids));
}

#[tokio::test]
async fn e5_a_kill_between_batches_loses_and_doubles_nothing() {
    let bench = Harness::new().await;
    let texts = numbered(50);
    let ids = bench.say(&borrowed(&texts)).await;
    let mut seen = Vec::new();
    // Each of these is cut off within its third batch: two are committed.
    for round in 0..2 {
        let model = FakeEmbedder::held_after("m", 2);
        let upkeep = bench.start(&[&model]);
        bench
            .until("two batches", |standing| {
                *standing == EmbeddingStatus::Ready { model: "m".to_owned(), backlog: [18, 0][round] }
            })
            .await;
        upkeep.cut_off().await;
        seen.extend(model.embedded());
        let done = [32, 50][round];
        assert_eq!(bench.stored().await.only("m"), (ids[done - 1], set(&ids[..done])));
    }
    assert_eq!(seen.len(), 50, "none twice");
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 50);
    // The index is read from what is stored.
    let model = FakeEmbedder::named("m");
    let _upkeep = bench.start(&[&model]);
    bench.until_indexed(50).await;
    assert_eq!((bench.indexed(), model.embedded().len()), (set(&ids), 0));
}

#[tokio::test]
async fn n6_what_is_forgotten_meanwhile_does_not_come_back() {
    let bench = Harness::new().await;
    let ids = bench.say(&["the code is 1234", "thanks", "bye"]).await;
    let model = FakeEmbedder::held_after("m", 0);
    let _upkeep = bench.start(&[&model]);
    bench.until("at work", |standing| matches!(standing, EmbeddingStatus::Ready { backlog: 3, .. })).await;
    // The passages are read, or are about to be: either way nothing of the first may stay.
    bench.forget(ids[0]).await;
    model.let_through(100);
    bench.until_done().await;
    assert_eq!(bench.stored().await.only("m"), (ids[2], set(&ids[1..])));
    assert_eq!(bench.indexed(), set(&ids[1..]));
    let last: Vec<String> = model.embedded().into_iter().filter(|text| text.ends_with("thanks")).collect();
    assert_eq!(last.last().unwrap(), "Ada: thanks", "its vector has no trace of what was before it");
}

#[tokio::test]
async fn n6_the_vector_behind_what_is_forgotten_is_made_anew() {
    let bench = Harness::new().await;
    let ids = bench.say(&["the code is 1234", "thanks", "bye"]).await;
    let model = FakeEmbedder::named("m");
    let _upkeep = bench.start(&[&model]);
    bench.until_indexed(3).await;
    let before = model.embedded().len();
    bench.forget(ids[0]).await;
    bench.say(&["something else"]).await;
    // There may be three before both are made.
    bench.until("both are made", |_standing| model.embedded().len() >= before + 2).await;
    bench.until_done().await;
    let anew = model.embedded().split_off(before);
    assert_eq!(anew, ["Ada: thanks".to_owned(), passage("bye", "something else")], "and nothing else");
}

#[test]
fn n6_what_is_forgotten_on_its_way_into_the_index_is_taken_out() {
    use std::sync::Arc;

    use crate::active_embedder::ActiveEmbedder;
    use crate::vectors::index::Index;

    let embedding_service = EmbeddingService::default();
    let mut index = Index::new(8);
    embedding_service.watch();
    // Read, then forgotten, then put into the index that now serves.
    embedding_service.forget(SCOPE, MemoryId(1));
    index.insert(SCOPE, 1, &[0]);
    index.insert(SCOPE, 2, &[0]);
    let embedder = FakeEmbedder::named("m");
    embedding_service.serve(Some(Arc::new(ActiveEmbedder::of(embedder, 1, index))));
    embedding_service.drop_forgotten();
    let left =
        |embedding_service: &EmbeddingService| embedding_service.serving().unwrap().index.read().unwrap().len(SCOPE);
    assert_eq!(left(&embedding_service), 1);
    embedding_service.forget(SCOPE, MemoryId(2));
    assert_eq!(left(&embedding_service), 0);
}
