//! What the fakes of platforms stand on: a world that the server and the test look at, and a server that can go away and
//! come back while people go on writing.

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cut::{CutConnection, CutListener};

/// How long [`PlatformServer::until`] waits before it fails the test.
const PATIENCE: Duration = Duration::from_secs(120);
/// A free port of the loopback.
pub const ANYWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// A platform's state, which is served over HTTP.
pub trait PlatformState: Clone + Debug + Send + Sized + 'static {
    /// What is there besides calls, such as a gateway.
    fn routes() -> Router<ServerContext<Self>> {
        Router::new()
    }

    /// Answers a call.
    fn respond(
        context: &ServerContext<Self>,
        wire: &CutConnection,
        request: Request,
    ) -> impl Future<Output = Response> + Send;

    /// The server went away, and all connections with it.
    fn cut(&mut self);
}

/// What the server's side and the test share.
pub struct Shared<W> {
    world: Mutex<W>,
    pub(super) changed: watch::Sender<()>,
}

impl<W> Shared<W> {
    /// Looks at the world or changes it; whoever waits looks again.
    pub fn with<T>(&self, act: impl FnOnce(&mut W) -> T) -> T {
        let result = self.peek(act);
        self.changed.send_replace(());
        result
    }

    /// The same, and nobody is told: nothing that anybody waits for changed.
    pub fn peek<T>(&self, act: impl FnOnce(&mut W) -> T) -> T {
        act(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `seen` finds something.
    pub async fn until<T>(&self, mut seen: impl FnMut(&mut W) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            changes.borrow_and_update();
            match self.peek(&mut seen) {
                Some(found) => return found,
                None => changes.changed().await.unwrap(),
            }
        }
    }
}

/// What whoever answers has.
pub struct ServerContext<W> {
    pub(super) shared: Arc<Shared<W>>,
    /// The server goes away.
    pub(super) down: CancellationToken,
}

impl<W> Clone for ServerContext<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), down: self.down.clone() }
    }
}

async fn serve<W: PlatformState>(address: SocketAddr, context: ServerContext<W>) -> (SocketAddr, JoinHandle<()>) {
    let listener = CutListener(TcpListener::bind(address).await.unwrap());
    let address = listener.0.local_addr().unwrap();
    // Files are larger than axum's usual limit.
    let router = W::routes().fallback(answer::<W>).layer(DefaultBodyLimit::max(60 << 20)).with_state(context);
    let service = router.into_make_service_with_connect_info::<CutConnection>();
    let server = tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    (address, server)
}

async fn answer<W: PlatformState>(
    State(context): State<ServerContext<W>>,
    ConnectInfo(wire): ConnectInfo<CutConnection>,
    request: Request,
) -> Response {
    // axum's connections outlive its listener: what comes in on them once the server is down is cut.
    let answer = context.down.run_until_cancelled(W::respond(&context, &wire, request)).await;
    answer.unwrap_or_else(|| wire.cut())
}

/// A world and its server. Dropping it closes all connections.
pub struct PlatformServer<W> {
    pub(super) shared: Arc<Shared<W>>,
    /// Where it is, also while it is away.
    pub(super) address: SocketAddr,
    server: JoinHandle<()>,
    down: CancellationToken,
}

impl<W: PlatformState> PlatformServer<W> {
    pub(super) async fn serve(address: SocketAddr, world: W) -> Self {
        let shared = Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) });
        let down = CancellationToken::new();
        let context = ServerContext { shared: Arc::clone(&shared), down: down.clone() };
        let (address, server) = serve(address, context).await;
        Self { shared, address, server, down }
    }

    /// Looks at the world, or sets it up.
    pub fn look<T>(&self, act: impl FnOnce(&mut W) -> T) -> T {
        self.shared.with(act)
    }

    /// Waits until `seen` finds something; fails the test with `what` and the world's state after [`PATIENCE`].
    pub async fn until<T>(&self, what: &str, mut seen: impl FnMut(&W) -> Option<T>) -> T {
        let found = tokio::time::timeout(PATIENCE, self.shared.until(|world| seen(world))).await;
        found.unwrap_or_else(|_| panic!("no {what} in {PATIENCE:?}: {:#?}", self.look(|world| world.clone())))
    }

    /// Waits until the condition holds.
    pub async fn until_true(&self, what: &str, mut holds: impl FnMut(&W) -> bool) {
        self.until(what, |world| holds(world).then_some(())).await;
    }

    /// The server goes away: its port refuses, what is under way is cut. The world stays, and people go on writing.
    pub async fn go_down(&mut self) {
        self.down.cancel();
        self.server.abort();
        let ended = (&mut self.server).await;
        assert!(ended.is_err_and(|error| error.is_cancelled()), "the server had ended by itself");
        self.look(W::cut);
    }

    pub async fn come_back(&mut self) {
        self.down = CancellationToken::new();
        let context = ServerContext { shared: Arc::clone(&self.shared), down: self.down.clone() };
        (_, self.server) = serve(self.address, context).await;
    }
}

impl<W> Drop for PlatformServer<W> {
    fn drop(&mut self) {
        self.down.cancel();
        self.server.abort();
    }
}
