//! What was spent, by day, and by model or person: as numbers and as a plot.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::operations::plot::{Plot, Series, Theme};
use crate::status::Spending;
use hob_store::error::StoreError;
use hob_store::spend::{self, SpendShare};
use hob_store::{Tx, millis};

/// So many days are told, unless it is said.
const DAYS: u16 = 30;
/// So many at most.
const DAYS_MAX: u16 = 366;

/// Whose costs are told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum CostGrouping {
    /// The models'.
    #[default]
    Model,
    /// The people's.
    User,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum CostMeasure {
    /// US dollars.
    #[default]
    Cost,
    /// Tokens, read and written.
    Tokens,
}

/// Which costs are wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct CostParams {
    /// How many days, today included.
    days: Option<u16>,
    /// Whose are told apart.
    #[param(inline)]
    by: Option<CostGrouping>,
}

/// Which plot is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct PlotParams {
    /// How many days, today included.
    days: Option<u16>,
    /// Whose are told apart.
    #[param(inline)]
    by: Option<CostGrouping>,
    /// What is drawn.
    #[param(inline)]
    what: Option<CostMeasure>,
    /// On what it will stand.
    #[param(inline)]
    theme: Option<Theme>,
}

/// A day, or one who spent.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
struct CostSum {
    /// `2026-01-31`, or a model's label, or a person's name.
    name: String,
    #[serde(flatten)]
    spent: Spending,
}

impl Spending {
    /// With this share as well.
    pub(super) fn add(&mut self, share: &SpendShare) {
        self.calls += share.calls;
        self.unpriced += share.unpriced;
        self.input_tokens += share.input_tokens;
        self.cached_tokens += share.cached_tokens;
        self.output_tokens += share.output_tokens;
        self.cost_nanousd += share.cost;
    }
}

/// What was spent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Costs {
    /// By day, the newest first; days on which nothing was spent are left out.
    days: Vec<CostSum>,
    /// By model or person, the dearest first.
    shares: Vec<CostSum>,
}

/// The days up to today, and the moments at which they begin; at last the one at which today ends.
struct DayBoundaries {
    dates: Vec<Date>,
    moments: Vec<i64>,
}

impl DayBoundaries {
    fn until(now: Timestamp, zone: &TimeZone, count: Option<u16>) -> Self {
        let today = now.to_zoned(zone.clone()).date();
        let count = i64::from(count.unwrap_or(DAYS).clamp(1, DAYS_MAX));
        let begins = |date: Date| Some(millis(date.to_zoned(zone.clone()).ok()?.timestamp()));
        let (mut dates, mut moments) = (Vec::new(), Vec::new());
        for ago in (-1..count).rev() {
            let Ok(date) = today.checked_sub(ago.days()) else { continue };
            moments.extend(begins(date));
            if ago >= 0 {
                dates.push(date);
            }
        }
        Self { dates, moments }
    }
}

async fn shares(tx: &mut Tx, moments: &[i64], by: CostGrouping) -> Result<Vec<SpendShare>, StoreError> {
    let by = match by {
        CostGrouping::Model => spend::SpendGroup::Model,
        CostGrouping::User => spend::SpendGroup::User,
    };
    spend::shares(tx, moments, by).await
}

async fn read(app: &AppState, days: Option<u16>, by: CostGrouping) -> Result<(Vec<Date>, Vec<SpendShare>), ApiError> {
    let zone = app.router.config().services.budget_guard.zone.clone();
    let DayBoundaries { dates, moments } = DayBoundaries::until(app.router.clock.now(), &zone, days);
    Ok((dates, app.router.store.read(async |tx| shares(tx, &moments, by).await).await?))
}

fn date_of(dates: &[Date], share: &SpendShare) -> Option<Date> {
    dates.get(usize::try_from(share.stretch).ok()?).copied()
}

/// What was spent, by day and by model or person.
#[utoipa::path(get, path = "/api/operations/costs", tag = "operations", params(CostParams),
    responses((status = 200, body = Costs), (status = 401, body = Problem)))]
pub(crate) async fn costs(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(wanted): Query<CostParams>,
) -> Result<Json<Costs>, ApiError> {
    let (dates, all) = read(&app, wanted.days, wanted.by.unwrap_or_default()).await?;
    let (mut days, mut shares): (BTreeMap<Date, CostSum>, BTreeMap<&str, CostSum>) = (BTreeMap::new(), BTreeMap::new());
    for share in &all {
        let Some(date) = date_of(&dates, share) else { continue };
        days.entry(date).or_insert_with(|| CostSum { name: date.to_string(), ..CostSum::default() }).spent.add(share);
        let name = || CostSum { name: share.name.clone(), ..CostSum::default() };
        shares.entry(&share.name).or_insert_with(name).spent.add(share);
    }
    let mut shares: Vec<CostSum> = shares.into_values().collect();
    shares.sort_by_key(|sum| {
        std::cmp::Reverse((sum.spent.cost_nanousd, sum.spent.input_tokens + sum.spent.output_tokens))
    });
    Ok(Json(Costs { days: days.into_values().rev().collect(), shares }))
}

/// The same as a plot.
#[utoipa::path(get, path = "/api/operations/costs.svg", tag = "operations", params(PlotParams),
    responses((status = 200, content_type = "image/svg+xml"), (status = 401, body = Problem)))]
pub(crate) async fn plotted(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(wanted): Query<PlotParams>,
) -> Result<Response, ApiError> {
    let (dates, all) = read(&app, wanted.days, wanted.by.unwrap_or_default()).await?;
    let what = wanted.what.unwrap_or_default();
    let mut series: BTreeMap<&str, Series> = BTreeMap::new();
    for share in &all {
        let make = || Series { name: share.name.clone(), values: vec![0.0; dates.len()] };
        let values = &mut series.entry(&share.name).or_insert_with(make).values;
        if let Some(value) = usize::try_from(share.stretch).ok().and_then(|day| values.get_mut(day)) {
            *value += amount(share, what);
        }
    }
    let plot = Plot {
        days: dates.iter().map(|date| date.strftime("%-d %b").to_string()).collect(),
        series: series.into_values().collect(),
        unit: if what == CostMeasure::Cost { "$" } else { "" },
        theme: wanted.theme.unwrap_or_default(),
    };
    let drawn = plot.into_svg().map_err(|error| ApiError::Broken(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], drawn).into_response())
}

#[expect(clippy::cast_precision_loss, reason = "a plot has no digits")]
fn amount(share: &SpendShare, what: CostMeasure) -> f64 {
    match what {
        CostMeasure::Cost => share.cost as f64 / 1e9,
        CostMeasure::Tokens => (share.input_tokens + share.output_tokens) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_where_the_household_lives() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        // The clocks go forward on 29 March 2026.
        let now: Timestamp = "2026-03-30T09:00:00Z".parse().unwrap();
        let DayBoundaries { dates, moments } = DayBoundaries::until(now, &zone, Some(3));
        let dates: Vec<String> = dates.iter().map(ToString::to_string).collect();
        assert_eq!(dates, ["2026-03-28", "2026-03-29", "2026-03-30"]);
        let hours: Vec<i64> = moments.windows(2).map(|pair| (pair[1] - pair[0]) / 3_600_000).collect();
        assert_eq!(hours, [24, 23, 24]);
        assert_eq!(DayBoundaries::until(now, &zone, Some(0)).dates.len(), 1);
        assert_eq!(DayBoundaries::until(now, &zone, Some(u16::MAX)).dates.len(), usize::from(DAYS_MAX));
    }
}
