//! How the house is run, for the page: what works and what does not, what waits, what is to be done later, what it costs; and
//! what an owner can do about it.
//!
//! Never: a way of its own to do something: what is changed here goes where commands and tools go as well.
//! Start at [`routes`]; each file is one part of the view.

mod config;
pub mod context;
mod costs;
mod grants;
mod latency;
mod log;
mod outbox;
mod overview;
mod plot;
mod providers;
mod queue;
mod schedules;
pub(crate) mod servers;
mod skills;

use std::sync::Arc;

use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api_error::ApiError;
use crate::app_state::AppState;
use hob_store::operations;

/// So many rows are shown at once.
const PAGE: i64 = 50;
/// So many are asked for: one more, so that it is known whether there are others.
const ASKED: i64 = PAGE + 1;

pub(crate) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(overview::overview))
        .routes(routes!(queue::list))
        .routes(routes!(queue::end))
        .routes(routes!(outbox::waiting))
        .routes(routes!(outbox::given_up))
        .routes(routes!(outbox::retry))
        .routes(routes!(outbox::abandon))
        .routes(routes!(schedules::list, schedules::make))
        .routes(routes!(schedules::remove))
        .routes(routes!(schedules::change))
        .routes(routes!(skills::skills))
        .routes(routes!(servers::servers))
        .routes(routes!(servers::tools, servers::class))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(providers::providers))
        .routes(routes!(config::standing))
        .routes(routes!(config::shown))
        .routes(routes!(config::reload))
        .routes(routes!(config::roll_back))
        .routes(routes!(log::lines))
        .routes(routes!(costs::costs))
        .routes(routes!(costs::plotted))
        .routes(routes!(latency::latency))
}

/// Which part of a list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
struct PageParams {
    /// What `next` was.
    after: Option<String>,
}

impl PageParams {
    /// A mark such as `12-34`.
    fn mark(&self) -> Result<Option<(i64, i64)>, ApiError> {
        let Some(text) = &self.after else { return Ok(None) };
        let pair = text.split_once('-').and_then(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)));
        pair.map(Some).ok_or_else(|| ApiError::Bad("after is not a mark, such as 12-34".to_owned()))
    }

    fn after(&self) -> Result<operations::ListCursor, ApiError> {
        let mark = self.mark()?;
        Ok(mark.map_or_else(operations::ListCursor::default, |(session, row)| operations::ListCursor { session, row }))
    }
}

/// The rows that are shown, and the last of them if there are more.
fn paged<T>(mut rows: Vec<T>) -> (Vec<T>, bool) {
    let shown = usize::try_from(PAGE).unwrap_or(usize::MAX);
    let more = rows.len() > shown;
    rows.truncate(shown);
    (rows, more)
}

/// Seconds from `then`, in Unix milliseconds, to `now`.
pub(crate) fn age(now: jiff::Timestamp, then: i64) -> i64 {
    (now.as_millisecond() - then).max(0) / 1_000
}
