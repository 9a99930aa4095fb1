//! The models: whether each is asked, and what it took from its provider's cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::SignedDuration;
use serde::Serialize;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::health;
use crate::status::Spending;
use hob_store::millis;
use hob_store::spend::{self, SpendGroup};

/// A model.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Provider {
    /// Its label.
    model: String,
    /// `primary`, `fast`, `smart`, `fallback`.
    roles: Vec<String>,
    /// `ready`, `resting`, or `trying`: one call finds out whether it works again.
    state: &'static str,
    /// What went wrong, while it rests.
    why: Option<String>,
    /// How long it still rests.
    rests_secs: u64,
    /// Its calls since the start, by what came of them.
    calls: BTreeMap<String, u64>,
    /// What it was asked in the last 24 hours.
    day: Spending,
}

/// The models.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Providers {
    /// In the order in which they are tried.
    models: Vec<Provider>,
}

/// The models: whether each is asked, how its calls went, and how much it took from its provider's cache.
#[utoipa::path(get, path = "/api/operations/providers", tag = "operations", responses((status = 200, body = Providers), (status = 401, body = Problem)))]
pub(crate) async fn providers(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
) -> Result<Json<Providers>, ApiError> {
    let (router, now) = (&app.router, app.router.clock.now());
    let ago = |hours| millis(now - SignedDuration::from_hours(hours));
    // The quarter of an hour that it is now counts as well.
    let day = [ago(24), ago(-1)];
    let shares = router.store.read(async |tx| spend::shares(tx, &day, SpendGroup::Model).await).await?;
    let catalog = Arc::clone(&router.config().services.models);
    let (states, counted) = (catalog.states(), router.delivery.meters().model_calls.all());
    let model = |report: health::ModelReport| {
        let own = |(labels, count): &(Vec<String>, Arc<hob_telemetry::metrics::Counter>)| match labels.as_slice() {
            [model, outcome] if *model == report.model => Some((outcome.clone(), count.get())),
            _ => None,
        };
        let mut day = Spending::default();
        shares.iter().filter(|share| share.name == report.model).for_each(|share| day.add(share));
        Provider {
            roles: catalog
                .labels()
                .filter(|(_, label)| *label == report.model)
                .map(|(role, _)| role.to_owned())
                .collect(),
            state: report.state,
            why: states.iter().find(|state| state.label == report.model).map(|state| state.why.to_string()),
            rests_secs: report.rests_secs,
            calls: counted.iter().filter_map(own).collect(),
            day,
            model: report.model,
        }
    };
    Ok(Json(Providers { models: health::models(&catalog).into_iter().map(model).collect() }))
}
