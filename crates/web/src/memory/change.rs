//! What an owner does with what is remembered: the same as `/forget`, `/pin` and `hob memory export` do.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Owner;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::memory::entry::parse_item;
use crate::memory::list::scope;
use hob_core::domain::ids::PersonId;
use hob_memory::forget::{ForgetItem, ForgetOutcome};
use hob_memory::item::MemoryItem;
use hob_memory::transfer::export;
use hob_memory::transfer::line;
use hob_store::memory_pages;
use hob_store::memory_views::MemoryCounts;

/// What is gone.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ForgottenItems {
    /// `m12`, `f7`: also what went along.
    items: Vec<String>,
    /// A run still works with some of the words: from its record they go when it is over.
    later: bool,
}

impl From<ForgetOutcome> for ForgottenItems {
    fn from(forgotten: ForgetOutcome) -> Self {
        let memories = forgotten.memories.iter().map(|(_, memory)| MemoryItem::Memory(*memory));
        let facts = forgotten.facts.iter().map(|fact| MemoryItem::Fact(*fact));
        Self { items: memories.chain(facts).map(|item| item.to_string()).collect(), later: forgotten.put_off }
    }
}

/// Forgets something for good, with the facts that rest on it, or the values that it had before.
#[utoipa::path(delete, path = "/api/memory/items/{id}", tag = "memory", params(("id" = String, Path, description = "m12 or f7")),
    responses((status = 200, body = ForgottenItems), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn forget(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<String>,
) -> Result<Json<ForgottenItems>, ApiError> {
    let forgotten = app.router.forget(ForgetItem::from(parse_item(&id)?)).await?;
    if forgotten.memories.is_empty() && forgotten.facts.is_empty() {
        return Err(ApiError::NotFound("memory or fact"));
    }
    Ok(Json(ForgottenItems::from(forgotten)))
}

/// Forgets somebody for good, with all facts about them.
#[utoipa::path(delete, path = "/api/memory/people/{id}", tag = "memory", params(("id" = i64, Path)),
    responses((status = 200, body = ForgottenItems), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub(super) async fn forget_person(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<i64>,
) -> Result<Json<ForgottenItems>, ApiError> {
    let person = PersonId(id);
    if app.router.store.read(async |tx| memory_pages::scope_of(tx, person).await).await?.is_none() {
        return Err(ApiError::NotFound("person"));
    }
    Ok(Json(ForgottenItems::from(app.router.forget(ForgetItem::Person(person)).await?)))
}

/// A pin, or none.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct PinChange {
    /// Whether it is kept at hand, and never fades.
    pinned: bool,
}

/// Pins something, or takes the pin out.
#[utoipa::path(put, path = "/api/memory/items/{id}/pin", tag = "memory", params(("id" = String, Path, description = "m12 or f7")), request_body = PinChange,
    responses((status = 204), (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn pin(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(id): Path<String>,
    Json(PinChange { pinned }): Json<PinChange>,
) -> Result<axum::http::StatusCode, ApiError> {
    match app.router.pin(parse_item(&id)?, pinned).await? {
        true => Ok(axum::http::StatusCode::NO_CONTENT),
        false => Err(ApiError::NotFound("memory or fact")),
    }
}

/// That somebody means it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct ScopeConfirmation {
    /// The name of the scope once more.
    sure: String,
}

/// How much is being forgotten.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ForgottenScope {
    /// Things said.
    said: i64,
    /// Facts that held.
    facts: i64,
    /// People.
    people: i64,
}

/// Forgets everything of a scope for good: what it holds at this moment.
#[utoipa::path(post, path = "/api/memory/scopes/{scope}/forget", tag = "memory",
    params(("scope" = String, Path, description = "p1, c5 or house")), request_body = ScopeConfirmation,
    responses((status = 200, body = ForgottenScope), (status = 401, body = Problem), (status = 403, body = Problem), (status = 422, body = Problem)))]
pub(super) async fn forget_scope(
    State(app): State<Arc<AppState>>,
    _owner: Owner,
    Path(name): Path<String>,
    Json(ScopeConfirmation { sure }): Json<ScopeConfirmation>,
) -> Result<Json<ForgottenScope>, ApiError> {
    let scope = scope(&name)?;
    if sure != name {
        return Err(ApiError::Bad("nothing is forgotten: `sure` has to name the same scope".to_owned()));
    }
    let MemoryCounts { memories, facts, people } = app.router.forget_all(scope).await?;
    Ok(Json(ForgottenScope { said: memories, facts, people }))
}

/// Everything that is remembered, as `hob memory export` writes it: a JSON object in each line.
///
/// It changes nothing, yet everybody's memory in one file to be carried off is more than looking.
#[utoipa::path(get, path = "/api/memory/export", tag = "memory",
    responses((status = 200, content_type = "application/x-ndjson"), (status = 401, body = Problem),
        (status = 403, body = Problem)))]
pub(super) async fn export(State(app): State<Arc<AppState>>, _owner: Owner) -> Result<Response, ApiError> {
    let text = line::write(&app.router.store.read(export::export).await?)?;
    let day = app.router.clock.now().strftime("%Y-%m-%d");
    let name = format!("attachment; filename=\"hob-memory-{day}.jsonl\"");
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson".to_owned()), (header::CONTENT_DISPOSITION, name)], text)
        .into_response())
}
