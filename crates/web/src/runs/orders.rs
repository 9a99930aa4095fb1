//! What owners order of a run that is at work.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Owner;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::owner;
use hob_agent::projection::failure::AfterFailure;
use hob_core::domain::ids::RunId;
use hob_router::intake::run_commands::{RunCommand, RunCommandOutcome};

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(stop))
        .routes(routes!(stop_now))
        .routes(routes!(resume))
        .routes(routes!(settle_failure))
        .routes(routes!(answer))
}

/// What came of an order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct OrderResult {
    /// In words.
    told: String,
}

impl AppState {
    async fn order(&self, run: i64, order: RunCommand) -> Result<Json<OrderResult>, ApiError> {
        let by = owner::principal(&self.router).await?;
        match self.router.execute_run_command(by, RunId(run), order).await? {
            RunCommandOutcome::Done(told) => Ok(Json(OrderResult { told })),
            RunCommandOutcome::Refused(why) => Err(ApiError::Bad(why)),
            RunCommandOutcome::NoRun => Err(ApiError::NotFound("run")),
        }
    }
}

/// Ends a run, as `/stop` does; one that waits its turn is taken back.
#[utoipa::path(post, path = "/api/runs/{run}/stop", tag = "runs", params(("run" = i64, Path,)),
    responses((status = 200, body = OrderResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn stop(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
) -> Result<Json<OrderResult>, ApiError> {
    app.order(run, RunCommand::Stop { at_once: false }).await
}

/// Ends a run, as `/stop now` does: what has an effect is cut off as well.
#[utoipa::path(post, path = "/api/runs/{run}/stop-now", tag = "runs", params(("run" = i64, Path,)),
    responses((status = 200, body = OrderResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn stop_now(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
) -> Result<Json<OrderResult>, ApiError> {
    app.order(run, RunCommand::Stop { at_once: true }).await
}

/// Lets a run's conversation go on that was paused, as `/resume` does.
#[utoipa::path(post, path = "/api/runs/{run}/resume", tag = "runs", params(("run" = i64, Path,)),
    responses((status = 200, body = OrderResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn resume(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
) -> Result<Json<OrderResult>, ApiError> {
    app.order(run, RunCommand::Resume).await
}

/// What is to be done about a run that failed.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureChoice {
    /// A run goes on from its journal.
    Resume,
    /// Its message is put again.
    TryAgain,
    /// Nothing.
    LetBe,
}

impl From<FailureChoice> for AfterFailure {
    fn from(choice: FailureChoice) -> Self {
        match choice {
            FailureChoice::Resume => Self::Resume,
            FailureChoice::TryAgain => Self::TryAgain,
            FailureChoice::LetBe => Self::LetBe,
        }
    }
}

/// A decision about a run that failed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct FailureDecision {
    /// What is to be done.
    choice: FailureChoice,
}

/// Decides, once, what is to be done about a run that failed.
#[utoipa::path(post, path = "/api/runs/{run}/failure", tag = "runs", params(("run" = i64, Path,)), request_body = FailureDecision,
    responses((status = 200, body = OrderResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn settle_failure(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
    Json(FailureDecision { choice }): Json<FailureDecision>,
) -> Result<Json<OrderResult>, ApiError> {
    app.order(run, RunCommand::AfterFailure(choice.into())).await
}

/// An answer to a run's question.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct NewAnswer {
    /// The question's number.
    question: u32,
    /// One of its choices, such as `carry on` or `give up`; other words, where it takes them.
    text: String,
}

/// Answers what a run asks.
#[utoipa::path(post, path = "/api/runs/{run}/answers", tag = "runs", params(("run" = i64, Path,)), request_body = NewAnswer,
    responses((status = 200, body = OrderResult), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn answer(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(run): Path<i64>,
    Json(NewAnswer { question, text }): Json<NewAnswer>,
) -> Result<Json<OrderResult>, ApiError> {
    app.order(run, RunCommand::Answer { question, text }).await
}
