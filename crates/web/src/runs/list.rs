//! The list of runs, with what narrows it down.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use hob_agent::machine::status::Status;
use hob_core::domain::inbound::ChannelKind;
use hob_store::millis;
use hob_store::run_list::{self, RunListEntry, RunListPage, RunScanRange};

/// So many runs are shown at once.
const PAGE: i64 = 50;
/// So many characters of a message are shown.
const WORDS_MAX: usize = 300;

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct RunEntry {
    /// Its number.
    pub run: i64,
    /// Its conversation's published name.
    pub session: String,
    /// The platform.
    pub channel: String,
    /// Whose message it answers.
    pub who: String,
    /// `queued`, `running`, `waiting`, `completed`, `cancelled`, `failed`, `withdrawn` or `joined`.
    pub state: String,
    /// How it ended, in a word, if it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// When its message came, in milliseconds since 1970.
    pub accepted_at: i64,
    /// When it was over.
    pub ended_at: Option<i64>,
    /// The message; on the page its first words.
    pub message: String,
    /// Replies of its models.
    pub cycles: i64,
    /// Tokens read and written.
    pub tokens: i64,
    /// What they cost, in nano-dollars; none: nobody knows.
    pub cost_nano_usd: Option<i64>,
    /// The run that it works for, if it is an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<i64>,
}

impl From<RunListEntry> for RunEntry {
    fn from(entry: RunListEntry) -> Self {
        let RunListEntry {
            id,
            session,
            channel,
            who,
            state,
            created_at,
            ended_at,
            text,
            cycles,
            tokens,
            cost,
            parent,
            end,
        } = entry;
        Self {
            run: id.0,
            session,
            channel,
            who,
            state,
            end,
            accepted_at: created_at,
            ended_at,
            message: text,
            cycles,
            tokens,
            cost_nano_usd: cost,
            parent: parent.map(|run| run.0),
        }
    }
}

impl RunEntry {
    /// With the first words of its message.
    pub(super) fn shortened(mut self) -> Self {
        self.message = self.message.chars().take(WORDS_MAX).collect();
        self
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended_at.is_some()
    }
}

/// A part of the list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunList {
    /// The newest first. There may be fewer than a page of them, and more below `next`.
    runs: Vec<RunEntry>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// What is wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
pub(crate) struct Filter {
    /// What `next` was.
    before: Option<i64>,
    /// Of this platform: `telegram`, `slack`, `discord`, `matrix`, `email`, `terminal`, `web` or `event`.
    channel: Option<String>,
    /// Of the conversation with this published name.
    session: Option<String>,
    /// `queued`, `running`, `waiting` or `over`.
    state: Option<String>,
    /// How it ended: `completed`, `cancelled`, `failed`, `withdrawn` or `joined`.
    outcome: Option<String>,
    /// That cost at least so much, in nano-dollars.
    cost_min: Option<i64>,
    /// That took at least so long from its message to its end, in milliseconds.
    took_min: Option<i64>,
}

const OPEN: [&str; 3] = [Status::Queued.as_str(), Status::Running.as_str(), Status::Waiting.as_str()];
const OVER: [&str; 5] = [
    Status::Completed.as_str(),
    Status::Cancelled.as_str(),
    Status::Failed.as_str(),
    Status::Withdrawn.as_str(),
    Status::Joined.as_str(),
];

impl Filter {
    /// The states that are wanted; none: any.
    fn states(&self) -> Result<Option<Vec<&'static str>>, ApiError> {
        let bad = |what: &str, name: &str| ApiError::Bad(format!("{what} cannot be {name}"));
        let state = self.state.as_deref().map(|name| match OPEN.iter().find(|known| **known == name) {
            Some(known) => Ok(vec![*known]),
            None if name == "over" => Ok(OVER.to_vec()),
            None => Err(bad("state", name)),
        });
        let outcome = self.outcome.as_deref().map(|name| {
            OVER.iter().find(|known| **known == name).map(|known| vec![*known]).ok_or_else(|| bad("outcome", name))
        });
        Ok(match (state.transpose()?, outcome.transpose()?) {
            (Some(state), Some(outcome)) => Some(state.into_iter().filter(|known| outcome.contains(known)).collect()),
            (state, outcome) => state.or(outcome),
        })
    }

    fn list(self, now: i64) -> Result<(run_list::RunFilter, RunScanRange), ApiError> {
        let states = self.states()?.map(|states| states.into_iter().map(str::to_owned).collect());
        if let Some(channel) = &self.channel {
            channel.parse::<ChannelKind>().map_err(|error| ApiError::Bad(error.to_string()))?;
        }
        let Self { before, channel, session, cost_min, took_min, .. } = self;
        let filter = run_list::RunFilter { session, channel, states, cost_min, took_min, now };
        Ok((filter, RunScanRange { before: before.unwrap_or(i64::MAX), limit: PAGE }))
    }
}

/// The runs, newest first.
#[utoipa::path(get, path = "/api/runs", tag = "runs", params(Filter),
    responses((status = 200, body = RunList), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn list(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(filter): Query<Filter>,
) -> Result<Json<RunList>, ApiError> {
    let (filter, below) = filter.list(millis(app.router.clock.now()))?;
    let part = app.router.store.read(async |tx| run_list::list(tx, &filter, below).await).await?;
    let RunListPage { runs, next } = part.ok_or(ApiError::NotFound("conversation"))?;
    Ok(Json(RunList { runs: runs.into_iter().map(|run| RunEntry::from(run).shortened()).collect(), next }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::ids::RunId;

    #[test]
    fn n2_runs_are_data_too() {
        let run = RunListEntry {
            id: RunId(9),
            session: "7".to_owned(),
            channel: "telegram".to_owned(),
            end: None,
            who: "Ada".to_owned(),
            state: "completed".to_owned(),
            created_at: 1_767_225_600_000,
            ended_at: Some(1_767_225_604_200),
            text: "Water the plants,\nall of them".to_owned(),
            cycles: 3,
            tokens: 3_702,
            cost: Some(4_500_000),
            parent: None,
        };
        insta::assert_snapshot!(serde_json::to_string(&RunEntry::from(run)).unwrap(), @r#"{"run":9,"session":"7","channel":"telegram","who":"Ada","state":"completed","accepted_at":1767225600000,"ended_at":1767225604200,"message":"Water the plants,\nall of them","cycles":3,"tokens":3702,"cost_nano_usd":4500000}"#);
    }

    #[test]
    fn states_and_outcomes_narrow_each_other_down() {
        let states = |state: Option<&str>, outcome: Option<&str>| {
            let (state, outcome) = (state.map(str::to_owned), outcome.map(str::to_owned));
            Filter { state, outcome, ..Filter::default() }.states().map_err(|refused| refused.to_string())
        };
        assert_eq!(states(None, None), Ok(None));
        assert_eq!(states(Some("waiting"), None), Ok(Some(vec!["waiting"])));
        assert_eq!(states(Some("over"), Some("failed")), Ok(Some(vec!["failed"])));
        assert_eq!(states(Some("queued"), Some("failed")), Ok(Some(Vec::new())));
        assert_eq!(states(Some("over"), None).map(|all| all.map(|all| all.len())), Ok(Some(5)));
        assert_eq!(states(Some("done"), None), Err("state cannot be done".to_owned()));
        assert_eq!(states(None, Some("running")), Err("outcome cannot be running".to_owned()));
    }
}
