//! A recorded run, checked, or under another policy: what `hob replay RUN --verify` and `--what-if` say. Nothing is called.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::runs::run_blocking;
use crate::runs::views::{AtEvent, DETAIL_MAX, RunCost, TextExcerpt};
use hob_agent::machine::run_start::ModelBill;
use hob_agent::replay::verify::{HashVerdict, ReplayVerdict};
use hob_agent::replay::what_if::{RequestEstimate, RunTotals, WhatIf, WhatIfChange, WhatIfReport, what_if};
use hob_core::domain::money::Money;
use hob_model::discover::preset::assumed_window;

/// The longest description of a change.
const CHANGE_BYTES_MAX: usize = 64 << 10;
/// So many differences are shown.
const DIFFERENCES_MAX: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(verify)).routes(routes!(compare))
}

/// What a check of a journal found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct VerdictShown {
    /// Nothing speaks against the journal.
    holds: bool,
    /// Events that were folded.
    events: usize,
    /// The first that cannot be read.
    unreadable: Option<AtEvent>,
    /// Where the recorded effects part from those that this Hob derives.
    mismatch: Option<AtEvent>,
    /// Such places that a person was told of while the run lived.
    told: Vec<AtEvent>,
    /// What the two hashes of its state say: `same`, `different`, `other_scheme` or `not_stored`.
    hash: &'static str,
    /// The hash that was written down.
    stored: Option<String>,
    /// The hash of what it folds to now, where that is another one.
    folded: Option<String>,
}

impl From<ReplayVerdict> for VerdictShown {
    fn from(verdict: ReplayVerdict) -> Self {
        let holds = verdict.holds();
        let ReplayVerdict { events, unreadable, mismatch, told, hash } = verdict;
        let place =
            |found: hob_agent::machine::event::JournalMismatch| AtEvent { seq: found.seq, what: found.to_string() };
        let (hash, stored, folded) = match hash {
            HashVerdict::Same { hash } => ("same", Some(hash.0), None),
            HashVerdict::Different { stored, folded } => ("different", Some(stored.0), Some(folded.0)),
            HashVerdict::OtherScheme { stored } => ("other_scheme", Some(stored.0), None),
            HashVerdict::NotStored => ("not_stored", None, None),
        };
        Self {
            holds,
            events,
            unreadable: unreadable.map(|(seq, what)| AtEvent { seq, what }),
            mismatch: mismatch.map(place),
            told: told.into_iter().map(place).collect(),
            hash,
            stored,
            folded,
        }
    }
}

/// Folds a journal again: does it lead to the same effects, and to the state that was written down?
#[utoipa::path(get, path = "/api/runs/{run}/verdict", tag = "runs", params(("run" = i64, Path,)),
    responses((status = 200, body = VerdictShown), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn verify(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
) -> Result<Json<VerdictShown>, ApiError> {
    let recorded = app.recorded(run).await?.map_err(|why| ApiError::Bad(why.to_owned()))?;
    Ok(Json(run_blocking(move || VerdictShown::from(ReplayVerdict::of(&recorded))).await?))
}

/// What is to be otherwise.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct WhatIfRequest {
    /// TOML, as `hob replay RUN --what-if FILE` reads it: `models`, `system`, `[limits]`, `[policy.guards]` and so on.
    change: String,
}

/// A call of a model.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AskedShown {
    /// Whom.
    model: String,
    /// The tokens it reads, estimated.
    estimate: u64,
    /// The most that it may cost, in nano-dollars; none: nobody knows its price.
    most_nano_usd: Option<i64>,
}

impl From<RequestEstimate> for AskedShown {
    fn from(asked: RequestEstimate) -> Self {
        let RequestEstimate { model, estimate, most } = asked;
        Self { model, estimate, most_nano_usd: most.map(Money::nanos) }
    }
}

/// What a run took.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TotalsShown {
    /// Replies of the model.
    cycles: u32,
    /// Tokens and money.
    spent: RunCost,
    /// Where it stands.
    state: &'static str,
}

impl From<RunTotals> for TotalsShown {
    fn from(sum: RunTotals) -> Self {
        let RunTotals { cycles, usage, cost, unpriced, status } = sum;
        Self { cycles, spent: RunCost::new(usage, cost, unpriced), state: status }
    }
}

/// Something was decided differently.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct DifferenceShown {
    /// The number of the event after which.
    seq: i64,
    /// That event's name.
    after: &'static str,
    /// What was decided.
    was: Vec<TextExcerpt>,
    /// What would have been.
    would_be: Vec<TextExcerpt>,
}

/// A call of a model, and what it would have been.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AskedOtherwiseShown {
    /// The number of the event that led to it.
    seq: i64,
    /// As it was.
    was: AskedShown,
    /// As it would have been.
    would_be: AskedShown,
}

/// What came of a comparison.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ReportShown {
    /// What has to be known to read it.
    notes: Vec<String>,
    /// Events that were compared.
    compared: usize,
    /// How many differences there are.
    difference_count: usize,
    /// The first of them.
    differences: Vec<DifferenceShown>,
    /// How many calls of a model would have been otherwise.
    asked_count: usize,
    /// The first of them.
    asked_otherwise: Vec<AskedOtherwiseShown>,
    /// Where the comparison had to end, and why.
    stopped: Option<AtEvent>,
    /// The run as it was, as far as it was compared.
    was: TotalsShown,
    /// The run as it would have been.
    would_be: TotalsShown,
}

impl From<WhatIfReport> for ReportShown {
    fn from(report: WhatIfReport) -> Self {
        let pieces =
            |words: &[String]| words.iter().map(|words| TextExcerpt::of(words, DETAIL_MAX)).collect::<Vec<_>>();
        let differences = report.differences.iter().take(DIFFERENCES_MAX).map(|found| DifferenceShown {
            seq: found.seq,
            after: found.after,
            was: pieces(&found.was),
            would_be: pieces(&found.would_be),
        });
        let asked = report.asked_otherwise.iter().take(DIFFERENCES_MAX).map(|ask| AskedOtherwiseShown {
            seq: ask.seq,
            was: ask.was.clone().into(),
            would_be: ask.would_be.clone().into(),
        });
        Self {
            compared: report.compared,
            difference_count: report.differences.len(),
            differences: differences.collect(),
            asked_count: report.asked_otherwise.len(),
            asked_otherwise: asked.collect(),
            notes: report.notes,
            stopped: report.stopped.map(|stopped| AtEvent { seq: stopped.seq, what: stopped.why }),
            was: report.was.into(),
            would_be: report.would_be.into(),
        }
    }
}

/// What other numbers or another model would have decided. Nothing is called.
#[utoipa::path(post, path = "/api/runs/{run}/what-if", tag = "runs", params(("run" = i64, Path,)), request_body = WhatIfRequest,
    responses((status = 200, body = ReportShown), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn compare(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
    Json(WhatIfRequest { change }): Json<WhatIfRequest>,
) -> Result<Json<ReportShown>, ApiError> {
    if change.len() > CHANGE_BYTES_MAX {
        return Err(ApiError::TooBig(format!("{CHANGE_BYTES_MAX} bytes are the most")));
    }
    let what = WhatIf::parse(&change).map_err(ApiError::Bad)?;
    let recorded = app.recorded(run).await?.map_err(|why| ApiError::Bad(why.to_owned()))?;
    let table = Arc::clone(&app.router.config().services.table);
    let bill = |label: &String| {
        let facts = table.facts(label);
        let assumed = assumed_window(label).filter(|_| facts.context_tokens.is_none());
        ModelBill { rates: facts.rates, per_mille: 1_000, window: facts.context_tokens, assumed }
    };
    let bills = what.models.iter().map(bill).collect();
    let compared = run_blocking(move || what_if(&recorded, &WhatIfChange { what, bills })).await?;
    Ok(Json(compared.map_err(ApiError::Bad)?.into()))
}
