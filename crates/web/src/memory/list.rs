//! What there is, scope by scope and page by page; and one thing with all that belongs to it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::memory::entry::{Entry, EntryReader, parse_item};
use crate::memory::{PAGE, is_full};
use hob_core::domain::memory::Scope;
use hob_memory::amount;
use hob_memory::item::MemoryItem;
use hob_store::error::StoreError;
use hob_store::memory_pages::{self, PageCursor};
use hob_store::{Tx, memory_views};

/// The most values and facts that are shown with one thing.
const ALONG_MAX: i64 = 100;

/// How much of a scope there is.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ScopeAmount {
    /// `p1`, `c5` or `house`.
    scope: String,
    /// Whose that is, in words.
    whose: String,
    /// Things said.
    said: i64,
    /// Facts that hold.
    facts: i64,
    /// People of whom something is known.
    people: i64,
}

/// How much is remembered.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct MemoryOverview {
    /// Of each scope in which something is.
    scopes: Vec<ScopeAmount>,
    /// How things are looked up now, in words.
    how: String,
    /// When the first thing was said, in milliseconds since 1970.
    oldest: Option<i64>,
    /// When the last thing was said, in milliseconds since 1970.
    newest: Option<i64>,
}

/// How much is remembered of whom, and how it is looked up.
#[utoipa::path(get, path = "/api/memory", tag = "memory", responses((status = 200, body = MemoryOverview), (status = 401, body = Problem)))]
pub(super) async fn overview(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
) -> Result<Json<MemoryOverview>, ApiError> {
    let store = &app.router.store;
    let (scopes, (oldest, newest)) = (store.read(amount::amounts_by_scope).await?, store.read(amount::span).await?);
    let how = app.router.config().services.memory.embedding_service.status().to_string();
    let scopes = scopes.into_iter().map(|of| ScopeAmount {
        scope: of.scope.to_string(),
        whose: of.whose,
        said: of.memories,
        facts: of.facts,
        people: of.people,
    });
    let at = |at: Option<jiff::Timestamp>| at.map(jiff::Timestamp::as_millisecond);
    Ok(Json(MemoryOverview { scopes: scopes.collect(), how, oldest: at(oldest), newest: at(newest) }))
}

/// What kind of thing is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryKind {
    /// What people said.
    #[default]
    Said,
    /// Facts.
    Facts,
}

/// Which part of a list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EntryListParams {
    /// What people said, or facts.
    #[serde(default)]
    #[param(inline)]
    kind: EntryKind,
    /// Of whom: `p1`, `c5` or `house`; none: of all.
    scope: Option<String>,
    /// Only what is pinned.
    #[serde(default)]
    pinned: bool,
    /// What `next` was.
    before: Option<String>,
}

/// A part of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct EntryList {
    /// The newest first.
    items: Vec<Entry>,
    /// Where to go on; none: that is all.
    next: Option<String>,
}

/// What is remembered, the newest first.
#[utoipa::path(get, path = "/api/memory/items", tag = "memory", params(EntryListParams),
    responses((status = 200, body = EntryList), (status = 401, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn items(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(wanted): Query<EntryListParams>,
) -> Result<Json<EntryList>, ApiError> {
    let before = wanted.before.as_deref().map_or(Ok(PageCursor::NEWEST), before)?;
    let scope = wanted.scope.as_deref().map(scope).transpose()?;
    let list = EntryListQuery { kind: wanted.kind, scope, pinned: wanted.pinned, before };
    Ok(Json(app.router.store.read(async |tx| list.read(tx).await).await?))
}

fn before(text: &str) -> Result<PageCursor, ApiError> {
    let parsed =
        text.split_once('_').and_then(|(at, id)| Some(PageCursor { at: at.parse().ok()?, id: id.parse().ok()? }));
    parsed.ok_or_else(|| ApiError::Bad("before is not a place in the list, such as 1700000000000_12".to_owned()))
}

pub(super) fn scope(name: &str) -> Result<Scope, ApiError> {
    name.parse().map_err(|error: hob_core::domain::memory::UnknownScope| ApiError::Bad(error.to_string()))
}

#[derive(Clone)]
struct EntryListQuery {
    kind: EntryKind,
    scope: Option<Scope>,
    pinned: bool,
    before: PageCursor,
}

impl EntryListQuery {
    async fn read(&self, tx: &mut Tx) -> Result<EntryList, StoreError> {
        let scopes = match self.scope {
            Some(scope) => vec![scope],
            None => memory_views::scopes(tx).await?,
        };
        let mut found: Vec<(PageCursor, MemoryItem)> = Vec::new();
        for scope in scopes {
            found.extend(self.of(tx, scope).await?);
        }
        found.sort_by_key(|(place, _)| std::cmp::Reverse((place.at, place.id)));
        found.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
        let next = found.last().filter(|_| is_full(found.len())).map(|(place, _)| format!("{}_{}", place.at, place.id));
        let items = EntryReader::default().entries(tx, found.into_iter().map(|(_, item)| item)).await?;
        Ok(EntryList { items, next })
    }

    async fn of(&self, tx: &mut Tx, scope: Scope) -> Result<Vec<(PageCursor, MemoryItem)>, StoreError> {
        let place = |at, id| PageCursor { at, id };
        Ok(match self.kind {
            EntryKind::Said => {
                let keys = match self.pinned {
                    true => memory_pages::pinned_said(tx, scope, self.before, PAGE).await?,
                    false => memory_pages::said(tx, scope, self.before, PAGE).await?,
                };
                keys.into_iter().map(|key| (place(key.at, key.id.0), MemoryItem::Memory(key.id))).collect()
            }
            EntryKind::Facts => {
                let keys = match self.pinned {
                    true => memory_pages::pinned_known(tx, scope, self.before, PAGE).await?,
                    false => memory_pages::known(tx, scope, self.before, PAGE).await?,
                };
                keys.into_iter().map(|key| (place(key.at, key.id.0), MemoryItem::Fact(key.id))).collect()
            }
        })
    }
}

/// One thing, with all that belongs to it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct EntryDetail {
    /// It.
    item: Entry,
    /// Of something said: the facts that rest on it, and go with it.
    rest_on_it: Vec<Entry>,
    /// Of a fact: what else was or is held for true there, the newest first.
    values: Vec<Entry>,
    /// For how many answers it was recalled.
    recalled: i64,
    /// The run of the last of them.
    last_recalled: Option<i64>,
}

/// Something remembered, with what rests on it, or what it was before.
#[utoipa::path(get, path = "/api/memory/items/{id}", tag = "memory", params(("id" = String, Path, description = "m12 or f7")),
    responses((status = 200, body = EntryDetail), (status = 401, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn item(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Json<EntryDetail>, ApiError> {
    let item = parse_item(&id)?;
    let whole = app.router.store.read(async |tx| read_whole(tx, item).await).await?;
    Ok(Json(whole.ok_or(ApiError::NotFound("memory or fact"))?))
}

async fn read_whole(tx: &mut Tx, named: MemoryItem) -> Result<Option<EntryDetail>, StoreError> {
    let mut reading = EntryReader::default();
    let Some(item) = reading.entry(tx, named).await? else { return Ok(None) };
    let (facts, values, runs) = match named {
        MemoryItem::Memory(memory) => {
            let source = memory_pages::source_of_memory(tx, memory).await?;
            let facts = match source {
                Some(source) => memory_views::resting_on(tx, source.message).await?,
                None => Vec::new(),
            };
            (facts, Vec::new(), memory_pages::memory_recalled(tx, memory).await?)
        }
        MemoryItem::Fact(fact) => {
            let values = memory_pages::values(tx, fact, ALONG_MAX).await?;
            (Vec::new(), values, memory_pages::fact_recalled(tx, fact).await?)
        }
    };
    let along = usize::try_from(ALONG_MAX).unwrap_or(usize::MAX);
    let rest_on_it = reading.entries(tx, facts.into_iter().take(along).map(MemoryItem::Fact)).await?;
    let values = reading.entries(tx, values.into_iter().map(MemoryItem::Fact)).await?;
    let last_recalled = runs.last.map(|run| run.0);
    Ok(Some(EntryDetail { item, rest_on_it, values, recalled: runs.runs, last_recalled }))
}
