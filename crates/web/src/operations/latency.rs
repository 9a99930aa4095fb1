//! How long things took since the start, as `/metrics` counts them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::access::visitor::Visitor;
use crate::api_error::Problem;
use crate::app_state::AppState;
use hob_telemetry::metrics::{Family, Histogram};

/// How long one thing took.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LatencySummary {
    /// What kind: `stage`, `model`, `tool`, `recall` or `commit`.
    kind: &'static str,
    /// Which of that kind.
    name: String,
    /// How often.
    count: u64,
    /// On average, in seconds.
    mean_secs: f64,
    /// Half of them took so long at most.
    p50_secs: Option<f64>,
    /// Nine of ten.
    p90_secs: Option<f64>,
    /// All but one of a hundred.
    p99_secs: Option<f64>,
}

impl LatencySummary {
    #[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
    pub(super) fn of(kind: &'static str, name: String, histogram: &Histogram) -> Option<Self> {
        let spread = histogram.spread();
        (spread.count > 0).then(|| Self {
            kind,
            name,
            count: spread.count,
            mean_secs: spread.sum / spread.count as f64,
            p50_secs: spread.within_share(0.5),
            p90_secs: spread.within_share(0.9),
            p99_secs: spread.within_share(0.99),
        })
    }
}

/// How long things took.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Latencies {
    /// Since when it was counted: seconds since the start.
    up_secs: i64,
    /// What was counted, from the message's coming to the platform's having the answer, then the rest.
    took: Vec<LatencySummary>,
}

fn family(kind: &'static str, family: &Family<Histogram>) -> Vec<LatencySummary> {
    family
        .all()
        .into_iter()
        .filter_map(|(labels, member)| LatencySummary::of(kind, labels.join(" "), &member))
        .collect()
}

/// How long the stages of answers, models, tools, recall and the database took since the start.
#[utoipa::path(get, path = "/api/operations/latency", tag = "operations", responses((status = 200, body = Latencies), (status = 401, body = Problem)))]
pub(crate) async fn latency(State(app): State<Arc<AppState>>, _visitor: Visitor) -> Json<Latencies> {
    let router = &app.router;
    let (meters, work) = (router.delivery.meters(), router.store.work());
    let up_secs = router.clock.now().duration_since(router.config().services.started).as_secs().max(0);
    let mut took = family("stage", &meters.stages);
    let order = ["queued", "first_token", "answered", "sent"];
    took.sort_by_key(|took| order.iter().position(|name| *name == took.name));
    took.extend(family("model", &meters.model_time));
    took.extend(family("tool", &meters.tool_time));
    took.extend(LatencySummary::of("recall", "all".to_owned(), &meters.recall));
    took.extend(LatencySummary::of("commit", "all".to_owned(), &work.commits));
    Json(Latencies { up_secs, took })
}
