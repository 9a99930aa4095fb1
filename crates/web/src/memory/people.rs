//! Whom Hob knows: those who talk with it, and those of whom it was told.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::{Deserialize, Serialize};

use crate::access::visitor::Visitor;
use crate::api_error::{ApiError, Problem};
use crate::app_state::AppState;
use crate::memory::entry::{Entry, EntryReader};
use crate::memory::{PAGE, is_full};
use hob_core::domain::ids::PersonId;
use hob_core::domain::memory::Scope;
use hob_memory::item::MemoryItem;
use hob_store::error::StoreError;
use hob_store::{Tx, memory_pages, memory_views, transfer, users as store_users};

/// The most facts about one person that are shown.
const FACTS_MAX: i64 = 200;

/// By what else somebody is known.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PersonIdentifier {
    /// A platform, or `name`, `email`, `phone` …
    kind: String,
    /// The name or address there.
    value: String,
}

/// Somebody who talks with Hob.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UserEntry {
    /// Whose their own memories are: `p1`.
    scope: String,
    /// How they are called.
    name: String,
    /// What they may: `guest`, `user`, `admin` or `owner`.
    role: &'static str,
    /// Since when they are known, in milliseconds since 1970.
    since: i64,
    /// What platforms call them.
    identities: Vec<PersonIdentifier>,
    /// Things that they said and that only they are told.
    said: i64,
    /// Facts of theirs alone.
    facts: i64,
    /// People of whom they alone told.
    people: i64,
}

/// A part of the list of those who talk with Hob.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UserList {
    /// In the order in which they came.
    users: Vec<UserEntry>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of the list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UserListParams {
    /// What `next` was.
    after: Option<i64>,
}

/// Those who talk with Hob.
#[utoipa::path(get, path = "/api/memory/users", tag = "memory", params(UserListParams), responses((status = 200, body = UserList), (status = 401, body = Problem)))]
pub(super) async fn users(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(from): Query<UserListParams>,
) -> Result<Json<UserList>, ApiError> {
    Ok(Json(app.router.store.read(async |tx| list_users(tx, from.after.unwrap_or(0)).await).await?))
}

async fn list_users(tx: &mut Tx, after: i64) -> Result<UserList, StoreError> {
    let all = memory_pages::users(tx, after, PAGE).await?;
    let next = all.last().filter(|_| is_full(all.len())).map(|last| last.id.0);
    let mut users = Vec::new();
    for user in all {
        let scope = Scope::Person(user.id);
        let identities = transfer::identities(tx, user.id).await?;
        let counts = memory_views::counts(tx, scope).await?;
        users.push(UserEntry {
            scope: scope.to_string(),
            name: user.name,
            role: user.role.as_str(),
            since: user.since,
            identities: identities.into_iter().map(|(kind, value)| PersonIdentifier { kind, value }).collect(),
            said: counts.memories,
            facts: counts.facts,
            people: counts.people,
        });
    }
    Ok(UserList { users, next })
}

/// Somebody of whom something is known.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PersonEntry {
    /// Their id.
    id: i64,
    /// Who knows of them: `p1`, `c5` or `house`.
    scope: String,
    /// Who, in words.
    whose: String,
    /// How they are called.
    name: String,
    /// Who they are to those.
    relation: Option<String>,
    /// `YYYY-MM-DD`, or `--MM-DD` where the year is not known.
    birthday: Option<String>,
    /// Who this is, if they talk with Hob.
    user: Option<String>,
    /// Other names and addresses.
    identities: Vec<PersonIdentifier>,
    /// Since when they are known, in milliseconds since 1970.
    since: i64,
    /// How many facts are about them.
    facts: i64,
}

/// A part of the list of those of whom something is known.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PersonList {
    /// The newest first.
    people: Vec<PersonEntry>,
    /// Where to go on; none: that is all.
    next: Option<i64>,
}

/// Which part of the list is wanted.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PersonListParams {
    /// What `next` was.
    before: Option<i64>,
}

/// Those of whom Hob was told.
#[utoipa::path(get, path = "/api/memory/people", tag = "memory", params(PersonListParams), responses((status = 200, body = PersonList), (status = 401, body = Problem)))]
pub(super) async fn people(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Query(from): Query<PersonListParams>,
) -> Result<Json<PersonList>, ApiError> {
    Ok(Json(app.router.store.read(async |tx| list_people(tx, from.before.unwrap_or(i64::MAX)).await).await?))
}

async fn list_people(tx: &mut Tx, before: i64) -> Result<PersonList, StoreError> {
    let all = memory_pages::people(tx, before, PAGE).await?;
    let next = all.last().filter(|_| is_full(all.len())).map(|last| last.id.0);
    let (mut reading, mut people) = (EntryReader::default(), Vec::new());
    for person in all {
        let user = match person.user {
            Some(user) => store_users::name(tx, user).await?,
            None => None,
        };
        let names = transfer::names(tx, person.id).await?;
        people.push(PersonEntry {
            id: person.id.0,
            scope: person.scope.to_string(),
            whose: reading.whose(tx, person.scope).await?,
            name: person.name,
            relation: person.relation,
            birthday: person.birthday,
            user,
            identities: names.into_iter().map(|(kind, value)| PersonIdentifier { kind, value }).collect(),
            since: person.since,
            facts: person.facts,
        });
    }
    Ok(PersonList { people, next })
}

/// What is known of somebody.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PersonFacts {
    /// The newest first.
    facts: Vec<Entry>,
}

/// What is known of somebody.
#[utoipa::path(get, path = "/api/memory/people/{id}/facts", tag = "memory", params(("id" = i64, Path)),
    responses((status = 200, body = PersonFacts), (status = 401, body = Problem), (status = 404, body = Problem)))]
pub(super) async fn facts(
    State(app): State<Arc<AppState>>,
    _visitor: Visitor,
    Path(id): Path<i64>,
) -> Result<Json<PersonFacts>, ApiError> {
    let known = app.router.store.read(async |tx| facts_of(tx, PersonId(id)).await).await?;
    Ok(Json(PersonFacts { facts: known.ok_or(ApiError::NotFound("person"))? }))
}

async fn facts_of(tx: &mut Tx, person: PersonId) -> Result<Option<Vec<Entry>>, StoreError> {
    if memory_pages::scope_of(tx, person).await?.is_none() {
        return Ok(None);
    }
    let facts = memory_pages::known_of(tx, person, FACTS_MAX).await?;
    Ok(Some(EntryReader::default().entries(tx, facts.into_iter().map(MemoryItem::Fact)).await?))
}
