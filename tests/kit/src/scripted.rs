//! A server on loopback that answers from a script: what strict fakes share.
//!
//! It records what it was asked and what it refused, and notices clients that drop a stream. No fixed port, no sleeps.
//! Start at [`ScriptedServer::start`]; what a service takes and knows is its [`Service`].

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::stream::Plan;

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// `POST /path?query`.
    pub line: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; null if it is not JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Something that is not a stream.
    Http {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// A stream of this type.
    Stream(&'static str, Plan),
}

impl Answer {
    /// JSON with this status.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::http(status, "application/json; charset=UTF-8", &body.to_string())
    }

    /// A web page with status 200, as captive portals send.
    pub fn html() -> Self {
        Self::http(200, "text/html; charset=utf-8", "<!doctype html><p>Please log in")
    }

    /// Any answer that is not a stream.
    pub fn http(status: u16, kind: &str, body: &str) -> Self {
        Self::Http { status, headers: vec![("content-type", kind.to_owned())], body: body.to_owned() }
    }

    /// Adds a header to an answer that is not a stream.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        match &mut self {
            Self::Http { headers, .. } => headers.push((name, value.to_owned())),
            Self::Stream(..) => panic!("headers are for answers that are no stream"),
        }
        self
    }
}

/// What a service makes of a request before the script is looked at.
pub enum Verdict {
    /// It is answered from the script.
    Scripted,
    /// The service knows the answer.
    Known(Answer),
    /// The request is wrong, and this is why.
    Refused(Answer, String),
}

/// A service: what it takes, and what it knows.
pub trait Service: Send + Sync + 'static {
    /// Judges a request.
    fn judge(&self, asked: &RecordedRequest) -> Verdict;
}

struct Shared<S> {
    service: S,
    script: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<RecordedRequest>>,
    refused: Mutex<Vec<String>>,
    dropped: watch::Sender<usize>,
}

/// The server; it ends when dropped.
pub struct ScriptedServer<S> {
    shared: Arc<Shared<S>>,
    address: String,
    server: JoinHandle<()>,
}

impl<S> Drop for ScriptedServer<S> {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl<S: Service> ScriptedServer<S> {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start(service: S) -> Self {
        let shared = Arc::new(Shared {
            service,
            script: Mutex::default(),
            requests: Mutex::default(),
            refused: Mutex::default(),
            dropped: watch::Sender::new(0),
        });
        let router = Router::new().fallback(answer::<S>).with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // As real servers do: pieces of a reply go out when they are written.
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, address, server }
    }

    /// The server's root, for `base_url`.
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The service behind it.
    pub fn service(&self) -> &S {
        &self.shared.service
    }

    /// Adds an answer to the script; each serves one request.
    pub fn reply(&self, answer: impl Into<Answer>) -> &Self {
        lock(&self.shared.script).push_back(answer.into());
        self
    }

    /// Every request that was taken, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).clone()
    }

    /// What was wrong with each request that was refused, in order. A good test ends with this being empty.
    pub fn refused(&self) -> Vec<String> {
        lock(&self.shared.refused).clone()
    }

    /// Waits until clients have dropped `count` streams before their end.
    pub async fn dropped(&self, count: usize) {
        self.shared.dropped.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }
}

async fn answer<S: Service>(
    State(shared): State<Arc<Shared<S>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let asked = RecordedRequest { line: format!("{method} {uri}"), headers, body };
    let answer = match shared.service.judge(&asked) {
        Verdict::Known(answer) => answer,
        Verdict::Refused(answer, why) => {
            lock(&shared.refused).push(why);
            answer
        }
        Verdict::Scripted => {
            lock(&shared.requests).push(asked);
            let next = lock(&shared.script).pop_front();
            next.unwrap_or_else(|| Answer::http(500, "text/plain", "The fake has no answer in its script for this."))
        }
    };
    respond(answer, &shared.dropped)
}

fn respond(answer: Answer, dropped: &watch::Sender<usize>) -> Response {
    match answer {
        Answer::Http { status, headers, body } => {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        Answer::Stream(kind, plan) => {
            let dropped = dropped.clone();
            let body = Body::from_stream(plan.play(move || dropped.send_modify(|count| *count += 1)));
            Response::builder().header(header::CONTENT_TYPE, kind).body(body).unwrap()
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
