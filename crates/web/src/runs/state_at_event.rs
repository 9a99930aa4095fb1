//! A run as it stood after one of its events, folded from those up to it by the machine: where it was, what it had used of
//! its budgets, what the model would have seen.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::runs::run_blocking;
use crate::runs::views::{AtEvent, DETAIL_MAX, RunCost, TextExcerpt, WORDS_MAX, purpose_name, sources};
use hob_agent::machine::compaction::size;
use hob_agent::machine::state::{ActiveState, Phase, State as RunState};
use hob_agent::machine::texts;
use hob_agent::prompt::PromptInputs;
use hob_agent::replay::line;
use hob_agent::replay::run_at::{self, RunAt};
use hob_core::domain::ids::RunId;
use hob_core::domain::money::Money;
use hob_model::message::{Message, UserPart};

/// So many messages of a context are shown at once.
const MESSAGES_MAX: usize = 50;

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(state)).routes(routes!(context)).routes(routes!(message))
}

/// What of a limit is used.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LimitUse {
    /// So much.
    used: u64,
    /// Of so much; none: it is not limited, or nobody knows.
    of: Option<u64>,
}

/// What a run had used of its budgets.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Budgets {
    /// Replies of the model that wanted tools.
    iterations: LimitUse,
    /// How far that limit can be raised.
    iterations_cap: u32,
    /// Replies of the model.
    cycles: u32,
    /// The model's window, in tokens as counted here.
    window: LimitUse,
    /// What was spent.
    spent: RunCost,
    /// What is set aside for the call of a model that is open, in nano-dollars.
    reserved_nano_usd: Option<i64>,
    /// Its time is up: it was to sum up.
    time_is_up: bool,
    /// The budget or quota that was reached.
    reached: Option<String>,
}

/// A run as it stood.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunStateShown {
    /// After the event with this number.
    at: i64,
    /// The journal's last event.
    upto: i64,
    /// When that event was committed, in milliseconds since 1970.
    when: Option<i64>,
    /// Its name.
    kind: Option<&'static str>,
    /// What it carries, in a line.
    text: Option<TextExcerpt>,
    /// Its state.
    state: &'static str,
    /// Where it stood, in words.
    phase: String,
    /// What it had used; none: it had not begun.
    budgets: Option<Budgets>,
    /// What it had read that nobody vouches for.
    taint: Vec<String>,
    /// What it had noted for itself.
    notes: Option<TextExcerpt>,
    /// What it had changed, and what it had not.
    deeds: Option<TextExcerpt>,
    /// Messages that were to join it.
    joining: usize,
    /// Where its record parts from what this Hob derives.
    mismatch: Option<AtEvent>,
    /// Where its journal cannot be read any further.
    unreadable: Option<AtEvent>,
}

/// At which event.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct EventParams {
    /// After the event with this number; without it: now.
    at: Option<i64>,
}

impl AppState {
    async fn standing(&self, run: i64, at: Option<i64>) -> Result<RunAt, ApiError> {
        let at = at.unwrap_or(i64::MAX);
        if at < 1 {
            return Err(ApiError::Bad("the first event has the number 1".to_owned()));
        }
        let unfolded = self.router.store.read(async |tx| run_at::read_events(tx, RunId(run), at).await).await?;
        let unfolded = unfolded.ok_or(ApiError::NotFound("run"))?;
        Ok(run_blocking(move || unfolded.fold()).await??)
    }

    /// What its requests are made of at that point; none: it has not begun, or that is not kept any more.
    async fn material(&self, standing: &RunAt) -> Result<Option<PromptInputs>, ApiError> {
        match standing.load_request() {
            Some(wanted) => Ok(self.router.store.read(async |tx| wanted.load(tx).await).await?),
            None => Ok(None),
        }
    }
}

/// A run as it stood after one of its events.
#[utoipa::path(get, path = "/api/runs/{run}/state", tag = "runs", params(("run" = i64, Path,), EventParams),
    responses((status = 200, body = RunStateShown), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn state(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
    Query(EventParams { at }): Query<EventParams>,
) -> Result<Json<RunStateShown>, ApiError> {
    Ok(Json(RunStateShown::of(&app.standing(run, at).await?)))
}

impl RunStateShown {
    fn of(standing: &RunAt) -> Self {
        let run = standing.state.active();
        let last = standing.last.as_ref();
        let at_event = |seq: i64, what: String| AtEvent { seq, what };
        let mismatch = standing.mismatch.as_ref().map(|found| at_event(found.seq, found.to_string()));
        let notes = run.and_then(|run| run.notebook.message()).map(|notes| TextExcerpt::of(&notes.text(), WORDS_MAX));
        Self {
            at: standing.at,
            upto: standing.upto,
            when: last.map(|timed| timed.at.as_millisecond()),
            kind: last.map(|timed| timed.event.kind()),
            text: last.map(|timed| TextExcerpt::of(&line(&timed.event), DETAIL_MAX)),
            state: standing.state.status().as_str(),
            phase: phase(&standing.state),
            budgets: run.map(Budgets::of),
            taint: run.map(|run| sources(&run.taint)).unwrap_or_default(),
            notes,
            deeds: run.and_then(|run| run.ledger.listed()).map(|deeds| TextExcerpt::of(&deeds, WORDS_MAX)),
            joining: run.map_or(0, |run| run.steering.len()),
            mismatch,
            unreadable: standing.broken.as_ref().map(|broken| at_event(broken.seq, broken.what.clone())),
        }
    }
}

/// Where a run stands, in words.
fn phase(state: &RunState) -> String {
    let run = match state {
        RunState::Empty => return "Nothing has happened yet.".to_owned(),
        RunState::Queued(_) => return "It waits for its turn.".to_owned(),
        RunState::Closed(_) => return "It was over before its turn.".to_owned(),
        RunState::Active(run) => run,
    };
    match &run.phase {
        Phase::Calling(call) => format!("{} is asked: {}.", call.label, purpose_name(call.purpose).replace('_', " ")),
        Phase::Acting(batch) => {
            let names: Vec<&str> = batch.started().map(|(call, _)| call.name.as_str()).collect();
            format!("Tools are at work: {}.", names.join(", "))
        }
        Phase::Waiting { question, .. } => format!("It waits: {}", texts::question(question)),
        Phase::Replied => "It has said its last word.".to_owned(),
        Phase::Done(_) => "It is over.".to_owned(),
    }
}

impl Budgets {
    fn of(run: &ActiveState) -> Self {
        let window = run.billing.models.get(run.model).and_then(|bill| bill.window);
        let budget = run.budget.as_ref().map(|stop| {
            let (words, key) = (stop.scope.words(stop.persona.as_deref()), stop.scope.usd_key());
            format!("the budget for {words} ({key}): {} of {}", stop.used, stop.cap)
        });
        let quota =
            run.quota.as_ref().map(|stop| format!("{} ({}): {} of {}", stop.name, stop.key, stop.used, stop.cap));
        Self {
            iterations: LimitUse { used: run.iterations.into(), of: Some(run.limits.iterations.into()) },
            iterations_cap: run.limits.iterations_cap,
            cycles: run.cycles,
            window: LimitUse { used: size::request(run, &run.view), of: window },
            spent: RunCost::new(run.usage, run.cost, !run.is_priced()),
            reserved_nano_usd: run.open_reserve().map(Money::nanos),
            time_is_up: run.soft_limit,
            reached: budget.or(quota),
        }
    }
}

/// A call in a message.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CallInContext {
    /// The tool.
    name: String,
    /// What it is given.
    arguments: TextExcerpt,
}

/// A message that the model sees.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct MessageShown {
    /// Its place, from 0.
    index: usize,
    /// `person`, `hob` or `tool`.
    role: &'static str,
    /// The tool that it is a result of.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Its words.
    text: TextExcerpt,
    /// The calls in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallInContext>,
    /// The pictures in it, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pictures: Vec<String>,
}

impl MessageShown {
    fn of(index: usize, message: &Message, chars_max: usize) -> Self {
        let (role, tool) = match message {
            Message::User { .. } => ("person", None),
            Message::Assistant { .. } => ("hob", None),
            Message::Tool(result) => ("tool", Some(result.name.clone())),
        };
        let pictures = match message {
            Message::User { parts } => parts.as_slice(),
            Message::Assistant { .. } | Message::Tool(_) => &[],
        };
        let name = |part: &UserPart| match part {
            UserPart::Text { .. } => None,
            UserPart::Image(image) => Some(image.name.clone()),
            UserPart::Picture(picture) => Some(picture.name.clone()),
        };
        let call = |call: &hob_model::message::ToolCall| CallInContext {
            name: call.name.clone(),
            arguments: TextExcerpt::of(&call.arguments, chars_max),
        };
        Self {
            index,
            role,
            tool,
            text: TextExcerpt::of(&message.text(), chars_max),
            calls: message.calls().map(call).collect(),
            pictures: pictures.iter().filter_map(name).collect(),
        }
    }
}

/// What the model sees.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ContextShown {
    /// After the event with this number.
    at: i64,
    /// Why there is nothing to be shown.
    gone: Option<&'static str>,
    /// The system prompt.
    system: Option<TextExcerpt>,
    /// The tools on offer.
    tools: Vec<String>,
    /// How many messages there are.
    count: usize,
    /// Some of them, in order: the last ones, or those before what was asked for.
    messages: Vec<MessageShown>,
}

/// Which part of a context is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct ContextParams {
    /// After the event with this number; without it: now.
    at: Option<i64>,
    /// The messages before this one.
    before: Option<usize>,
    /// The system prompt whole.
    #[serde(default)]
    whole: bool,
}

/// What the model was asked at an event, or would have been if it had been asked then.
#[utoipa::path(get, path = "/api/runs/{run}/context", tag = "runs", params(("run" = i64, Path,), ContextParams),
    responses((status = 200, body = ContextShown), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn context(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
    Query(ContextParams { at, before, whole }): Query<ContextParams>,
) -> Result<Json<ContextShown>, ApiError> {
    let standing = app.standing(run, at).await?;
    let material = app.material(&standing).await?;
    let shown = move || {
        let Some(request) = material.and_then(|material| standing.request(&material)) else {
            let gone = match standing.state.active() {
                None => "The run has not begun: the model sees nothing yet.",
                Some(_) => "What it was shown is not kept any more.",
            };
            let none = ContextShown {
                at: standing.at,
                gone: Some(gone),
                system: None,
                tools: Vec::new(),
                count: 0,
                messages: Vec::new(),
            };
            return none;
        };
        let count = request.messages.len();
        let to = before.unwrap_or(count).min(count);
        let from = to.saturating_sub(MESSAGES_MAX);
        let some = request.messages.iter().enumerate().take(to).skip(from);
        ContextShown {
            at: standing.at,
            gone: None,
            system: Some(TextExcerpt::of(&request.system, if whole { usize::MAX } else { WORDS_MAX })),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            count,
            messages: some.map(|(index, message)| MessageShown::of(index, message, DETAIL_MAX)).collect(),
        }
    };
    Ok(Json(run_blocking(shown).await?))
}

/// One message that the model sees, with nothing cut.
#[utoipa::path(get, path = "/api/runs/{run}/context/{index}", tag = "runs", params(("run" = i64, Path,), ("index" = usize, Path,), EventParams),
    responses((status = 200, body = MessageShown), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
async fn message(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path((run, index)): Path<(i64, usize)>,
    Query(EventParams { at }): Query<EventParams>,
) -> Result<Json<MessageShown>, ApiError> {
    let standing = app.standing(run, at).await?;
    let material = app.material(&standing).await?;
    let found = material
        .and_then(|material| standing.request(&material))
        .and_then(|request| request.messages.get(index).map(|message| MessageShown::of(index, message, usize::MAX)));
    Ok(Json(found.ok_or(ApiError::NotFound("message"))?))
}
