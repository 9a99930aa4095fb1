//! Models that refuse, fail, and come back.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::embedding::error::EmbedError;
use crate::embedding::openai::RemoteModel;
use crate::embedding_service::EmbeddingStatus;
use crate::upkeep::source::{EmbedderSource, ModelOrigin};
use crate::upkeep::tests::{FakeEmbedder, Harness};

fn transient() -> EmbedError {
    EmbedError::Transient { what: "The server does not answer.".to_owned(), retry_after: None }
}

/// A log that a test reads.
#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogBuffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl LogBuffer {
    fn count(&self, text: &str) -> usize {
        String::from_utf8_lossy(&self.0.lock().unwrap()).matches(text).count()
    }
}

#[tokio::test]
async fn e5_what_is_refused_has_no_vector_and_holds_nobody_up() {
    let bench = Harness::new().await;
    let ids = bench.say(&["one", "two", "xxx", "four", "five"]).await;
    let model = FakeEmbedder::named("m").refusing("xxx");
    let _upkeep = bench.start(&[&model]);
    bench.until_done().await;
    let (through, have) = bench.stored().await.only("m");
    // The fourth is refused for the words before it.
    assert_eq!((through, have), (ids[4], [ids[0].0, ids[1].0, ids[4].0].into()));

    // Alone, it is told from a server that takes nothing by a word that every model takes.
    let more = bench.say(&["six", "xxx"]).await;
    bench.until_indexed(4).await;
    bench.say(&["eight", "nine"]).await;
    bench.until_indexed(5).await;
    assert!(bench.stored().await.only("m").1.contains(&more[0].0));
}

#[tokio::test]
async fn e5_a_server_that_takes_nothing_makes_no_memory_unembeddable() {
    let bench = Harness::new().await;
    let ids = bench.say(&["one", "two"]).await;
    // Any text has a vowel.
    let model = FakeEmbedder::named("m").refusing("o");
    let _upkeep = bench.start(&[&model]);
    bench.until("degraded", |standing| matches!(standing, EmbeddingStatus::Degraded { .. })).await;
    assert_eq!(bench.stored().await.only("m").0.0, 0);
    *model.script.refused.lock().unwrap() = None;
    bench.until_done().await;
    assert_eq!(bench.stored().await.only("m").0, ids[1]);
}

#[tokio::test]
async fn n9_trouble_is_told_once_and_so_is_its_end() {
    let log = LogBuffer::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    let _here = tracing::subscriber::set_default(subscriber);
    let bench = Harness::new().await;
    bench.say(&["one", "two"]).await;
    let setup = EmbedError::Setup("The key is wrong.".to_owned());
    let errors = vec![transient(), transient(), setup, transient(), transient()];
    let model = FakeEmbedder::named("m").failing(errors);
    let _upkeep = bench.start(&[&model]);
    bench.until_indexed(2).await;
    bench.until_done().await;
    assert_eq!(log.count("memory.embedding.degraded"), 1 + 1, "once for what passes, once for what was opened anew");
    assert_eq!(log.count("WARN"), 2);
    assert_eq!(log.count("memory.embedding.ready"), 3);
}

/// Answers as told, then with vectors.
async fn server(answers: Vec<u16>) -> (String, Arc<Mutex<usize>>) {
    let answers = Arc::new(Mutex::new(answers.into_iter().rev().collect::<Vec<_>>()));
    let given = Arc::new(Mutex::new(0));
    let count = Arc::clone(&given);
    let answer = move |body: String| {
        let next = answers.lock().unwrap().pop();
        let request: Value = serde_json::from_str(&body).unwrap();
        let texts = request["input"].as_array().unwrap().len();
        let vector = |index: usize| json!({ "object": "embedding", "index": index, "embedding": [1.0, 2.0, 3.0] });
        let data: Vec<Value> = (0..texts).map(vector).collect();
        *count.lock().unwrap() += usize::from(next.is_none());
        async move {
            match next.filter(|status| *status != 200) {
                Some(status) => (StatusCode::from_u16(status).unwrap(), [("retry-after", "0")], String::new()),
                None => (StatusCode::OK, [("x-ok", "1")], json!({ "object": "list", "data": data }).to_string()),
            }
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().route("/v1/embeddings", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, given)
}

#[tokio::test]
async fn e5_a_busy_server_is_asked_again() {
    // Opened, then busy, then down, then well.
    let (base_url, given) = server(vec![503, 200, 429, 429, 500]).await;
    let bench = Harness::new().await;
    let ids = bench.say(&["one", "two"]).await;
    let remote =
        RemoteModel { vendor: "embedding", base_url, api_key: None, model: "small".to_owned(), dimensions: None };
    let _upkeep = bench.start_with(Arc::new(EmbedderSource {
        wanted: ModelOrigin::Server(remote),
        models: "/nowhere".into(),
        account: None,
    }));
    bench.until_done().await;
    assert_eq!(bench.stored_vectors().await, [ids[0].0, ids[1].0]);
    assert_eq!(*given.lock().unwrap(), 1, "both in one request");
}
