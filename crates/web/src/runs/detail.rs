//! One run: its tree, and its journal in parts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::runs::list::RunEntry;
use crate::runs::run_blocking;
use crate::runs::views::{CycleShown, CycleWindow, TextExcerpt, TextSize, TreeShown, WORDS_MAX};
use hob_agent::journal;
use hob_agent::machine::event::Event;
use hob_agent::machine::human::Decision;
use hob_agent::machine::question::Question;
use hob_agent::machine::state::Phase;
use hob_agent::machine::status::Status;
use hob_agent::machine::{Replay, texts};
use hob_agent::projection::failure::FailurePanel;
use hob_agent::replay::load::{self, LoadOutcome};
use hob_agent::replay::tree::RunTree;
use hob_agent::replay::{RecordedRun, line};
use hob_core::domain::ids::RunId;
use hob_router::failures;
use hob_store::error::StoreError;
use hob_store::journal::EventRow;
use hob_store::run_list::{self, RunListEntry};
use hob_store::{Tx, agents, emergency_stop, runs, sessions};

/// So many events are shown at once.
const EVENTS_MAX: i64 = 100;
/// The longest event in a list, in characters.
const LINE_MAX: usize = 300;

pub(super) fn routes() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(run)).routes(routes!(cycle)).routes(routes!(events)).routes(routes!(event))
}

/// What a run waits to be told.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct QuestionShown {
    /// Its number in the run.
    number: u32,
    /// Its words.
    text: TextExcerpt,
    /// The decisions that it offers.
    choices: Vec<&'static str>,
    /// Other words are an answer as well.
    takes_words: bool,
}

/// Where a run that failed was, and what may be done about it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct FailureShown {
    /// What was to be reached.
    objective: String,
    /// Where it stood.
    state: String,
    /// What should be done next.
    next: String,
}

/// One run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RunShown {
    /// As it stands in the list.
    entry: RunEntry,
    /// What happened; none: its journal is gone.
    tree: Option<TreeShown>,
    /// Why its journal is gone.
    gone: Option<&'static str>,
    /// The number of its last event.
    upto: i64,
    /// What it asks.
    question: Option<QuestionShown>,
    /// It failed, and nobody has decided what is to be done about it.
    failure: Option<FailureShown>,
    /// Its conversation, or the whole house, stands still.
    paused: bool,
    /// It can be stopped, or taken back.
    stoppable: bool,
    /// The models that this Hob knows.
    models: Vec<String>,
}

/// Which cycles are wanted: the newest, unless it is said.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct CycleParams {
    /// From this one on.
    from: Option<u32>,
    /// Those that come before this one.
    before: Option<u32>,
}

/// Reads what stands beside a run's journal.
async fn read_run_row(tx: &mut Tx, run: RunId) -> Result<Option<(RunListEntry, bool, bool)>, StoreError> {
    let Some(entry) = run_list::find(tx, run).await? else {
        return Ok(None);
    };
    let mut paused = false;
    if entry.ended_at.is_none()
        && let Some(row) = runs::queries::lookup(tx, run).await?
    {
        let home = agents::home(tx, run).await?.unwrap_or(row.session);
        paused = sessions::paused_by(tx, home).await?.is_some() || emergency_stop::paused_by(tx).await?.is_some();
    }
    let failed = entry.state == Status::Failed.as_str() && failures::is_open(tx, run).await?;
    Ok(Some((entry, paused, failed)))
}

impl AppState {
    /// The recorded run; the words are why there is none.
    pub(super) async fn recorded(&self, run: i64) -> Result<Result<Box<RecordedRun>, &'static str>, ApiError> {
        Ok(match self.router.store.read(async |tx| load::load(tx, RunId(run)).await).await? {
            LoadOutcome::Run(recorded) if recorded.events.is_empty() && recorded.broken.is_none() => {
                Err("What was said in this run was forgotten, and its journal with it.")
            }
            LoadOutcome::Run(recorded) => Ok(recorded),
            LoadOutcome::LetGo => {
                Err("This run ended longer ago than journals are kept (journals_days under [upkeep]): it was let go.")
            }
            LoadOutcome::Nothing { .. } => return Err(ApiError::NotFound("run")),
        })
    }
}

/// One run as its tree of cycles.
#[utoipa::path(get, path = "/api/runs/{run}", tag = "runs", params(("run" = i64, Path,), CycleParams),
    responses((status = 200, body = RunShown), (status = 401, body = Problem), (status = 404, body = Problem)))]
async fn run(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
    Query(CycleParams { from, before }): Query<CycleParams>,
) -> Result<Json<RunShown>, ApiError> {
    let read = app.router.store.read(async |tx| read_run_row(tx, RunId(run)).await);
    let (entry, paused, failed) = read.await?.ok_or(ApiError::NotFound("run"))?;
    let entry = RunEntry::from(entry).shortened();
    let models = app.router.config().services.models.labels().map(|(_, label)| label.to_owned()).collect();
    let (tree, gone, upto, (question, failure)) = match app.recorded(run).await? {
        Err(why) => (None, Some(why), 0, (None, None)),
        Ok(recorded) => {
            let window = CycleWindow { from, before };
            let fold = move || {
                let upto = i64::try_from(recorded.events.len()).unwrap_or(i64::MAX);
                let asks = (question(&recorded), failed.then(|| failure(&recorded)).flatten());
                (TreeShown::of(&RunTree::of(&recorded), window), upto, asks)
            };
            let (tree, upto, asks) = run_blocking(fold).await?;
            (Some(tree), None, upto, asks)
        }
    };
    let stoppable = !entry.is_over();
    Ok(Json(RunShown { entry, tree, gone, upto, question, failure, paused, stoppable, models }))
}

/// What a run asks now.
fn question(recorded: &RecordedRun) -> Option<QuestionShown> {
    if recorded.state != "waiting" {
        return None;
    }
    let mut replay = Replay::default();
    recorded.events.iter().for_each(|timed| replay.feed(&timed.event));
    let run = replay.state.active()?;
    let Phase::Waiting { question, .. } = &run.phase else { return None };
    if matches!(question, Question::Agents | Question::Paused { .. }) {
        return None;
    }
    Some(QuestionShown {
        number: run.questions,
        text: TextExcerpt::of(&texts::question(question), WORDS_MAX),
        choices: Decision::offered(question).iter().map(|decision| decision.label()).collect(),
        takes_words: Decision::takes_words(question),
    })
}

/// Where a failed run was.
fn failure(recorded: &RecordedRun) -> Option<FailureShown> {
    let mut replay = Replay::default();
    recorded.events.iter().for_each(|timed| replay.feed(&timed.event));
    let FailurePanel { objective, state, next } = FailurePanel::of(replay.state.active()?)?;
    Some(FailureShown { objective, state, next })
}

/// One cycle, with nothing cut.
#[utoipa::path(get, path = "/api/runs/{run}/cycles/{number}", tag = "runs", params(("run" = i64, Path,), ("number" = u32, Path,)),
    responses((status = 200, body = CycleShown), (status = 401, body = Problem), (status = 404, body = Problem)))]
async fn cycle(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path((run, number)): Path<(i64, u32)>,
) -> Result<Json<CycleShown>, ApiError> {
    let recorded = app.recorded(run).await?.map_err(|why| ApiError::Bad(why.to_owned()))?;
    let fold = move || {
        let tree = RunTree::of(&recorded);
        tree.cycles.iter().find(|cycle| cycle.number == number).map(|cycle| CycleShown::of(cycle, TextSize::Whole))
    };
    Ok(Json(run_blocking(fold).await?.ok_or(ApiError::NotFound("cycle"))?))
}

/// An event in a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventShown {
    /// Its number.
    seq: i64,
    /// When it was committed, in milliseconds since 1970.
    at: i64,
    /// Its name.
    kind: String,
    /// What it carries, in a line.
    text: TextExcerpt,
}

/// A part of a journal.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventList {
    /// The run's state now.
    state: String,
    /// The number of its last event.
    upto: i64,
    /// In order.
    events: Vec<EventShown>,
}

/// Which part of a journal is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct JournalParams {
    /// After the event with this number.
    after: Option<i64>,
    /// At most so many: 0 to 100.
    limit: Option<i64>,
}

/// Reads a part of a journal.
async fn load_part(
    tx: &mut Tx,
    run: RunId,
    after: i64,
    limit: i64,
) -> Result<Option<(String, i64, Vec<EventRow>)>, StoreError> {
    let Some(row) = runs::queries::lookup(tx, run).await? else {
        return Ok(None);
    };
    let upto = hob_store::journal::last(tx, run).await?;
    Ok(Some((row.state, upto, hob_store::journal::list_part(tx, run, after, i64::MAX, limit).await?)))
}

/// A part of a run's journal. Whoever asks for what comes after the last event that they know hears how it goes on.
#[utoipa::path(get, path = "/api/runs/{run}/events", tag = "runs", params(("run" = i64, Path,), JournalParams),
    responses((status = 200, body = EventList), (status = 401, body = Problem), (status = 404, body = Problem)))]
async fn events(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
    Query(JournalParams { after, limit }): Query<JournalParams>,
) -> Result<Json<EventList>, ApiError> {
    let limit = limit.unwrap_or(EVENTS_MAX).clamp(0, EVENTS_MAX);
    let after = after.unwrap_or(0);
    let part = app.router.store.read(async |tx| load_part(tx, RunId(run), after, limit).await).await?;
    let (state, upto, rows) = part.ok_or(ApiError::NotFound("run"))?;
    let shown = |row: &EventRow| {
        let text = match journal::decode(RunId(run), row) {
            Ok(event) => event_text(&event),
            Err(error) => error.to_string(),
        };
        EventShown { seq: row.seq, at: row.at, kind: row.kind.clone(), text: TextExcerpt::of(&text, LINE_MAX) }
    };
    Ok(Json(EventList { state, upto, events: rows.iter().map(shown).collect() }))
}

/// An event in a line: what a run begins with is not a line, so that only its models are told.
fn event_text(event: &Event) -> String {
    match event {
        Event::Begun(begun) => format!("models {}", begun.models.join(", ")),
        other => line(other),
    }
}

/// One event, whole.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WholeEvent {
    /// Its number.
    seq: i64,
    /// When it was committed, in milliseconds since 1970.
    at: i64,
    /// Its name.
    kind: String,
    /// The version of its encoding.
    version: i64,
    /// What it carries, as it is stored; a text, where that is not JSON.
    #[schema(value_type = Object)]
    body: Value,
}

/// One event as it is stored.
#[utoipa::path(get, path = "/api/runs/{run}/events/{seq}", tag = "runs", params(("run" = i64, Path,), ("seq" = i64, Path,)),
    responses((status = 200, body = WholeEvent), (status = 401, body = Problem), (status = 404, body = Problem)))]
async fn event(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path((run, seq)): Path<(i64, i64)>,
) -> Result<Json<WholeEvent>, ApiError> {
    let before = seq.saturating_sub(1);
    let part = app.router.store.read(async |tx| load_part(tx, RunId(run), before, 1).await).await?;
    let (_, _, rows) = part.ok_or(ApiError::NotFound("run"))?;
    let row = rows.into_iter().find(|row| row.seq == seq).ok_or(ApiError::NotFound("event"))?;
    let EventRow { kind, version, body, at, .. } = row;
    let body = match serde_json::from_str::<Value>(&body) {
        Ok(mut stored) => stored.get_mut("body").map(Value::take).unwrap_or(Value::Null),
        Err(_) => Value::String(body),
    };
    Ok(Json(WholeEvent { seq, at, kind, version, body }))
}
