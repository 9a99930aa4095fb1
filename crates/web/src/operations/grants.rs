//! What people have allowed for good.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::visitor::{Owner, Visitor};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::operations::{ASKED, paged};
use hob_agent::machine::approval::scope;
use hob_core::domain::ids::GrantId;
use hob_store::operations::{self, HeldGrant};

/// A grant that holds.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Grant {
    /// Its number.
    id: i64,
    /// Where.
    session: String,
    /// Whose calls need no approval.
    user: String,
    /// Of which tool.
    tool: String,
    /// In which run it was said.
    run: i64,
    /// Since when, in milliseconds since 1970.
    since: i64,
}

/// Grants that hold.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Grants {
    /// By conversation, person and tool.
    grants: Vec<Grant>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of the list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct GrantListParams {
    /// What `next` was.
    after: Option<i64>,
}

/// What people have allowed for good.
#[utoipa::path(get, path = "/api/operations/grants", tag = "operations", params(GrantListParams),
    responses((status = 200, body = Grants), (status = 401, body = Problem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(part): Query<GrantListParams>,
) -> Result<Json<Grants>, ApiError> {
    let after = part.after.map(GrantId);
    let rows = app.router.store.read(async |tx| operations::grants(tx, after, ASKED).await).await?;
    let (rows, more) = paged(rows);
    let next = rows.last().filter(|_| more).map(|row| row.id.0);
    let grant = |row: HeldGrant| Grant {
        id: row.id.0,
        session: row.key,
        user: row.name,
        tool: scope::words(&row.tool).to_owned(),
        run: row.run.0,
        since: row.created_at,
    };
    Ok(Json(Grants { grants: rows.into_iter().map(grant).collect(), next }))
}

/// Takes a grant back at once: a run that has begun with it asks as well.
#[utoipa::path(delete, path = "/api/operations/grants/{id}", tag = "operations", params(("id" = i64, Path,)),
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn revoke(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    let revoked = app.router.revoke_grant(GrantId(id)).await?;
    if revoked { Ok(StatusCode::NO_CONTENT) } else { Err(ApiError::NotFound("grant that holds")) }
}
