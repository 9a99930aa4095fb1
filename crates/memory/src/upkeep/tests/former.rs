//! Another model than before.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::embedding_service::EmbeddingStatus;
use crate::upkeep::tests::{FakeEmbedder, Harness};

/// A bench on which `model` has embedded twenty memories.
async fn embedded_by(model: &Arc<FakeEmbedder>) -> (Harness, BTreeSet<i64>) {
    let bench = Harness::new().await;
    let texts: Vec<String> = (0..20).map(|number| format!("thing {number}")).collect();
    let ids = bench.say(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let upkeep = bench.start(&[model]);
    bench.until_done().await;
    upkeep.cut_off().await;
    bench.embedding_service.serve(None);
    bench.embedding_service.set_status(EmbeddingStatus::Off);
    (bench, ids.iter().map(|id| id.0).collect())
}

fn ready(model: &str, backlog: u64) -> EmbeddingStatus {
    EmbeddingStatus::Ready { model: model.to_owned(), backlog }
}

#[tokio::test]
async fn e5_the_former_vectors_serve_until_the_new_ones_are_made() {
    let former = FakeEmbedder::named("former");
    let (bench, ids) = embedded_by(&former).await;
    let wanted = FakeEmbedder::held_after("wanted", 1);
    let upkeep = bench.start(&[&wanted, &former]);
    bench.until("half way", |standing| *standing == ready("former", 4)).await;
    assert_eq!(bench.embedding_service.serving().unwrap().embedder.model().name, "former");
    assert_eq!(bench.indexed(), ids);
    // A crash half way: it goes on where it was.
    upkeep.cut_off().await;
    let wanted = FakeEmbedder::named("wanted");
    let _upkeep = bench.start(&[&wanted, &former]);
    bench.until("the new one", |standing| *standing == ready("wanted", 0)).await;
    assert_eq!(wanted.embedded().len(), 4);
    assert_eq!(bench.embedding_service.serving().unwrap().embedder.model().name, "wanted");
    assert_eq!(bench.indexed(), ids);
    bench.until_models(1).await;
    assert_eq!(bench.stored().await.only("wanted").1, ids);
}

#[tokio::test]
async fn e5_where_the_former_model_is_gone_the_new_vectors_serve_as_they_come() {
    let (bench, ids) = embedded_by(&FakeEmbedder::named("former")).await;
    let wanted = FakeEmbedder::held_after("wanted", 1);
    let _upkeep = bench.start(&[&wanted]);
    bench.until("half way", |standing| *standing == ready("wanted", 4)).await;
    assert_eq!(bench.indexed().len(), 16);
    assert_eq!(bench.stored().await.0.len(), 2, "it could come back until it is made up for");
    wanted.let_through(1);
    bench.until_models(1).await;
    assert_eq!(bench.stored().await.only("wanted").1, ids);
    assert_eq!(bench.indexed(), ids);
}

#[tokio::test]
async fn e5_a_model_that_comes_back_has_its_vectors_still() {
    let former = FakeEmbedder::named("former");
    let (bench, ids) = embedded_by(&former).await;
    let other = FakeEmbedder::held_after("other", 1);
    let upkeep = bench.start(&[&other, &former]);
    bench.until("half way", |standing| *standing == ready("former", 4)).await;
    upkeep.cut_off().await;
    let before = former.embedded().len();
    let _upkeep = bench.start(&[&former, &other]);
    bench.until_models(1).await;
    assert_eq!((bench.indexed(), former.embedded().len()), (ids, before));
}
