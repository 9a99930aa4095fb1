//! What is to be done later, and what came of it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::visitor::{Owner, Visitor as Looks};
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::chat::channel::conversation;
use crate::chat::routes::checked_id;
use crate::operations::{ASKED, paged};
use crate::owner;
use hob_core::domain::ids::ScheduleId;
use hob_core::domain::origin::Taint;
use hob_store::error::StoreError;
use hob_store::occurrences::{self, OccurrenceRow};
use hob_store::schedules::{self, NewSchedule as New, ScheduleRow};
use hob_store::{Tx, millis, operations};
use hob_tools::schedule::change::{self, Change, ChangeOutcome, Viewer};
use hob_tools::schedule::creation::{ScheduleRequest, ScheduleRequester};
use hob_tools::schedule::render;

/// So many schedules are looked through for one that is the same.
const LOOKED_THROUGH: i64 = 1_000;
/// The page tries again for so long, in milliseconds.
const AGAIN_WITHIN_MS: u64 = 120_000;
/// So many instants to come are told.
const COMING: usize = 3;
const CAME: i64 = 10;

/// A schedule.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Schedule {
    /// Its number.
    id: i64,
    /// Its name in the config; none: it was made in a chat, or here.
    name: Option<String>,
    /// In whose name it is done.
    user: String,
    /// Where its answers go.
    session: Option<String>,
    /// What is to be done.
    task: String,
    /// When, in words, with the zone.
    when: String,
    /// `active`, `paused` or `done`.
    state: String,
    /// Why it is paused: `asked`, `failures`, `access` or `damaged`.
    why: Option<String>,
    /// Runs in a row that failed.
    failures: i64,
    /// The next instants, in milliseconds since 1970.
    next: Vec<i64>,
    /// Somebody wants it run at once.
    asked: bool,
    /// What is looked at before it is run, in words; none: nothing is.
    looks: Option<String>,
    /// What came of the last instants, the newest first.
    came: Vec<ScheduleOccurrence>,
}

/// An instant of a schedule.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ScheduleOccurrence {
    /// When it was due, in milliseconds since 1970.
    due_at: i64,
    /// `queued`, `done`, `failed`, `stopped`, `missed` or `skipped`.
    state: String,
    /// Its run.
    run: Option<i64>,
    /// What was found by looking first: `idle`, `woken`, or `failed: ` and why; none: nobody looked.
    look: Option<String>,
}

/// Schedules.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Schedules {
    /// The newest first.
    schedules: Vec<Schedule>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of the list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct ScheduleListParams {
    /// What `next` was.
    before: Option<i64>,
    /// Those that are done, instead of those that go on.
    done: Option<bool>,
}

async fn list_with_history(
    tx: &mut Tx,
    before: i64,
    done: bool,
) -> Result<Vec<(ScheduleRow, Vec<OccurrenceRow>)>, StoreError> {
    let mut all = Vec::new();
    for row in operations::schedules(tx, before, done, ASKED).await? {
        let came = occurrences::history(tx, row.id, CAME).await?;
        all.push((row, came));
    }
    Ok(all)
}

impl Schedule {
    fn of(row: ScheduleRow, came: Vec<OccurrenceRow>, now: Timestamp) -> Self {
        let came = came.into_iter().map(|came| ScheduleOccurrence {
            due_at: came.due_at,
            state: came.state,
            run: came.run.map(|run| run.0),
            look: came.look,
        });
        Self {
            id: row.id.0,
            session: row.conversation().map(|place| place.session_key().0),
            when: render::when(&row),
            next: next_times(&row, now),
            looks: render::look_target(&row).map(|target| target.to_string()),
            came: came.collect(),
            name: row.name,
            user: row.user_name,
            task: row.task,
            state: row.state,
            why: row.why,
            failures: row.failures,
            asked: row.asked_at.is_some(),
        }
    }
}

fn next_times(row: &ScheduleRow, now: Timestamp) -> Vec<i64> {
    if row.state != "active" {
        return Vec::new();
    }
    let first = row.next_at.and_then(|next| Timestamp::from_millisecond(next).ok());
    let others = render::timing(row)
        .map(|(rule, zone)| rule.next_few(&zone, first.unwrap_or(now).max(now), COMING))
        .unwrap_or_default();
    let all = first.into_iter().chain(others.into_iter().filter(|at| Some(*at) != first));
    all.take(COMING).map(Timestamp::as_millisecond).collect()
}

/// What is to be done later.
#[utoipa::path(get, path = "/api/operations/schedules", tag = "operations", params(ScheduleListParams),
    responses((status = 200, body = Schedules), (status = 401, body = Problem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    _visitor: Looks,
    Query(wanted): Query<ScheduleListParams>,
) -> Result<Json<Schedules>, ApiError> {
    let (before, done) = (wanted.before.unwrap_or(i64::MAX), wanted.done.unwrap_or(false));
    let rows = app.router.store.read(async |tx| list_with_history(tx, before, done).await).await?;
    let (rows, more) = paged(rows);
    let now = app.router.clock.now();
    let next = rows.last().filter(|_| more).map(|(row, _)| row.id.0);
    let schedules = rows.into_iter().map(|(row, came)| Schedule::of(row, came, now)).collect();
    Ok(Json(Schedules { schedules, next }))
}

/// What is to be done, and when.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(crate) struct NewSchedule {
    /// `weekdays at 8:30`, `in 2h`, `every other Friday at 17:00`, or cron.
    when: String,
    /// What to do then, complete in itself.
    task: String,
    /// The IANA zone, if not the household's.
    zone: Option<String>,
    /// The page's conversation in which it answers.
    chat: String,
}

/// Has something done later, in the name of the page's owner; the answers come in a conversation of the page.
#[utoipa::path(post, path = "/api/operations/schedules", tag = "operations", request_body = NewSchedule,
    responses((status = 200, body = Schedule), (status = 401, body = Problem), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn make(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Json(new): Json<NewSchedule>,
) -> Result<Json<Schedule>, ApiError> {
    let (router, now) = (&app.router, app.router.clock.now());
    let place = conversation(&checked_id(new.chat)?);
    let user = owner::principal(router).await?.user;
    let redact = |text: String| router.redactor.redact(&text).into_owned();
    let wish = ScheduleRequest {
        when: Some(redact(new.when)),
        task: Some(redact(new.task)),
        zone: new.zone,
        ..ScheduleRequest::default()
    };
    let maker = ScheduleRequester { user, conversation: place, taint: Taint::default(), call: None };
    let zone = router.config().services.budget_guard.zone.clone();
    let new = wish.shape(maker, &zone, now).map_err(|error| ApiError::Bad(error.to_string()))?;
    let made = router.store.write(async move |tx| create_once(tx, &new, now).await).await?;
    answer(&app, made, now).map(Json)
}

/// The page sends again what it has no answer to: sent twice, it is made once.
async fn create_once(tx: &mut Tx, new: &New, now: Timestamp) -> Result<ChangeOutcome, StoreError> {
    let known = schedules::list(tx, Some(new.user), LOOKED_THROUGH).await?;
    match known.into_iter().find(|row| is_same(row, new)) {
        Some(row) => Ok(ChangeOutcome::Done(Box::new(row), Vec::new())),
        None => change::make(tx, new, now).await,
    }
}

/// The same words for the same moment in the same conversation. `in 2h` is another moment each time that it is sent.
fn is_same(row: &ScheduleRow, new: &New) -> bool {
    let apart = row.next_at.zip(new.timing.next.map(millis)).map(|(one, other)| one.abs_diff(other));
    row.state == "active"
        && row.conversation().as_ref() == Some(&new.conversation)
        && (&row.task, &row.asked, &row.zone) == (&new.task, &new.timing.asked, &new.timing.zone)
        && apart.is_some_and(|apart| apart < AGAIN_WITHIN_MS)
}

/// What becomes of a schedule.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScheduleChange {
    /// It is not run until it is resumed.
    Pause,
    /// It is run again.
    Resume,
    /// It is run once more, now, beside its rule.
    Run,
}

/// Pauses or resumes a schedule, or runs it now.
#[utoipa::path(post, path = "/api/operations/schedules/{id}/{change}", tag = "operations",
    params(("id" = i64, Path,), ("change" = inline(ScheduleChange), Path,)),
    responses((status = 200, body = Schedule), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn change(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path((id, wished)): Path<(i64, ScheduleChange)>,
) -> Result<Json<Schedule>, ApiError> {
    let change = match wished {
        ScheduleChange::Pause => Change::Pause,
        ScheduleChange::Resume => Change::Resume,
        ScheduleChange::Run => Change::RunNow,
    };
    apply_change(&app, id, change).await.map(Json)
}

/// Takes a schedule away; one that stands in the config is taken out there.
#[utoipa::path(delete, path = "/api/operations/schedules/{id}", tag = "operations", params(("id" = i64, Path,)),
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn remove(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<i64>,
) -> Result<StatusCode, ApiError> {
    apply_change(&app, id, Change::Remove).await.map(|_| StatusCode::NO_CONTENT)
}

async fn apply_change(app: &AppState, id: i64, change: Change) -> Result<Schedule, ApiError> {
    let (router, now) = (&app.router, app.router.clock.now());
    let principal = owner::principal(router).await?;
    // The page is nobody's but its owner's: everything may be seen there.
    let viewer = Viewer { principal, conversation: conversation("operations") };
    let id = ScheduleId(id);
    let changed = router.store.write(async move |tx| change::apply_change(tx, &viewer, id, change, now).await).await?;
    answer(app, changed, now)
}

fn answer(app: &AppState, changed: ChangeOutcome, now: Timestamp) -> Result<Schedule, ApiError> {
    match changed {
        ChangeOutcome::Done(row, came) => {
            app.router.alarm.notify_one();
            Ok(Schedule::of(*row, came, now))
        }
        ChangeOutcome::Unknown => Err(ApiError::NotFound("schedule")),
        other => Err(ApiError::Conflict(other.describe("", now).err().unwrap_or_default())),
    }
}
