//! A router on loopback: what every fake that speaks HTTP stands on.

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves on a free port of loopback; it ends when dropped.
pub struct Served {
    address: String,
    server: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Served {
    pub async fn start(router: Router) -> Self {
        Self::knowing_its_root(|_root| router).await
    }

    /// The same, with a router that is made from its own root.
    #[expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]
    pub async fn knowing_its_root(router: impl FnOnce(&str) -> Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = router(&format!("http://{address}"));
        // As real servers do: pieces of a reply go out when they are written.
        let listener = listener.tap_io(|connection| connection.set_nodelay(true).unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, server }
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its address as a URL.
    pub fn root(&self) -> String {
        format!("http://{}", self.address)
    }
}
