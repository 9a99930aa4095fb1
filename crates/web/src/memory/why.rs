//! Why Hob answered so: what it had before it, and what had brought that up (`/why`, for any answer).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::memory::entry::{Entry, EntryReader};
use crate::memory::search::ScoreSignal;
use crate::memory::{PAGE, is_full};
use hob_core::domain::ids::RunId;
use hob_memory::item::MemoryItem;
use hob_memory::recall::SearchMode;
use hob_memory::why::{search_mode, signals};
use hob_store::error::StoreError;
use hob_store::memory_pages::{self, AnswerRow, AnsweredMessage};
use hob_store::{Tx, answers, recall_reasons as store_why};

/// So much of an answer is shown in a list, in characters.
const WORDS_MAX: usize = 200;
/// The most chunks of an answer that are shown.
const CHUNKS_MAX: i64 = 20;

/// An answer of Hob's.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AnswerEntry {
    /// Its run.
    run: i64,
    /// How it begins.
    text: String,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The conversation's name.
    conversation: String,
    /// How much was recalled for it.
    recalled: i64,
}

/// A part of the list of answers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AnswerList {
    /// The newest first.
    answers: Vec<AnswerEntry>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of a list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AnswerListParams {
    /// What `next` was.
    before: Option<i64>,
}

/// What Hob answered lately.
#[utoipa::path(get, path = "/api/memory/answers", tag = "memory", params(AnswerListParams), responses((status = 200, body = AnswerList), (status = 401, body = Problem)))]
pub(super) async fn answers(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(from): Query<AnswerListParams>,
) -> Result<Json<AnswerList>, ApiError> {
    let all = app
        .router
        .store
        .read(async |tx| memory_pages::answers(tx, from.before.unwrap_or(i64::MAX), PAGE).await)
        .await?;
    let next = all.last().filter(|_| is_full(all.len())).map(|last| last.message.0);
    let entry = |answer: AnswerRow| AnswerEntry {
        run: answer.run.0,
        text: answer.text.chars().take(WORDS_MAX).collect(),
        at: answer.at,
        conversation: answer.conversation,
        recalled: answer.recalled,
    };
    Ok(Json(AnswerList { answers: all.into_iter().map(entry).collect(), next }))
}

/// Something that was recalled.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RecalledItem {
    /// What; none: it was forgotten since, or is an answer of Hob's.
    item: Option<Entry>,
    /// What Hob had answered, and was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<EarlierAnswer>,
    /// What brought it up: `relevance`, `salience`, `recency`, `fact` or `answer`.
    leg: &'static str,
    /// How well it fitted.
    score: f64,
    /// Signal by signal, the strongest first.
    signals: Vec<ScoreSignal>,
}

/// Something that Hob had answered before.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct EarlierAnswer {
    /// The words.
    text: String,
    /// When, in milliseconds since 1970.
    at: i64,
}

/// What an answer had before it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RecallExplanation {
    /// The run.
    run: i64,
    /// What was asked.
    asked: String,
    /// When, in milliseconds since 1970.
    at: i64,
    /// The conversation's name.
    conversation: String,
    /// What Hob said.
    answer: String,
    /// How things were looked for, as far as what was found tells.
    how: Option<&'static str>,
    /// What was recalled, in the order in which the model saw it.
    recalled: Vec<RecalledItem>,
}

/// What was recalled for an answer, from where, and why.
#[utoipa::path(get, path = "/api/memory/why/{run}", tag = "memory", params(("run" = i64, Path)),
    responses((status = 200, body = RecallExplanation), (status = 401, body = Problem), (status = 404, body = Problem)))]
pub(super) async fn why(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(run): Path<i64>,
) -> Result<Json<RecallExplanation>, ApiError> {
    let why = app.router.store.read(async |tx| read_why(tx, RunId(run)).await).await?;
    Ok(Json(why.ok_or(ApiError::NotFound("run"))?))
}

async fn read_why(tx: &mut Tx, run: RunId) -> Result<Option<RecallExplanation>, StoreError> {
    let Some(AnsweredMessage { text, at, conversation }) = memory_pages::asked(tx, run).await? else {
        return Ok(None);
    };
    let answer = memory_pages::replied(tx, run, CHUNKS_MAX).await?.join("\n");
    let rows = store_why::recalled(tx, run).await?;
    let how = search_mode(&rows).map(SearchMode::as_str);
    let mut reading = EntryReader::default();
    let mut recalled = Vec::new();
    for row in rows {
        let item = match row.memory.map(MemoryItem::Memory).or(row.fact.map(MemoryItem::Fact)) {
            Some(item) => reading.entry(tx, item).await?,
            None => None,
        };
        let answered = match row.answer {
            Some(answer) => answers::find(tx, answer).await?,
            None => None,
        };
        let answered = answered.map(|answer| EarlierAnswer { text: answer.text, at: answer.at });
        let signals = signals(&row).into_iter().map(|(name, part)| ScoreSignal { name, part: thousandths(part) });
        let (leg, score, signals) = (row.leg.as_str(), thousandths(row.score), signals.collect());
        recalled.push(RecalledItem { item, answered, leg, score, signals });
    }
    Ok(Some(RecallExplanation { run: run.0, asked: text, at, conversation, answer, how, recalled }))
}

#[expect(clippy::cast_precision_loss, reason = "scores are far below 2^53")]
fn thousandths(count: i64) -> f64 {
    count as f64 / 1_000.0
}
