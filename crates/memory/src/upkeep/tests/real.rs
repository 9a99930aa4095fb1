//! With the real weights of all-MiniLM-L6-v2, which `scripts/embedding-model` puts into `target/`.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;

use crate::embedding_service::EmbeddingStatus;
use crate::upkeep::EmbedderOpener;
use crate::upkeep::source::{EmbedderSource, FetchPermission, MINILM_NAME, ModelOrigin};
use crate::upkeep::tests::{Harness, SCOPE};
use crate::vectors::binary_codes;

fn folder() -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/embedding-model"));
    assert!(folder.join("installed").exists(), "run scripts/embedding-model once");
    folder
}

#[tokio::test]
async fn e5_what_was_said_is_found_by_its_meaning() {
    let bench = Harness::new().await;
    let texts = [
        "The plumber comes on Thursday at nine.",
        "I bought a new bicycle for my daughter.",
        "We watched the sunset from the roof.",
    ];
    let ids = bench.say(&texts).await;
    let source = EmbedderSource { wanted: ModelOrigin::Folder(folder()), models: "/nowhere".into(), account: None };
    let _upkeep = bench.start_with(Arc::new(source));
    bench.until_done().await;
    let serving = bench.embedding_service.serving().unwrap();
    let question = serving.embedder.embed(&["When is the water pipe repaired?".to_owned()]).await.unwrap();
    let nearest = serving.index.read().unwrap().nearest(&binary_codes::sign_bits(&question[0]), &[SCOPE], 1);
    assert_eq!(nearest[0].id, ids[0].0);
    assert_eq!(bench.stored_vectors().await.len(), 3);
}

#[tokio::test]
async fn e5_the_model_is_fetched_once_and_then_works() {
    let file = |Path(name): Path<String>| async move { tokio::fs::read(folder().join(name)).await.unwrap() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let from = format!("http://{}/minilm", listener.local_addr().unwrap());
    let app = Router::new().route("/minilm/{name}", get(file));
    let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });

    let home = tempfile::tempdir().unwrap();
    let wanted = ModelOrigin::Fetched { from: Some(from), leave: FetchPermission::After(Duration::ZERO) };
    let source = EmbedderSource { wanted, models: home.path().join("models"), account: None };
    let told = Mutex::new(Vec::new());
    source.prepare(&|step| told.lock().unwrap().push(step.to_string())).await.unwrap();
    assert_eq!(told.lock().unwrap().last().unwrap(), "fetching the model, 92 of 92 MB");

    // From now on it is there, and nobody is asked.
    server.abort();
    let bench = Harness::new().await;
    bench.say(&["one"]).await;
    let _upkeep = bench.start_with(Arc::new(source));
    let ready = EmbeddingStatus::Ready { model: MINILM_NAME.to_owned(), backlog: 0 };
    bench.until("ready", |standing| *standing == ready).await;
}
