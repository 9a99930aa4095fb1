//! What stands between Hob and its homeserver: it counts what is asked, and can lose an answer, or let time go back.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures::StreamExt as _;
use hob_testkit::process::within;
use tokio::sync::Notify;

/// What is asked of it.
#[derive(Default)]
struct Orders {
    /// Every request: method and path.
    asked: Vec<String>,
    /// The answer to the next request whose path holds this never comes.
    lose: Option<&'static str>,
    /// The syncs that were answered: since when, and whether anything was said.
    syncs: Vec<Option<String>>,
    /// The next sync begins here, whatever it asks for.
    rewind: Option<Option<String>>,
    /// Whoever asks is to log in again first.
    has_run_out: bool,
}

/// The proxy.
pub(super) struct Proxy {
    pub(super) address: String,
    orders: Arc<Shared>,
}

struct Shared {
    orders: Mutex<Orders>,
    changed: Notify,
    server: String,
    http: reqwest::Client,
}

impl Proxy {
    pub(super) async fn before(server: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let http = hob_http::direct_client(std::time::Duration::from_secs(5)).unwrap();
        let (orders, changed, server) = (Mutex::default(), Notify::new(), server.to_owned());
        let shared = Arc::new(Shared { orders, changed, server, http });
        let routes = axum::Router::new().fallback(forward).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, orders: shared }
    }

    fn orders<T>(&self, look: impl FnOnce(&mut Orders) -> T) -> T {
        look(&mut self.orders.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How often something with this in its path was asked.
    pub(super) fn asked(&self, what: &str) -> usize {
        self.orders(|orders| orders.asked.iter().filter(|asked| asked.contains(what)).count())
    }

    /// The answer to the next such request is lost.
    pub(super) fn lose(&self, what: &'static str) {
        self.orders(|orders| orders.lose = Some(what));
    }

    /// Waits until it was.
    pub(super) async fn lost(&self) {
        self.until("lost answer", |orders| orders.lose.is_none()).await;
    }

    /// The token has run out; the device is still there.
    pub(super) fn let_token_run_out(&self) {
        self.orders(|orders| orders.has_run_out = true);
    }

    /// How many syncs were asked so far.
    pub(super) fn syncs(&self) -> usize {
        self.orders(|orders| orders.syncs.len())
    }

    /// The next sync begins where the one of this number began: as if none since had been noted.
    pub(super) fn rewind_to(&self, sync: usize) {
        self.orders(|orders| orders.rewind = Some(orders.syncs[sync].clone()));
    }

    /// Waits until that was so.
    pub(super) async fn rewound(&self) {
        self.until("sync from before", |orders| orders.rewind.is_none()).await;
    }

    async fn until(&self, what: &str, holds: impl Fn(&Orders) -> bool) {
        within(what, async {
            loop {
                let changed = self.orders.changed.notified();
                if self.orders(|orders| holds(orders)) {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (is_lost, address) = {
        let mut orders = shared.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut address = url::Url::parse(&format!("{}{}", shared.server, parts.uri)).unwrap();
        orders.asked.push(format!("{} {}", parts.method, address.path()));
        if address.path().ends_with("/sync") {
            let since = |address: &url::Url| {
                address.query_pairs().find(|(key, _)| key == "since").map(|(_, token)| token.into_owned())
            };
            if let Some(from) = orders.rewind.take() {
                let others = address
                    .query_pairs()
                    .filter(|(key, _)| key != "since" && key != "timeout")
                    .map(|(key, value)| (key.into_owned(), value.into_owned()));
                let others: Vec<_> = others.chain(from.map(|from| ("since".to_owned(), from))).collect();
                address.query_pairs_mut().clear().extend_pairs(others);
            }
            let since = since(&address);
            orders.syncs.push(since);
        }
        let is_login = address.path().ends_with("/login");
        if orders.has_run_out && !is_login && parts.headers.contains_key("authorization") {
            let told = r#"{"errcode": "M_UNKNOWN_TOKEN", "error": "Access token has expired", "soft_logout": true}"#;
            return Response::builder()
                .status(401)
                .header("content-type", "application/json")
                .body(Body::from(told))
                .unwrap();
        }
        orders.has_run_out &= !(parts.method == "POST" && is_login);
        let is_lost = orders.lose.is_some_and(|lose| address.path().contains(lose));
        (is_lost, address)
    };
    shared.changed.notify_waiters();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let mut headers = parts.headers;
    headers.remove("host");
    let sent = shared.http.request(parts.method, address).headers(headers).body(body).send().await;
    let answer = match sent {
        Ok(answer) => answer,
        Err(error) => return Response::builder().status(502).body(Body::from(error.to_string())).unwrap(),
    };
    if is_lost {
        // The server has done it, and whoever asked never hears of it.
        let taken = answer.bytes().await.map(|bytes| bytes.len());
        assert!(taken.is_ok());
        shared.orders.lock().unwrap_or_else(PoisonError::into_inner).lose = None;
        shared.changed.notify_waiters();
        return std::future::pending().await;
    }
    let mut told = Response::builder().status(answer.status());
    for (name, value) in answer.headers().iter().filter(|(name, _)| *name != "transfer-encoding") {
        told = told.header(name, value);
    }
    let body = answer.bytes_stream().map(|piece| piece.map_err(std::io::Error::other));
    told.body(Body::from_stream(body)).unwrap()
}
