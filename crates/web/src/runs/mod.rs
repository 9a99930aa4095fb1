//! Recorded runs on the page: the list, one run as its cycle tree, what it was at any of its events, and what owners order of
//! one that is at work.
//!
//! It shows what `hob runs` and `hob replay` show, of the same folds.
//!
//! Never: a text that is as long as somebody chose to make it. What is shown is cut, and the whole of it is asked for by
//! itself.
//! Start at `routes`.

mod check;
mod detail;
pub mod list;
mod orders;
mod state_at_event;
mod views;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::api_error::ApiError;
use crate::app_state::AppState;

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    list::routes()
        .merge(detail::routes())
        .merge(state_at_event::routes())
        .merge(check::routes())
        .merge(orders::routes())
}

/// Folds beside those who talk: a long journal takes its time.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a run could not be folded for the page");
        ApiError::Broken("this run's journal breaks the code that reads it; the log says more".to_owned())
    })
}
