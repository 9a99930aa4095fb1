//! How Hob fares as a whole: what `hob status` tells, and what upkeep did.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::access::visitor::Visitor;
use crate::api_error::Problem;
use crate::app_state::AppState;
use crate::status::{StatusReport, gather};

/// How Hob fares.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Overview {
    /// What `hob status` tells.
    status: StatusReport,
    /// How memories are found.
    memory: String,
    /// How commands are confined.
    sandbox: String,
    /// The last round of upkeep; none: there was none since the start.
    upkeep: Option<Upkeep>,
}

/// A round of upkeep.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Upkeep {
    /// When it ended, in milliseconds since 1970.
    ended_at: i64,
    /// How long it took, most of it waiting for quiet.
    took_ms: u64,
    /// The longest time for which it kept others from writing.
    held_max_ms: u64,
    /// How many rows were let go.
    rows_gone: u64,
}

/// How Hob fares: channels, what does not work, what is at work, what was spent today.
#[utoipa::path(get, path = "/api/operations", tag = "operations", responses((status = 200, body = Overview), (status = 401, body = Problem)))]
pub(crate) async fn overview(State(app): State<Arc<AppState>>, _visitor: Visitor) -> Json<Overview> {
    let services = Arc::clone(&app.router.config().services);
    let round = services.upkeep.get();
    let millis = |took: std::time::Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let upkeep = round.ended.map(|ended| Upkeep {
        ended_at: ended.as_millisecond(),
        took_ms: millis(round.took),
        held_max_ms: millis(round.held_max),
        rows_gone: round.gone.values().sum(),
    });
    Json(Overview {
        status: gather(&app.router, &app.operations_context.places).await,
        memory: services.memory.embedding_service.status().to_string(),
        sandbox: services.confinement.words(),
        upkeep,
    })
}
