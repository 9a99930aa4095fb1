//! `/mcp`: Hob as an MCP server for programs with a key, over streamable HTTP.

use std::sync::Arc;

use axum::Router as Routes;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header;
use axum::middleware::{self, Next};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::access::origin_check::{CredentialKind, judge};
use crate::access::visitor::{Visitor, request_facts};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::mcp::MESSAGE_BYTES_MAX;
use crate::mcp::page_asker::PageAsker;
use crate::mcp::server::{Client, HobServer};

/// Where it is.
const PATH: &str = "/mcp";

/// The route. Whoever is let in stands among the request's extensions.
pub(crate) fn routes(app: &Arc<AppState>) -> Routes<Arc<AppState>> {
    let router = Arc::clone(&app.router);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        // The door looks at it, as for the page.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
        .with_cancellation_token(app.stop.clone());
    let service = StreamableHttpService::new(
        move || Ok(HobServer::by_request(Arc::clone(&router))),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let admit = middleware::from_fn_with_state(Arc::clone(app), admit);
    Routes::new().route_service(PATH, service).route_layer(admit)
}

/// Lets programs in that show a key.
async fn admit(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    if !parts.headers.contains_key(header::AUTHORIZATION) {
        return Err(ApiError::Nobody);
    }
    // Another's page may have got hold of a key.
    if parts.headers.contains_key(header::ORIGIN) {
        judge(&app.page_access.places, &request_facts(&parts, CredentialKind::Cookie))?;
    }
    let visitor = Visitor::from_request_parts(&mut parts, &app).await?;
    // A browser adds its cookie by itself: that is no word of a program's.
    let key = visitor.key.ok_or(ApiError::Nobody)?;
    let asker = Arc::new(PageAsker { app: Arc::clone(&app), key });
    parts.extensions.insert(Client { role: visitor.role, asker });
    Ok(next.run(Request::from_parts(parts, body)).await)
}
