//! What the strict servers of OpenAI's audio share: a script of answers, a key, and what was asked, taken and refused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use serde_json::json;

use crate::served::Served;

/// What becomes of one request.
enum Reply<Good> {
    Good(Good),
    Status(u16),
    Hang,
}

/// What the server knows: the answers to come, and each request that was well made.
pub struct AudioState<Good, Received> {
    script: VecDeque<Reply<Good>>,
    taken: Vec<Received>,
    refused: Vec<String>,
    asked: usize,
    key: Option<String>,
}

pub(crate) type SharedState<Good, Received> = Arc<Mutex<AudioState<Good, Received>>>;

/// The server; it ends when dropped.
pub struct AudioServer<Good, Received> {
    world: SharedState<Good, Received>,
    served: Served,
}

impl<Good: Send + 'static, Received: Clone + Send + 'static> AudioServer<Good, Received> {
    /// Listens on a free port of loopback, with an empty script.
    pub(crate) async fn serving(path: &str, handler: MethodRouter<SharedState<Good, Received>>) -> Self {
        let state = AudioState { script: VecDeque::new(), taken: Vec::new(), refused: Vec::new(), asked: 0, key: None };
        let world = Arc::new(Mutex::new(state));
        let router = Router::new().route(path, handler).with_state(Arc::clone(&world));
        Self { world, served: Served::start(router).await }
    }

    /// The API's address, for `base_url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.served.root())
    }

    /// Takes only requests with this key.
    pub fn require_key(&self, key: &str) -> &Self {
        self.world().key = Some(format!("Bearer {key}"));
        self
    }

    /// Answers the next request with this.
    pub(crate) fn answers(&self, good: Good) -> &Self {
        self.world().script.push_back(Reply::Good(good));
        self
    }

    /// Answers the next request with this status, and no more than an error.
    pub fn fails(&self, status: u16) -> &Self {
        self.world().script.push_back(Reply::Status(status));
        self
    }

    /// Never answers the next request.
    pub fn hangs(&self) -> &Self {
        self.world().script.push_back(Reply::Hang);
        self
    }

    /// Every request that was well made, in order, whatever the answer was.
    pub(crate) fn taken(&self) -> Vec<Received> {
        self.world().taken.clone()
    }

    /// What was wrong with each request that was refused. A good test ends with this being empty.
    pub fn refused(&self) -> Vec<String> {
        self.world().refused.clone()
    }

    /// How many requests came.
    pub fn asked(&self) -> usize {
        self.world().asked
    }

    fn world(&self) -> MutexGuard<'_, AudioState<Good, Received>> {
        self.world.lock().unwrap()
    }
}

impl<Good, Received> AudioState<Good, Received> {
    /// Counts a request; without the right key it goes no further.
    pub(crate) fn admit(&mut self, headers: &HeaderMap) -> Result<(), Refusal> {
        self.asked += 1;
        let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if self.key.is_none() || shown == self.key.as_deref() {
            return Ok(());
        }
        let message = "Incorrect API key provided: sk-***.".to_owned();
        Err(Refusal { status: StatusCode::UNAUTHORIZED, message, code: Some("invalid_api_key") })
    }

    fn take(&mut self, checked: Result<Received, Refusal>) -> Result<Option<Reply<Good>>, Refusal> {
        let asked = checked.inspect_err(|refusal| self.refused.push(refusal.message.clone()))?;
        self.taken.push(asked);
        Ok(self.script.pop_front())
    }
}

/// Keeps what was asked; answers with what the script has for it, if anything.
pub(crate) async fn next<Good, Received>(
    world: &Mutex<AudioState<Good, Received>>,
    checked: Result<Received, Refusal>,
) -> Result<Option<Good>, Refusal> {
    let reply = world.lock().unwrap().take(checked)?;
    match reply {
        None => Ok(None),
        Some(Reply::Good(good)) => Ok(Some(good)),
        Some(Reply::Status(status)) => {
            let status = StatusCode::from_u16(status).unwrap();
            Err(Refusal { status, message: "It failed.".to_owned(), code: None })
        }
        Some(Reply::Hang) => std::future::pending().await,
    }
}

/// What is answered in the place of what was asked for.
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) code: Option<&'static str>,
}

/// What is wrong with a request.
pub(crate) fn refuse<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { status: StatusCode::BAD_REQUEST, message: what.into(), code: None })
}

/// A model that is not on the list.
pub(crate) fn no_model<T>(model: &str) -> Result<T, Refusal> {
    let message = format!("The model `{model}` does not exist or you do not have access to it.");
    Err(Refusal { status: StatusCode::NOT_FOUND, message, code: Some("model_not_found") })
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        let body = json!({"error": {"message": self.message, "type": kind, "param": null, "code": self.code}});
        (self.status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    }
}
