//! What is at work or waits its turn, in all conversations.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::operations::{ASKED, PageParams, age, paged};
use crate::owner;
use hob_core::domain::ids::RunId;
use hob_router::operations::queue::EndRunOutcome;
use hob_store::operations::{self, OpenRunRow};
use hob_store::sessions;

/// A run that is not over.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WaitingRun {
    /// Its number.
    run: i64,
    /// Its conversation.
    session: String,
    /// Whose message it answers.
    user: String,
    /// `queued`, `running` or `waiting` (for a person's word, or an agent's end).
    state: String,
    /// The beginning of the message.
    text: String,
    /// Seconds since the message came.
    age_secs: i64,
}

/// What is at work or waits.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct OpenRuns {
    /// By conversation, in the order in which they are served.
    runs: Vec<WaitingRun>,
    /// Where to go on; none: that is all.
    next: Option<String>,
}

/// What is at work or waits its turn, in all conversations.
#[utoipa::path(get, path = "/api/operations/queue", tag = "operations", params(PageParams),
    responses((status = 200, body = OpenRuns), (status = 401, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(part): Query<PageParams>,
) -> Result<Json<OpenRuns>, ApiError> {
    let after = part.after()?;
    let rows = app.router.store.read(async |tx| operations::open_runs(tx, after, ASKED).await).await?;
    let (rows, more) = paged(rows);
    let now = app.router.clock.now();
    let next = rows.last().filter(|_| more).map(|row| format!("{}-{}", row.session, row.id));
    let run = |row: OpenRunRow| WaitingRun {
        run: row.id.0,
        session: row.key,
        user: row.user,
        state: row.state,
        text: row.text,
        age_secs: age(now, row.created_at),
    };
    Ok(Json(OpenRuns { runs: rows.into_iter().map(run).collect(), next }))
}

/// Takes back a run that waits its turn, or stops one at work at its next safe boundary.
#[utoipa::path(delete, path = "/api/operations/queue/{run}", tag = "operations", params(("run" = i64, Path,)),
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn end(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
) -> Result<StatusCode, ApiError> {
    let me = owner::principal(&app.router).await?;
    match app.router.end_run(RunId(run), me.user).await? {
        EndRunOutcome::Done(session) => {
            let key = app.router.store.read(async |tx| sessions::key(tx, session).await).await?;
            // Whoever has that conversation open sees it go.
            key.as_deref().and_then(|key| key.strip_prefix("web:")).into_iter().for_each(|chat| app.page.changed(chat));
            Ok(StatusCode::NO_CONTENT)
        }
        EndRunOutcome::Over => Err(ApiError::NotFound("run that is not over")),
        EndRunOutcome::WaitedFor(parent) => {
            Err(ApiError::Conflict(format!("run {parent} waits for what it is to find out: end that one")))
        }
    }
}
