//! What is remembered, on the page: looked for with the reasons, read back to the message it comes from, pinned, forgotten.
//!
//! Never: another way of forgetting than the commands' (`router::memory`), or another search than recall's own.
//! Start at `routes`; `search` tells scores, `why` what an answer had before it, `change` is for owners alone.

mod change;
pub mod entry;
mod list;
mod people;
mod search;
mod why;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::AppState;

/// So many are shown at once.
const PAGE: i64 = 50;

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(list::overview))
        .routes(routes!(list::items))
        .routes(routes!(list::item, change::forget))
        .routes(routes!(change::pin))
        .routes(routes!(search::search))
        .routes(routes!(why::answers))
        .routes(routes!(why::why))
        .routes(routes!(people::users))
        .routes(routes!(people::people))
        .routes(routes!(people::facts))
        .routes(routes!(change::forget_person))
        .routes(routes!(change::forget_scope))
        .routes(routes!(change::export))
}

/// Whether a list that was asked for a page of goes on.
fn is_full(count: usize) -> bool {
    i64::try_from(count).is_ok_and(|count| count >= PAGE)
}
