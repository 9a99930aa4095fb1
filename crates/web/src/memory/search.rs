//! Searching as recall does, with what each way of looking says of what it finds.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::memory::entry::{Entry, EntryReader};
use crate::memory::list::scope;
use crate::owner;
use hob_memory::facts;
use hob_memory::facts::relevance::fact_score;
use hob_memory::item::MemoryItem;
use hob_memory::recall::legs::LegRanking;
use hob_memory::recall::{Fragment, RecallLimits, RecallQuestion, Recollection};
use hob_store::error::StoreError;
use hob_store::{Tx, facts as store_facts, memory_views, millis};

/// The most of each kind that a search shows.
const FOUND_MAX: usize = 50;
/// The longest that is searched for, in characters.
const TEXT_CHARS_MAX: usize = 1_000;

/// What is looked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchParams {
    /// In a person's words.
    text: String,
    /// Of whom: `p1`, `c5` or `house`; none: of all.
    scope: Option<String>,
}

/// What one way of looking says.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct LegScore {
    /// `words`, `meaning`, `time` (when it was said, or that it tells a time) or `manner` (who says it, and how).
    way: &'static str,
    /// What it brings to the score.
    score: f64,
    /// Its place among all that may bear on the question; none: this way says nothing of it.
    rank: Option<usize>,
}

/// One of the signals of which a score is made.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ScoreSignal {
    /// What it is about.
    pub(super) name: String,
    /// What it brings.
    pub(super) part: f64,
}

/// Something that was found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct SearchHit {
    /// What.
    item: Entry,
    /// What was said before it that it needs to be understood.
    before: Option<String>,
    /// Of all ways together.
    score: f64,
    /// Its place by that, among all that may bear on the question.
    rank: usize,
    /// Way by way; of a fact none, as it is found by its words alone.
    legs: Vec<LegScore>,
    /// Signal by signal.
    signals: Vec<ScoreSignal>,
}

/// What a search found.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct SearchResult {
    /// `by words and by meaning`, or `by words alone`.
    how: &'static str,
    /// What people said, the best first; who only asked the same comes last.
    said: Vec<SearchHit>,
    /// Facts, the best first.
    facts: Vec<SearchHit>,
}

/// Searches what is remembered, as `/memory WORDS` does, and tells why each is found.
#[utoipa::path(get, path = "/api/memory/search", tag = "memory", params(SearchParams),
    responses((status = 200, body = SearchResult), (status = 401, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn search(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(sought): Query<SearchParams>,
) -> Result<Json<SearchResult>, ApiError> {
    let text = sought.text.trim().to_owned();
    if text.is_empty() || text.chars().count() > TEXT_CHARS_MAX {
        return Err(ApiError::Bad(format!("what is looked for has from 1 to {TEXT_CHARS_MAX} characters")));
    }
    let store = &app.router.store;
    let scopes = match sought.scope.as_deref().map(scope).transpose()? {
        Some(scope) => vec![scope],
        None => store.read(memory_views::scopes).await?,
    };
    let limits = RecallLimits { fragments: FOUND_MAX, tokens: u64::MAX, facts: 0 };
    let now = app.router.clock.now();
    let bill = store.read(owner::bill).await?;
    let question = RecallQuestion { text, scopes, turn: None, window: None, limits, now, bill };
    let memory = app.router.config().services.memory.clone();
    let (recollection, legs) = memory.search_by_legs(&question).await?;
    let (said, facts) = store.read(async |tx| show(tx, &question, &recollection, &legs).await).await?;
    Ok(Json(SearchResult { how: recollection.means.as_str(), said, facts }))
}

/// What was found of what was said, and facts that match.
async fn show(
    tx: &mut Tx,
    question: &RecallQuestion,
    recollection: &Recollection,
    legs: &LegRanking,
) -> Result<(Vec<SearchHit>, Vec<SearchHit>), StoreError> {
    let mut reading = EntryReader::default();
    let (mut said, mut known) = (Vec::new(), Vec::new());
    for fragment in &recollection.fragments {
        let item = reading.entry(tx, MemoryItem::Memory(fragment.memory)).await?;
        said.extend(item.map(|item| search_hit(legs, fragment, item)));
    }
    for (place, row) in facts::search(tx, &question.scopes, &question.text, FOUND_MAX).await?.into_iter().enumerate() {
        let item = reading.entry(tx, MemoryItem::Fact(row.id)).await?;
        let Some((item, fact)) = item.zip(store_facts::find(tx, row.id).await?) else { continue };
        let score = fact_score(&fact, Some(place), millis(question.now));
        let (legs, signals) = (Vec::new(), Vec::new());
        known.push(SearchHit { item, before: None, score, rank: place + 1, legs, signals });
    }
    Ok((said, known))
}

fn search_hit(legs: &LegRanking, fragment: &Fragment, item: Entry) -> SearchHit {
    let (rank, places) = legs.of(fragment.memory.0).unwrap_or_default();
    let legs = places.iter().map(|place| LegScore { way: place.way, score: place.score, rank: place.rank });
    let mut signals: Vec<ScoreSignal> =
        fragment.parts.iter().map(|(name, part)| ScoreSignal { name: (*name).to_owned(), part: *part }).collect();
    signals.sort_by(|a, b| b.part.total_cmp(&a.part));
    let (before, score) = (fragment.before.clone(), fragment.score);
    SearchHit { item, before, score, rank, legs: legs.collect(), signals }
}
