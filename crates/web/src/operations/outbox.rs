//! What is to be said and is not yet, or was given up.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Serialize;

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::operations::{ASKED, PageParams, age, paged};
use hob_core::domain::ids::OutboxId;
use hob_router::operations::outbox::OutboxChangeOutcome;
use hob_store::operations::{self, ChunkRow};

/// Something that is to be said, or was given up.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Chunk {
    /// Its number.
    id: i64,
    /// Where it is to be said.
    session: String,
    /// The run that says it, if one does.
    run: Option<i64>,
    /// Its beginning.
    text: String,
    /// `pending`, `sending`, `unknown` (it may have arrived), `failed`, `abandoned`, or `held` (an owner decides over it by
    /// `/mail`).
    state: String,
    /// Attempts so far.
    attempts: i64,
    /// What went wrong the last time.
    error: Option<String>,
    /// Seconds since it was queued.
    age_secs: i64,
    /// When it is tried next, in milliseconds since 1970; none: not any more.
    next_at: Option<i64>,
    /// When it was given up, in milliseconds since 1970.
    ended_at: Option<i64>,
}

/// A part of the outbox.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Chunks {
    /// What is in it.
    chunks: Vec<Chunk>,
    /// Where to go on; none: that is all.
    next: Option<String>,
}

impl Chunks {
    fn of(app: &AppState, rows: Vec<ChunkRow>, mark: fn(&ChunkRow) -> (i64, i64)) -> Self {
        let (rows, more) = paged(rows);
        let now = app.router.clock.now();
        let next = rows.last().filter(|_| more).map(mark).map(|(one, other)| format!("{one}-{other}"));
        let chunk = |row: ChunkRow| Chunk {
            id: row.id.0,
            session: row.key,
            run: row.run.map(|run| run.0),
            text: row.text,
            next_at: row.ended_at.is_none().then_some(row.next_attempt_at),
            state: if row.held { "held".to_owned() } else { row.state },
            attempts: row.attempts,
            error: row.error.map(|error| app.router.redactor.redact(&error).into_owned()),
            age_secs: age(now, row.created_at),
            ended_at: row.ended_at,
        };
        Self { chunks: rows.into_iter().map(chunk).collect(), next }
    }
}

/// What is to be said and is not delivered yet, by conversation.
#[utoipa::path(get, path = "/api/operations/outbox", tag = "operations", params(PageParams),
    responses((status = 200, body = Chunks), (status = 401, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn waiting(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(part): Query<PageParams>,
) -> Result<Json<Chunks>, ApiError> {
    let after = part.after()?;
    let rows = app.router.store.read(async |tx| operations::open_chunks(tx, after, ASKED).await).await?;
    Ok(Json(Chunks::of(&app, rows, |row| (row.session.0, row.id.0))))
}

/// What was given up, the newest first.
#[utoipa::path(get, path = "/api/operations/outbox/given-up", tag = "operations", params(PageParams),
    responses((status = 200, body = Chunks), (status = 401, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn given_up(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(part): Query<PageParams>,
) -> Result<Json<Chunks>, ApiError> {
    let (moment, row) = part.mark()?.unwrap_or((i64::MAX, i64::MAX));
    let rows = app.router.store.read(async |tx| operations::given_up(tx, moment, row, ASKED).await).await?;
    Ok(Json(Chunks::of(&app, rows, |row| (row.ended_at.unwrap_or_default(), row.id.0))))
}

/// Says it now: what waits is tried at once, what was given up begins anew.
#[utoipa::path(post, path = "/api/operations/outbox/{id}/retry", tag = "operations", params(("id" = i64, Path,)),
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn retry(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    answer(app.router.retry_delivery(OutboxId(id)).await?)
}

/// Gives it up: what comes after it in its conversation is not held up by it any more.
#[utoipa::path(post, path = "/api/operations/outbox/{id}/abandon", tag = "operations", params(("id" = i64, Path,)),
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn abandon(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    answer(app.router.abandon_delivery(OutboxId(id)).await?)
}

fn answer(settled: OutboxChangeOutcome) -> Result<StatusCode, ApiError> {
    let conflict = |why: &str| Err(ApiError::Conflict(why.to_owned()));
    match settled {
        OutboxChangeOutcome::Done => Ok(StatusCode::NO_CONTENT),
        OutboxChangeOutcome::Unknown => Err(ApiError::NotFound("thing in the outbox")),
        OutboxChangeOutcome::Delivered => conflict("it was delivered meanwhile"),
        OutboxChangeOutcome::Sending => conflict("it is being sent at this moment: look again soon"),
        OutboxChangeOutcome::Held => conflict("it is a letter that an owner decides over, in a chat: /mail"),
    }
}
