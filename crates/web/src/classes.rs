//! `POST /mcp/class` on the socket: shows the tools of an MCP server and classes them, for `hob mcp class`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router as Routes};
use serde::{Deserialize, Serialize};

use hob_router::intake::Router;
use hob_tools::mcp::tool_table::ClassChange;

/// Where it is asked for.
pub const PATH: &str = "/mcp/class";

/// What an owner says of a server's tools; perhaps nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClassRequest {
    pub server: String,
    /// What is said.
    pub wish: ClassChange,
}

/// The route. Only for the socket: whoever may use that may do anything with the data.
pub fn routes(router: Arc<Router>) -> Routes {
    Routes::new().route(PATH, post(class)).with_state(router)
}

async fn class(State(router): State<Arc<Router>>, Json(ClassRequest { server, wish }): Json<ClassRequest>) -> Response {
    match router.class_tools(&server, &wish).await {
        Ok(tools) => Json(tools).into_response(),
        Err(error) => (StatusCode::CONFLICT, error.to_string()).into_response(),
    }
}
