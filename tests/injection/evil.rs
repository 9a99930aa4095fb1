//! A server of strangers: it has pages with payloads, and counts whatever else reaches it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::IntoResponse;
use hob_testkit::served::Served;
use serde_json::json;

/// What is searched for, before a payload's id.
pub(crate) const NEWS: &str = "news";

#[derive(Default)]
struct World {
    pages: HashMap<String, (StatusCode, &'static str, String)>,
    findings: HashMap<String, String>,
    hits: Vec<String>,
}

/// The server; it ends when dropped.
pub(crate) struct HostileServer {
    world: Arc<Mutex<World>>,
    pub(crate) url: String,
    _served: Served,
}

impl HostileServer {
    pub(crate) async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let router = Router::new().fallback(serve).with_state(Arc::clone(&world));
        let served = Served::start(router).await;
        Self { world, url: served.root(), _served: served }
    }

    pub(crate) fn page(&self, path: &str, kind: &'static str, body: &str) {
        self.world.lock().unwrap().pages.insert(path.to_owned(), (StatusCode::OK, kind, body.to_owned()));
    }

    /// Has none any more, and says so in these words.
    pub(crate) fn gone(&self, path: &str, words: &str) {
        let answer = (StatusCode::GONE, "text/plain; charset=utf-8", words.to_owned());
        self.world.lock().unwrap().pages.insert(path.to_owned(), answer);
    }

    /// Has something found by a search for the news of `id`.
    pub(crate) fn finding(&self, id: &str, words: &str) {
        self.world.lock().unwrap().findings.insert(format!("{NEWS} {id}"), words.to_owned());
    }

    /// Whatever came that was no look at a page.
    pub(crate) fn hits(&self) -> Vec<String> {
        self.world.lock().unwrap().hits.clone()
    }
}

async fn serve(
    State(world): State<Arc<Mutex<World>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> impl IntoResponse {
    let mut world = world.lock().unwrap();
    let plain = method == Method::GET && body.is_empty();
    let answer = match uri.query() {
        None if plain => world.pages.get(uri.path()).cloned(),
        Some(query) if plain && uri.path() == "/search" => {
            let asked = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "q");
            let found = asked.and_then(|(_, words)| world.findings.get(words.as_ref()).cloned());
            found.map(|words| {
                let result = json!({ "title": "News", "url": "https://news.example/", "content": words });
                (StatusCode::OK, "application/json", json!({ "results": [result] }).to_string())
            })
        }
        _ => None,
    };
    let (status, kind, body) = answer.unwrap_or_else(|| {
        world.hits.push(format!("{method} {uri} {headers:?} {}", String::from_utf8_lossy(&body)));
        (StatusCode::OK, "text/plain", "Thank you.".to_owned())
    });
    (status, [(header::CONTENT_TYPE, kind)], body)
}
