//! `POST /undo` on the socket: takes back the last change of the workspace, for `hob undo`.

use std::sync::Arc;

use axum::Router as Routes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;

use hob_router::intake::Router;

/// Where it is asked for.
pub const PATH: &str = "/undo";

/// The route. Only for the socket: whoever may use that may do anything with the data.
pub fn routes(router: Arc<Router>) -> Routes {
    Routes::new().route(PATH, post(undo)).with_state(router)
}

async fn undo(State(router): State<Arc<Router>>) -> (StatusCode, String) {
    match router.undo_last().await {
        Ok(told) => (StatusCode::OK, told),
        Err(error) => (StatusCode::CONFLICT, error.to_string()),
    }
}
