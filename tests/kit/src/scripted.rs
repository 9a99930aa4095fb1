//! A server on loopback that answers from a script: what strict fakes share.
//!
//! It records what it was asked and what it refused, and notices clients that drop a stream. No fixed port, no sleeps.
//! Start at [`ScriptedServer::start`]; what a service takes and knows is its [`Service`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::watch;

use crate::served::Served;
use crate::stream::Plan;

/// A request as the server got it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// `POST /path?query`.
    pub line: String,
    pub headers: HeaderMap,
    /// The body; null if it is not JSON.
    pub body: Value,
    /// The body, byte for byte.
    pub raw: Bytes,
}

impl RecordedRequest {
    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// `POST /path`.
    pub fn path(&self) -> &str {
        self.line.split('?').next().unwrap_or_default()
    }

    /// Why the body is no JSON, if it is none.
    pub fn broken(&self) -> Option<serde_json::Error> {
        self.body.is_null().then(|| serde_json::from_slice::<Value>(&self.raw).err()).flatten()
    }
}

/// One answer of a service that streams.
#[derive(Debug, Clone)]
pub enum Reply<S> {
    /// Something that is not a stream.
    Whole(Answer),
    /// A stream of events.
    Stream(S),
}

impl<S> Reply<S> {
    /// A web page with status 200, as captive portals send.
    pub fn html() -> Self {
        Self::Whole(Answer::html())
    }

    /// Any answer that is not a stream.
    pub fn http(status: u16, content_type: &str, body: &str) -> Self {
        Self::Whole(Answer::http(status, content_type, body))
    }

    /// Adds a header, `retry-after` for one, to an answer that is not a stream.
    pub fn header(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Whole(answer) => Self::Whole(answer.header(name, value)),
            Self::Stream(_) => panic!("headers are for answers that are no stream"),
        }
    }
}

impl<S> From<S> for Reply<S> {
    fn from(script: S) -> Self {
        Self::Stream(script)
    }
}

#[derive(Debug, Clone)]
pub enum Answer {
    /// Something that is not a stream.
    Http { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A stream of this type.
    Stream(&'static str, Plan),
}

impl Answer {
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
    /// A request that was taken, as tests look at it.
    type ReceivedRequest: Clone + Send + 'static;
    /// What scripts are made of.
    type Reply: Send + 'static;

    fn judge(&self, asked: &RecordedRequest) -> Verdict;

    /// What is kept of a request that was taken.
    fn asked(&self, request: RecordedRequest) -> Self::ReceivedRequest;

    /// Answers with a reply of the script.
    fn play(&self, reply: Self::Reply, asked: &Self::ReceivedRequest) -> Answer;

    /// What is said when the script is over.
    fn over(&self) -> Verdict {
        Verdict::Known(Answer::http(500, "text/plain", OVER))
    }
}

/// There are more requests than answers.
pub const OVER: &str = "The fake has no answer in its script for this request.";

type FallbackReply<S> = Arc<dyn Fn(&<S as Service>::ReceivedRequest) -> <S as Service>::Reply + Send + Sync>;

struct Script<S: Service> {
    replies: VecDeque<S::Reply>,
    otherwise: Option<FallbackReply<S>>,
    requests: Vec<S::ReceivedRequest>,
    refused: Vec<String>,
    forgets: bool,
}

struct Shared<S: Service> {
    service: S,
    script: Mutex<Script<S>>,
    asked: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
}

impl<S: Service> Shared<S> {
    fn script(&self) -> MutexGuard<'_, Script<S>> {
        self.script.lock().unwrap()
    }

    /// Records the request and takes its answer from the script.
    fn next_answer(&self, request: RecordedRequest) -> Option<Answer> {
        let asked = self.service.asked(request);
        let (scripted, otherwise) = {
            let mut script = self.script();
            if !script.forgets {
                script.requests.push(asked.clone());
            }
            (script.replies.pop_front(), script.otherwise.clone())
        };
        let reply = scripted.or_else(|| otherwise.map(|reply| reply(&asked)));
        let answer = reply.map(|reply| self.service.play(reply, &asked));
        self.asked.send_modify(|count| *count += 1);
        answer
    }
}

/// The server; it ends when dropped.
pub struct ScriptedServer<S: Service> {
    shared: Arc<Shared<S>>,
    served: Served,
}

impl<S: Service> ScriptedServer<S> {
    /// Listens on a free port of loopback, with an empty script.
    pub async fn start(service: S) -> Self {
        let script = Script {
            replies: VecDeque::new(),
            otherwise: None,
            requests: Vec::new(),
            refused: Vec::new(),
            forgets: false,
        };
        let (asked, dropped) = (watch::Sender::new(0), watch::Sender::new(0));
        let shared = Arc::new(Shared { service, script: Mutex::new(script), asked, dropped });
        let router = Router::new().fallback(answer::<S>).with_state(Arc::clone(&shared));
        Self { shared, served: Served::start(router).await }
    }

    /// The server's root, for `base_url`.
    pub fn root(&self) -> String {
        self.served.root()
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.served.address()
    }

    /// The service behind it.
    pub fn service(&self) -> &S {
        &self.shared.service
    }

    /// Adds an answer to the script; each serves one request.
    pub fn reply(&self, reply: impl Into<S::Reply>) -> &Self {
        self.shared.script().replies.push_back(reply.into());
        self
    }

    /// Answers what comes after the script by what is asked. Without it such requests are refused.
    pub fn otherwise(&self, reply: impl Fn(&S::ReceivedRequest) -> S::Reply + Send + Sync + 'static) -> &Self {
        self.shared.script().otherwise = Some(Arc::new(reply));
        self
    }

    /// Keeps no requests: for tests that make very many.
    pub fn forget(&self) -> &Self {
        self.shared.script().forgets = true;
        self
    }

    /// Every request that was taken, in order, whatever the answer was.
    pub fn requests(&self) -> Vec<S::ReceivedRequest> {
        self.shared.script().requests.clone()
    }

    /// What was wrong with each request that was refused, in order. A good test ends with this being empty.
    pub fn refused(&self) -> Vec<String> {
        self.shared.script().refused.clone()
    }

    /// Waits until `count` requests have been taken in all.
    pub async fn asked(&self, count: usize) {
        self.shared.asked.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    /// Waits until clients have dropped `count` streams before their end.
    pub async fn dropped(&self, count: usize) {
        self.shared.dropped.subscribe().wait_for(|seen| *seen >= count).await.unwrap();
    }

    /// How many streams clients have dropped so far.
    pub fn dropped_so_far(&self) -> usize {
        *self.shared.dropped.borrow()
    }
}

async fn answer<S: Service>(
    State(shared): State<Arc<Shared<S>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    raw: Bytes,
) -> Response {
    let body = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let asked = RecordedRequest { line: format!("{method} {uri}"), headers, body, raw };
    let verdict = match shared.service.judge(&asked) {
        Verdict::Scripted => shared.next_answer(asked).map_or_else(|| shared.service.over(), Verdict::Known),
        verdict => verdict,
    };
    let answer = match verdict {
        Verdict::Known(answer) => answer,
        Verdict::Refused(answer, why) => {
            shared.script().refused.push(why);
            answer
        }
        Verdict::Scripted => panic!("an answer of the script is known by now"),
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
