//! HTTP from outside: `[server]`. What is served stands in a file of its own.
//!
//! Never: a decision about a run, or an answer that tells more than whoever asks has proved to know.
//! Start at [`serve`]; [`hooks`] takes events in, [`telegram`] what Telegram posts, [`health`] tells how Hob fares.

pub mod health;
pub mod hooks;
pub mod limit;
pub mod signature;
pub mod telegram;

use axum::Router as Routes;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Answers until `stop`; what is being answered then is answered to its end.
pub async fn serve(listener: TcpListener, routes: Routes, stop: CancellationToken) {
    let served = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned()).await;
    if let Err(error) = served {
        tracing::error!(%error, "server.failed: nothing is served over HTTP any more");
    }
}
