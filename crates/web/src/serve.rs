//! How callers are listened to: who may connect, how long they may take to say what they want, and nothing else.
//!
//! Whoever can reach the port can open connections and say nothing on them. So each has a seat, of which there are few for one
//! address and some for all; a request that does not come in time loses it. Callers on this machine have seats of their own: a
//! proxy among them speaks for many. Whoever has shown who they are keeps a few of theirs, whatever comes. Where no seat is free,
//! whoever has most of the others gives one up: nobody keeps those out who live here, not even one of them. Start at [`serve`].

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router as Routes;
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::Response;
use futures::{StreamExt as _, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use hob_core::domain::lock::lock;
use hob_telemetry::tasks;

/// How long is waited after the system had no room for another connection.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What callers are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// Until a request's head is there; as long may a connection be idle between two requests.
    pub(crate) head: Duration,
    /// Between two pieces of a request's body.
    pub(crate) body_pause: Duration,
    /// For all of a request's body: the largest, over a slow line.
    pub(crate) body: Duration,
    /// How long an answer may wait to be taken.
    pub(crate) untaken: Duration,
    /// Connections from one address, or from one IPv6 network of 64 bits.
    pub(crate) per_address: usize,
    /// Connections from all other machines.
    pub(crate) remote: usize,
    /// Connections from this machine.
    pub(crate) local: usize,
    /// Connections that somebody keeps who has shown who they are. A browser opens six.
    pub(crate) per_person: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(20),
            body_pause: Duration::from_secs(20),
            body: Duration::from_secs(15 * 60),
            untaken: Duration::from_secs(60),
            per_address: 64,
            remote: 192,
            local: 256,
            per_person: 8,
        }
    }
}

/// At which of this machine's addresses a request came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalAddress(pub SocketAddr);

/// Who somebody has shown to be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProvenIdentity {
    /// Whoever holds a login link.
    Link,
    /// A browser that is logged in.
    Visit(i64),
    /// Whoever has that key.
    Key(i64),
    /// Whoever has the secret of that webhook.
    Webhook(String),
    /// Telegram, for that account.
    Telegram(String),
}

/// Who somebody has shown to be on a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionIdentity(Arc<Mutex<Option<ProvenIdentity>>>);

impl ConnectionIdentity {
    /// On the connection of this request. What came over none has none to lose.
    pub(crate) fn of(parts: &Parts) -> Self {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    pub(crate) fn is(&self, who: ProvenIdentity) {
        *lock(&self.0) = Some(who);
    }

    fn get(&self) -> Option<ProvenIdentity> {
        lock(&self.0).clone()
    }
}

impl<S: Sync> FromRequestParts<S> for ConnectionIdentity {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// Answers until `stop`; what is being answered then is answered to its end.
pub async fn serve(listener: TcpListener, routes: Routes, stop: CancellationToken) {
    serve_within(ConnectionLimits::default(), listener, routes, stop).await;
}

async fn serve_within(bounds: ConnectionLimits, listener: TcpListener, routes: Routes, stop: CancellationToken) {
    let routes = routes.layer(middleware::from_fn(move |request: Request, next: Next| timely(bounds, request, next)));
    let (seats, connections) = (Arc::new(ConnectionSlots::new(bounds)), TaskTracker::new());
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            // The caller has given up.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                tracing::warn!(%error, "server.deaf: no connection can be taken for the moment");
                tokio::time::sleep(AGAIN_AFTER).await;
                continue;
            }
        };
        let Some(seat) = seats.acquire(from.ip()) else {
            tracing::debug!(%from, "server.full: a connection was closed");
            continue;
        };
        let attended = serve_connection(bounds, stream, seat.held.proven.clone(), routes.clone(), stop.clone());
        tasks::spawn_among(&connections, "a connection", async move {
            if seat.held.lost.clone().run_until_cancelled(attended).await.is_none() {
                tracing::debug!(%from, "server.full: a connection gave up its seat");
            }
            drop(seat);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// One connection, from its first request to its last.
async fn serve_connection(
    bounds: ConnectionLimits,
    stream: TcpStream,
    proven: ConnectionIdentity,
    routes: Routes,
    stop: CancellationToken,
) {
    let Ok(local) = stream.local_addr() else { return };
    let untaken = u32::try_from(bounds.untaken.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = set_tcp_user_timeout(&stream, untaken) {
        tracing::debug!(%error, "an answer may wait for ever to be taken");
    }
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(LocalAddress(local));
        // Behind a proxy the next request may be somebody else's.
        *lock(&proven.0) = None;
        request.extensions_mut().insert(proven.clone());
        routes.clone().oneshot(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Reads a request's body as long as it comes.
async fn timely(bounds: ConnectionLimits, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let last = Instant::now() + bounds.body;
    let request = request.map(|body| {
        let pieces = stream::try_unfold(body.into_data_stream(), move |mut body| async move {
            let until = last.min(Instant::now() + bounds.body_pause);
            match tokio::time::timeout_at(until, body.next()).await {
                Ok(None) => Ok(None),
                Ok(Some(piece)) => piece.map(|piece| Some((piece, body))),
                Err(_) => Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut))),
            }
        });
        Body::from_stream(pieces)
    });
    next.run(request).await
}

/// Whose seats are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallerAddress {
    /// This machine.
    Local,
    /// An address.
    V4(u32),
    /// A network of 64 bits: whoever has one address of it has all.
    V6(u64),
}

impl CallerAddress {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() => Self::Local,
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6(u64::try_from(address.to_bits() >> 64).unwrap_or(u64::MAX)),
        }
    }
}

#[derive(Debug, Clone)]
struct OpenConnection {
    caller: CallerAddress,
    proven: ConnectionIdentity,
    /// It has given up its seat.
    lost: CancellationToken,
}

/// The connections that are open, in the order in which they came.
#[derive(Debug)]
struct ConnectionSlots {
    bounds: ConnectionLimits,
    taken: Mutex<BTreeMap<u64, OpenConnection>>,
    /// The next one's number: none is given twice.
    next: AtomicU64,
}

/// A connection's place; dropped, it is free.
#[derive(Debug)]
struct ConnectionSlot {
    seats: Arc<ConnectionSlots>,
    number: u64,
    held: OpenConnection,
}

impl ConnectionSlots {
    fn new(bounds: ConnectionLimits) -> Self {
        Self { bounds, taken: Mutex::default(), next: AtomicU64::default() }
    }

    /// A seat; none: nobody has more than those keep who have shown who they are.
    fn acquire(self: &Arc<Self>, from: IpAddr) -> Option<ConnectionSlot> {
        let caller = CallerAddress::of(from);
        // Entries that are written one by one: a panic elsewhere leaves nothing half done.
        let mut taken = lock(&self.taken);
        if let Some(rivals) = self.rivals(&taken, caller) {
            let number = connection_to_drop(&taken, self.bounds.per_person, rivals)?;
            taken.remove(&number)?.lost.cancel();
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let held = OpenConnection { caller, proven: ConnectionIdentity::default(), lost: CancellationToken::new() };
        taken.insert(number, held.clone());
        Some(ConnectionSlot { seats: Arc::clone(self), number, held })
    }

    /// Whose seats stand in the way of this caller's next; none: there is one free.
    fn rivals(
        &self,
        taken: &BTreeMap<u64, OpenConnection>,
        caller: CallerAddress,
    ) -> Option<impl Fn(CallerAddress) -> bool + use<>> {
        let count = |of: &dyn Fn(CallerAddress) -> bool| taken.values().filter(|held| of(held.caller)).count();
        let most = if caller == CallerAddress::Local { self.bounds.local } else { self.bounds.per_address };
        let own = count(&|other| other == caller) >= most;
        let all = caller != CallerAddress::Local && count(&|other| other != CallerAddress::Local) >= self.bounds.remote;
        (own || all).then_some(move |other| if own { other == caller } else { other != CallerAddress::Local })
    }
}

/// Which of these is given up: the oldest that nobody keeps, of whoever has most of those.
fn connection_to_drop(
    taken: &BTreeMap<u64, OpenConnection>,
    per_person: usize,
    rivals: impl Fn(CallerAddress) -> bool,
) -> Option<u64> {
    let mut kept: BTreeMap<ProvenIdentity, usize> = BTreeMap::new();
    let mut loose: BTreeMap<(Option<ProvenIdentity>, Option<CallerAddress>), Vec<u64>> = BTreeMap::new();
    // Seats elsewhere count too: who comes from many addresses keeps no more than who comes from one.
    for (number, held) in taken {
        let who = held.proven.get();
        if let Some(who) = &who {
            let kept = kept.entry(who.clone()).or_default();
            *kept += 1;
            if *kept <= per_person {
                continue;
            }
        }
        if rivals(held.caller) {
            // Whoever has not shown who they are is known by where they come from.
            let from = who.is_none().then_some(held.caller);
            loose.entry((who, from)).or_default().push(*number);
        }
    }
    let most = loose.values().max_by_key(|numbers| (numbers.len(), Reverse(numbers.first().copied())))?;
    most.first().copied()
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.seats.taken).remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
