//! `POST /mcp/serve` on the socket: the connection becomes that of an MCP client, for `hob mcp serve`.

use std::sync::Arc;

use axum::Router as Routes;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio_util::sync::CancellationToken;

use crate::access::PageRole;
use crate::mcp::MESSAGE_BYTES_MAX;
use crate::mcp::asker::Asker;
use crate::mcp::server::{Client, HobServer};
use hob_router::intake::Router;
use hob_telemetry::tasks;

/// Where it is asked for.
pub const PATH: &str = "/mcp/serve";
/// What the connection becomes.
pub const PROTOCOL: &str = "mcp";

#[derive(Clone)]
struct McpState {
    router: Arc<Router>,
    asker: Arc<dyn Asker>,
    stop: CancellationToken,
}

/// The route. Only for the socket: whoever may use that may do anything with the data.
pub fn routes(router: Arc<Router>, asker: Arc<dyn Asker>, stop: CancellationToken) -> Routes {
    Routes::new().route(PATH, post(serve)).with_state(McpState { router, asker, stop })
}

async fn serve(State(state): State<McpState>, mut request: Request) -> Response {
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return (StatusCode::UPGRADE_REQUIRED, "this is no plain request").into_response();
    };
    drop(tasks::spawn("mcp.client", talk(state, upgrade)));
    let headers = [
        (header::CONNECTION, HeaderValue::from_static("upgrade")),
        (header::UPGRADE, HeaderValue::from_static(PROTOCOL)),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// Talks with a client until it goes, or Hob does.
async fn talk(state: McpState, upgrade: OnUpgrade) {
    let stream = match upgrade.await {
        Ok(stream) => TokioIo::new(stream),
        Err(error) => return tracing::debug!(%error, "a client has gone before it said anything"),
    };
    let (read, write) = tokio::io::split(stream);
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(MESSAGE_BYTES_MAX);
    let server = HobServer::for_client(state.router, Client { role: PageRole::Owner, asker: state.asker });
    match serve_server_with_ct(server, transport, state.stop).await {
        Ok(service) => match service.waiting().await {
            Ok(why) => tracing::debug!(?why, "a client has gone"),
            Err(error) => tracing::warn!(%error, "a client was left alone"),
        },
        Err(error) => tracing::debug!(%error, "a client has not said who it is"),
    }
}
